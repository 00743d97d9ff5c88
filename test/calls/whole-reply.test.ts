import { expect, onTestFinished, test } from 'vitest'
import { callWhole } from '../../src/calls/dispatch.ts'
import { createTransport } from '../../src/engine/upstream/transport.ts'
import { requestOf, StoppedClock, startPeer, targetOf } from '../engine/upstream/peers.ts'

function call(port: number, limit: number, timeout = 0, clock = new StoppedClock()): ReturnType<typeof callWhole> {
  const transport = createTransport({ clock })
  onTestFinished(() => transport.close())
  return callWhole({ transport, clock }, targetOf(port), requestOf({ timeout }), limit)
}

test('reads a complete reply', async () => {
  const peer = await startPeer(({ socket }) =>
    socket.write('HTTP/1.1 404 No\r\nx: 1\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n2\r\ncd\r\n0\r\n\r\n'),
  )
  const reply = await call(peer.port, 4)
  expect(reply.status).toBe(404)
  expect(reply.headers.get('x')).toBe('1')
  expect(reply.body.toString()).toBe('abcd')
})

test('a reply over the limit fails and closes the connection', async () => {
  const peer = await startPeer(({ socket }) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabcde'))
  await expect(call(peer.port, 4)).rejects.toMatchObject({ code: 'responseTooLarge', status: 502 })
  await peer.connections[0]?.closed
})

test('a body that never ends fails with the timeout', async () => {
  const clock = new StoppedClock()
  const peer = await startPeer(({ socket }) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc'))
  const reply = call(peer.port, 100, 500, clock)
  const failed = expect(reply).rejects.toMatchObject({ code: 'upstreamTimeout', status: 504 })
  await (await peer.nth(0)).request()
  clock.advance(500)
  await failed
  await peer.connections[0]?.closed
})

test('passes a failure through and leaves no timer behind', async () => {
  const clock = new StoppedClock()
  const peer = await startPeer(({ socket }) => socket.end('nonsense\r\n\r\n'))
  await expect(call(peer.port, 100, 500, clock)).rejects.toMatchObject({ code: 'upstreamFailed' })
})
