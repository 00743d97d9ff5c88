import type { IncomingMessage, ServerResponse } from 'node:http'
import { expect, test } from 'vitest'
import { ManualClock } from '../../engine/manual-clock.ts'
import { startGateway } from '../../helpers/gateway.ts'
import { echo, sendRepeated, startUpstream } from '../../helpers/upstream.ts'

interface Asked {
  readonly method: string
  readonly url: string
  /** Values by name. */
  readonly headers: NodeJS.Dict<string[]>
  readonly body: string
}

type Answer = (req: IncomingMessage, res: ServerResponse) => void
const allow: Answer = (_req, res) => res.end()

async function start(answer: Answer, { http = '', spec = '', more = '' } = {}, options = {}) {
  const asked: Asked[] = []
  const service = await startUpstream((req, res) => {
    const chunks: Buffer[] = []
    req.on('data', chunk => chunks.push(chunk))
    req.on('end', () => {
      const { method = '', url = '', headersDistinct } = req
      asked.push({ method, url, headers: headersDistinct, body: Buffer.concat(chunks).toString() })
      answer(req, res)
    })
  })
  const backend = await startUpstream(echo)
  const gateway = await startGateway(
    `
binds: [{port: 8080, listeners: [{routes: [{backends: [{host: '${backend.host}'}], policies: {
  extAuthz: {host: '${service.host}', protocol: {http: {${http}}}${spec && `, ${spec}`}}${more && `, ${more}`}}}]}]}]`,
    options,
  )
  const url = gateway.url(8080)
  return {
    asked,
    service,
    gateway,
    url,
    fetch: (path = '/', init: RequestInit = {}) => fetch(`${url}${path}`, { redirect: 'manual', ...init }),
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]()
      await service[Symbol.asyncDispose]()
      await backend[Symbol.asyncDispose]()
    },
  }
}

/** Values of a field that the backend got. */
async function echoed(response: Response) {
  const { headers, body } = (await response.json()) as { headers: string[]; body: string }
  return {
    body,
    all: (name: string) => headers.filter((_, i) => i % 2 === 1 && headers[i - 1]!.toLowerCase() === name),
  }
}

const POST = (body: string, headers: Record<string, string> = {}) => ({ method: 'POST', body, headers })

test('the service gets method, path and Authorization, and nothing else', async () => {
  await using at = await start(allow)
  const headers = { authorization: 'Bearer t', cookie: 'a=1', 'x-user': 'root' }
  expect((await at.fetch('/a?b=c', POST('secret', headers))).status).toBe(200)
  const [asked] = at.asked
  expect(asked).toMatchObject({ method: 'POST', url: '/a?b=c', body: '' })
  expect(Object.keys(asked!.headers).sort()).toEqual(
    ['authorization', 'connection', 'content-length', 'host', 'user-agent'].filter(name => asked!.headers[name]),
  )
  expect(asked!.headers.authorization).toEqual(['Bearer t'])
  expect(asked!.headers.cookie).toBeUndefined()
})

test('headers, path and body come from the config, never from the client’s headers', async () => {
  await using at = await start(allow, {
    http: `path: '"/check/" + request.method', body: '{"path": request.path}',
      addRequestHeaders: {X-Role: 'request.headers["x-given"]', x-fixed: '"yes"'}`,
    spec: 'includeRequestHeaders: [x-role, X-Fixed, x-two, content-length, transfer-encoding, host, user-agent]',
  })
  const headers = { 'x-role': 'admin', 'x-fixed': 'no', 'user-agent': 'me', 'x-two': ['a', 'b'] }
  await sendRepeated(`${at.url}/p`, headers, 'PUT', 'long body')
  expect(at.asked[0]).toMatchObject({ method: 'PUT', url: '/check/PUT', body: '{"path":"/p"}' })
  const { headers: seen } = at.asked[0]!
  expect(seen['x-role']).toBeUndefined()
  expect(seen['x-fixed']).toEqual(['yes'])
  expect(seen['x-two']).toEqual(['a, b'])
  expect(seen['user-agent']).toEqual(['me'])
  expect(seen['content-length']).toEqual(['13'])
  expect(seen.host).toEqual([at.service.host])
})

test('response headers replace those of the client, even when absent', async () => {
  await using at = await start(
    (_req, res) => {
      res.setHeader('x-user', ['ann', 'ben'])
      res.setHeader('x-team', 'red')
      res.end()
    },
    {
      http: `includeResponseHeaders: [X-User, x-admin, content-length], metadata: {team: 'response.headers["x-team"]', status: response.code, none: 'response.headers["x-no"]'}`,
      more: `transformations: {request: {set: {x-team: extauthz.team, x-status: string(extauthz.status), x-none: 'has(extauthz.none) ? "some" : "none"'}}}`,
    },
  )
  const response = await at.fetch('/', POST('body', { 'x-user': 'root', 'x-admin': 'true' }))
  const got = await echoed(response)
  expect(['x-user', 'x-admin', 'x-team', 'x-status', 'x-none'].map(got.all)).toEqual([
    ['ann', 'ben'],
    [],
    ['red'],
    ['200'],
    ['none'],
  ])
  expect(got.body).toBe('body')
})

