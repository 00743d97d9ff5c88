import { describe, expect, onTestFinished, test } from 'vitest'
import { createTransport } from '../../../../src/engine/upstream/transport.ts'
import type { Transport } from '../../../../src/http/transport.ts'
import { fields, frame } from '../../../helpers/http2-frames.ts'
import { exchange, recorder, requestOf, StoppedClock, targetOf } from '../peers.ts'
import * as raw from './raw-server.ts'

const { END_HEADERS, END_STREAM, PADDED, PRIORITIZED, NOTHING, u32, head, data, setting } = raw
const [PROTOCOL, FLOW, SIZE, REFUSED, CANCEL, COMPRESSION, CALM] = [1, 3, 6, 7, 8, 9, 11]

function open(clock = new StoppedClock()): Transport {
  const transport = createTransport({ clock })
  onTestFinished(() => transport.close())
  return transport
}

const get = (port: number, transport = open(), more = {}) =>
  exchange(transport, targetOf(port, { version: '2' }), requestOf(more))
const times = (count: number, bytes: Buffer): Buffer => Buffer.concat(Array<Buffer>(count).fill(bytes))
const big = Buffer.alloc(16_384)

/** What the server sends once stream 1 is open, what becomes of the call, and the code of the GOAWAY. */
const FATAL: readonly (readonly [string, Buffer, RegExp, number])[] = [
  ['DATA on stream 0', data(0, 'x'), /a stream that is not open/, PROTOCOL],
  ['DATA on a server-initiated stream', data(2, 'x'), /a stream that is not open/, PROTOCOL],
  ['DATA on a stream that was never opened', data(3, 'x'), /a stream that is not open/, PROTOCOL],
  ['HEADERS on stream 0', head(0), /a stream that is not open/, PROTOCOL],
  ['HEADERS on a stream that was never opened', head(7), /a stream that is not open/, PROTOCOL],
  ['RST_STREAM on a stream that was never opened', frame(3, 0, 5, u32(8)), /a stream that is not open/, PROTOCOL],
  ['RST_STREAM on stream 0', frame(3, 0, 0, u32(8)), /a stream that is not open/, PROTOCOL],
  ['RST_STREAM of three bytes', frame(3, 0, 1, Buffer.alloc(3)), /the wrong size/, SIZE],
  ['WINDOW_UPDATE on a stream that was never opened', frame(8, 0, 9, u32(1)), /a stream that is not open/, PROTOCOL],
  ['WINDOW_UPDATE of zero', frame(8, 0, 0, u32(0)), /a WINDOW_UPDATE of 0/, PROTOCOL],
  ['WINDOW_UPDATE of five bytes', frame(8, 0, 0, Buffer.alloc(5)), /the wrong size/, SIZE],
  ['a window beyond 2^31-1', times(2, frame(8, 0, 0, u32(0x7fffffff))), /a window above/, FLOW],
  ['an initial window beyond 2^31-1', frame(4, 0, 0, setting(4, 2 ** 31)), /a window above/, FLOW],
  ['SETTINGS on a stream', frame(4, 0, 1, NOTHING), /a connection frame on a stream/, PROTOCOL],
  ['SETTINGS of five bytes', frame(4, 0, 0, Buffer.alloc(5)), /the wrong size/, SIZE],
  ['a SETTINGS ACK with a payload', frame(4, 1, 0, setting(4, 1)), /the wrong size/, SIZE],
  ['SETTINGS that enable push', frame(4, 0, 0, setting(2, 1)), /ENABLE_PUSH/, PROTOCOL],
  ['a maximum frame size below the minimum', frame(4, 0, 0, setting(5, 100)), /a MAX_FRAME_SIZE/, PROTOCOL],
  ['PING on a stream', frame(6, 0, 1, Buffer.alloc(8)), /a connection frame on a stream/, PROTOCOL],
  ['PING of seven bytes', frame(6, 0, 0, Buffer.alloc(7)), /the wrong size/, SIZE],
  ['GOAWAY on a stream', frame(7, 0, 1, Buffer.alloc(8)), /a connection frame on a stream/, PROTOCOL],
  ['GOAWAY of four bytes', frame(7, 0, 0, Buffer.alloc(4)), /the wrong size/, SIZE],
  ['PRIORITY of four bytes', frame(2, 0, 1, Buffer.alloc(4)), /the wrong size/, SIZE],
  ['PUSH_PROMISE', frame(5, 4, 1, u32(2)), /a PUSH_PROMISE/, PROTOCOL],
  ['an oversized frame', frame(0, 0, 1, Buffer.alloc(16_385)), /a frame of 16385 bytes/, SIZE],
  ['more padding than payload', frame(0, PADDED, 1, Buffer.of(3, 0, 0)), /more padding/, PROTOCOL],
  ['padding of an empty frame', frame(0, PADDED, 1, NOTHING), /more padding/, PROTOCOL],
  ['a truncated priority', frame(1, END_HEADERS | PRIORITIZED, 1, Buffer.alloc(3)), /more padding/, PROTOCOL],
  ['an unexpected CONTINUATION', frame(9, END_HEADERS, 1, NOTHING), /an unexpected CONTINUATION/, PROTOCOL],
  ['DATA within a header block', Buffer.concat([head(1, 0), data(1, 'x')]), /an incomplete header block/, PROTOCOL],
  [
    'a CONTINUATION on another stream',
    Buffer.concat([head(1, 0), frame(9, 4, 3, NOTHING)]),
    /an incomplete header block/,
    PROTOCOL,
  ],
  [
    'a header block that is not HPACK',
    frame(1, END_HEADERS, 1, Buffer.alloc(6, 0xff)),
    /a header block with an integer/,
    COMPRESSION,
  ],
  [
    'empty CONTINUATIONs',
    Buffer.concat([head(1, 0), times(100, frame(9, 0, 1, NOTHING))]),
    /a header block above the limit/,
    CALM,
  ],
  [
    'large CONTINUATIONs',
    Buffer.concat([head(1, 0), times(5, frame(9, 0, 1, big))]),
    /a header block above the limit/,
    CALM,
  ],
  ['endless SETTINGS', times(1100, frame(4, 0, 0, NOTHING)), /too many frames that need an answer/, CALM],
  ['endless PINGs', times(1100, frame(6, 0, 0, Buffer.alloc(8))), /too many frames that need an answer/, CALM],
  ['endless PING ACKs', times(10_100, frame(6, 1, 0, Buffer.alloc(8))), /too many frames without effect/, CALM],
  ['endless PRIORITY frames', times(10_100, frame(2, 0, 1, Buffer.alloc(5))), /too many frames without effect/, CALM],
  ['endless unknown frames', times(10_100, frame(99, 0, 0, NOTHING)), /too many frames without effect/, CALM],
  ['endless WINDOW_UPDATEs', times(10_100, frame(8, 0, 1, u32(1))), /too many frames without effect/, CALM],
  ['endless interim responses', times(10_100, head(1, 4, [':status', '103'])), /too many frames without effect/, CALM],
  ['endless empty DATA', Buffer.concat([head(1), times(10_100, data(1, ''))]), /too many frames without effect/, CALM],
]

