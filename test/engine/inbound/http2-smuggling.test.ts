import { connect, type Socket } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { startGateway, type TestGateway } from '../../helpers/gateway.ts'
import { fields, frame } from '../../helpers/http2-frames.ts'
import { startUpstream, type Upstream } from '../../helpers/upstream.ts'

const [HEADERS, SETTINGS, PING, CONTINUATION] = [1, 4, 6, 9]
const [END_STREAM, END_HEADERS] = [1, 4]
const SMUGGLED = ' HTTP/1.1\r\nHost: a\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n'

let upstream: Upstream
let gateway: TestGateway
let seen: string[] = []
beforeAll(async () => {
  upstream = await startUpstream((req, res) => {
    seen.push(`${req.method} ${req.url} ${req.rawHeaders.join('|')}`)
    req.resume().on('end', () => res.end('served'))
  })
  upstream.server.on('upgrade', (req, socket) => {
    seen.push(`${req.method} ${req.url} ${req.rawHeaders.join('|')}`)
    socket.destroy()
  })
  gateway = await startGateway(
    `binds: [{port: 80, listeners: [{routes: [{backends: [{host: '${upstream.host}', policies: {http: {version: HTTP/1.1}}}]}]}]}]`,
  )
})
afterAll(async () => {
  await gateway[Symbol.asyncDispose]()
  await upstream[Symbol.asyncDispose]()
})
beforeEach(() => {
  seen = []
})

function dial(): Socket {
  const socket = connect(gateway.gateway.portOf(80)!, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => {})
  socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
  socket.write(frame(SETTINGS, 0, 0, Buffer.alloc(0)))
  return socket
}

/** Resolves when stream 1 has ended in one way or another, or the connection has. */
function outcome(socket: Socket): Promise<void> {
  return new Promise(resolve => {
    let bytes = Buffer.alloc(0)
    socket.on('close', () => resolve())
    socket.on('data', (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk])
      for (let at = 0; at + 9 <= bytes.length; ) {
        const size = 9 + bytes.readUIntBE(at, 3)
        if (at + size > bytes.length) break
        const [type, flags, stream] = [bytes[at + 3]!, bytes[at + 4]!, bytes.readUInt32BE(at + 5)]
        if (type === 7 || (stream === 1 && (type === 3 || (type < 2 && (flags & END_STREAM) !== 0)))) resolve()
        at += size
      }
    })
  })
}

async function ask(head: Readonly<Record<string, string>>): Promise<void> {
  const socket = dial()
  const ended = outcome(socket)
  socket.write(frame(HEADERS, END_HEADERS | END_STREAM, 1, fields(Object.entries(head).flat())))
  await ended
}

describe('HTTP/2 input that could smuggle an HTTP/1.1 request never reaches the backend', () => {
  const head = { ':method': 'GET', ':scheme': 'http', ':path': '/first', ':authority': 'a' }
  test.each([
    ['a path with a second request', { ':path': `/first${SMUGGLED}` }],
    ['a path with a space', { ':path': '/first /second' }],
    ['a path with a line break', { ':path': '/first\n' }],
    ['a path with a NUL', { ':path': '/first\0' }],
    ['an empty path', { ':path': '' }],
    ['a path without a slash', { ':path': 'first' }],
    ['a method with a second request', { ':method': `GET /smuggled${SMUGGLED}` }],
    ['a method with a space', { ':method': 'GET /' }],
    ['an empty method', { ':method': '' }],
    ['an authority with a line break', { ':authority': 'a\r\nx: 1' }],
    ['an authority with a path', { ':authority': 'a/b' }],
    ['an authority with a user name', { ':authority': 'user@a' }],
    ['a protocol without CONNECT', { ':protocol': 'websocket' }],
    ['a protocol with a second field', { ':method': 'CONNECT', ':protocol': 'x\r\ntransfer-encoding: chunked' }],
    ['a protocol with a second request', { ':method': 'CONNECT', ':protocol': `x\r\n\r\nGET /smuggled${SMUGGLED}` }],
  ])('%s', async (_name, fault) => {
    await ask({ ...head, ...fault })
    expect(seen).toEqual([])
  })

  test.each(['x: 1\r\ny', 'x y', 'x\r\ny', ''])('drops a header with an invalid name: %j', async name => {
    await ask({ ...head, [name]: '2' })
    expect(seen).toEqual(['GET /first host|a'])
  })

  test('the same request without the defect does', async () => {
    await ask(head)
    expect(seen).toHaveLength(1)
    expect(seen[0]).toMatch(/^GET \/first /)
  })
})

describe('endless frames close the connection', () => {
  const start = fields([':method', 'GET', ':scheme', 'http', ':path', '/', ':authority', 'a'])
  const large = fields(['x-more', 'a'.repeat(4000)])
  test.each([
    [
      'large CONTINUATIONs',
      (socket: Socket) => socket.write(frame(HEADERS, END_STREAM, 1, start)),
      frame(CONTINUATION, 0, 1, large),
    ],
    [
      'empty CONTINUATIONs',
      (socket: Socket) => socket.write(frame(HEADERS, END_STREAM, 1, start)),
      frame(CONTINUATION, 0, 1, Buffer.alloc(0)),
    ],
    ['settings', () => {}, frame(SETTINGS, 0, 0, Buffer.from([0, 3, 0, 0, 0, 1]))],
    ['pings', () => {}, frame(PING, 0, 0, Buffer.alloc(8))],
  ])('%s', async (_name, begin, again) => {
    const socket = dial()
    // Nothing is read: whatever has to be answered piles up.
    socket.pause()
    begin(socket)
    const block = Buffer.concat(Array.from({ length: 500 }, () => again))
    const closed = new Promise(resolve => socket.once('close', resolve))
    let sent = 0
    const flood = (): void => {
      while (!socket.destroyed && socket.writable && sent < 200_000_000) {
        sent += block.length
        if (!socket.write(block)) return
      }
    }
    socket.on('drain', flood)
    flood()
    await closed
    expect(sent).toBeLessThan(200_000_000)
    const response = await fetch(gateway.url(80))
    expect(response.status).toBe(200)
  })
})

test('a client’s GOAWAY logs no warning, bytes that are not HTTP/2 do', async () => {
  const warned = () => gateway.logged.filter(line => /\twarn\t.*connection ended/.test(line)).length
  const before = warned()
  const goodbye = frame(7, 0, 0, Buffer.from([0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0]))
  for (const requests of [0, 1]) {
    const socket = dial()
    if (requests > 0) {
      const answered = outcome(socket)
      const list = [':method', 'GET', ':scheme', 'http', ':path', '/', ':authority', 'a']
      socket.write(frame(HEADERS, END_HEADERS | END_STREAM, 1, fields(list)))
      await answered
    }
    const ended = new Promise(resolve => socket.once('close', resolve))
    socket.resume().write(goodbye)
    await ended
    expect(warned()).toBe(before)
  }
  const stranger = connect(gateway.gateway.portOf(80)!, '127.0.0.1').resume()
  const gone = new Promise(resolve => stranger.on('error', () => {}).once('close', resolve))
  stranger.write(Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), goodbye]))
  await gone
  expect(warned()).toBe(before + 1)
})
