import { request as requestHttp } from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createEventReader, type ReadEvent } from '../../../src/tools/events/events.ts'
import { addEvents, decidingStep, EMPTY } from '../../../src/tools/events/state.ts'
import { startGateway, type TestGateway } from '../../helpers/gateway.ts'
import { startUpstream, type Upstream } from '../../helpers/upstream.ts'

/** Of a request that fails, the step that the view chooses by itself has to say why, and where that is written. */
let upstream: Upstream
let gateway: TestGateway
const lineOf = (text: string) => CONFIG.split('\n').findIndex(line => line.includes(text)) + 1

const CONFIG = `binds:
- port: 8080
  listeners:
  - policies:
      cors: {allowOrigins: ['https://app.example.com']}
    routes:
    - matches: [{path: {pathPrefix: /rule}}]
      policies:
        authorization: {rules: [{deny: 'request.headers["x-role"] == "guest"'}, 'request.headers["x-team"] == "a"', 'request.method == "PUT"']}
      backends: [{host: UPSTREAM}]
    - matches: [{path: {pathPrefix: /required}}]
      policies:
        authorization: {rules: [{require: 'request.headers["x-team"] == "b"'}]}
      backends: [{host: UPSTREAM}]
    - matches: [{path: {pathPrefix: /csrf}}]
      policies: {csrf: {}}
      backends: [{host: UPSTREAM}]
    - matches: [{path: {pathPrefix: /fixed}}]
      policies: {directResponse: {status: 403, body: closed}}
    - matches: [{path: {pathPrefix: /backend}}]
      backends: [{host: UPSTREAM, policies: {}}]
    - matches: [{path: {pathPrefix: /key}}]
      policies: {apiKey: {mode: strict, keys: [{key: sample-key}]}}
      backends: [{host: UPSTREAM}]
    - matches: [{path: {pathPrefix: /token}}]
      policies: {jwtAuth: {mode: strict, issuer: 'https://i.example.com', jwks: '{"keys":[]}'}}
      backends: [{host: UPSTREAM}]
    - matches: [{path: {pathPrefix: /post}, method: POST}]
      backends: [{host: UPSTREAM}]
    - matches: [{path: {pathPrefix: /large}}]
      policies: {buffer: {request: {maxBytes: 8}}}
      backends: [{host: UPSTREAM}]
    - matches: [{path: {pathPrefix: /limited}}]
      policies: {localRateLimit: [{maxTokens: 1, tokensPerFill: 1, fillInterval: 1h}]}
      backends: [{host: UPSTREAM}]
    - matches: [{path: {pathPrefix: /empty}}]
      backends: []
    - matches: [{path: {pathPrefix: /gone}}]
      backends: [{host: '127.0.0.1:1'}]
    - matches: [{path: {pathPrefix: /slow}}]
      policies: {timeout: {requestTimeout: 50ms}}
      backends: [{host: UPSTREAM}]
    - matches: [{path: {pathPrefix: /again}}]
      policies: {retry: {attempts: 1, codes: [503]}}
      backends: [{host: UPSTREAM}]
`

beforeAll(async () => {
  let asked = 0
  upstream = await startUpstream((req, res) => {
    if (req.url?.startsWith('/slow')) return
    if (req.url?.startsWith('/again')) res.statusCode = asked++ === 0 ? 503 : 404
    if (req.url?.startsWith('/backend')) res.statusCode = 403
    res.end()
  })
  gateway = await startGateway(CONFIG.replaceAll('UPSTREAM', `'${upstream.host}'`))
})

afterAll(async () => {
  await gateway[Symbol.asyncDispose]()
  await upstream[Symbol.asyncDispose]()
})

interface Sent {
  readonly method?: string
  readonly headers?: Record<string, string>
  readonly body?: string
}

