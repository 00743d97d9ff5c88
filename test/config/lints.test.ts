import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { load } from '../../src/config/load.ts'
import { offlineRuntime } from '../../src/config/offline-runtime.ts'
import { CODES } from '../../src/diagnostics/codes.ts'
import type { Diagnostic } from '../../src/diagnostics/diagnostic.ts'

const root = new URL('../../fixtures/lint/', import.meta.url)
const files = readdirSync(root).filter(name => name.endsWith('.yaml'))
const codeOf = (name: string) => name.split('.')[0]!
const read = (name: string) => readFileSync(new URL(name, root), 'utf8')

/** Without what is not served yet: some lints are about policies that are only checked. */
async function check(name: string, text: string): Promise<Diagnostic[]> {
  const { diagnostics } = await load(name, text, {
    env: { PATH: '/usr/bin:/bin' },
    // Only there are programs looked for; there, too, no variable may be unset.
    tier: codeOf(name) === 'GW530' ? 'env' : 'offline',
    runtime: offlineRuntime(),
    readReferenced: () => Buffer.from('text'),
  })
  return diagnostics.filter(d => !d.code.startsWith('GW6'))
}

const inShort = (found: readonly Diagnostic[]) => found.map(d => `${d.range.start.line} ${d.code}`)
const markedLine = (text: string) => text.split('\n').findIndex(line => line.includes('# here')) + 1

describe('a questionable file triggers its lint once, on the marked line', () => {
  test.each(files)('%s', async name => {
    const text = read(name)
    expect(inShort(await check(name, text))).toEqual([`${markedLine(text)} ${codeOf(name)}`])
  })
})

describe('the corrected twin has no finding', () => {
  test.each(files)('ok/%s', async name => {
    expect(inShort(await check(name, read(`ok/${name}`)))).toEqual([])
  })
})

test('every lint has a fixture, and no lint is an error', () => {
  const lints = Object.keys(CODES).filter(code => /^GW5/.test(code) || code === 'GW401')
  expect(lints.filter(code => !files.some(name => codeOf(name) === code))).toEqual([])
  expect(lints.filter(code => CODES[code as keyof typeof CODES].severity === ('error' as string))).toEqual([])
})

test('a file with errors is not linted, since omitted parts would look unused', async () => {
  const text = `${read('GW521.backend.yaml')}- name: broken\n  host: nowhere\n`
  expect(inShort(await check('GW521.yaml', text)).map(each => each.split(' ')[1])).toEqual(['GW106'])
})

test('realistic files have no warnings', async () => {
  const realistic = new URL('../realistic/', root)
  for (const name of readdirSync(realistic)) {
    const found = await check(name, readFileSync(new URL(name, realistic), 'utf8'))
    expect(found.filter(d => d.severity === 'warning').map(d => `${name}:${d.range.start.line} ${d.message}`)).toEqual(
      [],
    )
  }
})
