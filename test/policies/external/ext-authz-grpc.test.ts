import { expect, test } from 'vitest'
import { ManualClock } from '../../engine/manual-clock.ts'
import { type Answer, type Plain, startEnvoyServices, structOf } from '../../helpers/envoy-services.ts'
import { startGateway } from '../../helpers/gateway.ts'
import { echo, sendRepeated, startUpstream } from '../../helpers/upstream.ts'

const OK = { status: { code: 0 } }
const header = (key: string, value: string, more: object = {}) => ({ header: { key, value }, ...more })

/** A gateway that asks a service, in front of a backend that echoes. */
async function start(answer: (request: Plain) => Answer, spec = '', more = '', options = {}) {
  const service = await startEnvoyServices({ check: answer })
  const backend = await startUpstream(echo)
  const gateway = await startGateway(
    `
binds: [{port: 8080, listeners: [{routes: [{backends: [{host: '${backend.host}'}], policies: {
  extAuthz: {host: '${service.host}'${spec && `, ${spec}`}}${more && `, ${more}`}}}]}]}]`,
    options,
  )
  const url = gateway.url(8080)
  return {
    service,
    gateway,
    url,
    fetch: (path = '/', init: RequestInit = {}) => fetch(`${url}${path}`, init),
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]()
      await service[Symbol.asyncDispose]()
      await backend[Symbol.asyncDispose]()
    },
  }
}

/** The fields that the backend got, by name. */
async function echoed(response: Response) {
  const { url, headers, body } = (await response.json()) as { url: string; headers: string[]; body: string }
  const fields: [string, string][] = []
  for (let i = 0; i < headers.length; i += 2) fields.push([headers[i]!.toLowerCase(), headers[i + 1]!])
  return { url, body, all: (name: string) => fields.filter(([each]) => each === name).map(([, value]) => value) }
}

test('the service gets the attributes of the request', async () => {
  await using at = await start(
    () => OK,
    'protocol: {grpc: {context: {tenant: acme}, metadata: {caller: \'{"path": request.path, "n": 2}\'}}}',
  )
  const response = await at.fetch('/a?b=c', {
    headers: { 'x-one': Buffer.from('ünï').toString('latin1'), cookie: 'a=1' },
  })
  expect(response.status).toBe(200)
  const { attributes } = at.service.asked[0]
  expect(attributes.contextExtensions).toEqual({ tenant: 'acme' })
  expect(attributes.source.address.socketAddress.address).toBe('127.0.0.1')
  expect(attributes.destination.address.socketAddress.portValue).toBeGreaterThan(0)
  expect(Number(attributes.request.time.seconds)).toBeGreaterThan(1_700_000_000)
  const { http } = attributes.request
  expect(http).toMatchObject({ method: 'GET', path: '/a?b=c', scheme: 'http', protocol: 'HTTP/1.1' })
  expect(http.headers).toMatchObject({ ':method': 'GET', ':path': '/a?b=c', 'x-one': 'ünï', cookie: 'a=1' })
  expect(http.headers.connection).toBeUndefined()
  expect(http.headers.host).toBeUndefined()
  const caller = attributes.metadataContext.filterMetadata.caller.fields
  expect(caller).toMatchObject({ path: { stringValue: '/a' }, n: { numberValue: 2 } })
})

test('request ids are unique, even across gateways', async () => {
  const ids: string[] = []
  for (let i = 0; i < 2; i++) {
    await using at = await start(() => OK)
    await at.fetch('/')
    ids.push(at.service.asked[0].attributes.request.http.id)
  }
  expect(ids[0]).toMatch(/./)
  expect(ids[0]).not.toBe(ids[1])
})

test('joins repeated headers and sends only the configured ones', async () => {
  await using at = await start(() => OK, 'includeRequestHeaders: [X-One, connection, host]')
  await sendRepeated(at.url, { 'x-one': ['a', 'c'], 'x-two': 'b' })
  expect(at.service.asked[0].attributes.request.http.headers).toEqual({ 'x-one': 'a, c' })
})

