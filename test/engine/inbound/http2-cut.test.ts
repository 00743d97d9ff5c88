import { createServer as createHttp2, type ServerHttp2Stream } from 'node:http2'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { startGateway, type TestGateway } from '../../helpers/gateway.ts'
import { fields, frame } from '../../helpers/http2-frames.ts'

const [DATA, HEADERS, RST_STREAM, SETTINGS] = [0, 1, 3, 4]
const [END_STREAM, END_HEADERS] = [1, 4]

const to = (port: number, version: string, policies = '') =>
  `binds: [{port: 80, listeners: [{routes: [{${policies}backends: [{host: '127.0.0.1:${port}', policies: {http: {version: ${version}}}}]}]}]}]`

async function start(config: string): Promise<TestGateway> {
  const gateway = await startGateway(config)
  onTestFinished(() => gateway[Symbol.asyncDispose]())
  return gateway
}

function dial(gateway: TestGateway): Socket {
  const socket = connect(gateway.gateway.portOf(80)!, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  return socket.on('error', () => {})
}

/** Half a body over HTTP/2, byte for byte: Node's own client would end it before it resets it. */
function sendHalf(gateway: TestGateway): Socket {
  const socket = dial(gateway)
  socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
  socket.write(frame(SETTINGS, 0, 0, Buffer.alloc(0)))
  const head = [':method', 'POST', ':scheme', 'http', ':path', '/', ':authority', 'a']
  socket.write(frame(HEADERS, END_HEADERS, 1, fields(head)))
  socket.write(frame(DATA, 0, 1, Buffer.from('half')))
  return socket
}

const ways: Record<string, (socket: Socket) => void> = {
  'a reset of the stream': socket => socket.write(frame(RST_STREAM, 0, 1, Buffer.from([0, 0, 0, 8]))),
  'a reset without an error': socket => socket.write(frame(RST_STREAM, 0, 1, Buffer.from([0, 0, 0, 0]))),
  'the end of the connection': socket => socket.destroy(),
  'a reset of the connection': socket => socket.resetAndDestroy(),
}

interface Received {
  readonly port: number
  body: string
  /** Whether the request came to its end, and whether it was broken off. */
  outcome: 'complete' | 'broken' | undefined
}

async function startHttp1(): Promise<Received> {
  const server = createServer(socket => {
    socket.on('error', () => {})
    socket.on('data', chunk => {
      received.body += String(chunk).includes('half') ? 'half' : ''
      if (String(chunk).includes('\r\n0\r\n') || String(chunk).startsWith('0\r\n')) received.outcome = 'complete'
    })
    socket.on('close', () => {
      received.outcome ??= 'broken'
    })
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await new Promise(resolve => server.once('listening', resolve))
  const received: Received = { port: (server.address() as AddressInfo).port, body: '', outcome: undefined }
  return received
}

async function startHttp2(): Promise<Received> {
  const server = createHttp2().listen(0, '127.0.0.1')
  server.on('session', session => session.on('error', () => {}))
  server.on('stream', (stream: ServerHttp2Stream) => {
    stream.on('error', () => {})
    stream.on('data', chunk => {
      received.body += chunk
    })
    stream.on('aborted', () => {
      received.outcome = 'broken'
    })
    stream.on('end', () => {
      received.outcome ??= 'complete'
    })
  })
  onTestFinished(() => void server.close())
  await new Promise(resolve => server.once('listening', resolve))
  const received: Received = { port: (server.address() as AddressInfo).port, body: '', outcome: undefined }
  return received
}

const backends = { 'HTTP/1.1': startHttp1, 'HTTP/2.0': startHttp2 }
const versions = Object.keys(backends) as (keyof typeof backends)[]

test.each(versions.flatMap(version => Object.keys(ways).map(way => [version, way] as const)))(
  'half a request to an %s backend, then %s: the backend sees an incomplete request',
  async (version, way) => {
    const received = await backends[version]()
    const gateway = await start(to(received.port, version))
    const socket = sendHalf(gateway)
    await expect.poll(() => received.body).toBe('half')
    ways[way]!(socket)
    await expect.poll(() => received.outcome).toBe('broken')
  },
)

test.each(Object.keys(ways))('half a buffered request, then %s: nothing reaches the backend', async way => {
  const received = await startHttp1()
  const gateway = await start(to(received.port, 'HTTP/1.1', 'policies: {buffer: {request: {}}}, '))
  const inFlight = () => /^agentgateway_requests_in_flight (\d+)$/m.exec(gateway.gateway.metrics.render())?.[1]
  const socket = sendHalf(gateway)
  await expect.poll(inFlight).toBe('1')
  ways[way]!(socket)
  await expect.poll(inFlight).toBe('0')
  expect([received.body, received.outcome]).toEqual(['', undefined])
})

test.each([
  ['in chunks', 'Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n'],
  ['with a length', 'Content-Length: 10\r\n\r\nhalf'],
])('half an HTTP/1.1 request %s: an HTTP/2 backend sees an incomplete request', async (_name, text) => {
  const received = await startHttp2()
  const gateway = await start(to(received.port, 'HTTP/2.0'))
  const socket = dial(gateway)
  socket.write(`POST / HTTP/1.1\r\nHost: a\r\n${text}`)
  await expect.poll(() => received.body).toBe('half')
  socket.destroy()
  await expect.poll(() => received.outcome).toBe('broken')
})

test.each([
  ['a content-length', 'content-length: 10\r\n\r\nhalf'],
  ['chunked encoding', 'transfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n'],
])('half a response with %s resets the stream instead of ending it', async (_name, text) => {
  const server = createServer(socket => {
    socket.on('error', () => {})
    socket.once('data', () => {
      socket.write(`HTTP/1.1 200 OK\r\n${text}`)
      cut = () => socket.resetAndDestroy()
    })
  }).listen(0, '127.0.0.1')
  let cut: () => void = () => {}
  onTestFinished(() => void server.close())
  await new Promise(resolve => server.once('listening', resolve))
  const gateway = await start(to((server.address() as AddressInfo).port, 'HTTP/1.1'))
  const socket = dial(gateway)
  const seen: string[] = []
  let held = Buffer.alloc(0)
  socket.on('data', (chunk: Buffer) => {
    held = Buffer.concat([held, chunk])
    while (held.length >= 9 && held.length >= 9 + held.readUIntBE(0, 3)) {
      const [type, flags, stream] = [held[3]!, held[4]!, held.readUInt32BE(5)]
      if (stream === 1) seen.push(type === RST_STREAM ? 'reset' : flags & END_STREAM ? 'end' : 'more')
      held = held.subarray(9 + held.readUIntBE(0, 3))
    }
  })
  socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
  socket.write(frame(SETTINGS, 0, 0, Buffer.alloc(0)))
  const head = [':method', 'GET', ':scheme', 'http', ':path', '/', ':authority', 'a']
  socket.write(frame(HEADERS, END_HEADERS | END_STREAM, 1, fields(head)))
  await expect.poll(() => seen).toEqual(['more', 'more'])
  cut()
  await expect.poll(() => seen).toEqual(['more', 'more', 'reset'])
})
