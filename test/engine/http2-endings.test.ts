import { once } from 'node:events'
import { connect as connectHttp2, createServer as createHttp2, type ServerHttp2Session } from 'node:http2'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { queryObjects } from 'node:v8'
import { describe, expect, onTestFinished, test } from 'vitest'
import { startGateway, type TestGateway } from '../helpers/gateway.ts'
import { fields, frame } from '../helpers/http2-frames.ts'
import { closeOf } from '../helpers/upstream.ts'
import { ManualClock } from './manual-clock.ts'

const [DATA, HEADERS, SETTINGS, GOAWAY, CONTINUATION] = [0, 1, 4, 7, 9]
const END_STREAM_AND_HEADERS = 5
const nothing = Buffer.alloc(0)
const get = fields([':method', 'GET', ':scheme', 'http', ':path', '/', ':authority', 'a'])

/** What makes nghttp2 give a connection up without telling Node, once a GOAWAY has gone. */
const fatal: readonly (readonly [string, Buffer])[] = [
  ['DATA on stream 0', frame(DATA, 0, 0, nothing)],
  ['an unexpected CONTINUATION', frame(CONTINUATION, 4, 3, get)],
  ['a header block that is not HPACK', frame(HEADERS, END_STREAM_AND_HEADERS, 3, Buffer.alloc(6, 0xff))],
  ['an oversized frame', frame(DATA, 0, 1, Buffer.alloc(70_000))],
]

const toBackend = (port: number, version = 'HTTP/1.1', more = '') =>
  `${more}\nbinds: [{port: 80, listeners: [{routes: [{backends: [{host: '127.0.0.1:${port}', policies: {http: {version: ${version}}}}]}]}]}]`

/** Hands over each connection. */
async function startRaw(serve: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>()
  const server = createServer(socket => {
    sockets.add(socket.on('error', () => {}))
    serve(socket)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

async function start(config: string, clock = new ManualClock()): Promise<TestGateway> {
  const gateway = await startGateway(config, { clock })
  onTestFinished(async () => {
    const stopped = gateway[Symbol.asyncDispose]()
    clock.advance(3_600_000)
    await stopped
  })
  return gateway
}

function greet(gateway: TestGateway): Socket {
  const socket = connect(gateway.gateway.portOf(80)!, '127.0.0.1').on('error', () => {})
  onTestFinished(() => void socket.destroy())
  socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
  socket.write(frame(SETTINGS, 0, 0, nothing))
  return socket.resume()
}

test.each(fatal)('a client that sends %s after GOAWAY is disconnected', async (_what, bytes) => {
  let arrived = 0
  const port = await startRaw(socket => socket.on('data', () => arrived++))
  const clock = new ManualClock()
  const gateway = await start(toBackend(port), clock)
  const socket = greet(gateway)
  socket.write(frame(HEADERS, END_STREAM_AND_HEADERS, 1, get))
  await expect.poll(() => arrived).toBe(1)
  socket.write(Buffer.concat([frame(GOAWAY, 0, 0, Buffer.alloc(8)), bytes]))
  const closed = closeOf(socket)
  await expect
    .poll(() => {
      clock.advance(10_000)
      return socket.destroyed
    })
    .toBe(true)
  await closed
})

test('a client that answers pings after GOAWAY gets the rest of its response', async () => {
  let finish: (() => void) | undefined
  const port = await startRaw(socket => {
    socket.on('data', () => {
      finish = () => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')
    })
  })
  const clock = new ManualClock()
  const gateway = await start(toBackend(port), clock)
  const session = connectHttp2(`http://127.0.0.1:${gateway.gateway.portOf(80)}`)
  onTestFinished(() => session.destroy())
  const stream = session.request({ ':path': '/' })
  await expect.poll(() => finish).toBeDefined()
  session.goaway(0)
  const intervals = () => clock.armed.filter(ms => ms === 10_000).length
  for (let answered = 1; answered <= 3; answered++) {
    await expect.poll(intervals).toBe(answered)
    clock.advance(10_000)
  }
  await expect.poll(intervals).toBe(4)
  finish!()
  const [head] = await once(stream, 'response')
  expect(head[':status']).toBe(200)
})

test.each(fatal)('a backend that sends %s after GOAWAY fails the call', async (_what, bytes) => {
  let requests = 0
  const port = await startRaw(socket => {
    socket.write(frame(SETTINGS, 0, 0, nothing))
    socket.on('data', (chunk: Buffer) => {
      if (!chunk.includes(Buffer.from([HEADERS, END_STREAM_AND_HEADERS]))) return
      requests++
      // Stream 1 is the call's, and goes on.
      const last = Buffer.from([0, 0, 0, 1, 0, 0, 0, 0])
      socket.write(Buffer.concat([frame(GOAWAY, 0, 0, last), bytes]))
    })
  })
  const clock = new ManualClock()
  const gateway = await start(toBackend(port, 'HTTP/2.0'), clock)
  let status: number | undefined
  void fetch(gateway.url(80)).then(reply => {
    status = reply.status
  })
  await expect.poll(() => requests).toBe(1)
  await expect
    .poll(() => {
      clock.advance(10_000)
      return status
    })
    .toBe(503)
})

describe('an HTTP/2 connection', () => {
  test('applies the idle timeout only while no stream is open', async () => {
    let finish: (() => void) | undefined
    const port = await startRaw(socket => {
      socket.on('data', () => {
        finish = () => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')
      })
    })
    const clock = new ManualClock()
    const gateway = await start(toBackend(port, 'HTTP/1.1', 'frontendPolicies: {http: {http1IdleTimeout: 20s}}'), clock)
    const session = connectHttp2(`http://127.0.0.1:${gateway.gateway.portOf(80)}`)
    onTestFinished(() => session.destroy())
    const stream = session.request({ ':path': '/' }).resume()
    await expect.poll(() => finish).toBeDefined()
    clock.advance(60_000)
    finish!()
    await once(stream, 'close')
    const next = session.request({ ':path': '/' }).resume()
    finish = undefined
    await expect.poll(() => finish).toBeDefined()
    finish!()
    await once(next, 'close')
    const closed = once(session, 'close')
    // The gateway's end of the stream may close after the client's.
    await expect
      .poll(() => {
        clock.advance(20_000)
        return session.closed
      })
      .toBe(true)
    await closed
  })

  test('is freed from memory when it closes', async () => {
    const server = createHttp2()
    let sessionClass: (new () => ServerHttp2Session) | undefined
    server.on('session', session => {
      sessionClass = session.constructor as new () => ServerHttp2Session
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const own = connectHttp2(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    await once(own, 'remoteSettings')
    own.destroy()
    server.close()
    const kept = () => Number(queryObjects(sessionClass!, { format: 'count' }))
    const gateway = await start(
      'binds: [{port: 80, listeners: [{routes: [{policies: {directResponse: {status: 200, body: ok}}}]}]}]',
    )
    const before = kept()
    for (let i = 0; i < 20; i++) {
      const session = connectHttp2(`http://127.0.0.1:${gateway.gateway.portOf(80)}`)
      await once(session.request({ ':path': '/' }).resume(), 'end')
      session.close()
      await once(session, 'close')
    }
    await expect.poll(kept, { interval: 200, timeout: 10_000 }).toBeLessThan(before + 5)
  })
})
