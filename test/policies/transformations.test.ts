import { describe, expect, test } from 'vitest'
import { transformations } from '../../src/policies/transformations.ts'
import { compile, exchange, fields, type Given, hooksOf, respond, run } from './policy-fixture.ts'

async function transform(request: object, given: Given = {}) {
  const x = exchange(given)
  expect(await run(hooksOf(transformations, { request }), x)).toBe('passed')
  return x
}
const headersOf = (x: { request: { headers: { raw: readonly string[] } } }) => fields(x.request.headers.raw)

describe('request headers', () => {
  test('are added, then set, then removed', async () => {
    const x = await transform(
      { add: { 'x-a': '"2"' }, set: { 'x-b': 'request.method', 'x-c': '"1"' }, remove: ['X-C', 'x-d'] },
      { headers: ['x-a', '1', 'x-b', 'old', 'X-D', '1'] },
    )
    expect(headersOf(x)).toEqual(['x-a: 1', 'x-b: GET', 'x-a: 2'])
  })

  test('a header is removed when its expression fails, so that clients cannot forge it', async () => {
    const given = { headers: ['x-user', 'root', 'x-tag', 'a', 'x-keep', '1'] }
    const x = await transform({ set: { 'x-user': 'jwt.sub' }, add: { 'x-tag': 'null' } }, given)
    expect(headersOf(x)).toEqual(['x-keep: 1'])
  })

  test('an expression cannot inject another header', async () => {
    const x = await transform({ set: { 'x-a': 'request.path.replace("_", "\\r\\n")' } }, { path: '/a_x-evil:1' })
    expect(headersOf(x)).toEqual([])
  })

  test('non-ASCII text is encoded as UTF-8 only once', async () => {
    const wire = Buffer.from('Zoë').toString('latin1')
    const x = await transform(
      { set: { 'x-a': '"Zoë"', 'x-b': 'request.headers["x-in"]' } },
      { headers: ['x-in', wire] },
    )
    expect([x.request.headers.get('x-a'), x.request.headers.get('x-b')]).toEqual([wire, wire])
  })

  test.each([
    [
      '{"x-new": "1", "x-n": 2, "x-list": ["a", "b"], ":path": "/evil", "bad name": "1", "x-cr": "a\\r\\nb: c"}',
      ['x-new: 1', 'x-n: 2', 'x-list: a', 'x-list: b', 'x-set: 1'],
    ],
    ['request.headers["x-none"]', ['x-old: 1', 'x-set: 1']],
  ])('replace %s', async (replace, expected) => {
    const x = await transform({ replace, set: { 'x-set': '"1"' } }, { headers: ['x-old', '1'] })
    expect(headersOf(x)).toEqual(expected)
    expect(x.request.path).toBe('/')
  })

  test('metadata is computed first and available to the headers', async () => {
    const x = await transform({ metadata: { team: '"blue"', none: 'jwt.sub' }, set: { 'x-team': 'metadata.team' } })
    expect(x.metadata).toEqual({ team: 'blue' })
    expect(headersOf(x)).toEqual(['x-team: blue'])
  })
})

describe('pseudo-headers', () => {
  test('change the request line', async () => {
    const set = {
      ':method': '"PUT"',
      ':path': '"/new?a=" + request.method',
      ':scheme': '"https"',
      ':authority': '"b.com"',
    }
    const x = await transform({ set })
    const { method, path, scheme, authority } = x.request
    expect([method, path, scheme, authority]).toEqual(['PUT', '/new?a=PUT', 'https', 'b.com'])
    expect([x.authorityFixed, x.received.path]).toEqual([true, '/'])
  })
  test('`host` sets the authority', async () => {
    const x = await transform({ set: { Host: '"b.com:81"' } }, { headers: ['host', 'a.com'] })
    expect([x.request.authority, headersOf(x)]).toEqual(['b.com:81', ['host: a.com']])
  })
  test.each([
    { ':path': 'jwt.sub' },
    { ':path': '"no-slash"' },
    { ':path': '"/a b"' },
    { ':path': '"/a\\r\\nx: y"' },
    { ':method': '"GET /x"' },
    { ':scheme': '"ftp"' },
    { ':authority': '"a.com/path"' },
    { host: '"evil@a.com"' },
  ])('%j has no effect', async set => {
    const { request, received } = await transform({ set })
    expect([request.path, request.method, request.scheme, request.authority]).toEqual([
      received.path,
      received.method,
      received.scheme,
      received.authority,
    ])
  })
})