/** Unlike `fetch`, it sends every header that it is told to. */
function send(path: string, { method = 'GET', headers = {}, body }: Sent): Promise<void> {
  return new Promise((resolve, reject) => {
    const sent = requestHttp(`${gateway.url(8080)}${path}`, { method, headers, agent: false }, response => {
      response.resume().on('close', resolve)
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

async function reasonOf(path: string, sent: Sent) {
  const watch = gateway.trace.watch({ requests: 1 })
  if (watch === undefined || 'problem' in watch) throw new Error('nobody watches')
  await send(path, sent)
  const reader = createEventReader()
  const events: ReadEvent[] = []
  await expect
    .poll(() => {
      for (let event = watch.next(); event; event = watch.next()) events.push(reader.read(JSON.stringify(event))!)
      return watch.finished
    })
    .toBe(true)
  watch.close()
  const [request] = addEvents(EMPTY, events).requests
  const { label, text, event } = decidingStep(request!)!
  return { status: request!.end?.status, said: `${label}: ${text}`, line: event.origins[0]?.line }
}

test.each<[status: number, path: string, sent: Sent, said: string | RegExp, written: string]>([
  [
    403,
    '/rule',
    { headers: { 'x-role': 'guest' } },
    'authorization: deny: deny request.headers["x-role"] == "guest"',
    '{deny:',
  ],
  [403, '/rule', {}, 'authorization: deny: none of 2 allow rules matched', '{deny:'],
  [403, '/required', {}, 'authorization: deny: require request.headers["x-team"] == "b" did not match', '{require:'],
  [
    403,
    '/csrf',
    { method: 'POST', headers: { origin: 'https://evil.example' } },
    /^csrf: failed \(route\): CSRF validation failed: origin "https:\/\/evil\.example" is not http:/,
    'csrf: {}',
  ],
  [403, '/fixed', {}, 'directResponse: replied (route): answered 403', 'directResponse'],
  [403, '/backend', {}, /^answer: 127\.0\.0\.1:\d+: 403$/, 'policies: {}}]'],
  [401, '/key', {}, /^apiKey: failed \(route\): .*no API Key found/, 'apiKey:'],
  [401, '/token', {}, /^jwtAuth: failed \(route\): .*no bearer token found/, 'jwtAuth:'],
  [404, '/post', {}, 'route: none matched of 14', '- policies:'],
  [413, '/large', { method: 'POST', body: 'more than eight' }, /^buffer: failed .*more than 8 bytes/, 'buffer:'],
  [500, '/empty', {}, /^response: 500, \d+ bytes: no valid backends$/, '/empty'],
  [503, '/gone', {}, /^answer: 127\.0\.0\.1:1: upstream call failed: connection refused$/, '127.0.0.1:1'],
  [504, '/slow', {}, 'timeout: failed (route): not done within 50 ms', 'requestTimeout'],
])('the reason for %i at %s', async (status, path, sent, said, written) => {
  const reason = await reasonOf(path, sent)
  expect(reason.status).toBe(status)
  expect(reason.said).toMatch(said)
  expect(reason.line).toBe(lineOf(written))
})

test('the reason for a gRPC denial with status 200', async () => {
  const headers = { 'content-type': 'application/grpc' }
  expect(await reasonOf('/required', { method: 'POST', headers })).toMatchObject({
    status: 200,
    said: 'authorization: deny: require request.headers["x-team"] == "b" did not match',
    line: lineOf('{require:'),
  })
})

test('the reason for a 429 from a rate limit', async () => {
  await send('/limited', {})
  const reason = await reasonOf('/limited', {})
  expect(reason).toMatchObject({ status: 429, said: 'localRateLimit: failed (route): rate limit exceeded' })
  expect(reason.line).toBe(lineOf('localRateLimit'))
})

test('the reason comes from the attempt whose response was forwarded', async () => {
  expect(await reasonOf('/again', {})).toMatchObject({
    status: 404,
    said: expect.stringMatching(/^answer: 127\.0\.0\.1:\d+: 404$/),
    line: lineOf('retry') + 1,
  })
})

test('the reason for a CORS rejection without an error status', async () => {
  const watch = gateway.trace.watch({ requests: 1 })
  if (watch === undefined || 'problem' in watch) throw new Error('nobody watches')
  await send('/backend', {
    method: 'OPTIONS',
    headers: { origin: 'https://evil.example', 'access-control-request-method': 'PUT' },
  })
  await expect.poll(() => watch.wanted).toBe(0)
  const messages = []
  for (let event = watch.next(); event; event = watch.next()) messages.push(event)
  watch.close()
  expect(messages.find(({ severity }) => severity === 'warn')).toMatchObject({
    origins: [{ line: lineOf('cors:') }],
    message: { policy: 'cors', detail: 'origin "https://evil.example" is not among allowOrigins' },
  })
})
