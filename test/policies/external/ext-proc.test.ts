import { expect, test } from 'vitest'
import { ManualClock } from '../../engine/manual-clock.ts'
import { type Plain, type ProcessCall, structOf } from '../../helpers/envoy-services.ts'
import { startGateway } from '../../helpers/gateway.ts'
import { echo } from '../../helpers/upstream.ts'
import { type Answer, echoed, NONE, pass, post, set, start, streamed } from './ext-proc-fixture.ts'

const fieldsOf = (part: Plain) =>
  Object.fromEntries(part.headers.headers.map((each: Plain) => [each.key, each.rawValue.toString()]))

test('the service gets the headers of both directions with attributes and metadata, and changes them', async () => {
  await using at = await start(
    (request, call) => {
      if (request.requestHeaders) {
        call.write({
          requestHeaders: {
            response: {
              headerMutation: {
                setHeaders: [
                  set('x-user', 'svc'),
                  set(':path', '/new'),
                  set('content-length', '9'),
                  set('x-l', 'b', { append: { value: true } }),
                ],
                removeHeaders: ['x-secret', 'host'],
              },
            },
          },
          dynamicMetadata: structOf({ team: 'red' }),
        })
      } else
        call.write({
          responseHeaders: { response: { headerMutation: { setHeaders: [set('x-r', '1'), set(':status', '201')] } } },
        })
    },
    NONE,
    `requestAttributes: {p: request.path}, responseAttributes: {code: response.code}, metadataContext: {ns: {k: request.method}, agentgateway.dev.grpc_initial_metadata: {x-tenant: '"acme"', te: '"no"'}}`,
    'transformations: {request: {set: {x-team: extproc.team}}}',
  )
  const response = await at.fetch('/old?a=b', { headers: { 'x-user': 'root', 'x-secret': 's', 'x-l': 'a' } })
  expect([response.status, response.headers.get('x-r')]).toEqual([201, '1'])
  const got = await echoed(response)
  expect(got.url).toBe('/new')
  expect(['x-user', 'x-l', 'x-secret', 'x-team'].map(got.of)).toEqual([['svc'], ['a', 'b'], [], ['red']])
  const [first, second] = at.service.asked
  expect(first.requestHeaders.endOfStream).toBe(true)
  expect(fieldsOf(first.requestHeaders)).toMatchObject({ ':method': 'GET', ':path': '/old?a=b', 'x-user': 'root' })
  expect(first.attributes['envoy.filters.http.ext_proc'].fields.p.stringValue).toBe('/old')
  expect(first.metadataContext.filterMetadata.ns.fields.k.stringValue).toBe('GET')
  expect(at.service.metadata[0]!.get('x-tenant')).toEqual(['acme'])
  expect(fieldsOf(second.responseHeaders)).toMatchObject({ ':status': '200', 'content-type': 'application/json' })
  expect(second.attributes['envoy.filters.http.ext_proc'].fields.code.numberValue).toBe(200)
  expect(second.metadataContext.filterMetadata.ns.fields.k.stringValue).toBe('GET')
})

test('bodies are streamed through the service in both directions', async () => {
  const upper = (request: Plain, call: ProcessCall) => {
    const up = (text: string) => text.toUpperCase()
    if (request.requestBody) call.write({ requestBody: streamed(request.requestBody, up) })
    else if (request.responseBody)
      call.write({ responseBody: streamed(request.responseBody, text => text.replaceAll('"', '!')) })
    else pass(request, call)
  }
  await using at = await start(upper, '')
  const response = await at.fetch('/', post('a'.repeat(3_000_000)))
  const text = await response.text()
  expect(text).toContain('A'.repeat(3_000_000))
  expect(text).not.toContain('"')
  const [first] = at.service.asked
  expect(first.protocolConfig).toEqual({ requestBodyMode: 4, responseBodyMode: 4 })
})