describe('request body', () => {
  const given = { body: '{"a":1}', headers: ['Content-Length', '7', 'Content-Encoding', 'gzip', 'x-a', '1'] }
  test.each([
    ['"text"', 'text'],
    ['{"b": json(request.body).a}', '{"b":1}'],
    ['jwt.sub', ''],
  ])('%s becomes %j', async (body, expected) => {
    const x = await transform({ body }, given)
    expect(x.body.bytes?.toString()).toBe(expected)
    expect(headersOf(x)).toEqual(['x-a: 1'])
  })
  test('is buffered only if an expression reads it', () => {
    expect(hooksOf(transformations, { request: { body: 'json(request.body)' } }).buffersRequest).toBeGreaterThan(0)
    expect(hooksOf(transformations, { request: { body: '"x"' } }).buffersRequest).toBeUndefined()
  })
})

describe('response', () => {
  test('headers and status can change', async () => {
    const x = exchange()
    const set = {
      'x-code': 'string(response.code)',
      ':status': '418',
      'x-number': '1',
      'x-gone': 'response.headers["x-none"]',
    }
    const body = await respond(
      hooksOf(transformations, { response: { set } }),
      x,
      503,
      ['x-gone', '1', 'x-number', '2'],
      'sorry',
    )
    expect([x.response!.status, fields(x.response!.headers.raw), body]).toEqual([418, ['x-code: 503'], 'sorry'])
  })
  test.each(['99', '600', '"abc"', '"2000"', '101'])('%s is not a valid status', async status => {
    const x = exchange()
    await respond(hooksOf(transformations, { response: { set: { ':status': status } } }), x, 200, [])
    expect(x.response!.status).toBe(200)
  })
  test.each([
    ['"code " + string(response.code)', 'code 200'],
    ['string(response.body) + "!"', 'hello!'],
    ['{"was": string(response.body)}', '{"was":"hello"}'],
    ['response.headers["x-none"]', ''],
  ])('body %s becomes %j', async (body, expected) => {
    const x = exchange()
    const out = await respond(
      hooksOf(transformations, { response: { body } }),
      x,
      200,
      ['content-length', '5', 'x-a', '1'],
      'hello',
    )
    expect([out, fields(x.response!.headers.raw)]).toEqual([expected, ['x-a: 1']])
  })
  test('a header that reads the body requests buffering', () => {
    const hooks = hooksOf(transformations, { response: { set: { 'x-a': 'string(response.body)' } } })
    expect(hooks.buffersResponse).toBeDefined()
    expect(hooksOf(transformations, { response: { body: 'response.body' } }).buffersResponse).toBeUndefined()
  })
})

test('conditional: the request selects the entry that applies to the response', async () => {
  const spec = {
    conditional: [
      {
        condition: 'request.method == "POST"',
        request: { set: { 'x-c': '"post"' } },
        response: { set: { 'x-r': '"post"' } },
      },
      { response: { body: '"other"' } },
    ],
  }
  const hooks = hooksOf(transformations, spec)
  const post = exchange({ method: 'POST' })
  await run(hooks, post)
  post.request.method = 'GET'
  expect(await respond(hooks, post, 200, [], 'body')).toBe('body')
  expect([headersOf(post), fields(post.response!.headers.raw)]).toEqual([['x-c: post'], ['x-r: post']])
  const get = exchange()
  await run(hooks, get)
  expect(await respond(hooks, get, 200, [], 'body')).toBe('other')
  expect(await respond(hooks, exchange(), 200, [], 'refused before')).toBe('refused before')
})

test.each([
  [{ request: { set: { 'a b': '"1"' } } }, 'GW106 request.set.a b'],
  [{ request: { set: { ':status': '"1"' } } }, 'GW106 request.set.:status'],
  [{ response: { set: { ':path': '"1"' } } }, 'GW106 response.set.:path'],
  [{ request: { set: { 'x-n': '1' } } }, 'GW302 request.set.x-n'],
  [{ request: { set: { 'x-n': 'response.code' } } }, 'GW302 request.set.x-n'],
  [{ request: { remove: [':path'] } }, 'GW106 request.remove.0'],
  [{ request: {}, conditional: [{}] }, 'GW108 conditional'],
  [{ conditional: [{}, {}] }, 'GW111 conditional.0'],
])('%j is rejected', (bad, finding) => {
  expect(compile(transformations, bad).findings).toEqual([expect.stringContaining(finding)])
})
