import { once } from 'node:events'
import { connect } from 'node:net'
import tls from 'node:tls'
import { expect, test } from 'vitest'
import { createAuthority, createCertificate } from '../../helpers/certificates.ts'
import { startGateway, type TestGateway } from '../../helpers/gateway.ts'
import { frame } from '../../helpers/http2-frames.ts'
import { closeOf, echo, rawRequest, startUpstream } from '../../helpers/upstream.ts'
import { ManualClock } from '../manual-clock.ts'
import { until } from '../observe/until.ts'

const CONFIG = 'binds: [{port: 80, listeners: [{routes: [{policies: {directResponse: {status: 200, body: ok}}}]}]}]'

const records = ({ logged }: TestGateway) =>
  logged
    .join('')
    .split('\n')
    .filter(line => line.includes('\trequest '))
    .map(line => line.replace(/^.*\trequest /, '').replace(/127\.0\.0\.1:\d+/, 'CLIENT'))

const counts = ({ gateway }: TestGateway) =>
  gateway.metrics
    .render()
    .split('\n')
    .filter(line => line.startsWith('agentgateway_requests_total{'))
    .map(line => line.replace('agentgateway_requests_total', ''))

const series = (method: string, status: number, place = 'listener="unknown"') =>
  `{backend="unknown",protocol="http",method="${method}",status="${status}",reason="InvalidRequest",bind="bind/80",` +
  `gateway="${place.includes('unknown') ? 'unknown' : 'default/default'}",${place},route="unknown",route_rule="unknown"}`

test.each([
  ['no method', '\u0001\r\n\r\n', 400, '"invalid request: method"'],
  ['a field without a name', 'GET / HTTP/1.1\r\nHost: a\r\n: x\r\n\r\n', 400, '"invalid request: field name"'],
  [
    'a line that could forge a log entry',
    'GET / HTTP/1.1\nX\tinfo\trequest forged\n\r\n\r\n',
    400,
    '"invalid request: version"',
  ],
  [
    'conflicting framing',
    'GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n',
    400,
    undefined,
  ],
  ['an unknown expectation', 'GET / HTTP/1.1\r\nHost: a\r\nExpect: a cake\r\n\r\n', 417, '"expectation failed"'],
  ['an oversized head', `GET /${'a'.repeat(70_000)}`, 431, '"request header fields too large"'],
])('%s yields one log record and one metric for an unparsed request', async (_name, bytes, status, error) => {
  await using gateway = await startGateway(CONFIG)
  const answer = await rawRequest(gateway.url(80), `${bytes}GET / HTTP/1.1\r\nHost: a\r\n\r\n`)
  expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
  await until(() => records(gateway).length > 0)
  expect(records(gateway)).toHaveLength(1)
  const written = error ?? '"invalid request: two framings"'
  expect(records(gateway)[0]).toBe(
    `src.addr=CLIENT http.status=${status} protocol=http error=${written} reason=InvalidRequest duration=0ms`,
  )
  expect(counts(gateway)).toEqual([`${series('unknown', status)} 1`])
})

test('a rejected but parsed request is logged with its listener’s port', async () => {
  await using gateway = await startGateway(CONFIG)
  await rawRequest(gateway.url(80), 'FOO / HTTP/1.1\r\nHost: a/b\r\nConnection: close\r\n\r\n')
  await until(() => records(gateway).length > 0)
  expect(records(gateway)[0]).toMatch(/http\.method=FOO http\.host=a\/b http\.path=\/ .*http\.status=400 /)
  await rawRequest(gateway.url(80), 'foo / HTTP/1.1\r\n\r\n')
  await until(() => records(gateway).length > 1)
  expect(counts(gateway)).toEqual([`${series('_OTHER', 400)} 1`, `${series('unknown', 400)} 1`])
})

test('incomplete request headers are logged with the time they took', async () => {
  const clock = new ManualClock()
  await using gateway = await startGateway(CONFIG, { clock })
  const socket = connect(gateway.gateway.portOf(80)!, '127.0.0.1')
  socket.write('GET / HTTP/1.1\r\nHost:')
  let answer = ''
  socket.on('data', chunk => {
    answer += chunk
  })
  while (answer === '') {
    await new Promise(setImmediate)
    clock.advance(1000)
  }
  socket.destroy()
  await until(() => records(gateway).length > 0)
  expect(records(gateway)).toEqual([
    'src.addr=CLIENT http.status=408 protocol=http error="request timeout" reason=InvalidRequest duration=30000ms',
  ])
})

test('a malformed body is reported in the log record of its request', async () => {
  await using upstream = await startUpstream(echo)
  await using gateway = await startGateway(
    `binds: [{port: 80, listeners: [{routes: [{backends: [{host: '${upstream.host}'}]}]}]}]`,
  )
  const head = 'POST /upload HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n'
  const answer = await rawRequest(gateway.url(80), `${head}5\r\nhello\r\nxx\r\n`)
  expect(answer).toMatch(/^HTTP\/1\.1 400 /)
  await until(() => records(gateway).length > 0)
  expect(records(gateway)).toHaveLength(1)
  expect(records(gateway)[0]).toMatch(
    /http\.path=\/upload .*http\.status=400 .*error="invalid request: .*" reason=InvalidRequest/,
  )
})

test('over TLS the listener is logged, and log filters still apply', async () => {
  const authority = createAuthority('test')
  const { cert, key } = createCertificate(authority, ['a.test'])
  const listener = '{name: web, hostname: a.test, protocol: HTTPS, tls: {cert: a.pem, key: a.key}, routes: []}'
  await using gateway = await startGateway(
    `frontendPolicies: {accessLog: {filter: "request.method != ''"}}\nbinds: [{port: 80, listeners: [${listener}]}]`,
    { files: { 'a.pem': cert, 'a.key': key } },
  )
  const port = gateway.gateway.portOf(80)!
  const socket = tls.connect({ host: '127.0.0.1', port, servername: 'a.test', rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  socket.end('nonsense\r\n\r\n')
  await closeOf(socket)
  await until(() => counts(gateway).length > 0)
  expect(counts(gateway)).toEqual([`${series('unknown', 400, 'listener="web"')} 1`])
  expect(records(gateway)).toEqual([])
})

test('an HTTP/2 protocol error is logged once, a plain disconnect is not', async () => {
  await using gateway = await startGateway(CONFIG)
  const open = async (bytes: Buffer): Promise<void> => {
    const socket = connect(gateway.gateway.portOf(80)!, '127.0.0.1').on('error', () => {})
    socket.write(Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), bytes]))
    await once(socket, 'data')
    socket.destroy()
    await closeOf(socket)
  }
  await open(frame(4, 0, 0, Buffer.alloc(0)))
  await open(Buffer.concat([frame(0, 0, 1, Buffer.from('data')), frame(0, 0, 1, Buffer.from('more'))]))
  await until(() => gateway.logged.length > 0)
  expect(gateway.logged.join('')).toMatch(
    /^\S+\twarn\tgateway\tconnection ended\treason="HTTP\/2: Protocol error" connection\.id=\d+ src\.addr=127\.0\.0\.1:\d+\n$/,
  )
})
