import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { connect, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { startGateway, type TestGateway } from '../../helpers/gateway.ts'
import { closeOf, startUpstream } from '../../helpers/upstream.ts'
import { FrameReader, frame, startWebSocketServer } from '../../helpers/websocket.ts'
import { ManualClock } from '../manual-clock.ts'

const to = (host: string) =>
  `binds: [{port: 80, listeners: [{routes: [{backends: [{host: '${host}', policies: {http: {version: HTTP/1.1}}}]}]}]}]`
const HANDSHAKE =
  'GET /ws HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n'

async function openWebSocket(gateway: TestGateway): Promise<Socket> {
  const socket = connect(gateway.gateway.portOf(80)!, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => {})
  socket.write(HANDSHAKE)
  expect(String((await once(socket, 'data'))[0])).toMatch(/^HTTP\/1\.1 101 /)
  return socket
}

async function echoed(socket: Socket, text: string): Promise<string | undefined> {
  const frames = new FrameReader()
  socket.write(frame(Buffer.from(text), { masked: true, opcode: 1 }))
  for (;;) {
    const [chunk] = (await once(socket, 'data')) as [Buffer]
    for (const { payload } of frames.read(chunk)) return payload.toString()
  }
}

test('a WebSocket stays open during a graceful stop until the client closes it', async () => {
  await using server = await startWebSocketServer()
  const gateway = await startGateway(to(server.host))
  const socket = await openWebSocket(gateway)
  let over = false
  const stopped = gateway.gateway.stop({ min: 0, max: 60_000 }).then(() => {
    over = true
  })
  expect(await echoed(socket, 'still here')).toBe('still here')
  expect(over).toBe(false)
  await expect(once(connect(gateway.gateway.portOf(80) ?? 1, '127.0.0.1'), 'connect')).rejects.toThrow('ECONNREFUSED')
  socket.end(frame(Buffer.alloc(0), { masked: true, opcode: 8 }))
  await stopped
  expect(gateway.logged.join('')).not.toContain('were cut')
})

test('the end of the grace period cuts WebSockets and streams and logs how many', async () => {
  await using server = await startWebSocketServer()
  server.server.removeAllListeners('request')
  server.server.on('request', (_req, res) => res.write('first'))
  const gateway = await startGateway(to(server.host))
  const socket = await openWebSocket(gateway)
  const stream = connect(gateway.gateway.portOf(80)!, '127.0.0.1')
  onTestFinished(() => void stream.destroy())
  stream.on('error', () => {}).write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  await once(stream, 'data')
  const session = connectHttp2(gateway.url(80))
  session.on('error', () => {})
  const over2 = session.request({ ':path': '/' })
  over2.on('error', () => {})
  await once(over2, 'data')
  const closed = Promise.all([socket, stream, over2].map(closeOf))
  await gateway.gateway.stop({ min: 0, max: 50 })
  // The process may end now: all that is said of them has been said.
  expect(gateway.gateway.running.size).toBe(0)
  await closed
  expect(over2.rstCode).not.toBe(0)
  expect(gateway.logged.join('')).toMatch(/requests were cut at the end of the grace period.*requests=3/)
  const records = () => gateway.logged.join('').match(/http\.method=.* error="cut at the end of the grace period"/g)
  await expect.poll(records).toHaveLength(3)
})

test('the end of the grace period also cuts streams on a port that a reload closed', async () => {
  await using upstream = await startUpstream((_req, res) => res.write('first'))
  const gateway = await startGateway(to(upstream.host))
  const stream = connect(gateway.gateway.portOf(80)!, '127.0.0.1')
  onTestFinished(() => void stream.destroy())
  stream.on('error', () => {}).write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  await once(stream, 'data')
  expect(await gateway.reload('binds: []')).toEqual([])
  const closed = once(stream.resume(), 'close')
  await gateway.gateway.stop({ min: 0, max: 50 })
  expect(gateway.gateway.running.size).toBe(0)
  await closed
})

test('stdio MCP processes exit before the gateway, and upstream MCP sessions are not deleted', async () => {
  const methods: (string | undefined)[] = []
  const result = '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}'
  await using upstream = await startUpstream((req, res) => {
    methods.push(req.method)
    res.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': 'theirs' }).end(result)
  })
  // In a configuration, two stand for one.
  const program = `{cmd: sh, args: ['-c', 'echo pid $$$$ >&2; read line; echo ''${result}''; cat']}`
  const gateway = await startGateway(
    `binds: [{port: 80, listeners: [{routes: [{backends: [{mcp: {targets: [
      {name: web, mcp: {host: 'http://${upstream.host}/mcp'}}, {name: program, stdio: ${program}}]}}]}]}]}]`,
  )
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } }
  const reply = await fetch(`${gateway.url(80)}/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }),
  })
  expect([reply.status, await reply.text()]).toEqual([200, expect.stringContaining('"serverInfo"')])
  const pid = (): number => Number(/pid (\d+)/.exec(gateway.logged.join(''))?.[1])
  await expect.poll(pid).toBeGreaterThan(0)
  await gateway.gateway.stop({ min: 0, max: 1000 })
  expect(methods).toEqual(['POST'])
  expect(() => process.kill(pid(), 0)).toThrow('ESRCH')
})

test('responses carry connection: close while the gateway is stopping', async () => {
  const clock = new ManualClock()
  let finish: (() => void) | undefined
  await using upstream = await startUpstream((req, res) => {
    if (req.url === '/slow') finish = () => res.end('slow')
    else res.end('quick')
  })
  const gateway = await startGateway(to(upstream.host), { clock })
  const slow = connect(gateway.gateway.portOf(80)!, '127.0.0.1')
  const quick = connect(gateway.gateway.portOf(80)!, '127.0.0.1')
  onTestFinished(() => {
    slow.destroy()
    quick.destroy()
  })
  slow.write('GET /slow HTTP/1.1\r\nHost: a\r\n\r\n')
  quick.write('GET /quick HTTP/1.1\r\nHost: a\r\n\r\n')
  expect(String((await once(quick, 'data'))[0])).not.toMatch(/connection: close/i)
  await expect.poll(() => finish).toBeDefined()
  // The ports are still open for a while: load balancers have to notice first.
  const stopped = gateway.gateway.stop({ min: 200, max: 60_000 })
  quick.write('GET /quick HTTP/1.1\r\nHost: a\r\n\r\n')
  expect(String((await once(quick, 'data'))[0])).toMatch(/connection: close/i)
  clock.advance(200)
  finish!()
  expect(String((await once(slow, 'data'))[0])).toMatch(/connection: close[\s\S]*slow$/i)
  await stopped
})
