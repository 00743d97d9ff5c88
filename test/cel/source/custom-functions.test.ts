import { expect, test } from 'vitest'
import { load } from '../../../src/config/load.ts'
import { offlineRuntime } from '../../../src/config/offline-runtime.ts'
import { startGateway } from '../../helpers/gateway.ts'

/** A file that answers with the value of `expression` in `x-value`. */
const file = (functions: string, expression = '"unused"') => `config:
  customFunctions: |
${functions.replaceAll(/^/gm, '    ')}
binds:
- port: 8080
  listeners:
  - routes:
    - policies:
        directResponse: {status: 200}
        transformations: {response: {set: {x-value: ${JSON.stringify(expression)}}}}
`

const findings = async (text: string) => {
  const { diagnostics } = await load('a.yaml', text, {
    env: {},
    tier: 'offline',
    runtime: offlineRuntime(),
    readReferenced: () => undefined,
  })
  return diagnostics.map(({ code, range, message }) => `${range.start.line} ${code} ${message}`)
}

const TWICE = 'twice(x) { x + x }'

test.each([
  ['a function', TWICE, 'twice("ab")', 'abab'],
  ['a method', 'this.shout(mark) { this.upperAscii() + mark }', '("a" + "b").shout("!")', 'AB!'],
  ['request variables', 'agent() { request.headers["user-agent"] }', 'agent()', 'node'],
  [
    'remaining arguments',
    'count(first, rest...) { first + string(size(rest)) }',
    'count("a") + count("b", 1, 2)',
    'a0b2',
  ],
  ['functions in any order', `four(x) { twice(twice(x)) }\n// comment\n${TWICE} // end`, 'four("a")', 'aaaa'],
  ['arguments from a loop', TWICE, '[1, 2].map(x, string(twice(x))).join(",")', '2,4'],
  ['calls as arguments', TWICE, 'twice((((("a")))).upperAscii() + twice("b"))', 'AbbAbb'],
  ['names that shadow those of the caller', 'f(x) { ["b"].map(x, x)[0] + x }', 'f("a")', 'ba'],
  ['a parameter named like a variable', 'f(request) { request }', 'f("a")', 'a'],
  ['braces in text and maps', 'f(x) { {"}": x}["}"] }', 'f("a")', 'a'],
  ['a failure handled by the caller', 'f(x) { jwt[x] }', 'default(f("sub"), "nobody")', 'nobody'],
])('serves %s', async (_, functions, expression, value) => {
  expect(await findings(file(functions, expression))).toEqual([])
  await using gateway = await startGateway(file(functions, expression))
  const response = await fetch(gateway.url(8080), { headers: { 'user-agent': 'node' } })
  expect(response.headers.get('x-value')).toBe(value)
})

test.each([
  ['recursion', 'f(x) { f(x) }', 'f("a")', '3 GW302 CEL: `f` calls itself'],
  ['recursion through another function', 'f(x) { g(x) }\ng(x) { f(x) }', 'g("a")', '3 GW302 CEL: `f` calls itself'],
  ['a second definition', `${TWICE}\n${TWICE}`, 'twice("a")', '4 GW301 CEL: `twice` is defined twice'],
  ['the name of a built-in function', 'size(x) { "a" }', 'size("a")', '3 GW302 CEL: `size` is a built-in function'],
  ['a body with a syntax error', 'f(x) { x + }', 'f("a")', '3 GW301 CEL: unexpected token: the end'],
  ['an unknown function in a body', 'f(x) { g(x) }', 'f("a")', '3 GW302 CEL: unknown function `g`'],
  ['an unknown variable in a function that is never called', 'f() { y }', '"a"', '3 GW302 CEL: unknown variable `y`'],
  ['an unclosed brace', 'f(x) { x', 'f("a")', '3 GW301 CEL: the braces of `f` are not closed'],
  ['a missing parenthesis', 'f x { x }', 'f("a")', '3 GW301 CEL: `(` is expected here'],
  ['duplicate parameters', 'f(x, x) { x }', 'f("a", "b")', '3 GW301 CEL: `f` has two parameters `x`'],
  [
    'a parameter after the rest parameter',
    'f(x..., y) { y }',
    'f("a")',
    '3 GW301 CEL: only the last parameter can take the remaining arguments',
  ],
  ['too many arguments', TWICE, 'twice("a", "b")', '9 GW302 CEL: `twice` takes 1 argument, not 2'],
  ['a function called as a method', TWICE, '"a".twice()', '9 GW302 CEL: `twice` is a function, not a method'],
  ['a variable unavailable to the caller', 'f() { mcp.tool.name }', 'f()', '9 GW302 CEL: `mcp` is not available here'],
])('reports %s once', async (_, functions, expression, finding) => {
  expect(await findings(file(functions, expression))).toEqual([
    finding.replace(/^9/, String(9 + functions.split('\n').length)),
  ])
})

test('bounds functions that multiply each other', async () => {
  const chain = Array.from({ length: 40 }, (_, i) => `f${i + 1}(x) { f${i}(x) + f${i}(x) }`)
  const found = await findings(file(['f0(x) { x + x }', ...chain].join('\n'), 'f40("a")'))
  expect(found).toHaveLength(1)
  expect(found[0]).toContain('GW303')
})