test('applies the headers, query parameters and metadata set or removed by the service', async () => {
  await using at = await start(
    () => ({
      ...OK,
      okResponse: {
        headers: [
          header('x-user', 'ann'),
          header('x-list', 'b', { append: { value: true } }),
          header('x-there', 'new', { appendAction: 1 }),
          header('x-missing', 'never', { appendAction: 3 }),
          header('x-broken', 'a\r\nx-evil: 1'),
          header('transfer-encoding', 'chunked'),
          header('content-length', '3'),
          header(':path', '/new?q=1&keep=a%20b&drop=2'),
        ],
        headersToRemove: ['x-secret', 'host', ':path'],
        responseHeadersToAdd: [header('set-cookie', 'a=1'), header('set-cookie', 'b=2'), header('x-seen', 'yes')],
        queryParametersToSet: [{ key: 'q', value: 'ü' }],
        queryParametersToRemove: ['drop'],
      },
      dynamicMetadata: structOf({ team: 'red' }),
    }),
    '',
    `transformations: {request: {set: {x-team: extauthz.team}}}`,
  )
  const response = await at.fetch('/old', {
    headers: { 'x-user': 'root', 'x-list': 'a', 'x-there': 'old', 'x-broken': 'mine', 'x-secret': 's' },
  })
  expect(response.headers.getSetCookie()).toEqual(['a=1', 'b=2'])
  expect(response.headers.get('x-seen')).toBe('yes')
  const got = await echoed(response)
  expect(got.url).toBe('/new?keep=a%20b&q=%C3%BC')
  expect(['x-user', 'x-list', 'x-there', 'x-missing', 'x-broken', 'x-evil', 'x-secret', 'x-team'].map(got.all)).toEqual(
    [['ann'], ['a', 'b'], ['old'], [], [], [], [], ['red']],
  )
})

test('a denial returns the service’s own response', async () => {
  await using at = await start(() => ({
    status: { code: 7 },
    deniedResponse: {
      status: { code: 302 },
      headers: [
        header('location', 'https://login.example.com/'),
        header('x-bad', 'a\nb'),
        header('content-length', '1'),
      ],
      body: 'sign in',
    },
  }))
  const response = await at.fetch('/', { redirect: 'manual' })
  expect(response.status).toBe(302)
  expect(response.headers.get('location')).toBe('https://login.example.com/')
  expect(response.headers.has('x-bad')).toBe(false)
  expect(await response.text()).toBe('sign in')
})

test.each([
  ['a status without a response', { status: { code: 16 } }, 403],
  ['a denied status with an okResponse', { status: { code: 7 }, okResponse: {} }, 403],
  ['an OK status with a deniedResponse', { status: { code: 0 }, deniedResponse: { status: { code: 401 } } }, 401],
  ['an invalid HTTP status', { status: { code: 7 }, deniedResponse: { status: { code: 101 } } }, 403],
  ['an HTTP status that is too large', { status: { code: 7 }, deniedResponse: { status: { code: 1000 } } }, 403],
  ['a message that is not protobuf', Buffer.from([0xff, 0xff, 0xff]), 403],
  ['a truncated message', Buffer.from([0x12, 0x7f, 0x0a]), 403],
  ['an oversized response', { ...OK, okResponse: { headers: [header('x-a', 'a'.repeat(1_100_000))] } }, 403],
  ['a gRPC status of PERMISSION_DENIED', { code: 7, details: 'no' }, 403],
  ['a gRPC status of INVALID_ARGUMENT', { code: 3, details: 'no' }, 403],
  ['a gRPC status of RESOURCE_EXHAUSTED', { code: 8, details: 'no' }, 403],
])('%s denies the request, even with failureMode allow', async (_, answer, status) => {
  await using at = await start(() => answer, 'failureMode: allow')
  expect((await at.fetch()).status).toBe(status)
})

test('a response without a status allows the request, as in Envoy', async () => {
  await using at = await start(() => ({}))
  expect((await at.fetch()).status).toBe(200)
})

test('does not follow endlessly nested structs', async () => {
  let value = Buffer.alloc(0)
  const around = (no: number, inner: Buffer) => {
    const length: number[] = []
    for (let rest = inner.length; ; rest >>>= 7) {
      length.push(rest > 127 ? (rest & 127) | 128 : rest)
      if (rest <= 127) break
    }
    return Buffer.concat([Buffer.from([(no << 3) | 2, ...length]), inner])
  }
  for (let i = 0; i < 2000; i++) value = around(1, around(2, around(5, value)))
  await using at = await start(() => around(4, value), 'failureMode: allow')
  expect((await at.fetch()).status).toBe(403)
})

test.each([
  ['deny', 403],
  ['allow', 200],
  ['{denyWithStatus: 503}', 503],
  ['{denyWithStatus: 100}', 403],
])('a failing service with failureMode %s: %i', async (mode, status) => {
  await using at = await start(() => ({ code: 14, details: 'down 10.0.0.1' }), `failureMode: ${mode}`)
  const response = await at.fetch()
  expect(response.status).toBe(status)
  if (status !== 200) expect(await response.text()).toBe('external authorization failed')
})

test('a hung service times out after two seconds or the configured timeout', async () => {
  for (const [spec, ms] of [
    ['', 2000],
    ['policies: {http: {requestTimeout: 5s}}', 5000],
  ] as const) {
    const clock = new ManualClock()
    const asked = Promise.withResolvers<void>()
    await using at = await start(() => asked.resolve(), spec, '', { clock })
    const response = at.fetch()
    await asked.promise
    clock.advance(ms - 1)
    clock.advance(1)
    expect((await response).status).toBe(403)
  }
})

const POST = (body: string) => ({ method: 'POST', body })