test.each([
  [401, 401],
  [403, 403],
  [302, 302],
  [500, 500],
  [503, 503],
  [201, 403],
  [204, 403],
  [206, 403],
])('a response of %i denies the request with %i, even with failureMode allow', async (status, expected) => {
  await using at = await start(
    (_req, res) => {
      res.writeHead(status, { 'x-why': 'because', location: '/sign-in', connection: 'x-hop, close', 'x-hop': '1' })
      res.end(status === 204 ? undefined : 'no')
    },
    { spec: 'failureMode: allow' },
  )
  const response = await at.fetch()
  expect(response.status).toBe(expected)
  expect(response.headers.has('x-hop')).toBe(false)
  if (status >= 300) {
    expect(response.headers.get('x-why')).toBe('because')
    expect(await response.text()).toBe('no')
  } else expect(await response.text()).toBe('external authorization failed')
})

test('a denied client is redirected to sign in when configured', async () => {
  let status = 401
  await using at = await start(
    (_req, res) => {
      res.statusCode = status
      res.end('no')
    },
    { http: `redirect: '"/sign-in?to=" + url.encode(request.path)'` },
  )
  const response = await at.fetch('/a')
  expect([response.status, response.headers.get('location'), await response.text()]).toEqual([
    302,
    '/sign-in?to=%2Fa',
    '',
  ])
  status = 429
  expect((await at.fetch('/a')).status).toBe(429)
})

test.each([
  ['{maxRequestBytes: 5}', 'short', 200, 'short', 'false'],
  ['{maxRequestBytes: 5, allowPartialMessage: true}', 'longer', 200, 'longe', 'true'],
  ['{maxRequestBytes: 5}', 'longer', 413, undefined, undefined],
])('body with %s: %s', async (rules, body, status, sent, partial) => {
  await using at = await start(allow, {
    spec: `includeRequestBody: ${rules}, failureMode: allow, includeRequestHeaders: [x-envoy-auth-partial-body]`,
  })
  const response = await at.fetch('/', POST(body, { 'x-envoy-auth-partial-body': 'whatever' }))
  expect(response.status).toBe(status)
  expect(at.asked[0]?.body).toBe(sent)
  expect(at.asked[0]?.headers['x-envoy-auth-partial-body']).toEqual(partial && [partial])
  if (status === 200) expect((await echoed(response)).body).toBe(body)
})

test.each([
  ['a path', `path: 'json(request.body).path'`],
  ['a body', `body: 'json(request.body)'`],
  ['a header field', `addRequestHeaders: {x-id: 'json(request.body).id'}`],
  ['an invalid path', `path: '"//[" + request.headers["x-p"] + "\\\\"'`],
])('%s failing on client input denies the request, even with failureMode allow', async (_, http) => {
  await using at = await start(allow, { http, spec: 'failureMode: allow' })
  expect((await at.fetch('/', POST('{'))).status).toBe(403)
  expect(at.asked).toEqual([])
})

test.each([
  ['closes the connection', (_req: IncomingMessage, res: ServerResponse) => res.destroy(), 200],
  [
    'breaks off within a denial',
    (_req: IncomingMessage, res: ServerResponse) => {
      res.writeHead(403, { 'content-length': '100' })
      res.write('no', () => res.destroy())
    },
    403,
  ],
  [
    'sends an oversized denial',
    (_req: IncomingMessage, res: ServerResponse) => {
      res.writeHead(403)
      res.end(Buffer.alloc(1_100_000))
    },
    403,
  ],
  [
    'sends an oversized approval',
    (_req: IncomingMessage, res: ServerResponse) => {
      res.end(Buffer.alloc(1_100_000))
    },
    403,
  ],
])('a service that %s, with failureMode allow', async (_, answer, status) => {
  await using at = await start(answer, { spec: 'failureMode: allow' })
  expect((await at.fetch()).status).toBe(status)
})

test('a denial that never finishes still denies after the timeout', async () => {
  const clock = new ManualClock()
  await using at = await start(
    (_req, res) => {
      res.writeHead(403)
      res.write('n')
    },
    { spec: 'failureMode: allow' },
    { clock },
  )
  const watch = at.gateway.trace.watch({ requests: 1 })
  if (watch === undefined || 'problem' in watch) throw new Error('nobody watches')
  const response = at.fetch()
  await expect.poll(() => watch.next()?.message.type, { interval: 1 }).toBe('callEnd')
  watch.close()
  clock.advance(2000)
  expect((await response).status).toBe(403)
})

const KEY = `key: ['request.headers["authorization"]', request.path]`

