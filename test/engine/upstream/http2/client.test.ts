import { createHash } from 'node:crypto'
import { once } from 'node:events'
import http2 from 'node:http2'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { expect, onTestFinished, test } from 'vitest'
import { createTransport } from '../../../../src/engine/upstream/transport.ts'
import type { Transport } from '../../../../src/http/transport.ts'
import { fields, frame } from '../../../helpers/http2-frames.ts'
import { exchange, recorder, requestOf, StoppedClock, targetOf } from '../peers.ts'
import * as raw from './raw-server.ts'

const { END_HEADERS, END_STREAM, u32, head, data, setting } = raw
const WINDOW = 256 * 1024

function open(): Transport {
  const transport = createTransport({ clock: new StoppedClock() })
  onTestFinished(() => transport.close())
  return transport
}

const at = (port: number) => targetOf(port, { version: '2' })

async function serve(
  options: http2.ServerOptions,
  handle: (stream: http2.ServerHttp2Stream) => void,
): Promise<{ port: number; sessions: () => number }> {
  const server = http2.createServer(options)
  const sessions = new Set<http2.Http2Session>()
  server.on('session', session => sessions.add(session.on('error', () => {})))
  server.on('stream', (stream: http2.ServerHttp2Stream) => {
    stream.on('error', () => {})
    handle(stream)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    for (const session of sessions) session.destroy()
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, sessions: () => sessions.size }
}

test('a response is the same wherever it is split', async () => {
  const block = fields([':status', '200', 'x-a', 'b'])
  const reply = Buffer.concat([
    frame(4, 0, 0, setting(4, 70_000)),
    frame(1, 0, 1, block.subarray(0, 7)),
    frame(9, END_HEADERS, 1, block.subarray(7)),
    data(1, 'one '),
    frame(6, 0, 0, Buffer.alloc(8)),
    frame(0, raw.PADDED, 1, Buffer.from('\x01two\0')),
    head(1, END_HEADERS | END_STREAM, ['x-end', '1']),
  ])
  const transport = open()
  for (let cut = 0; cut < reply.length; cut++) {
    const server = await raw.startRaw(async connection => {
      await connection.got(raw.HEADERS)
      connection.send(reply.subarray(0, cut))
      setImmediate(() => setImmediate(() => connection.send(reply.subarray(cut))))
    }, 'none')
    const wanted = { status: 200, headers: ['x-a', 'b'], body: 'one two', trailers: ['x-end', '1'] }
    expect(await exchange(transport, at(server.port), requestOf()), `cut at ${cut}`).toMatchObject(wanted)
  }
})

test('completes 1,000 concurrent calls on a server that allows 10 streams', async () => {
  let most = 0
  const { port } = await serve({ settings: { maxConcurrentStreams: 10 } }, stream => {
    const session = stream.session as http2.ServerHttp2Session & { open?: number }
    session.open = (session.open ?? 0) + 1
    most = Math.max(most, session.open)
    setImmediate(() => {
      stream.respond({ ':status': 200 })
      stream.end('ok')
      session.open!--
    })
  })
  const transport = open()
  const calls = await Promise.all(Array.from({ length: 1000 }, () => exchange(transport, at(port), requestOf())))
  expect(calls.filter(({ body }) => body !== 'ok')).toEqual([])
  expect(most).toBeLessThanOrEqual(10)
})

test.each([
  ['as one buffer', (body: Buffer) => body],
  ['as a stream', (body: Buffer) => Readable.from([body.subarray(0, 1), body.subarray(1, 3e6), body.subarray(3e6)])],
])('8 MB are sent %s and echoed byte for byte', async (_name, bodyOf) => {
  const body = Buffer.alloc(8 << 20, 'large bodies ')
  const { port } = await serve({ settings: { initialWindowSize: 100_000 } }, stream => {
    stream.respond({ ':status': 200 })
    stream.pipe(stream)
  })
  const hash = createHash('sha1')
  let size = 0
  let resume = (): void => {}
  const outcome = await new Promise(resolve =>
    open().dispatch(
      at(port),
      requestOf({ method: 'POST', body: bodyOf(body) }),
      recorder(resolve, {
        chunk(chunk) {
          hash.update(chunk)
          size += chunk.length
          if (size % 5 > 0) return true
          setImmediate(() => resume())
          return false
        },
        sink: then => {
          resume = then
        },
      }),
    ),
  )
  expect(outcome).toMatchObject({ status: 200, cut: false })
  expect(hash.digest('hex')).toBe(createHash('sha1').update(body).digest('hex'))
})

test('a paused receiver stops the server at the window, which reopens on resume', async () => {
  const block = Buffer.alloc(16_384, 'x')
  const server = await raw.startRaw(async connection => {
    await connection.got(raw.HEADERS)
    connection.send(head(1), ...Array.from({ length: 16 }, () => data(1, block)))
    const [more] = await connection.got(raw.WINDOW_UPDATE, 1, ({ stream }) => stream === 1)
    expect(more!.payload.readUInt32BE(0)).toBeGreaterThanOrEqual(WINDOW / 2)
    connection.send(data(1, 'end', END_STREAM))
  })
  let resume = (): void => {}
  let full = true
  const chunks: Buffer[] = []
  const outcome = new Promise(resolve =>
    open().dispatch(
      at(server.port),
      requestOf(),
      recorder(resolve, {
        chunk(chunk) {
          chunks.push(Buffer.from(chunk))
          return !full
        },
        sink: then => {
          resume = then
        },
      }),
    ),
  )
  await expect.poll(() => chunks.length).toBe(1)
  const pong = exchange(open(), at(server.port), requestOf())
  expect(
    server.connections[0]!.frames.filter(({ type, stream }) => type === raw.WINDOW_UPDATE && stream === 1),
  ).toEqual([])
  full = false
  resume()
  expect(await outcome).toMatchObject({ status: 200, cut: false })
  expect(Buffer.concat(chunks)).toHaveLength(WINDOW + 3)
  server.connections[1]?.socket.destroy()
  await pong
})

test('the request body respects flow control windows as the server changes them', async () => {
  const server = await raw.startRaw(
    async connection => {
      await connection.got(raw.HEADERS)
      const sent = () =>
        connection.frames.filter(({ type }) => type === raw.DATA).reduce((sum, { payload }) => sum + payload.length, 0)
      await expect.poll(sent).toBe(10)
      // What was sent counts: five less than nothing.
      connection.send(frame(4, 0, 0, setting(4, 5)), frame(8, 0, 1, u32(4)))
      await connection.got(raw.SETTINGS, 2, acked)
      expect(sent()).toBe(10)
      connection.send(frame(8, 0, 1, u32(3)))
      await expect.poll(sent).toBe(12)
      connection.send(frame(4, 0, 0, setting(4, 100_000)))
      // From here on it is the connection's.
      await expect.poll(sent).toBe(65_535)
      connection.send(frame(8, 0, 0, u32(1_000_000)))
      await connection.got(raw.DATA, 1, ({ flags }) => flags === END_STREAM)
      connection.send(head(1), data(1, String(sent()), END_STREAM))
    },
    setting(4, 10),
  )
  // Allowed before the settings are known: 65,535.
  async function* body(): AsyncGenerator<Buffer> {
    await expect.poll(() => server.connections[0]?.frames.some(acked)).toBe(true)
    yield Buffer.alloc(90_000)
  }
  const reply = await exchange(open(), at(server.port), requestOf({ method: 'POST', body: Readable.from(body()) }))
  expect(reply.body).toBe('90000')
})

const acked = ({ type, flags }: raw.Frame): boolean => type === raw.SETTINGS && flags === raw.ACK

test('a request body is not read when the server grants no window', async () => {
  const server = await raw.startRaw(() => {})
  let read = 0
  const body = new Readable({
    read() {
      read += 10_000
      this.push(Buffer.alloc(10_000))
    },
  })
  const call = open().dispatch(
    at(server.port),
    requestOf({ method: 'POST', body }),
    recorder(() => {}),
  )
  await expect
    .poll(() => server.connections[0]?.frames.filter(({ type }) => type === raw.DATA).length)
    .toBeGreaterThan(3)
  await new Promise(resolve => setImmediate(resolve))
  expect(read).toBeLessThan(65_535 + 200_000)
  call.cancel()
  const [reset] = await server.connections[0]!.got(raw.RST_STREAM)
  expect(reset!.payload.readUInt32BE(0)).toBe(8)
})

test('calls made in one event loop turn are sent together', async () => {
  const reads: number[] = []
  const server = await raw.startRaw(connection => {
    connection.socket.on('data', (chunk: Buffer) => reads.push(chunk.length))
  })
  const transport = open()
  void exchange(transport, at(server.port), requestOf())
  await expect.poll(() => server.connections[0]?.frames.some(({ type }) => type === raw.HEADERS)).toBe(true)
  await server.connections[0]!.got(raw.SETTINGS, 1, acked)
  const before = reads.length
  for (let i = 0; i < 20; i++)
    void exchange(transport, at(server.port), requestOf({ method: 'POST', body: Buffer.from('x') }))
  await server.connections[0]!.got(raw.HEADERS, 21)
  expect(reads.length - before).toBe(1)
})
