import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { connect, type Socket } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { startGateway, type TestGateway } from '../../helpers/gateway.ts'
import { echo, startUpstream } from '../../helpers/upstream.ts'
import { ManualClock } from '../manual-clock.ts'

const KEY = 'apiKey: {mode: strict, keys: [{key: secret}]}'
const READS = "transformations: {request: {set: {x-length: 'string(size(request.body))'}}}"

const file = (policies: string, host: string, http = '', more = '') => `
frontendPolicies: {http: {${http}}${more}}
binds: [{port: 8080, listeners: [{routes: [{policies: {${policies}}, backends: [{host: '${host}'}]}]}]}]`

function dial(gateway: TestGateway): Socket {
  const socket = connect(gateway.gateway.portOf(8080)!, '127.0.0.1')
  socket.on('error', () => {})
  onTestFinished(() => void socket.destroy())
  return socket
}

/** What comes next on a connection. */
async function answerOf(socket: Socket): Promise<string> {
  return String((await once(socket, 'data'))[0])
}

const head = (fields = '') => `POST / HTTP/1.1\r\nHost: a\r\n${fields}\r\n`
const AUTH = 'Authorization: Bearer secret\r\n'
/** Until the gateway holds so many bytes. */
async function holds(gateway: TestGateway, bytes: number): Promise<void> {
  while (gateway.gateway.runtime.bodies.held !== bytes) await new Promise(setImmediate)
}

describe('a body is read only at the first policy that needs it', () => {
  test.each([
    ['a policy that reads it', READS],
    ['buffering', 'buffer: {request: {maxBytes: 10}}'],
    ['an authorization rule', "authorization: {rules: [{deny: 'size(request.body) > 5'}]}"],
    ['a condition', "localRateLimit: {conditional: [{condition: 'size(request.body) > 1', requests: 1, unit: hours}]}"],
    ['a delay', 'delay: {duration: \'duration("1s")\'}'],
  ])('so a rejection does not wait for it: %s', async (_name, policy) => {
    await using upstream = await startUpstream(echo)
    await using gateway = await startGateway(file(`${KEY}, ${policy}`, upstream.host))
    const socket = dial(gateway)
    socket.write(head('Content-Length: 100000\r\n'))
    expect(await answerOf(socket)).toMatch(/^HTTP\/1\.1 401 /)
    expect(gateway.gateway.runtime.bodies.held).toBe(0)
  })

  test('so 100 Continue is sent only after authentication', async () => {
    await using upstream = await startUpstream(echo)
    await using gateway = await startGateway(file(`${KEY}, ${READS}`, upstream.host))
    const refused = dial(gateway)
    refused.write(head('Content-Length: 5\r\nExpect: 100-continue\r\n'))
    expect(await answerOf(refused)).toMatch(/^HTTP\/1\.1 401 /)
    const let_in = dial(gateway)
    let_in.write(head(`${AUTH}Content-Length: 5\r\nExpect: 100-continue\r\n`))
    expect(await answerOf(let_in)).toBe('HTTP/1.1 100 Continue\r\n\r\n')
    let_in.write('hello')
    expect(await answerOf(let_in)).toMatch(/^HTTP\/1\.1 200 /)
  })

  test('also over HTTP/2', async () => {
    await using upstream = await startUpstream(echo)
    await using gateway = await startGateway(file(`${KEY}, ${READS}`, upstream.host))
    const session = connectHttp2(gateway.url(8080))
    onTestFinished(() => session.destroy())
    const stream = session.request({ ':method': 'POST', ':path': '/', expect: '100-continue' })
    stream.on('error', () => {})
    let asked = false
    stream.on('continue', () => {
      asked = true
    })
    const [fields] = await once(stream, 'response')
    expect(fields[':status']).toBe(401)
    expect(asked).toBe(false)
  })
})

describe('a slow body', () => {
  const slow = [
    ['that never comes', '', 9_999, 1],
    ['below the minimum rate', 'x'.repeat(240), 10_999, 1],
    ['that does not end in time', 'x'.repeat(100_000), 299_999, 1],
  ] as const
  test.each(slow)('%s is rejected with 408', async (_name, part, before, rest) => {
    const clock = new ManualClock()
    await using upstream = await startUpstream(echo)
    await using gateway = await startGateway(file(READS, upstream.host), { clock })
    const socket = dial(gateway)
    let text = ''
    socket.on('data', chunk => {
      text += chunk
    })
    socket.write(head('Content-Length: 200000\r\n'))
    while (clock.armed.at(-1) !== 10_000) await new Promise(setImmediate)
    socket.write(part)
    await holds(gateway, part.length)
    clock.advance(before)
    await new Promise(setImmediate)
    expect(text).toBe('')
    clock.advance(rest)
    await once(socket, 'end')
    expect(text).toMatch(/^HTTP\/1\.1 408 /)
    expect(text).toMatch(/\r\nconnection: close\r\n/)
    expect(gateway.gateway.runtime.bodies.held).toBe(0)
  })

  test('is rejected over HTTP/2 as well', async () => {
    const clock = new ManualClock()
    await using upstream = await startUpstream(echo)
    await using gateway = await startGateway(file(READS, upstream.host), { clock })
    const session = connectHttp2(gateway.url(8080))
    onTestFinished(() => session.destroy())
    const stream = session.request({ ':method': 'POST', ':path': '/' })
    stream.on('error', () => {})
    stream.write('x')
    await holds(gateway, 1)
    const response = once(stream, 'response')
    clock.advance(10_005)
    expect((await response)[0][':status']).toBe(408)
  })

  test('is accepted when the config disables the limits', async () => {
    const clock = new ManualClock()
    await using upstream = await startUpstream(echo)
    await using gateway = await startGateway(
      file(READS, upstream.host, 'bufferTimeout: 0s, bufferMinRate: 0, http1IdleTimeout: 0s'),
      { clock },
    )
    const socket = dial(gateway)
    socket.write(head('Content-Length: 5\r\n'))
    socket.write('x')
    await holds(gateway, 1)
    clock.advance(86_400_000)
    socket.write('xxxx')
    expect(await answerOf(socket)).toMatch(/^HTTP\/1\.1 200 /)
  })

  test('in a buffered response fails it as well', async () => {
    const clock = new ManualClock()
    let reached: () => void = () => {}
    const asked = new Promise<void>(resolve => {
      reached = resolve
    })
    await using upstream = await startUpstream((_req, res) => {
      res.writeHead(200)
      res.write('part')
      reached()
    })
    await using gateway = await startGateway(file('buffer: {response: {}}', upstream.host), { clock })
    const answer = fetch(gateway.url(8080))
    await asked
    await holds(gateway, 4)
    clock.advance(300_000)
    expect((await answer).status).toBe(504)
  })
})

