import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { parseSource } from '../../../src/diagnostics/source.ts'
import { fixTexts } from '../../../src/tools/check/fix.ts'

const options = { cwd: '/', env: {}, tier: 'offline', partial: true } as const
const root = new URL('../../../fixtures/', import.meta.url)
const filesIn = (folder: string) =>
  readdirSync(new URL(folder, root))
    .filter(name => name.endsWith('.yaml'))
    .map(name => `${folder}${name}`)
const read = (name: string) => readFileSync(new URL(name, root), 'utf8')
const fix = async (text: string, level: 'safe' | 'all' = 'safe') => {
  const { texts, found, fixed } = await fixTexts(
    [{ file: 'a.yaml', text, lenient: false }],
    options,
    level,
    (_, d) => d,
  )
  return { text: texts[0]!.text, found: found.diagnostics, fixed }
}
const errors = (found: readonly { readonly severity: string }[]) => found.filter(d => d.severity === 'error').length

describe('fixing does not change the meaning of a valid config', () => {
  const right = ['ok/', 'lint/', 'lint/ok/', 'lint-k8s/', 'lint-k8s/ok/', 'k8s/ok/', 'realistic/'].flatMap(filesIn)
  test.each(right)('%s', async name => {
    const text = read(name)
    const values = (of: string) => parseSource('a.yaml', of).documents.map(({ value }) => value)
    expect(values((await fix(text)).text)).toEqual(values(text))
  })
})

describe('fixing reduces the number of findings', () => {
  test.each([...filesIn('err/'), ...filesIn('codes/'), ...filesIn('k8s/err/')])('%s', async name => {
    for (const level of ['safe', 'all'] as const) {
      const before = await fixTexts([{ file: 'a.yaml', text: read(name), lenient: false }], options, level, () => [])
      const { found, fixed } = await fix(read(name), level)
      if (fixed.length === 0) expect(found.length).toBe(before.found.diagnostics.length)
      else expect(errors(found)).toBeLessThanOrEqual(errors(before.found.diagnostics))
    }
  })
})

test('does not guess: other names are only suggested', async () => {
  const policies = (text: string) =>
    `binds: [{port: 1, listeners: [{routes: [{policies: {${text}}, backends: [{host: "a:1"}]}]}]}]\n`
  const cases = [
    ['jwtAuthentication: {mode: strict}', 'did you mean `jwtAuth`?'],
    ['retries: {attempts: 2}', 'did you mean `retry`?'],
    ['timeouts: {requestTimeout: 1s}', 'did you mean `timeout`?'],
    ['redirect: {path: {full: /a}}', 'did you mean `requestRedirect`?'],
    ['rateLimit: []', 'did you mean `localRateLimit` or `remoteRateLimit`?'],
    ['directResponse: {responseCode: 200}', 'did you mean `status`?'],
    ['cors: {allowedOrigins: ["*"]}', 'did you mean `allowOrigins`?'],
    ['basicAuthentication: {}', 'did you mean `basicAuth`?'],
    ['mirror: {}', 'did you mean `requestMirror`?'],
  ] as const
  for (const [text, help] of cases) {
    const written = policies(text)
    const fixed = await fix(written, 'all')
    expect({ text: fixed.text, help: fixed.found.find(d => d.code === 'GW102')?.help }).toEqual({ text: written, help })
  }
})

test('corrects a typo only if the value fits the field', async () => {
  const file = (text: string) =>
    `binds: [{port: 1, listeners: [{routes: [{policies: {${text}}, backends: [{host: "a:1"}]}]}]}]\n`
  expect((await fix(file('retyr: {attempts: 2}'))).text).toBe(file('retry: {attempts: 2}'))
  expect((await fix(file('request_redirect: {path: {full: /b}}'))).text).toContain('requestRedirect')
  expect((await fix(file('retyr: {attempts: many}'))).fixed).toEqual([])
  expect((await fix(file('retyr: 3'))).fixed).toEqual([])
})

test('does not replace a variable by its value', async () => {
  const text = 'llm: {models: [{name: a, provider: "${P}"}]}\n'
  const { texts } = await fixTexts(
    [{ file: 'a.yaml', text, lenient: false }],
    { ...options, env: { P: 'openaii' } },
    'all',
    (_, d) => d,
  )
  expect(texts[0]!.text).toBe(text)
})