test('the service may read the whole body before responding to the headers', async () => {
  let body = ''
  await using at = await start((request, call) => {
    if (request.requestHeaders) return
    if (!request.requestBody) return pass(request, call)
    body += String(request.requestBody.body ?? '')
    if (!request.requestBody.endOfStream) return
    call.write({
      requestHeaders: { response: { headerMutation: { setHeaders: [set('x-size', String(body.length))] } } },
    })
    call.write({ requestBody: streamed({ body, endOfStream: true }) })
  }, 'responseBodyMode: none')
  const got = await echoed(await at.fetch('/', post('hello')))
  expect([got.body, got.of('x-size')]).toEqual(['hello', ['5']])
})

test.each([
  ['buffered', 'short', 'SHORT', true],
  ['bufferedPartial', 'short', 'SHORT', true],
  ['bufferedPartial', `${'a'.repeat(8192)}rest`, `${'A'.repeat(8192)}rest`, false],
])('a %s request body: %s', async (mode, body, expected, whole) => {
  await using at = await start((request, call) => {
    if (!request.requestBody) return pass(request, call)
    const changed = String(request.requestBody.body).toUpperCase()
    call.write({
      requestBody: {
        response: { bodyMutation: { body: Buffer.from(changed) }, headerMutation: { setHeaders: [set('x-b', '1')] } },
      },
    })
  }, `requestBodyMode: ${mode}, responseBodyMode: none`)
  const got = await echoed(await at.fetch('/', post(body)))
  expect([got.body, got.of('x-b')]).toEqual([expected, ['1']])
  expect(at.service.asked[1].requestBody.endOfStream ?? false).toBe(whole)
})

test('a body longer than the buffer is rejected in any failure mode', async () => {
  await using at = await start(pass, 'requestBodyMode: buffered, responseBodyMode: none', 'failureMode: failOpen')
  expect((await at.fetch('/', post('a'.repeat(8193)))).status).toBe(413)
})

test.each([
  ['buffered', 'short', 200, 'SHORT'],
  ['buffered', 'a'.repeat(9000), 502, undefined],
  ['bufferedPartial', 'short', 200, 'SHORT'],
  ['bufferedPartial', `${'a'.repeat(8192)}rest`, 200, `${'A'.repeat(8192)}rest`],
])('a %s response body', async (mode, body, status, expected) => {
  await using at = await start(
    (request, call) => {
      if (!request.responseBody) return pass(request, call)
      const changed = String(request.responseBody.body).toUpperCase()
      call.write({ responseBody: { response: { bodyMutation: { body: Buffer.from(changed) } } } })
    },
    `requestBodyMode: none, responseBodyMode: ${mode}`,
    '',
    '',
    (_req, res) => res.end(body),
  )
  const response = await at.fetch()
  expect(response.status).toBe(status)
  if (expected !== undefined) expect(await response.text()).toBe(expected)
})

const REFUSAL = {
  immediateResponse: {
    status: { code: 418 },
    headers: { setHeaders: [set('x-why', 'tea'), set('transfer-encoding', 'chunked')] },
    body: Buffer.from('no'),
  },
}

test.each([
  ['requestHeaders', NONE],
  ['requestBody', 'requestBodyMode: buffered, responseBodyMode: none'],
  ['responseHeaders', NONE],
  ['responseBody', 'requestBodyMode: none, responseBodyMode: buffered'],
])('an immediate response to %s reaches the client', async (kind, modes) => {
  await using at = await start(
    (request, call) => (request[kind] ? call.write(REFUSAL) : pass(request, call)),
    modes,
    'failureMode: failOpen',
    '',
    (_req, res) => res.end('secret'),
  )
  const response = await at.fetch('/', post('a'))
  expect([response.status, response.headers.get('x-why'), await response.text()]).toEqual([418, 'tea', 'no'])
})

test('the service can replace a body without seeing the original', async () => {
  await using at = await start((request, call) => {
    if (request.requestHeaders)
      call.write({ requestHeaders: { response: { status: 1, bodyMutation: { body: Buffer.from('own') } } } })
    else if (request.responseHeaders)
      call.write({ responseHeaders: { response: { status: 1, bodyMutation: { body: Buffer.from('other') } } } })
  }, 'requestBodyMode: buffered, responseBodyMode: none')
  const response = await at.fetch('/', post('client'))
  expect(await response.text()).toBe('other')
  expect(at.kinds()).toEqual(['requestHeaders', 'responseHeaders'])
})