describe('the total of buffered bodies', () => {
  test('stays below the cap, and requests beyond it get 503 with retry-after', async () => {
    await using upstream = await startUpstream(echo)
    await using gateway = await startGateway(file(READS, upstream.host, 'maxBufferTotal: 1000, maxBufferSize: 900'))
    const first = dial(gateway)
    first.write(head('Content-Length: 800\r\n'))
    first.write('x'.repeat(700))
    await holds(gateway, 700)
    const second = dial(gateway)
    second.write(`${head('Content-Length: 301\r\n')}${'x'.repeat(301)}`)
    const refused = await answerOf(second)
    expect(refused).toMatch(/^HTTP\/1\.1 503 /)
    expect(refused).toMatch(/\r\nretry-after: 1\r\n/)
    const third = await fetch(gateway.url(8080), { method: 'POST', body: 'x'.repeat(300) })
    expect(third.status).toBe(200)
    await third.text()
    await holds(gateway, 700)
    first.write('x'.repeat(100))
    expect(await answerOf(first)).toMatch(/^HTTP\/1\.1 200 /)
    await holds(gateway, 0)
    expect((await fetch(gateway.url(8080), { method: 'POST', body: 'x'.repeat(900) })).status).toBe(200)
  })

  test('does not include announced but unsent bytes', async () => {
    await using upstream = await startUpstream(echo)
    await using gateway = await startGateway(file(READS, upstream.host, 'maxBufferTotal: 1000'))
    for (let i = 0; i < 5; i++) dial(gateway).write(head('Content-Length: 999\r\n'))
    const answer = await fetch(gateway.url(8080), { method: 'POST', body: 'x'.repeat(1000) })
    expect(answer.status).toBe(200)
  })

  test('drops when a client disconnects or a body is too long', async () => {
    await using upstream = await startUpstream(echo)
    await using gateway = await startGateway(file(READS, upstream.host, 'maxBufferTotal: 1000, maxBufferSize: 500'))
    for (let i = 0; i < 5; i++) {
      const socket = dial(gateway)
      socket.write(`${head('Content-Length: 400\r\n')}${'x'.repeat(300)}`)
      await holds(gateway, 300)
      socket.destroy()
      await holds(gateway, 0)
    }
    const long = await fetch(gateway.url(8080), {
      method: 'POST',
      body: new Blob(['x'.repeat(5000)]).stream(),
      duplex: 'half',
    } as RequestInit)
    await long.text()
    await holds(gateway, 0)
  })

  test('includes responses, which are refused regardless of failure mode', async () => {
    await using upstream = await startUpstream((_req, res) => res.end('x'.repeat(600)))
    const reads = "transformations: {response: {set: {x-length: 'string(size(response.body))'}}}"
    await using gateway = await startGateway(file(reads, upstream.host, 'maxBufferTotal: 1000'))
    expect((await fetch(gateway.url(8080))).headers.get('x-length')).toBe('600')
    await holds(gateway, 0)
    await gateway.reload(file(reads, upstream.host, 'maxBufferTotal: 500'))
    const refused = await fetch(gateway.url(8080))
    expect(refused.status).toBe(503)
    expect(refused.headers.get('retry-after')).toBe('1')
    await holds(gateway, 0)
  })

  test('leaves a body out of the log when it is full, and still serves the request', async () => {
    await using upstream = await startUpstream(echo)
    const log = ", accessLog: {add: {sent: 'string(request.body)'}}"
    await using gateway = await startGateway(file('', upstream.host, 'maxBufferTotal: 10', log))
    const answer = await fetch(gateway.url(8080), { method: 'POST', body: 'x'.repeat(20) })
    expect(answer.status).toBe(200)
    await answer.text()
    await holds(gateway, 0)
    expect(gateway.logged.join('')).not.toMatch(/sent=/)
  })
})
