import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { main } from '../../../../src/cli/main.ts'
import { memoryIo } from '../../../cli/memory-io.ts'

const root = new URL('../../../../', import.meta.url)
const CONFIG = `binds:
- port: 3000
  listeners:
  - routes:
    - name: api
      backends: [{host: 'api.test:80', policies: {backendAuth: {key: very-secret}}}]
`

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gwctl-snapshot-'))
  writeFileSync(join(folder, 'gateway.yaml'), CONFIG)
})
afterEach(() => rmSync(folder, { recursive: true }))

const snap = () => readFileSync(join(folder, 'a.gwtest.yaml.snap'), 'utf8')

function write(...cases: readonly string[]): void {
  writeFileSync(
    join(folder, 'a.gwtest.yaml'),
    `config: gateway.yaml\ncases:\n${cases.map(each => `- ${each}\n`).join('')}`,
  )
}

async function gwctl(...argv: readonly string[]) {
  const io = memoryIo({ cwd: folder })
  const code = await main(['test', ...argv], io, root)
  return { code, out: io.stdout.text, err: io.stderr.text }
}

const sent = (name: string, text: string, more = '') =>
  `{name: ${name}, request: {path: /a, json: {say: ${text}}}, expect: {upstream.json: {snapshot: true}${more}}}`

describe('a snapshot field', () => {
  test('fails until its snapshot is saved, then passes until the value changes', async () => {
    write(sent('one', 'hello', ', upstream.header: {snapshot: true}, error: {snapshot: true}'))
    const first = await gwctl()
    expect(first.code).toBe(1)
    expect(first.out).toContain('upstream.json    expected a snapshot, but none is saved: `gwctl test --update`')
    expect(first.out).toContain('got {"say":"hello"}')
    expect(existsSync(join(folder, 'a.gwtest.yaml.snap'))).toBe(false)

    expect(await gwctl('--update')).toMatchObject({ code: 0, err: 'Wrote a.gwtest.yaml.snap: 3 added.\n' })
    expect(snap()).toMatch(/^#.*\none:\n {2}error: null\n {2}upstream.json:\n {4}say: hello\n/)
    expect(snap()).toContain('authorization: <redacted>')
    expect(snap()).not.toContain('very-secret')
    expect(await gwctl()).toMatchObject({ code: 0, err: '' })

    write(sent('one', 'bye', ', upstream.header: {snapshot: true}, error: {snapshot: true}'))
    const changed = await gwctl()
    expect(changed.code).toBe(1)
    expect(changed.out).toContain('upstream.json.say               expected "hello", got "bye"\n')
    expect((await gwctl('--update')).err).toContain('2 changed')
    expect((await gwctl()).code).toBe(0)
  })

  test('asks to save a snapshot even for a credential', async () => {
    write('{name: one, request: {path: /}, expect: {upstream.header.authorization: {snapshot: true}}}')
    const { out } = await gwctl()
    expect(out).toContain('expected a snapshot, but none is saved: `gwctl test --update` saves one, got "<redacted>"')
  })

  test('must have exactly the saved members', async () => {
    write(sent('one', 'hello'))
    await gwctl('--update')
    write(sent('one', 'hello, and: more'))
    expect((await gwctl()).out).toContain('upstream.json.and  expected nothing, got "more"')
    writeFileSync(join(folder, 'a.gwtest.yaml.snap'), 'one: {upstream.json: {say: hello, also: this}}\n')
    write(sent('one', 'hello'))
    expect((await gwctl()).out).toContain('upstream.json.also  expected "this", got nothing')
  })

  test('has a snapshot for each step and repetition', async () => {
    const request = 'request: {path: "/${n}"}'
    write(
      `{name: many, steps: [{repeat: 2, ${request}, expect: {upstream.path: {snapshot: true}}}, {${request}, expect: {status: 200}}]}`,
    )
    await gwctl('--update')
    expect(snap()).toContain(
      '  step 1, repetition 1, upstream.path: /${n}\n  step 1, repetition 2, upstream.path: /${n}\n',
    )
    expect((await gwctl()).code).toBe(0)
  })
})

describe('saved snapshots', () => {
  test('of cases that did not run stay, and unused ones are reported and removed by an update', async () => {
    write(sent('one', 'a'), sent('two', 'b'), sent('gone', 'c'))
    await gwctl('--update')
    write(sent('one', 'a'), sent('two', 'changed'))
    expect((await gwctl('--filter', 'one')).err).toContain('a.gwtest.yaml.snap holds a snapshot that no case asks for')
    expect((await gwctl('--filter', 'one', '--update')).err).toBe('Wrote a.gwtest.yaml.snap: 1 removed.\n')
    expect(snap()).toMatch(/one:[\s\S]*two:\n {2}upstream.json:\n {4}say: b\n$/)
    const before = snap()
    expect((await gwctl('--filter', 'one', '--update')).err).toBe('')
    expect(snap()).toBe(before)
  })

  test('of a case that did not finish stay', async () => {
    const steps = (port: number) =>
      `{name: one, steps: [${[3000, port].map(each => `{request: {path: /a, port: ${each}}, expect: {status: {snapshot: true}}}`).join(', ')}]}`
    write(steps(3000))
    await gwctl('--update')
    const before = snap()
    expect(before).toContain('step 2, status: 200')
    write(steps(9))
    expect(await gwctl('--update')).toMatchObject({ code: 1, err: '' })
    write(steps(9), sent('new', 'a'))
    expect((await gwctl('--update')).err).toBe('Wrote a.gwtest.yaml.snap: 1 added.\n')
    expect(snap()).toContain('step 2, status: 200')
  })

  test.each([
    ['one: [', 'is never closed'],
    ['- a\n', 'it holds no snapshots'],
  ])('in an unreadable file (%j) are reported and rewritten', async (text, why) => {
    write(sent('one', 'a'), '{name: other, request: {path: /}, expect: {status: 200}}')
    writeFileSync(join(folder, 'a.gwtest.yaml.snap'), text)
    const { code, out } = await gwctl()
    expect({ code, out }).toEqual({ code: 1, out: expect.stringContaining(why) })
    expect(out).toContain('1 failed, 1 passed')
    expect((await gwctl('--update')).code).toBe(0)
    expect((await gwctl()).code).toBe(0)
  })
})

test.each([
  ['upstream.json: {say: {snapshot: true}}', 'stands for a whole field'],
  ['upstream.json: {snapshot: true, absent: false}', 'with nothing beside it'],
  ['upstream.json: {snapshot: yes please}', '`snapshot` is true'],
])('%s is rejected', async (expected, why) => {
  write(`{name: one, request: {path: /}, expect: {${expected}}}`)
  expect(await gwctl()).toMatchObject({ code: 2, out: expect.stringContaining(why) })
})

test('tests from stdin have no snapshots, and a running gateway saves none', async () => {
  const io = memoryIo({ cwd: folder, stdin: `config: gateway.yaml\ncases:\n- ${sent('one', 'a')}\n` })
  expect(await main(['test', '-'], io, root)).toBe(1)
  expect(io.stdout.text).toContain('tests from stdin have no snapshots')
  expect((await gwctl('--live', 'http://127.0.0.1:1', '--update')).code).toBe(2)
})
