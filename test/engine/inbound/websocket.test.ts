import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { connect, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { connect as connectTls } from 'node:tls'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { createAuthority, createCertificate } from '../../helpers/certificates.ts'
import { startGateway, type TestGateway } from '../../helpers/gateway.ts'
import { ENDLESS } from '../../helpers/own-sockets.ts'
import { rawRequest, startUpstream } from '../../helpers/upstream.ts'
import { FrameReader, frame, startWebSocketServer } from '../../helpers/websocket.ts'

const authority = createAuthority('test authority')
const { cert, key } = createCertificate(authority, ['localhost'])
const files = { 'cert.pem': cert, 'key.pem': key }
const HANDSHAKE =
  'GET /ws HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n'

let server: Awaited<ReturnType<typeof startWebSocketServer>>
let gateway: TestGateway
beforeAll(async () => {
  server = await startWebSocketServer()
  const routes = `routes: [{backends: [{host: '${server.host}'}]}]`
  gateway = await startGateway(
    `binds: [{port: 80, listeners: [{${routes}}]}, {port: 443, listeners: [{protocol: HTTPS, tls: {cert: cert.pem, key: key.pem}, ${routes}}]}]`,
    { files },
  )
})
afterAll(async () => {
  await gateway[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

/** After the handshake: nothing but frames comes out of it. */
async function switched(socket: Socket): Promise<Socket> {
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => {})
  socket.write(HANDSHAKE)
  let head = ''
  while (!head.includes('\r\n\r\n')) head += String((await once(socket, 'data'))[0])
  expect(head).toMatch(/^HTTP\/1\.1 101 [\s\S]*sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK\+xOo=/i)
  return socket
}

const ways: Record<string, () => Promise<Duplex>> = {
  http: () => switched(connect({ port: gateway.gateway.portOf(80)!, host: '127.0.0.1', allowHalfOpen: true })),
  https: () =>
    switched(
      connectTls({
        port: gateway.gateway.portOf(443)!,
        ca: authority.cert,
        host: '127.0.0.1',
        servername: 'localhost',
      }),
    ),
  'HTTP/2': () => overHttp2(`http://127.0.0.1:${gateway.gateway.portOf(80)}`),
  'HTTP/2 and TLS': () => overHttp2(`https://localhost:${gateway.gateway.portOf(443)}`),
}

async function overHttp2(url: string): Promise<Duplex> {
  const session = connectHttp2(url, { ca: authority.cert })
  onTestFinished(() => session.destroy())
  session.on('error', () => {})
  const [settings] = await once(session, 'remoteSettings')
  expect(settings.enableConnectProtocol).toBe(true)
  const stream = session.request({
    ':method': 'CONNECT',
    ':protocol': 'websocket',
    ':path': '/ws',
    ':scheme': url.slice(0, url.indexOf(':')),
    ':authority': 'localhost',
    'sec-websocket-version': '13',
  })
  stream.on('error', () => {})
  const [head] = await once(stream, 'response')
  expect(head[':status']).toBe(200)
  expect(head['sec-websocket-accept']).toBe(undefined)
  return stream
}

describe.each(Object.keys(ways))('over %s', way => {
  test('echoes thousands of messages in order, at the pace of the slower side', async () => {
    const socket = await ways[way]!()
    const count = 3000
    const frames = new FrameReader()
    let back = 0
    const received = new Promise<void>(resolve => {
      socket.on('data', (chunk: Buffer) => {
        for (const { opcode, payload } of frames.read(chunk)) {
          if (opcode !== 2) continue
          expect(payload.readUInt32BE(0)).toBe(back)
          expect(payload.length).toBe(sizeOf(back))
          back++
        }
        if (back === count) resolve()
        if (back % 100 !== 0 || back === count) return
        socket.pause()
        setImmediate(() => socket.resume())
      })
    })
    for (let i = 0; i < count; i++) {
      const payload = Buffer.alloc(sizeOf(i), i)
      payload.writeUInt32BE(i, 0)
      if (!socket.write(frame(payload, { masked: true }))) await once(socket, 'drain')
    }
    await received
    socket.end(frame(Buffer.alloc(0), { masked: true, opcode: 8 }))
    await once(socket, 'close')
    await expect.poll(() => server.open.size).toBe(0)
  })

  test('a client disconnect closes the server connection, and vice versa', async () => {
    const first = await ways[way]!()
    await expect.poll(() => server.open.size).toBe(1)
    first.destroy()
    await expect.poll(() => server.open.size).toBe(0)
    const second = await ways[way]!()
    const broken = new Promise(resolve => second.on('error', resolve).on('aborted', resolve).on('close', resolve))
    for (const socket of server.open) (socket as Socket).resetAndDestroy()
    await broken
    second.resume()
    await expect.poll(() => second.destroyed).toBe(true)
  })
})

/** Mostly small, at times beyond what any buffer on the way takes at once. */
function sizeOf(i: number): number {
  return i % 250 === 0 ? 100_000 : 4 + (i % 1500)
}

test('unread messages apply backpressure to the sender', async () => {
  const socket = await ways['http']!()
  socket.pause()
  const block = frame(Buffer.alloc(60_000), { masked: true })
  let sent = 0
  // The echo comes back into buffers that fill up; then nothing more is taken.
  while (sent < ENDLESS) {
    if (!socket.write(block)) {
      const drained = await Promise.race([once(socket, 'drain'), new Promise(resolve => setTimeout(resolve, 300))])
      if (drained === undefined) break
    }
    sent += block.length
  }
  expect(sent).toBeLessThan(ENDLESS)
  const held = [...server.open].reduce((sum, each) => sum + each.writableLength, 0)
  expect(held).toBeLessThan(1_000_000)
})

test('works with the built-in WebSocket client', async () => {
  const socket = new WebSocket(`ws://127.0.0.1:${gateway.gateway.portOf(80)}/ws`)
  await new Promise(resolve => socket.addEventListener('open', resolve, { once: true }))
  const messages: unknown[] = []
  const all = new Promise<void>(resolve => {
    socket.addEventListener('message', ({ data }) => {
      messages.push(data)
      if (messages.length === 3) resolve()
    })
  })
  for (const text of ['one', 'two', '3'.repeat(70_000)]) socket.send(text)
  await all
  expect(messages).toEqual(['one', 'two', '3'.repeat(70_000)])
  socket.close(1000)
  await new Promise(resolve => socket.addEventListener('close', resolve, { once: true }))
})

test('a half-closed client still gets everything the server sends', async () => {
  const answer = Buffer.alloc(8 * 2 ** 20, 'x')
  await using upstream = await startUpstream(() => {})
  upstream.server.on('upgrade', (_req, socket: Socket) => {
    socket.allowHalfOpen = true
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
    // Only a client that has ended its side gets an answer, and the connection is over with it.
    socket.resume().on('end', () => socket.end(answer))
  })
  await using other = await startGateway(
    `binds: [{port: 80, listeners: [{routes: [{backends: [{host: '${upstream.host}'}]}]}]}]`,
  )
  const socket = connect({ port: other.gateway.portOf(80)!, host: '127.0.0.1', allowHalfOpen: true })
  onTestFinished(() => void socket.destroy())
  socket.write(HANDSHAKE)
  await once(socket, 'data')
  socket.pause()
  socket.end('over')
  // What the upstream has sent waits for a reader that comes late.
  await expect.poll(() => upstream.server.listening && socket.writableFinished).toBe(true)
  await new Promise(resolve => setTimeout(resolve, 200))
  let size = 0
  socket.on('data', (chunk: Buffer) => {
    size += chunk.length
  })
  await once(socket.resume(), 'end')
  expect(size).toBe(answer.length)
})

test('a server that has half-closed still receives from the client', async () => {
  let heard = ''
  await using upstream = await startUpstream(() => {})
  upstream.server.on('upgrade', (_req, socket: Socket) => {
    socket.allowHalfOpen = true
    socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nbye')
    socket.on('data', chunk => {
      heard += chunk
    })
  })
  await using other = await startGateway(
    `binds: [{port: 80, listeners: [{routes: [{backends: [{host: '${upstream.host}'}]}]}]}]`,
  )
  const socket = connect({ port: other.gateway.portOf(80)!, host: '127.0.0.1', allowHalfOpen: true })
  onTestFinished(() => void socket.destroy())
  socket.write(HANDSHAKE)
  await once(socket.resume(), 'end')
  socket.end('the last word')
  await expect.poll(() => heard).toBe('the last word')
  await expect.poll(() => socket.destroyed).toBe(true)
})

test('a server that switches to an unrequested protocol yields 502', async () => {
  await using upstream = await startUpstream(() => {})
  upstream.server.on('upgrade', (_req, socket) => {
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: tls/1.0\r\n\r\n')
    socket.on('end', () => socket.end()).resume()
  })
  await using other = await startGateway(
    `binds: [{port: 80, listeners: [{routes: [{backends: [{host: '${upstream.host}'}]}]}]}]`,
  )
  expect(await rawRequest(other.url(80), HANDSHAKE)).toMatch(/^HTTP\/1\.1 502 [\s\S]*request upgrade failed/)
})

test.each([
  ['a model', '{name: "*", provider: openAI'],
  ['a model with response headers', '{name: "*", responseHeaders: {set: {x-a: b}}, provider: openAI'],
])('proxies the realtime API of %s', async (_, model) => {
  await using other = await startGateway(
    `llm: {port: 80, models: [${model}, params: {baseUrl: 'http://${server.host}/v1'}}]}`,
  )
  const socket = connect(other.gateway.portOf(80)!, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  socket.write(HANDSHAKE.replace('/ws', '/v1/realtime?model=gpt-realtime'))
  const [head] = await once(socket, 'data')
  expect(String(head)).toMatch(/^HTTP\/1\.1 101 /)
  socket.write(frame(Buffer.from('hello'), { masked: true }))
  const [answer] = await once(socket, 'data')
  expect(new FrameReader().read(answer)).toMatchObject([{ payload: Buffer.from('hello') }])
})

test('over HTTP/2 a declined WebSocket gets the server’s response, and plain CONNECT gets 405', async () => {
  await using upstream = await startUpstream((_req, res) => res.writeHead(426).end('no'))
  await using other = await startGateway(
    `binds: [{port: 80, listeners: [{routes: [{backends: [{host: '${upstream.host}'}]}]}]}]`,
  )
  const session = connectHttp2(other.url(80))
  onTestFinished(() => session.destroy())
  await once(session, 'remoteSettings')
  const ask = async (head: Record<string, string>): Promise<number> => {
    const stream = session.request({ ':method': 'CONNECT', ':authority': 'localhost:80', ...head })
    const [fields] = await once(stream, 'response')
    stream.resume().close()
    return Number(fields[':status'])
  }
  expect(await ask({ ':protocol': 'websocket', ':path': '/ws', ':scheme': 'http' })).toBe(426)
  expect(await ask({})).toBe(405)
})