test('decisions are cached by key for their TTL, including all changes they make', async () => {
  const clock = new ManualClock()
  let count = 0
  await using at = await start(
    (req, res) => {
      count++
      const user = req.headers.authorization
      res.writeHead(user === 'bad' ? 403 : 200, { 'x-user': `${user}-${count}` })
      res.end(user === 'bad' ? 'no' : '')
    },
    {
      http: `includeResponseHeaders: [x-user], metadata: {user: 'response.headers["x-user"]'}`,
      spec: `cache: {${KEY}, ttl: 5m}`,
      more: `transformations: {request: {set: {x-meta: extauthz.user}}}`,
    },
    { clock },
  )
  const seen = async (authorization: string, path = '/') => {
    const response = await at.fetch(path, { headers: { authorization, 'x-user': 'root' } })
    if (response.status !== 200) return `${response.status} ${await response.text()} ${response.headers.get('x-user')}`
    const { all } = await echoed(response)
    return [...all('x-user'), ...all('x-meta')].join()
  }
  expect(await seen('ann')).toBe('ann-1,ann-1')
  expect(await seen('ann')).toBe('ann-1,ann-1')
  expect(await seen('ann', '/b')).toBe('ann-2,ann-2')
  expect(await seen('ben')).toBe('ben-3,ben-3')
  expect(await seen('bad')).toBe('403 no bad-4')
  expect(await seen('bad')).toBe('403 no bad-4')
  clock.advance(5 * 60_000)
  expect(await seen('ann')).toBe('ann-5,ann-5')
})

test.each([
  [
    'parts that would run together',
    `['request.headers["a"]', 'request.headers["b"]']`,
    { a: 'x","y', b: 'z' },
    { a: 'x', b: 'y","z' },
  ],
  ['a list and its joined text', `['request.headers["a"]']`, { a: ['x', 'y'] }, { a: 'x, y' }],
  ['a number and its text', `['request.headers["a"] == "1" ? dyn(1) : dyn("1")']`, { a: '1' }, { a: '2' }],
  ['bytes and their text', `['request.headers["a"] == "1" ? dyn(b"x") : dyn("x")']`, { a: '1' }, { a: '2' }],
  ['failing parts', `['request.headers["a"]']`, {}, {}],
])('%s do not share a cache key', async (_, key, first, second) => {
  await using at = await start(allow, { spec: `cache: {key: ${key}, ttl: 5m}` })
  await sendRepeated(at.url, first)
  await sendRepeated(at.url, second)
  expect(at.asked.length).toBe(2)
})

test.each([
  ['a duration', `'duration("5m")'`, 1],
  ['a duration from the response', `'duration(response.headers["x-ttl"])'`, 1],
  ['a future timestamp', `'timestamp("2999-01-01T00:00:00Z")'`, 1],
  ['a past timestamp', `'timestamp("2001-01-01T00:00:00Z")'`, 2],
  ['future epoch seconds', `'32472144000'`, 1],
  ['past epoch seconds', `'300'`, 2],
  ['a missing duration', `'duration(response.headers["x-no"])'`, 2],
])('cached for %s', async (_, ttl, calls) => {
  await using at = await start(
    (_req, res) => {
      res.setHeader('x-ttl', '1h')
      res.end()
    },
    { spec: `cache: {key: ['"all"'], ttl: ${ttl}}` },
  )
  await at.fetch()
  await at.fetch()
  expect(at.asked.length).toBe(calls)
})

test('failed checks are not cached, and the least recently used entry is evicted first', async () => {
  await using at = await start(
    (req, res) => {
      res.statusCode = req.url === '/500' ? 500 : 200
      res.end()
    },
    { spec: `cache: {key: [request.path], ttl: 5m, maxEntries: 2}` },
  )
  for (const path of ['/500', '/500', '/a', '/b', '/a', '/c', '/a', '/b']) await at.fetch(path)
  expect(at.asked.map(({ url }) => url)).toEqual(['/500', '/500', '/a', '/b', '/c', '/b'])
})

test('an oversized body is rejected despite a cached decision', async () => {
  await using at = await start(allow, {
    spec: `includeRequestBody: {maxRequestBytes: 3}, cache: {key: ['"all"'], ttl: 5m}`,
  })
  expect((await at.fetch('/', POST('abc'))).status).toBe(200)
  expect((await at.fetch('/', POST('abcd'))).status).toBe(413)
})

test('a cached denial redirects each client based on its own request', async () => {
  await using at = await start((_req, res) => res.writeHead(401).end(), {
    http: `redirect: '"/sign-in?to=" + url.encode(request.path)'`,
    spec: `cache: {key: ['"nobody"'], ttl: 5m}`,
  })
  const places = []
  for (const path of ['/a', '/b']) places.push((await at.fetch(path)).headers.get('location'))
  expect(places).toEqual(['/sign-in?to=%2Fa', '/sign-in?to=%2Fb'])
  expect(at.asked).toHaveLength(1)
})
