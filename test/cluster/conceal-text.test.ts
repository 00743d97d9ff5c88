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

describe('concealing secrets in a file', () => {
  test.each([
    ['a declared secret', 'apiKey: {keys: [{key: sk-1234, metadata: {team: a}}]}', 'sk-1234'],
    ['a quoted secret', 'apiKey: {keys: [{key: "sk-12 34"}]}', 'sk-12'],
    ['a secret under a misspelt key', 'apiKey:\n  keys:\n  - ky: sk-1234', 'sk-1234'],
    ['a secret in another form', 'basicAuth: {htpasswd: {inline: "bob:$apr1$abc"}}', 'apr1'],
    ['a secret below a misspelt field', 'apikey:\n  keys:\n  - key: sk-1234\n  - {key: sk-1234}', 'sk-1234'],
    ['a secret below a misspelt field on the same line', 'apikey: {keys: [{key: sk-1234}]}', 'sk-1234'],
    ['a multi-line secret', 'basicAuth:\n  htpasswd: |\n    bob:sk-1234\n    eve:sk-1234\n  realm: home', 'sk-1234'],
    ['a secret in an anchor and its alias', 'x: &a sk-1234\napiKey: {keys: [{key: *a}]}', 'sk-1234'],
    ['a secret in text that cannot be parsed', 'apiKey:\n  keys:\n  - key: sk-1234\n  mode: [', 'sk-1234'],
  ])('hides %s', (_, policies, secret) => {
    const text = route(policies)
    const shown = conceal('a.yaml', text)
    expect(shown).not.toContain(secret)
    expect(shown).toHaveLength(text.length)
    expect(shown.split('\n').map(line => line.length)).toEqual(text.split('\n').map(line => line.length))
    expect(shown).toContain("backends: [{host: 'localhost:1'}]")
  })

  test.each([
    ['values that are not secrets', 'apiKey: {mode: strict, keys: []}'],
    ['an undeclared field', 'unknown: 1\ncors: {allowOrigin: ["*"]}'],
    ['a variable name', `apiKey: {keys: [{key: $KEY}, {key: "${'$'}{KEY}"}]}`],
  ])('keeps %s', (_, policies) => {
    expect(conceal('a.yaml', route(policies))).toBe(route(policies))
  })

  test('hides the default of an unset variable', () => {
    expect(conceal('a.yaml', route(`apiKey: {keys: [{key: "${'$'}{KEY:-sk-1234}"}]}`))).not.toContain('sk-1234')
  })

  test.each([
    ['a list of secrets', '{key: [sk-1234, sk-1234'],
    ['a quoted secret', '{key: "sk-1234, sk-1234'],
  ])('hides %s that is never closed', (_, value) => {
    const shown = conceal('a.yaml', `name: a\nb: [\n${value}\n`)
    expect(shown).not.toContain('sk-1234')
    expect(shown).toContain('name: a\nb: [\n{key: ')
  })

  test('keeps a missing value and the text after it', () => {
    expect(conceal('a.yaml', 'b: [\n{key: , name: a}\n')).toBe('b: [\n{key: , name: a}\n')
  })

  test.each(['a', 'key'])('a broken file that opens %s repeatedly takes linear time', name => {
    const text = `b: [\n\t: bad\n${`,${name}:[`.repeat(200_000)}\n`
    expect(conceal('a.yaml', text)).toHaveLength(text.length)
  })

  test('hides the data of a Secret, alone, in a list or in broken text', () => {
    const secret = 'apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData:\n  token: sk-1234\n'
    const listed = `apiVersion: v1\nkind: List\nitems:\n- ${secret.trimEnd().replaceAll('\n', '\n  ')}\n`
    for (const text of [secret, listed, `${secret}x: y: z\n`, `${secret}---\n${secret}`]) {
      const shown = conceal('a.yaml', text)
      expect(shown).not.toContain('sk-1234')
      expect(shown).toContain('metadata: {name: a}')
      expect(shown).toContain('  token: *******')
    }
  })

  test('leaves files without secrets unchanged', () => {
    const folder = new URL('../../examples/', import.meta.url)
    const files = readdirSync(folder).filter(name => /\.yaml$/.test(name))
    expect(files.length).toBeGreaterThan(0)
    for (const name of files) {
      const text = readFileSync(new URL(name, folder), 'utf8')
      expect(conceal(name, text)).toBe(text)
    }
  })
})
