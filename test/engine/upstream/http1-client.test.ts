import { createHash } from 'node:crypto'
import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { expect, onTestFinished, test } from 'vitest'
import { Resolver } from '../../../src/engine/upstream/dns.ts'
import { createHttp1Transport } from '../../../src/engine/upstream/http1-client.ts'
import type { Transport } from '../../../src/http/transport.ts'
import { exchange, type Outcome, recorder, requestOf, StoppedClock, startPeer, targetOf } from './peers.ts'

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'

function open(clock = new StoppedClock(), maxIdle = 10): Transport {
  const transport = createHttp1Transport({ clock, idleTimeout: 90_000, maxIdle, resolver: new Resolver({ clock }) })
  onTestFinished(() => transport.close())
  return transport
}

async function serve(handle: http.RequestListener): Promise<number> {
  const server = http.createServer(handle)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return (server.address() as AddressInfo).port
}

test('unsolicited bytes are never taken as the next response', async () => {
  const poison = 'HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\npoison'
  const peer = await startPeer(({ socket }) => socket.write(OK))
  const transport = open()
  for (let i = 0; i < 20; i++) {
    expect((await exchange(transport, targetOf(peer.port), requestOf())).body).toBe('ok')
    peer.connections.at(-1)?.socket.write(poison)
    await peer.connections.at(-1)?.closed
  }
  expect(peer.connections).toHaveLength(20)
})

test('unsolicited bytes seen before the next request close the connection', async () => {
  const peer = await startPeer(({ socket }) => socket.write(OK))
  const transport = open()
  await exchange(transport, targetOf(peer.port), requestOf())
  const first = peer.connections[0]
  const written = new Promise(resolve =>
    first?.socket.write('HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\npoison', resolve),
  )
  const reply = await exchange(transport, targetOf(peer.port), requestOf())
  await written
  expect(reply.body).toBe('ok')
  expect(first?.heads()).toHaveLength(1)
  expect(peer.connections).toHaveLength(2)
})

