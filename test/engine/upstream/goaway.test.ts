import { constants, createServer, type Http2Session, type ServerHttp2Stream } from 'node:http2'
import { type AddressInfo, connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { resetStream } from '../../../src/http/http2-reset.ts'
import { startGateway, type TestGateway } from '../../helpers/gateway.ts'

/** `serve` gets each stream with the number of its connection. */
async function start(
  serve: (stream: ServerHttp2Stream, connection: number, path: string) => void,
): Promise<TestGateway> {
  const server = createServer()
  const sessions: Http2Session[] = []
  server.on('session', session => sessions.push(session.on('error', () => {})))
  server.on('stream', (stream, head) => {
    stream.on('error', () => {})
    serve(stream as ServerHttp2Stream, sessions.indexOf(stream.session!), String(head[':path']))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const gateway = await startGateway(
    `binds: [{port: 80, listeners: [{routes: [{backends: [{host: '127.0.0.1:${port}', policies: {http: {version: HTTP/2.0}}}]}]}]}]`,
  )
  onTestFinished(async () => {
    await gateway[Symbol.asyncDispose]()
    for (const session of sessions) session.destroy()
    server.close()
  })
  return gateway
}

const ask = async (gateway: TestGateway, path: string, method = 'GET'): Promise<string> => {
  const response = await fetch(gateway.url(80) + path, { method })
  return `${response.status} ${await response.text()}`
}
const answer = (stream: ServerHttp2Stream, text: string): void => {
  stream.respond({ ':status': 200 })
  stream.end(text)
}

test('a call in flight completes, and the next one uses a new connection', async () => {
  let finish: () => void = () => {}
  const gateway = await start((stream, connection, path) => {
    if (path !== '/slow') answer(stream, `connection ${connection}`)
    else {
      stream.respond({ ':status': 200 })
      stream.write('begun ')
      // Says that it takes no more, and serves what it has.
      stream.session!.close()
      finish = () => stream.end('finished')
    }
  })
  const slow = await fetch(`${gateway.url(80)}/slow`)
  await expect.poll(() => ask(gateway, '/')).toBe('200 connection 1')
  finish()
  expect(await slow.text()).toBe('begun finished')
})

test.each(['GET', 'POST'])('a %s with a refused stream is retried', async method => {
  let refused = 0
  const gateway = await start(stream => {
    if (refused++ === 0) stream.close(constants.NGHTTP2_REFUSED_STREAM)
    else answer(stream, 'served')
  })
  expect(await ask(gateway, '/', method)).toBe('200 served')
  expect(refused).toBe(2)
})

test.each([
  ['before the response', undefined],
  ['during the response', 'half'],
])('a stream reset %s fails only that call', async (_name, part) => {
  let finish: () => void = () => {}
  const gateway = await start((stream, connection, path) => {
    if (path === '/other') {
      stream.respond({ ':status': 200 })
      stream.write('other ')
      finish = () => stream.end('finished')
    } else if (path !== '/broken') answer(stream, `connection ${connection}`)
    else if (part === undefined) stream.close(constants.NGHTTP2_INTERNAL_ERROR)
    else {
      stream.respond({ ':status': 200 })
      stream.write(part, () => resetStream(stream, constants.NGHTTP2_INTERNAL_ERROR))
    }
  })
  const other = await fetch(`${gateway.url(80)}/other`)
  if (part === undefined) expect(await ask(gateway, '/broken')).toMatch(/^503 /)
  else await expect(ask(gateway, '/broken')).rejects.toThrow()
  expect(await ask(gateway, '/')).toBe('200 connection 0')
  finish()
  expect(await other.text()).toBe('other finished')
})

test('a response cut off without an error is not complete', async () => {
  const gateway = await start((stream, connection, path) => {
    if (path !== '/cut') answer(stream, `connection ${connection}`)
    else {
      stream.respond({ ':status': 200 })
      stream.write('half', () => resetStream(stream, constants.NGHTTP2_NO_ERROR))
    }
  })
  await expect(ask(gateway, '/cut')).rejects.toThrow()
  expect(await ask(gateway, '/')).toBe('200 connection 0')
})

test('a broken connection fails all of its calls and no others', async () => {
  const open: ServerHttp2Stream[] = []
  const gateway = await start((stream, connection, path) => {
    if (path === '/open') open.push(stream)
    else answer(stream, `connection ${connection}`)
  })
  const calls = [1, 2, 3].map(() => ask(gateway, '/open'))
  await expect.poll(() => open.length).toBe(3)
  open[0]!.session!.destroy()
  for (const call of calls) expect(await call).toMatch(/^503 /)
  expect(await ask(gateway, '/')).toBe('200 connection 1')
})

test('passes a body arriving one chunk at a time', async () => {
  let received = ''
  const gateway = await start(stream => {
    stream.on('data', chunk => {
      received += chunk
    })
    stream.on('end', () => answer(stream, 'complete'))
  })
  const socket = connect(Number(new URL(gateway.url(80)).port), '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  let reply = ''
  socket.on('data', chunk => {
    reply += chunk
  })
  socket.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n')
  for (const text of ['first', 'later']) {
    // Each read then consists of nothing but the body.
    await expect.poll(() => text === 'first' || received === 'first').toBe(true)
    await new Promise(resolve => setImmediate(() => socket.write(text, resolve)))
  }
  await expect.poll(() => reply).toContain('complete')
  expect(received).toBe('firstlater')
})