describe('a server that violates the protocol on the connection', () => {
  test.each(FATAL)('%s', async (_name, bytes, wanted, code) => {
    const server = await raw.startRaw(async connection => {
      await connection.got(raw.HEADERS)
      connection.send(bytes)
    })
    const { error } = await get(server.port)
    expect(error?.message).toMatch(/^upstream call failed: invalid HTTP\/2: /)
    expect(error?.message).toMatch(wanted)
    const [connection] = server.connections
    await connection!.closed
    expect(connection!.frames.find(({ type }) => type === raw.GOAWAY)?.payload.readUInt32BE(4) ?? code).toBe(code)
  })

  test('fails all calls on it, but no other connection', async () => {
    const server = await raw.startRaw(async (connection, index) => {
      await connection.got(raw.HEADERS, index === 0 ? 3 : 1)
      if (index === 0) connection.send(data(0, 'x'))
      else connection.send(head(1, END_HEADERS | END_STREAM))
    })
    const transport = open()
    const failed = await Promise.all([1, 2, 3].map(() => get(server.port, transport)))
    for (const { error } of failed) expect(error?.message).toMatch(/not open/)
    expect(await get(server.port, transport)).toMatchObject({ status: 200 })
  })
})

test.each([
  ['HTTP/1.1', Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n')],
  ['SSH', Buffer.from('SSH-2.0-OpenSSH_9.2p1 Debian\r\n')],
  ['HTTP/2 without settings', frame(6, 0, 0, Buffer.alloc(8))],
  ['HTTP/2 starting with a SETTINGS ACK', frame(4, 1, 0, NOTHING)],
])('the call fails when the server speaks %s', async (_name, bytes) => {
  const server = await raw.startRaw(({ socket }) => void socket.write(bytes), 'none')
  const answer = await get(server.port)
  expect(answer.error?.message).toBe('upstream call failed: invalid HTTP/2: the server does not speak HTTP/2')
})

test('a silent server fails after the connect timeout', async () => {
  const clock = new StoppedClock()
  const server = await raw.startRaw(() => {}, 'none')
  const transport = open(clock)
  const canceled = transport.dispatch(
    targetOf(server.port, { version: '2' }),
    requestOf(),
    recorder(() => {}),
  )
  const calls = Array.from({ length: 6 }, () => get(server.port, transport))
  await expect.poll(() => server.connections[0]?.frames.filter(({ type }) => type === raw.HEADERS).length).toBe(4)
  canceled.cancel()
  await server.connections[0]!.got(raw.RST_STREAM)
  clock.advance(5000)
  for (const call of calls) expect((await call).error?.message).toMatch(/time/)
})

/** What ends the call and leaves the connection. `code`: of the RST_STREAM; undefined: none is sent. */
const LOCAL: readonly (readonly [string, Buffer, RegExp, number | undefined])[] = [
  ['a reset', frame(3, 0, 1, u32(2)), /stream reset/, undefined],
  ['a reset within the reply', Buffer.concat([head(1), data(1, 'x'), frame(3, 0, 1, u32(8))]), /reset/, undefined],
  ['a reset without an error', Buffer.concat([head(1), frame(3, 0, 1, u32(0))]), /connection closed/, undefined],
  ['DATA before the head', data(1, 'x'), /invalid response/, PROTOCOL],
  ['an end before the head', data(1, '', END_STREAM), /invalid response/, PROTOCOL],
  ['a head without a status', head(1, 4, ['x', '1']), /invalid response/, PROTOCOL],
  ['two statuses', head(1, 4, [':status', '200', ':status', '200']), /invalid response/, PROTOCOL],
  ['a status behind a field', head(1, 4, ['x', '1', ':status', '200']), /invalid response/, PROTOCOL],
  ['a status that is none', head(1, 4, [':status', '2e2']), /invalid response/, PROTOCOL],
  ['a switch of protocols', head(1, 4, [':status', '101']), /invalid response/, PROTOCOL],
  ['an interim reply that ends', head(1, 5, [':status', '100']), /invalid response/, PROTOCOL],
  ['a request field', head(1, 4, [':status', '200', ':path', '/']), /invalid response/, PROTOCOL],
  ['a name in capitals', head(1, 4, [':status', '200', 'X-A', '1']), /invalid response/, PROTOCOL],
  ['a name with a line break', head(1, 4, [':status', '200', 'a\r\nb', '1']), /invalid response/, PROTOCOL],
  ['an empty name', head(1, 4, [':status', '200', '', '1']), /invalid response/, PROTOCOL],
  ['a value with a line break', head(1, 4, [':status', '200', 'a', '1\r\nb: 2']), /invalid response/, PROTOCOL],
  ['a value with NUL', head(1, 4, [':status', '200', 'a', '1\x00']), /invalid response/, PROTOCOL],
  ['a value behind a space', head(1, 4, [':status', '200', 'a', ' 1']), /invalid response/, PROTOCOL],
  ['a connection field', head(1, 4, [':status', '200', 'connection', 'close']), /invalid response/, PROTOCOL],
  ['a transfer coding', head(1, 4, [':status', '200', 'transfer-encoding', 'chunked']), /invalid response/, PROTOCOL],
  ['two lengths', head(1, 4, [':status', '200', 'content-length', '1', 'content-length', '1']), /invalid/, PROTOCOL],
  [
    'more than announced',
    Buffer.concat([head(1, 4, [':status', '200', 'content-length', '1']), data(1, 'ab')]),
    /invalid/,
    PROTOCOL,
  ],
  [
    'less than announced',
    Buffer.concat([head(1, 4, [':status', '200', 'content-length', '9']), data(1, 'a', END_STREAM)]),
    /invalid/,
    PROTOCOL,
  ],
  ['a body behind 204', Buffer.concat([head(1, 4, [':status', '204']), data(1, 'a')]), /invalid response/, PROTOCOL],
  ['trailers that do not end', Buffer.concat([head(1), head(1, 4, ['a', '1'])]), /invalid response/, PROTOCOL],
  ['a status in trailers', Buffer.concat([head(1), head(1, 5)]), /invalid response/, PROTOCOL],
  ['a head without end', longHead(), /the head is too large/, CANCEL],
  ['a window of the stream beyond 2^31-1', times(2, frame(8, 0, 1, u32(0x7fffffff))), /invalid response/, FLOW],
  ['more than the window', Buffer.concat([head(1), times(17, data(1, big))]), /more bytes than the window/, FLOW],
]

/** 64 KB are kept: HPACK makes ten times that of 4 KB. */
function longHead(): Buffer {
  const entry = Buffer.concat([Buffer.of(0x40), text('x'), text('y'.repeat(200))])
  const block = Buffer.concat([Buffer.of(0x88), entry, Buffer.alloc(4000, 0xbe)])
  return frame(1, END_HEADERS, 1, block)
}

function text(value: string): Buffer {
  return fields([value, '']).subarray(1, -1)
}

describe('a server that breaks a single stream', () => {
  test.each(LOCAL)('%s', async (name, bytes, wanted, code) => {
    const server = await raw.startRaw(async connection => {
      await connection.got(raw.HEADERS)
      connection.send(bytes)
      await connection.got(raw.HEADERS, 2)
      connection.send(head(3), data(3, 'next', END_STREAM))
    })
    const transport = open()
    // Whoever reads nothing has to be sent no more than the window.
    const full = name === 'more than the window'
    const { error } = full ? await unread(transport, server.port) : await get(server.port, transport)
    expect(error?.message).toMatch(wanted)
    // It counts for nothing what else comes on that stream.
    server.connections[0]!.send(data(1, 'late'), head(1, 5), frame(3, 0, 1, u32(0)), frame(8, 0, 1, u32(1)))
    expect(await get(server.port, transport)).toMatchObject({ status: 200, body: 'next' })
    expect(server.connections).toHaveLength(1)
    const reset = server.connections[0]!.frames.find(({ type }) => type === raw.RST_STREAM)
    expect(reset?.payload.readUInt32BE(0)).toBe(code)
  })

  function unread(transport: Transport, port: number): Promise<{ error: Error }> {
    return new Promise(resolve =>
      transport.dispatch(targetOf(port, { version: '2' }), requestOf(), {
        head: () => ({ write: () => false, end: () => {}, fail: error => resolve({ error }), onDrain: () => {} }),
        fail: error => resolve({ error }),
      }),
    )
  }
})

describe('accepts', () => {
  test.each([
    ['padding', frame(0, PADDED, 1, Buffer.from('\x03ok\0\0\0')), 'ok'],
    ['padding only', frame(0, PADDED, 1, Buffer.from('\x02\0\0')), ''],
    ['an unknown frame', frame(77, 255, 1, big), ''],
    ['an unknown setting', frame(4, 0, 0, setting(0x77, 5)), ''],
    ['DATA after the end of the response', data(1, '', END_STREAM), ''],
    ['single bytes', times(500, data(1, 'x')), 'x'.repeat(500)],
  ])('%s', async (_name, bytes, body) => {
    const server = await raw.startRaw(async connection => {
      await connection.got(raw.HEADERS)
      const fieldBytes = fields([':status', '200', 'x-a', '1'])
      const start = Buffer.concat([Buffer.of(2), u32(0), Buffer.of(9), fieldBytes, Buffer.alloc(2)])
      connection.send(frame(1, PADDED | PRIORITIZED | END_HEADERS, 1, start), bytes, data(1, '', END_STREAM))
    })
    expect(await get(server.port)).toMatchObject({ status: 200, headers: ['x-a', '1'], body })
  })

  test('headers in many frames, with interim responses and trailers', async () => {
    const server = await raw.startRaw(async connection => {
      await connection.got(raw.HEADERS)
      const block = fields([':status', '200', 'x-a', 'b'.repeat(40)])
      connection.send(head(1, 4, [':status', '100']), head(1, 4, [':status', '103', 'link', '</a>']))
      connection.send(frame(1, 0, 1, block.subarray(0, 5)))
      for (let at = 5; at < block.length; at++) connection.send(frame(9, 0, 1, block.subarray(at, at + 1)))
      connection.send(frame(9, 4, 1, NOTHING), data(1, 'ok'), head(1, 5, ['grpc-status', '0']))
    })
    const wanted = { status: 200, headers: ['x-a', 'b'.repeat(40)], body: 'ok', trailers: ['grpc-status', '0'] }
    expect(await get(server.port)).toMatchObject(wanted)
  })

  test('pings and settings, and answers them', async () => {
    const server = await raw.startRaw(async connection => {
      await connection.got(raw.HEADERS)
      connection.send(frame(6, 0, 0, Buffer.from('12345678')), frame(4, 0, 0, setting(1, 0)))
      await connection.got(raw.SETTINGS, 2, ({ flags }) => flags === raw.ACK)
      const [pong] = await connection.got(raw.PING)
      connection.send(head(1), data(1, `${pong!.flags} ${pong!.payload}`, END_STREAM))
    })
    expect(await get(server.port)).toMatchObject({ body: '1 12345678' })
  })
})

describe('GOAWAY and refused streams', () => {
  test.each([
    ['a refused stream', frame(3, 0, 1, u32(REFUSED))],
    ['a stream excluded by GOAWAY', frame(7, 0, 0, u32(0, 0))],
  ])('%s is retried once', async (_name, bytes) => {
    let refusals = 0
    const server = await raw.startRaw(async connection => {
      for (let count = 1; ; count++) {
        await connection.got(raw.HEADERS, count)
        refusals++
        connection.send(count === 1 ? bytes : frame(3, 0, 3, u32(REFUSED)))
      }
    })
    const { error } = await get(server.port, open(), { method: 'POST', body: Buffer.from('x') })
    expect(error).toBeDefined()
    expect(refusals).toBe(2)
  })

  test('calls in flight complete, and new ones use another connection', async () => {
    const server = await raw.startRaw(async (connection, index) => {
      await connection.got(raw.HEADERS)
      if (index === 0) connection.send(head(1), frame(7, 0, 0, u32(1, 0)))
      else connection.send(head(1), data(1, 'second', END_STREAM))
    })
    const transport = open()
    const first = get(server.port, transport)
    await expect.poll(() => server.connections[0]?.frames.some(({ type }) => type === raw.HEADERS)).toBe(true)
    await expect.poll(async () => (await get(server.port, transport)).body).toBe('second')
    server.connections[0]!.send(data(1, 'first', END_STREAM))
    expect((await first).body).toBe('first')
    await server.connections[0]!.closed
  })
})

test('a server that accepts no streams fails the calls without endless redialing', async () => {
  const server = await raw.startRaw(
    async connection => {
      for (let count = 1; ; count++) {
        const calls = await connection.got(raw.HEADERS, count)
        connection.send(frame(3, 0, calls[count - 1]!.stream, u32(REFUSED)))
      }
    },
    setting(3, 0),
  )
  const transport = open()
  const calls = await Promise.all(Array.from({ length: 6 }, () => get(server.port, transport)))
  for (const { error } of calls) expect(error?.message).toMatch(/the server accepts no streams|stream reset/)
  expect(server.connections.length).toBeLessThan(4)
  for (const { closed } of server.connections) await closed
})
