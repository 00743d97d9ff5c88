import { readFileSync } from 'node:fs'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { describe, expect, test } from 'vitest'
import { BASES, type Base, withValue } from './bases.ts'
import { CHOICES, LIMITS, REQUIRED } from './spec-table.ts'

const FILES = {
  ProxyBackend: 'proxy-backend',
  ProxyModel: 'proxy-model',
  ProxyPolicy: 'proxy-policy',
  ProxyParameters: 'proxy-parameters',
} as const
const compiled = new Map<string, ValidateFunction>()

function accepts(document: object): boolean {
  const { kind } = document as { kind: keyof typeof FILES }
  const known = compiled.get(kind)
  const path = new URL(`../../../schemas/${FILES[kind]}.schema.json`, import.meta.url)
  const validate =
    known ?? new Ajv2020({ strict: false, validateFormats: false }).compile(JSON.parse(readFileSync(path, 'utf8')))
  compiled.set(kind, validate)
  return validate(document) as boolean
}

describe('an editor with the published schemas', () => {
  test.each(LIMITS.map(([base, path, rule, ok]) => ({ base, path, rule, ok })))(
    'accepts $base $path: $rule',
    ({ base, path, ok }) => {
      expect(accepts(withValue(BASES[base], path, ok))).toBe(true)
    },
  )

  test.each(CHOICES.filter(([, , , , at]) => at === undefined).map(([base, path, , value]) => ({ base, path, value })))(
    'accepts $base $path',
    ({ base, path, value }) => {
      expect(accepts(withValue(BASES[base], path, value))).toBe(true)
    },
  )

  /** Required only beside certain values of other fields, which a schema of shapes does not say. */
  const BY_VALUE = /static\.(host|port)$|provider\.(host|port)$|backendRef\.port$|privateKeyJwt$/
  const plain = REQUIRED.filter(([, path]) => !BY_VALUE.test(path) || path.includes('targets'))
  test.each(plain as [Base, string][])('reports missing %s %s', (base, path) => {
    expect(accepts(withValue(BASES[base], path, undefined))).toBe(false)
  })
})
