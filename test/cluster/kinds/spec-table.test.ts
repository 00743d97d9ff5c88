import { describe, expect, test } from 'vitest'
import { createCelCompiler } from '../../../src/cel/compiler.ts'
import { createPatternCompiler } from '../../../src/cel/pattern.ts'
import { checkResources } from '../../../src/cluster/resources/check.ts'
import type { Resource } from '../../../src/cluster/resources/resource.ts'
import { parseSource } from '../../../src/diagnostics/source.ts'
import { decode } from '../../../src/schema/decode.ts'
import { BASES, type Base, valueAt, withValue } from './bases.ts'
import { CHOICES, DEFAULTS, LIMITS, REQUIRED } from './spec-table.ts'

const cel = createCelCompiler()
const patterns = createPatternCompiler()

async function check(document: object) {
  const source = parseSource('x.yaml', JSON.stringify(document))
  const { diagnostics, resources } = await checkResources([{ file: 'x.yaml', source }], { partial: true, cel })
  const mistakes = diagnostics.filter(({ severity }) => severity !== 'info')
  return {
    found: mistakes.map(({ path }) => path),
    text: mistakes.map(({ message }) => message),
    value: resources[0] && decoded(resources[0]),
  }
}

/** With its defaults. */
function decoded({ kind, raw }: Resource) {
  return decode(kind.schema, raw, [], { report: () => {}, cel, patterns, missing: new Set(), dropsNulls: true })
}

test.each(Object.keys(BASES) as Base[])('the base resource %s is valid', async base => {
  expect(await check(BASES[base])).toMatchObject({ text: [] })
})

describe('limits', () => {
  const rows = LIMITS.map(([base, path, rule, ok, bad, at = path]) => ({ base, path, rule, ok, bad, at }))
  test.each(rows)('$base $path: $rule', async ({ base, path, ok, bad, at }) => {
    expect((await check(withValue(BASES[base], path, ok))).text).toEqual([])
    expect((await check(withValue(BASES[base], path, bad))).found).toEqual([at])
  })
})

describe('required fields', () => {
  test.each(REQUIRED)('%s %s', async (base, path) => {
    const { found } = await check(withValue(BASES[base], path, undefined))
    expect(found).toEqual([path])
  })
})

describe('choices', () => {
  const rows = CHOICES.map(([base, path, rule, value, at]) => ({ base, path, rule, value, at }))
  test.each(rows)('$base $path: $rule', async ({ base, path, value, at }) => {
    expect((await check(withValue(BASES[base], path, value))).found).toEqual(at === undefined ? [] : [at])
  })
})

test.each(DEFAULTS)('%s %s defaults to %j', async (base, path, value) => {
  expect(valueAt((await check(BASES[base])).value, path)).toEqual(value)
})

test('the table covers more than 400 rules', () => {
  expect(LIMITS.length + REQUIRED.length + CHOICES.length + DEFAULTS.length).toBeGreaterThan(400)
})
