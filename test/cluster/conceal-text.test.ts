import { readdirSync, readFileSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import { type ConcealText, textConcealer } from '../../src/cluster/conceal-text.ts'

let conceal: ConcealText
beforeAll(async () => {
  conceal = await textConcealer({ resources: true })
})

function route(policies: string): string {
  const lines = policies.trim().split('\n')
  return `binds:
- port: 3000
  listeners:
  - routes:
    - policies:
${lines.map(line => `        ${line}`).join('\n')}
      backends: [{host: 'localhost:1'}]
`
}

describe('what a file shows of itself', () => {
  test.each([
    ['a declared secret', 'apiKey: {keys: [{key: sk-1234, metadata: {team: a}}]}', 'sk-1234'],
    ['in quotes', 'apiKey: {keys: [{key: "sk-12 34"}]}', 'sk-12'],
    ['what is misspelt beside one', 'apiKey:\n  keys:\n  - ky: sk-1234', 'sk-1234'],
    ['a secret in another form', 'basicAuth: {htpasswd: {inline: "bob:$apr1$abc"}}', 'apr1'],
    ['below a misspelt field', 'apikey:\n  keys:\n  - key: sk-1234\n  - {key: sk-1234}', 'sk-1234'],
    ['below a misspelt field on its line', 'apikey: {keys: [{key: sk-1234}]}', 'sk-1234'],
    ['text of several lines', 'basicAuth:\n  htpasswd: |\n    bob:sk-1234\n    eve:sk-1234\n  realm: home', 'sk-1234'],
    ['an anchor and its use', 'x: &a sk-1234\napiKey: {keys: [{key: *a}]}', 'sk-1234'],
    ['no tree at all', 'apiKey:\n  keys:\n  - key: sk-1234\n  mode: [', 'sk-1234'],
  ])('not %s', (_, policies, secret) => {
    const text = route(policies)
    const shown = conceal('a.yaml', text)
    expect(shown).not.toContain(secret)
    expect(shown).toHaveLength(text.length)
    expect(shown.split('\n').map(line => line.length)).toEqual(text.split('\n').map(line => line.length))
    expect(shown).toContain("backends: [{host: 'localhost:1'}]")
  })

  test.each([
    ['what is no secret', 'apiKey: {mode: strict, keys: []}'],
    ['a field that is not declared', 'unknown: 1\ncors: {allowOrigin: ["*"]}'],
    ['the name of a variable', `apiKey: {keys: [{key: $KEY}, {key: "${'$'}{KEY}"}]}`],
  ])('but %s', (_, policies) => {
    expect(conceal('a.yaml', route(policies))).toBe(route(policies))
  })

  test('not what a variable stands for when it is not set', () => {
    expect(conceal('a.yaml', route(`apiKey: {keys: [{key: "${'$'}{KEY:-sk-1234}"}]}`))).not.toContain('sk-1234')
  })

  test.each([
    ['a secret list', '{key: [sk-1234, sk-1234'],
    ['a secret in quotes', '{key: "sk-1234, sk-1234'],
  ])('not %s that nobody closes', (_, value) => {
    const shown = conceal('a.yaml', `name: a\nb: [\n${value}\n`)
    expect(shown).not.toContain('sk-1234')
    expect(shown).toContain('name: a\nb: [\n{key: ')
  })

  test('nor a value that is not there, with what follows it', () => {
    expect(conceal('a.yaml', 'b: [\n{key: , name: a}\n')).toBe('b: [\n{key: , name: a}\n')
  })

  test.each(['a', 'key'])('a broken file that opens %s again and again takes no longer than it is long', name => {
    const text = `b: [\n\t: bad\n${`,${name}:[`.repeat(200_000)}\n`
    expect(conceal('a.yaml', text)).toHaveLength(text.length)
  })

  test('not the data of a Secret, alone, in a list, or where its text is broken', () => {
    const secret = 'apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData:\n  token: sk-1234\n'
    const listed = `apiVersion: v1\nkind: List\nitems:\n- ${secret.trimEnd().replaceAll('\n', '\n  ')}\n`
    for (const text of [secret, listed, `${secret}x: y: z\n`, `${secret}---\n${secret}`]) {
      const shown = conceal('a.yaml', text)
      expect(shown).not.toContain('sk-1234')
      expect(shown).toContain('metadata: {name: a}')
      expect(shown).toContain('  token: *******')
    }
  })

  test('nothing less of files without secrets', () => {
    const folder = new URL('../../examples/', import.meta.url)
    const files = readdirSync(folder).filter(name => /\.yaml$/.test(name))
    expect(files.length).toBeGreaterThan(0)
    for (const name of files) {
      const text = readFileSync(new URL(name, folder), 'utf8')
      expect(conceal(name, text)).toBe(text)
    }
  })
})
