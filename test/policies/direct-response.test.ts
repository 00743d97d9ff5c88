import { describe, expect, test } from 'vitest'
import type { Reply } from '../../src/http/exchange.ts'
import { directResponse } from '../../src/policies/direct-response.ts'
import { compile, exchange, fields, type Given, hooksOf, run } from './policy-fixture.ts'

async function reply(spec: object, given: Given = {}): Promise<Reply> {
  return (await run(hooksOf(directResponse, spec), exchange(given))) as Reply
}

test('responds with status and body, without a content type', async () => {
  expect(await reply({ status: 404, body: 'Not found!' })).toMatchObject({
    status: 404,
    body: 'Not found!',
    headers: [],
    reason: 'DirectResponse',
  })
})

test.each([
  ['"hello " + request.method', 'hello GET'],
  ['{"a": request.path, "n": 9007199254740993}', '{"a":"/","n":9007199254740993}'],
  ['[1, true, null]', '[1,true,null]'],
  ['b"\\x01\\x02"', '\x01\x02'],
])('the body can be an expression: %s', async (bodyExpression, body) => {
  expect(String((await reply({ status: 200, bodyExpression })).body)).toBe(body)
})

test('a failing body expression is an error, a failing header is omitted', async () => {
  const bodyExpression = 'request.headers["x-none"]'
  expect(await run(hooksOf(directResponse, { status: 200, bodyExpression }), exchange())).toMatch(
    /^500: failed to apply/,
  )
  const headers = { 'x-a': '"1"', 'x-b': 'request.headers["x-none"]', 'x-c': 'request.headers["x-in"]' }
  const given = { headers: ['x-in', 'v'] }
  expect(fields((await reply({ status: 200, headers }, given)).headers)).toEqual(['x-a: 1', 'x-c: v'])
})

test('an expression cannot inject another header', async () => {
  const spec = { status: 200, headers: { 'x-a': 'request.path.replace("_", "\\r\\n")', 'x-b': '"ok"' } }
  expect(fields((await reply(spec, { path: '/a_set-cookie:b' })).headers)).toEqual(['x-b: ok'])
})

test('a body expression that reads the request body requests buffering', () => {
  expect(hooksOf(directResponse, { status: 200, bodyExpression: 'request.body' }).buffersRequest).toBeGreaterThan(0)
  expect(hooksOf(directResponse, { status: 200, bodyExpression: 'request.path' }).buffersRequest).toBeUndefined()
})

describe('conditional', () => {
  const spec = {
    conditional: [
      { condition: 'request.method == "POST"', status: 405 },
      { condition: 'request.headers["x-none"] == "1"', status: 500 },
      { condition: 'request.path == "/a"', status: 200, bodyExpression: 'request.path' },
      { status: 404, body: 'fallback' },
    ],
  }
  test.each([
    [{ method: 'POST', path: '/a' }, 405],
    [{ path: '/a' }, 200],
    [{ path: '/b' }, 404],
  ])('%j gets the first matching entry: %i', async (given, status) => {
    expect((await reply(spec, given)).status).toBe(status)
  })
  test('the request passes when no entry matches', async () => {
    const hooks = hooksOf(directResponse, { conditional: [{ condition: 'false', status: 200 }] })
    expect(await run(hooks, exchange())).toBe('passed')
  })
})

const entry = { condition: 'true', status: 200 }
test.each<[object, string[]]>([
  [{}, ['GW107']],
  [{ status: 199 }, ['GW105 status']],
  [{ status: 600 }, ['GW105 status']],
  [{ status: 200, body: '' }, ['GW110 body']],
  [{ status: 200, body: 'x'.repeat(4097) }, ['GW110 body']],
  [{ status: 200, body: 'a', bodyExpression: '"b"' }, ['GW108 bodyExpression']],
  [{ status: 200, conditional: [entry] }, ['GW108 conditional']],
  [{ status: 200, headers: { 'a b': '"c"' } }, ['GW106 headers.a b']],
  [{ status: 200, headers: { a: 'nope' } }, ['GW302 headers.a']],
  [{ conditional: [] }, ['GW109 conditional']],
  [{ conditional: Array(17).fill(entry) }, ['GW109 conditional']],
  [{ conditional: [{ status: 200 }, entry] }, ['GW111 conditional.0']],
  [{ conditional: [{ condition: 'true' }] }, ['GW103 conditional.0']],
  [{ conditional: [{ condition: '1', status: 200 }] }, ['GW302 conditional.0.condition']],
])('%j is rejected', (bad, findings) => {
  expect(compile(directResponse, bad).findings).toEqual(findings.map(f => expect.stringContaining(f)))
})