test.each([
  [
    'a response with conflicting framing',
    'HTTP/1.1 200 OK\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
    false,
  ],
  ['a bare LF', 'HTTP/1.1 200 OK\ncontent-length: 0\r\n\r\n', false],
  ['more bytes than announced', 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nab', false],
  ['a malformed chunk', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\naX', true],
])('%s fails the call and closes the connection', async (_name, text, cut) => {
  const peer = await startPeer(({ socket }) => socket.write(text))
  const outcome = await exchange(open(), targetOf(peer.port), requestOf())
  expect(outcome).toMatchObject({ cut, error: { code: 'upstreamFailed', status: 503 } })
  expect(outcome.error?.message).toMatch('invalid response')
  await peer.connections[0]?.closed
})

test('an idle connection closes after its timeout, or earlier if the server’s keep-alive says so', async () => {
  const clock = new StoppedClock()
  const plain = await startPeer(({ socket }) => socket.write(OK))
  const hinting = await startPeer(({ socket }) =>
    socket.write(OK.replace('\r\n', '\r\nkeep-alive: timeout=5, max=9\r\n')),
  )
  const transport = open(clock)
  await exchange(transport, targetOf(plain.port), requestOf())
  await exchange(transport, targetOf(hinting.port), requestOf())
  clock.advance(3999)
  await exchange(transport, targetOf(hinting.port), requestOf())
  expect(hinting.connections).toHaveLength(1)
  clock.advance(4000)
  await hinting.connections[0]?.closed
  clock.advance(90_000)
  await plain.connections[0]?.closed
  expect(clock.pending).toBe(0)
})

test('keeps no more idle connections than allowed', async () => {
  const held: (() => void)[] = []
  const peer = await startPeer(({ socket }) => {
    held.push(() => socket.write(OK))
    if (held.length === 5) for (const answer of held) answer()
  })
  const transport = open(new StoppedClock(), 2)
  await Promise.all([1, 2, 3, 4, 5].map(() => exchange(transport, targetOf(peer.port), requestOf())))
  await Promise.race(peer.connections.map(({ closed }) => closed))
  held.length = 0
  const again = Promise.all([1, 2, 3, 4, 5].map(() => exchange(transport, targetOf(peer.port), requestOf())))
  await again
  expect(peer.connections).toHaveLength(8)
})

test('targets with different keys share no connection', async () => {
  const peer = await startPeer(({ socket }) => socket.write(OK))
  const transport = open()
  for (const key of ['a', 'b', 'a', 'b']) await exchange(transport, targetOf(peer.port, { key }), requestOf())
  expect(peer.connections).toHaveLength(2)
})

test('an early response is delivered, and its connection is not reused', async () => {
  const peer = await startPeer(({ socket }) => socket.write('HTTP/1.1 413 No\r\ncontent-length: 2\r\n\r\nno'))
  const body = new Readable({ read() {} })
  body.push('start')
  const transport = open()
  const outcome = await exchange(transport, targetOf(peer.port), requestOf({ method: 'POST', body }))
  expect(outcome).toMatchObject({ status: 413, body: 'no', cut: false })
  await peer.connections[0]?.closed
  expect(body.destroyed).toBe(false)
})

test.each([
  ['shorter', 'abc'],
  ['longer', 'abcdefgh'],
])('a streamed body %s than announced fails the request', async (_name, text) => {
  const peer = await startPeer()
  const outcome = await exchange(
    open(),
    targetOf(peer.port),
    requestOf({ method: 'POST', body: Readable.from([Buffer.from(text)]), fields: ['content-length', '5'] }),
  )
  expect(outcome.error).toMatchObject({ code: 'upstreamFailed', details: { retryable: false } })
  await peer.connections[0]?.closed
  expect(peer.connections[0]?.received).not.toMatch(/abcde/)
})

test.each([
  ['a method with a space', { method: 'GET /x HTTP/1.1\r\nhost: evil\r\n\r\nGET' }],
  ['a path with a space', { path: '/a b' }],
  ['a path with a line break', { path: '/a\r\nx: y' }],
  ['an empty authority', { authority: '' }],
  ['a name with a colon', { fields: ['a:b', 'c'] }],
  ['a value with a bare LF', { fields: ['a', 'b\nc: d'] }],
  ['a value with a character whose low byte is a line break', { fields: ['a', 'b\u010ac: d'] }],
  ['two content-lengths', { body: Readable.from(['x']), fields: ['content-length', '1', 'content-length', '1'] }],
])('%s fails the call before anything is sent', async (_name, more) => {
  const peer = await startPeer(({ socket }) => socket.write(OK))
  const outcome = await exchange(open(), targetOf(peer.port), requestOf(more))
  expect(outcome.error).toMatchObject({ code: 'upstreamFailed', details: { retryable: false } })
  expect(peer.connections).toEqual([])
})

test('a body destroyed before the call fails it', async () => {
  const peer = await startPeer()
  const body = new Readable({ read() {} })
  body.destroy()
  await new Promise(setImmediate)
  const outcome = await exchange(open(), targetOf(peer.port), requestOf({ method: 'POST', body }))
  expect(outcome.error).toMatchObject({ code: 'upstreamFailed' })
})

test.each(['kept', 'given back at once', 'given back later'])(
  'large bodies stay intact when their buffers are %s',
  async use => {
    const sizes = [1, 5000, 40_000, 70_000, 3_000_000]
    const block = Buffer.alloc(3_000_000)
    for (let i = 0; i < block.length; i += 4) block.writeUInt32LE((i * 2654435761) >>> 0, i)
    const port = await serve((request, response) => {
      const size = Number(request.url?.slice(1))
      if (request.method === 'GET') response.setHeader('content-length', size)
      response.end(block.subarray(0, size))
    })
    const transport = open()
    const digest = (bytes: Buffer): string => createHash('sha1').update(bytes).digest('hex')
    const fetchOne = (size: number, method: string): Promise<[Outcome, string]> =>
      new Promise(resolve => {
        const hash = createHash('sha1')
        const chunks: Buffer[] = []
        let waiting: Promise<void> = Promise.resolve()
        const handler = recorder(outcome => {
          void waiting.then(() =>
            resolve([outcome, use === 'kept' ? digest(Buffer.concat(chunks)) : hash.digest('hex')]),
          )
        })
        const { head } = handler
        handler.head = (status, headers) => ({
          ...head(status, headers),
          write(chunk, release) {
            if (use === 'kept') chunks.push(chunk)
            else if (use === 'given back at once') {
              hash.update(chunk)
              release?.()
              release?.()
            } else {
              waiting = waiting.then(async () => {
                await new Promise(setImmediate)
                hash.update(chunk)
                release?.()
              })
            }
            return true
          },
        })
        transport.dispatch(targetOf(port), requestOf({ path: `/${size}`, method }), handler)
      })
    for (const method of ['GET', 'POST']) {
      const all = await Promise.all([...sizes, ...sizes].map(size => fetchOne(size, method)))
      expect(all.map(([outcome, hash]) => [outcome.status, hash])).toEqual(
        [...sizes, ...sizes].map(size => [200, digest(block.subarray(0, size))]),
      )
    }
  },
)

test('a receiver that throws fails its own call with an internal error and no other', async () => {
  const peer = await startPeer(({ socket }) => socket.write(OK))
  const transport = open()
  const outcome = await new Promise<Error>(resolve =>
    transport.dispatch(targetOf(peer.port), requestOf(), {
      head: () => {
        throw new TypeError('bug')
      },
      fail: resolve,
    }),
  )
  expect(outcome).toMatchObject({ code: 'internal', status: 500, cause: { message: 'bug' } })
  await peer.connections[0]?.closed
  expect((await exchange(transport, targetOf(peer.port), requestOf())).body).toBe('ok')
})

test('nothing is sent after close', async () => {
  const peer = await startPeer(({ socket }) => socket.write(OK))
  const transport = open()
  await exchange(transport, targetOf(peer.port), requestOf())
  await transport.close()
  await peer.connections[0]?.closed
  expect((await exchange(transport, targetOf(peer.port), requestOf())).error).toMatchObject({ code: 'shuttingDown' })
  expect(peer.connections).toHaveLength(1)
})