test.each([
  ['{maxRequestBytes: 5}', 'short', 200, { body: 'short', size: 5 }],
  ['{maxRequestBytes: 5, packAsBytes: true}', 'short', 200, { rawBody: Buffer.from('short'), size: 5 }],
  ['{maxRequestBytes: 5, allowPartialMessage: true}', 'longer', 200, { body: 'longe', size: 6 }],
  ['{maxRequestBytes: 5}', 'longer', 413, undefined],
  ['{}', 'x', 413, undefined],
])('body with %s: %s', async (rules, body, status, expected) => {
  await using at = await start(() => OK, `includeRequestBody: ${rules}, failureMode: allow`)
  const response = await at.fetch('/', POST(body))
  expect(response.status).toBe(status)
  if (expected === undefined) {
    expect(await response.text()).toBe('external authorization failed')
    expect(at.service.asked).toEqual([])
  } else {
    expect(at.service.asked[0].attributes.request.http).toMatchObject(expected)
    expect((await echoed(response)).body).toBe(body)
  }
})

test('a body without a length is truncated for the service and reaches the backend whole', async () => {
  await using at = await start(() => OK, 'includeRequestBody: {maxRequestBytes: 4, allowPartialMessage: true}')
  const chunks = ['abc', 'defg', 'hij']
  const body = new ReadableStream({
    pull(controller) {
      const chunk = chunks.shift()
      if (chunk) controller.enqueue(Buffer.from(chunk))
      else controller.close()
    },
  })
  const response = await at.fetch('/', { method: 'POST', body, duplex: 'half' } as RequestInit)
  expect((await echoed(response)).body).toBe('abcdefghij')
  expect(at.service.asked[0].attributes.request.http).toMatchObject({ body: 'abcd', size: -1 })
})

test('configured metadata replaces the default, without values that are not objects', async () => {
  await using at = await start(
    () => ({ ...OK, okResponse: {} }),
    "protocol: {grpc: {metadata: {n: '1', absent: jwt.sub}}}",
  )
  await at.fetch()
  expect(at.service.asked[0].attributes.metadataContext?.filterMetadata ?? {}).toEqual({})
})

test('an expression that fails on client input denies the request', async () => {
  await using at = await start(
    () => OK,
    "protocol: {grpc: {metadata: {who: 'json(request.body)'}}}, failureMode: allow",
  )
  expect((await at.fetch('/', POST('{"a": 1}'))).status).toBe(200)
  expect((await at.fetch('/', POST('{"a": '))).status).toBe(403)
  expect(at.service.asked.length).toBe(1)
})

test('runs before routing on a listener and for each call on a backend', async () => {
  await using service = await startEnvoyServices({
    check: ({ attributes }) =>
      attributes.contextExtensions.at === 'listener'
        ? { ...OK, okResponse: { headers: [header(':path', '/b')] } }
        : { status: { code: 7 }, deniedResponse: { status: { code: 418 } } },
  })
  const on = (at: string) => `extAuthz: {host: '${service.host}', protocol: {grpc: {context: {at: ${at}}}}}`
  await using gateway = await startGateway(`
binds: [{port: 8080, listeners: [{policies: {${on('listener')}}, routes: [
  {matches: [{path: {exact: /b}}], backends: [{host: '127.0.0.1:9', policies: {${on('backend')}}}]}]}]}]`)
  expect((await fetch(`${gateway.url(8080)}/a`)).status).toBe(418)
})

test('conditions select the service, and a failing condition denies the request', async () => {
  await using service = await startEnvoyServices({ check: () => ({ status: { code: 7 } }) })
  await using backend = await startUpstream(echo)
  await using gateway = await startGateway(`
binds: [{port: 8080, listeners: [{routes: [{backends: [{host: '${backend.host}'}], policies: {extAuthz: {conditional: [
  {condition: 'json(request.body).admin == true', host: '${service.host}'}]}}}]}]}]`)
  const ask = async (body: string) => (await fetch(gateway.url(8080), POST(body))).status
  expect(await ask('{"admin": true}')).toBe(403)
  expect(await ask('{"admin": false}')).toBe(200)
  expect(await ask('{"admin": tru')).toBe(403)
  expect(service.asked.length).toBe(1)
})

test('a call appears with its policy in the trace', async () => {
  await using at = await start(() => OK)
  const watch = at.gateway.trace.watch({ requests: 1 })
  if (watch === undefined || 'problem' in watch) throw new Error('nobody watches')
  await (await at.fetch()).text()
  const lines: string[] = []
  await expect
    .poll(() => {
      for (let event = watch.next(); event; event = watch.next()) {
        const { message, scope } = event
        if (message.type === 'callStart' && scope.length > 0) lines.push(`${scope.join('/')} ${message.purpose}`)
      }
      return watch.finished
    })
    .toBe(true)
  watch.close()
  expect(lines).toEqual(['extAuthz authorization'])
})