test.each([
  ['allowModeOverride: true', ['requestHeaders', 'requestBody']],
  ['allowModeOverride: false', ['requestHeaders', 'responseHeaders']],
])('mode overrides from the service, with %s', async (allowed, kinds) => {
  await using at = await start((request, call) => {
    if (request.requestHeaders)
      call.write({ requestHeaders: {}, modeOverride: { requestBodyMode: 2, responseHeaderMode: 2 } })
    else if (request.requestBody) call.write({ requestBody: {} })
    else pass(request, call)
  }, `${NONE}, ${allowed}`)
  expect((await at.fetch('/', post('a'))).status).toBe(200)
  expect(at.kinds()).toEqual(kinds)
})

test('attributes of a response with skipped headers are sent with its body', async () => {
  await using at = await start(
    pass,
    'requestHeaderMode: skip, responseHeaderMode: skip, requestBodyMode: none',
    'responseAttributes: {code: response.code}',
  )
  await (await at.fetch()).text()
  expect(at.kinds()[0]).toBe('responseBody')
  expect(at.service.asked[0].attributes['envoy.filters.http.ext_proc'].fields.code.numberValue).toBe(200)
})

test('skipped headers are not sent', async () => {
  await using at = await start(
    pass,
    `requestHeaderMode: skip, responseHeaderMode: skip, requestBodyMode: buffered, responseBodyMode: none`,
  )
  await at.fetch('/', post('a'))
  expect(at.kinds()).toEqual(['requestBody'])
  expect(at.service.asked[0].protocolConfig).toBeDefined()
})

const fails: [string, Answer][] = [
  ['fails', (_request, call) => call.emit('error', { code: 14, details: 'down 10.0.0.1' })],
  ['ends its stream', (_request, call) => call.end()],
  ['sends an unexpected response', (_request, call) => call.write({ responseBody: {} })],
  ['sends an unreadable response', (_request, call) => call.write(Buffer.from([0xff, 0xff]))],
]

test.each(fails)('a service that %s yields 500, or is bypassed with failOpen', async (_, answer) => {
  await using closed = await start(answer)
  const response = await closed.fetch()
  expect([response.status, await response.text()]).toEqual([500, 'ext_proc failed'])
  await using open = await start(answer, NONE, 'failureMode: failOpen')
  expect((await open.fetch()).status).toBe(200)
})

test.each(fails)('a service that %s after the body has started is never bypassed', async (_, answer) => {
  await using at = await start(
    (request, call) => (request.requestBody ? answer(request, call) : pass(request, call)),
    'requestBodyMode: buffered, responseBodyMode: none',
    'failureMode: failOpen',
  )
  expect((await at.fetch('/', post('a'))).status).toBe(500)
})

test('a silent service times out', async () => {
  const clock = new ManualClock()
  const asked = Promise.withResolvers<void>()
  await using at = await start(() => asked.resolve(), NONE, '', '', echo, { clock })
  const response = at.fetch()
  await asked.promise
  clock.advance(10_000)
  expect((await response).status).toBe(500)
})

test('an expression that fails on client input rejects the request in any failure mode', async () => {
  await using at = await start(pass, NONE, `requestAttributes: {a: 'json(request.body)'}, failureMode: failOpen`)
  expect((await at.fetch('/', post('{'))).status).toBe(403)
})

test('an unreachable service yields 500, or is bypassed with failOpen', async () => {
  for (const [mode, status] of [
    ['failClosed', 500],
    ['failOpen', 200],
  ] as const) {
    await using gateway = await startGateway(`
binds: [{port: 8080, listeners: [{routes: [{policies: {directResponse: {status: 200},
  extProc: {host: '127.0.0.1:1', failureMode: ${mode}}}}]}]}]`)
    expect((await fetch(gateway.url(8080))).status).toBe(status)
  }
})
