import { describe, expect, test } from 'vitest'
import { createCelCompiler } from '../../src/cel/compiler.ts'
import { pathNormalizer, SAFE_PATHS } from '../../src/http/path-normalization.ts'
import { authorization } from '../../src/policies/authorization.ts'
import { decode, INVALID } from '../../src/schema/decode.ts'
import { serving } from '../helpers/serving.ts'
import { compile, createWorld, exchange, hooksOf, run } from './policy-fixture.ts'

const DENIED = '403: authorization failed'
const T = 'request.path == "/"'
const F = 'request.path == "/other"'
const FAILS = 'request.headers["x-none"] == "1"'

test.each<[unknown[], string]>([
  [[], 'passed'],
  [[T], 'passed'],
  [[F], DENIED],
  [[F, { allow: T }], 'passed'],
  [[FAILS], DENIED],
  [[{ deny: T }], DENIED],
  [[{ deny: F }], 'passed'],
  [[{ deny: FAILS }], 'passed'],
  [[{ deny: T }, T], DENIED],
  [[{ deny: F }, F], DENIED],
  [[{ require: T }], 'passed'],
  [[{ require: F }], DENIED],
  [[{ require: FAILS }], DENIED],
  [[{ require: T }, { require: F }], DENIED],
  [[{ require: T }, F], DENIED],
  [[{ require: F }, T], DENIED],
  [[{ require: T }, T], 'passed'],
])('rules %j: %s', async (rules, expected) => {
  expect(await run(hooksOf(authorization, { rules }), exchange())).toBe(expected)
})

describe('claims', () => {
  test.each([
    [{ sub: 'alice', groups: ['admins'] }, 'passed'],
    [{ sub: 'alice', groups: [] }, DENIED],
    [undefined, DENIED],
  ])('%j: %s', async (jwt, expected) => {
    const x = exchange()
    if (jwt) x.auth.jwt = jwt
    expect(await run(hooksOf(authorization, { rules: ['"admins" in jwt.groups'] }), x)).toBe(expected)
  })
})

test('an allow at a narrow level never overrides a deny at a wide one', async () => {
  const cel = createCelCompiler()
  const read = (rules: unknown[]) => {
    const ctx = {
      report: () => {},
      paths: new WeakMap(),
      cel,
      patterns: undefined,
      missing: new Set<'cel' | 'patterns'>(),
    }
    const spec = decode(authorization.schema, { rules }, [], ctx)
    if (spec === INVALID) throw new Error('invalid')
    return spec
  }
  const merged = authorization.merge!(read([{ deny: T }]), read([T]))
  const { runtime } = createWorld()
  const origin = { file: 'a', line: 1, col: 1 }
  const hooks = authorization.compile(merged, {
    identity: 'a',
    origin,
    runtime,
    limits: { maxBuffer: 2_097_152, paths: pathNormalizer(SAFE_PATHS) },
    hides: () => {},
    env: {},
    report: () => {},
    originOf: () => origin,
    readFile: () => undefined,
    state: (name, make) => runtime.state.get(name, make),
    serving,
    memory: (name, bytes) => runtime.state.memory(name, bytes),
  })
  expect(await run(hooks, exchange())).toBe(DENIED)
})

test('a rule that reads the request body requests buffering', () => {
  expect(hooksOf(authorization, { rules: [{ deny: 'request.body.size() > 3' }] }).buffersRequest).toBeGreaterThan(0)
  expect(hooksOf(authorization, { rules: [T] }).buffersRequest).toBeUndefined()
})

test.each([
  [{}, 'GW103'],
  [{ rules: [{}] }, 'GW107 rules.0'],
  [{ rules: [{ allow: T, deny: T }] }, 'GW108 rules.0.deny'],
  [{ rules: ['request.path ='] }, 'GW301 rules.0'],
  [{ rules: ['request.path'] }, 'GW302 rules.0'],
  [{ rules: ['response.code == 200'] }, 'GW302 rules.0'],
  [{ rules: 'true' }, 'GW101 rules'],
])('%j is rejected', (bad, finding) => {
  expect(compile(authorization, bad).findings).toEqual([expect.stringContaining(finding)])
})
