import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { load } from '../../src/config/load.ts'
import { offlineRuntime } from '../../src/config/offline-runtime.ts'
import { CODES, type Code } from '../../src/diagnostics/codes.ts'
import type { Diagnostic, Position } from '../../src/diagnostics/diagnostic.ts'

/** Codes that no standalone document can give, and where their own tests are. */
const OTHERS: Partial<Record<Code, string>> = {
  GW007: 'reading files: fixtures/cli, test/commands',
  GW009: 'telling files of one kind from another: fixtures/cli, test/commands',
  GW010: 'comments of `gwctl validate`: fixtures/cli, test/commands/validate-suppress.test.ts',
  GW011: 'comments of `gwctl validate`: fixtures/cli, test/commands/validate-suppress.test.ts',
  GW114: 'lists of resources whose items are unique: test/config',
  GW208: 'resources: fixtures/k8s, test/config',
  GW209: 'resources: fixtures/k8s, test/config',
  GW210: 'resources: fixtures/k8s, test/config',
  GW211: 'resources: fixtures/k8s, test/config',
  GW402: 'resources: fixtures/k8s, test/config',
  GW403: 'resources: fixtures/k8s, test/config',
  GW404: 'resources: fixtures/k8s, test/config',
  GW602: 'gwctl translate: test/cluster/translate',
}

const fixtures = new URL('../../fixtures/', import.meta.url)
const filesIn = (folder: string) =>
  readdirSync(new URL(`${folder}/`, fixtures))
    .filter(name => name.endsWith('.yaml'))
    .map(name => `${folder}/${name}`)
const read = (name: string) => readFileSync(new URL(name, fixtures), 'utf8')
const codeOf = (name: string) => name.split('/').at(-1)!.split('.')[0]! as Code

/** Some codes are about the surroundings of a file. */
async function check(name: string, code: string): Promise<readonly Diagnostic[]> {
  const tier = code === 'GW205' || code === 'GW207' || code === 'GW530' ? 'env' : 'offline'
  const readReferenced = () => (code === 'GW206' ? undefined : Buffer.from('text'))
  const options = { env: {}, tier, runtime: offlineRuntime(), readReferenced } as const
  return (await load(name, read(name), options)).diagnostics
}

const failing = filesIn('codes')

describe('a file with one mistake reports its code exactly once', () => {
  test.each(failing)('%s', async name => {
    const text = read(name)
    const found = await check(name, codeOf(name))
    expect(found.filter(d => d.severity === 'error' || d.code === codeOf(name)).map(d => d.code)).toEqual([
      codeOf(name),
    ])
    const marked = text.split('\n').findIndex(line => line.includes('# here')) + 1
    if (marked > 0) expect(found.find(d => d.code === codeOf(name))!.range.start.line).toBe(marked)
  })
})

describe('the corrected twin does not report the code', () => {
  test.each(failing)('%s', async name => {
    const found = await check(name.replace('codes/', 'codes/ok/'), codeOf(name))
    expect(found.filter(d => d.severity === 'error' || d.code === codeOf(name))).toEqual([])
  })
})

test('every code a standalone file can trigger has a failing file and a passing twin', () => {
  const shown = new Set([...failing, ...filesIn('lint')].map(codeOf))
  const missing = (Object.keys(CODES) as Code[]).filter(code => !shown.has(code) && OTHERS[code] === undefined)
  expect(missing).toEqual([])
  expect(Object.keys(OTHERS).filter(code => shown.has(code as Code))).toEqual([])
  expect(Object.keys(OTHERS).filter(code => !Object.hasOwn(CODES, code))).toEqual([])
})

test('every finding of every fixture points to a valid position in its file', async () => {
  const names = ['ok', 'err', 'codes', 'lint', 'realistic'].flatMap(filesIn)
  let findings = 0
  for (const name of names) {
    const text = read(name)
    const lines = text.split('\n')
    const stands = ({ line, col, offset }: Position) =>
      offset <= text.length &&
      line <= lines.length &&
      col <= lines[line - 1]!.length + 1 &&
      lines.slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0) + col - 1 === offset
    for (const { code, range, message, related, fix } of await check(name, codeOf(name))) {
      findings++
      const places = [range, ...related.map(each => each.range), ...(fix?.edits ?? []).map(edit => edit.range)]
      const wrong = places.filter(({ start, end }) => !stands(start) || !stands(end) || start.offset > end.offset)
      expect({ name, code, wrong }).toEqual({ name, code, wrong: [] })
      expect(message).not.toBe('')
    }
  }
  expect(findings).toBeGreaterThan(names.length / 2)
})
