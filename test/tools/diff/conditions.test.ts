import { expect, test } from 'vitest'
import { bothFacts, conditionsIn } from '../../../src/tools/diff/witness/conditions.ts'

test.each<[string, object, object]>([
  ['jwt.role == "contractor"', { claims: { role: 'contractor' } }, { claims: { role: 'not-contractor' } }],
  ["'a' == jwt.team", { claims: { team: 'a' } }, { claims: { team: 'not-a' } }],
  ['jwt.role != "x"', { claims: { role: 'not-x' } }, { claims: { role: 'x' } }],
  ['jwt.age >= 18', { claims: { age: 18 } }, { claims: { age: 17 } }],
  ['jwt.age < 3', { claims: { age: 2 } }, { claims: { age: 3 } }],
  ['jwt.verified == true', { claims: { verified: true } }, { claims: { verified: false } }],
  ['jwt.org.name == "a"', { claims: { org: { name: 'a' } } }, { claims: { org: { name: 'not-a' } } }],
  ['jwt["x-y"] == "a"', { claims: { 'x-y': 'a' } }, { claims: { 'x-y': 'not-a' } }],
  ['"admin" in jwt.roles', { claims: { roles: ['admin'] } }, { claims: { roles: ['not-admin'] } }],
  ['jwt.roles.exists(r, r == "a")', { claims: { roles: ['a'] } }, { claims: { roles: ['not-a'] } }],
  ['jwt.role in ["a"]', { claims: { role: 'a' } }, { claims: { role: 'not-a' } }],
  ['jwt.email.endsWith("@a.example")', { claims: { email: 'x@a.example' } }, { claims: { email: 'other' } }],
  ['has(jwt.team)', { claims: { team: 'x' } }, {}],
  ['apiKey.team == "a"', { keyMetadata: { team: 'a' } }, { keyMetadata: { team: 'not-a' } }],
  ['request.headers["x-a"] == "1"', { headers: { 'x-a': '1' } }, { headers: { 'x-a': 'not-1' } }],
  ['request.method == "PUT"', { method: 'PUT' }, { method: 'GET' }],
  ['request.path.startsWith("/v1")', { path: '/v1x' }, {}],
  ['source.address == "10.0.0.1"', { source: '10.0.0.1' }, { source: '192.0.2.1' }],
  ['request.headers["x-user"] + "!"', { headers: { 'x-user': 'x' } }, {}],
  ['mcp.tool.name == "now"', { tool: 'now' }, { tool: 'not-now' }],
])('%s', (expression, holds, fails) => {
  expect(conditionsIn(expression)).toEqual([{ holds, fails }])
})

test('each list member is a possible value', () => {
  const values = (expression: string) => conditionsIn(expression).map(({ holds }) => holds)
  expect(values('jwt.role in ["a]", "b"] && jwt.n in [1, 2]')).toEqual([
    { claims: { role: 'a]' } },
    { claims: { role: 'b' } },
    { claims: { n: 1 } },
    { claims: { n: 2 } },
  ])
  expect(values("mcp.tool.name in [\n  'now',\n  'later'\n]")).toEqual([{ tool: 'now' }, { tool: 'later' }])
})

test('skips values that HTTP cannot transport', () => {
  expect(conditionsIn('request.headers["a b"] == "1" || request.headers["x"] == "→"')).toEqual([])
})

test('skips values the client does not control', () => {
  expect(conditionsIn('response.code == 200 && backend.name == "a" && size(destination.port) > 2')).toEqual([])
})

test('merges facts', () => {
  expect(bothFacts({ claims: { a: 1, b: 1 }, method: 'GET' }, { claims: { b: 2 }, path: '/x' })).toEqual({
    claims: { a: 1, b: 2 },
    method: 'GET',
    path: '/x',
  })
})
