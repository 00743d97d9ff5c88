import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { connect, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { startGateway, type TestGateway } from '../helpers/gateway.ts'
import { echo, rawRequest, startUpstream, type Upstream } from '../helpers/upstream.ts'
import { startPeer } from './upstream/peers.ts'

/** In plaintext a backend is called in the client's version, unless the file says otherwise. */
const backendAt = (port: number) => `backends: [{host: '127.0.0.1:${port}', policies: {http: {version: HTTP/1.1}}}]`
const to = (port: number) => `binds: [{port: 80, listeners: [{routes: [{${backendAt(port)}}]}]}]`

/** The sample of a metric without labels. */
function inFlight(gateway: TestGateway): number {
  return Number(/^agentgateway_requests_in_flight (\d+)$/m.exec(gateway.gateway.metrics.render())?.[1])
}

interface Seen {
  readonly status: number
  readonly body: string
  /** The client can tell that the reply is all there. */
  readonly whole: boolean
}

async function overHttp1(gateway: TestGateway, method = 'GET'): Promise<Seen> {
  const text = await rawRequest(gateway.url(80), `${method} / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`).catch(
    () => '',
  )
  const split = text.indexOf('\r\n\r\n')
  const [head, rest] = [text.slice(0, split), text.slice(split + 4)]
  const status = Number(head.slice(9, 12))
  const length = /content-length: (\d+)/i.exec(head)?.[1]
  const bare = method === 'HEAD' || status === 204 || status === 304
  if (bare) return { status, body: rest, whole: rest === '' }
  if (length !== undefined) return { status, body: rest, whole: rest.length === Number(length) }
  const chunks = [...rest.matchAll(/([0-9a-f]+)\r\n([\s\S]*?)\r\n(?=[0-9a-f]+\r\n|$)/g)].map(match => match[2])
  return { status, body: chunks.join(''), whole: rest.endsWith('0\r\n\r\n') }
}

async function overHttp2(gateway: TestGateway, method = 'GET'): Promise<Seen> {
  const session = connectHttp2(gateway.url(80))
  session.on('error', () => {})
  const stream = session.request({ ':path': '/', ':method': method })
  let status = 0
  let body = ''
  stream.on('response', head => {
    status = Number(head[':status'])
  })
  stream.on('data', chunk => {
    body += chunk
  })
  stream.on('error', () => {})
  await new Promise<void>(resolve => stream.once('close', resolve))
  session.destroy()
  return { status, body, whole: stream.rstCode === 0 }
}

const OK = 'HTTP/1.1 200 OK\r\n'
const CHUNKED = `${OK}transfer-encoding: chunked\r\n\r\n`

describe('a backend that disconnects', () => {
  const stages: [string, string, { status?: number; whole: boolean; body?: string }][] = [
    ['before its reply', '', { status: 503, whole: true }],
    ['in the status line', 'HTTP/1.1 20', { status: 503, whole: true }],
    ['in the head', `${OK}content-length: 1`, { status: 503, whole: true }],
    ['after the head', `${OK}content-length: 10\r\n\r\n`, { whole: false }],
    ['in the body', `${OK}content-length: 10\r\n\r\nhalf`, { status: 200, whole: false, body: 'half' }],
    ['before any chunk', CHUNKED, { status: 200, whole: false }],
    ['in a chunk', `${CHUNKED}a\r\nhalf`, { status: 200, whole: false }],
    ['after a chunk', `${CHUNKED}4\r\nhalf\r\n`, { status: 200, whole: false, body: 'half' }],
    ['in the last chunk', `${CHUNKED}4\r\nhalf\r\n0\r\n`, { status: 200, whole: false, body: 'half' }],
    ['in the trailers', `${CHUNKED}4\r\nhalf\r\n0\r\nx-end: 1\r\n`, { status: 200, whole: false, body: 'half' }],
    ['after an interim reply', 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n', { status: 503, whole: true }],
  ]
  let bytes = ''
  let ending: 'end' | 'resetAndDestroy' = 'end'
  let gateway: TestGateway
  let close: () => Promise<void>
  beforeAll(async () => {
    const { createServer } = await import('node:net')
    const server = createServer(socket => {
      socket.on('error', () => {})
      socket.once('data', () => {
        if (bytes === '') socket[ending]()
        else socket.write(bytes, 'latin1', () => setTimeout(() => socket[ending](), 5))
      })
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    gateway = await startGateway(to((server.address() as { port: number }).port))
    close = async () => {
      await gateway[Symbol.asyncDispose]()
      server.close()
    }
  })
  afterAll(() => close())

  describe.each(['end', 'resetAndDestroy'] as const)('by %s', how => {
    test.each(stages)('%s', async (_name, sent, wanted) => {
      bytes = sent
      ending = how
      expect(await overHttp1(gateway)).toMatchObject(wanted)
      expect(await overHttp2(gateway)).toMatchObject(wanted)
      await expect.poll(() => inFlight(gateway)).toBe(0)
    })
  })
})

describe('replies whose end is ambiguous', () => {
  const cases: [string, string, string, Partial<Seen>][] = [
    [
      'content-length and chunked',
      'GET',
      `${OK}content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n`,
      refused(),
    ],
    ['two content-lengths', 'GET', `${OK}content-length: 2\r\ncontent-length: 3\r\n\r\nok`, refused()],
    ['a body in response to HEAD', 'HEAD', `${OK}content-length: 2\r\n\r\nok`, refused()],
    ['a body with 204', 'GET', 'HTTP/1.1 204 No\r\ncontent-length: 2\r\n\r\nok', refused()],
    ['a body with 304', 'GET', 'HTTP/1.1 304 No\r\ncontent-length: 2\r\n\r\nok', refused()],
    [
      'interim responses first',
      'GET',
      `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n${OK}content-length: 2\r\n\r\nok`,
      { status: 200, body: 'ok', whole: true },
    ],
    ['a second response', 'GET', `${OK}content-length: 2\r\n\r\nok${OK}content-length: 4\r\n\r\nevil`, refused()],
    ['more bytes than announced', 'GET', `${OK}content-length: 1\r\n\r\nok`, refused()],
    ['bytes after the last chunk', 'GET', `${CHUNKED}2\r\nok\r\n0\r\n\r\nevil`, { status: 200, whole: false }],
    ['a chunk size that overflows', 'GET', `${CHUNKED}fffffffffffffffff\r\nx`, { status: 200, body: '', whole: false }],
    ['a folded field', 'GET', `${OK}x: 1\r\n content-length: 2\r\n\r\nok`, refused()],
    ['a NUL in a field', 'GET', `${OK}x: 1\x002\r\ncontent-length: 2\r\n\r\nok`, refused()],
  ]
  test.each(cases)('%s', async (_name, method, bytes, wanted) => {
    const peer = await startPeer(({ socket }, _request, head) => {
      // Whatever came with the first reply must not be taken for the answer to the second request.
      if (head.includes(' /next ')) socket.write(`${OK}content-length: 4\r\n\r\nnext`)
      else socket.write(bytes, 'latin1')
    })
    await using gateway = await startGateway(to(peer.port))
    for (const ask of [overHttp1, overHttp2]) {
      const seen = await ask(gateway, method)
      expect(seen).toMatchObject(wanted.status === 503 ? { status: wanted.status, whole: true } : wanted)
      const next = await fetch(`${gateway.url(80)}/next`)
      expect(await next.text()).toBe('next')
    }
  })
})

test.each([
  ['buffered in full', 'buffer: {response: {maxBytes: 100}}'],
  ['buffered with failureMode FailOpen', 'buffer: {response: {maxBytes: 100, failureMode: FailOpen}}'],
  ['read by an expression', "transformations: {response: {set: {x-size: 'string(size(response.body))'}}}"],
])('a reply %s that breaks off yields a 503', async (_name, policy) => {
  const peer = await startPeer(({ socket }) => socket.end(`${OK}content-length: 10\r\n\r\nhalf`))
  const route = `policies: {${policy}}, ${backendAt(peer.port)}`
  await using gateway = await startGateway(`binds: [{port: 80, listeners: [{routes: [{${route}}]}]}]`)
  const answer = await fetch(gateway.url(80))
  expect(answer.status).toBe(503)
  expect(await answer.text()).toContain('upstream call failed')
})

function refused(): Seen {
  return { status: 503, body: '', whole: true }
}

describe('a client that disconnects', () => {
  let upstream: Upstream
  let gateway: TestGateway
  let sockets: Set<Socket>
  beforeAll(async () => {
    upstream = await startUpstream((req, res) => {
      if (req.url === '/never') req.resume()
      else if (req.url === '/unread') req.pause()
      else if (req.url === '/endless') {
        const block = Buffer.alloc(64 * 1024)
        const more = () => {
          while (!res.destroyed && res.write(block));
        }
        res.on('drain', more)
        more()
      } else echo(req, res)
    })
    sockets = new Set()
    upstream.server.on('connection', (socket: Socket) => {
      sockets.add(socket)
      socket.on('close', () => sockets.delete(socket))
    })
    const backend = backendAt(upstream.port)
    gateway = await startGateway(`binds:
- port: 80
  listeners:
  - routes:
    - {matches: [{path: {pathPrefix: /buffered}}], policies: {buffer: {request: {}}}, ${backend}}
    - {matches: [{path: {pathPrefix: /delayed}}], policies: {delay: {duration: 1h}}, ${backend}}
    - {${backend}}`)
  })
  afterAll(async () => {
    await gateway[Symbol.asyncDispose]()
    await upstream[Symbol.asyncDispose]()
  })

  const post = (path: string, body: string, length = 100_000) =>
    `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: ${length}\r\n\r\n${body}`
  const stages: [string, string, { answers?: boolean }?][] = [
    ['in the request line', 'GET /ne'],
    ['in the head', 'GET /never HTTP/1.1\r\nHost: a\r\nX: '],
    ['in its body', post('/never', 'half')],
    ['in a body that the backend does not read', post('/unread', 'x'.repeat(50_000))],
    ['in a chunk', 'POST /never HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n100\r\nhalf'],
    ['in a buffered body', post('/buffered', 'half')],
    ['while its request is delayed', 'GET /delayed HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['while it waits for a response', 'GET /never HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['with several requests in flight', 'GET /never HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(3)],
    ['during the response', 'GET /endless HTTP/1.1\r\nHost: a\r\n\r\n', { answers: true }],
  ]
  describe.each(['destroy', 'resetAndDestroy', 'end'] as const)('by %s', how => {
    test.each(stages)('%s', async (_name, bytes, { answers = false } = {}) => {
      const socket = connect(gateway.gateway.portOf(80)!, '127.0.0.1')
      onTestFinished(() => void socket.destroy())
      socket.on('error', () => {})
      socket.write(bytes, 'latin1')
      if (answers) await once(socket, 'data')
      else await expect.poll(() => socket.bytesWritten >= bytes.length).toBe(true)
      if (bytes.includes('\r\n\r\n')) await expect.poll(() => inFlight(gateway)).toBeGreaterThan(0)
      socket[how]()
      await expect.poll(() => inFlight(gateway)).toBe(0)
      // Nothing goes on for a client that has left: what is open towards the backend is unused.
      await expect
        .poll(async () => {
          upstream.server.closeIdleConnections()
          return sockets.size
        })
        .toBe(0)
    })
  })

  const http2Stages: [string, string, string | undefined, boolean][] = [
    ['in its body', '/never', 'half', false],
    ['in a body that the backend does not read', '/unread', 'x'.repeat(50_000), false],
    ['in a buffered body', '/buffered', 'half', false],
    ['while its request is delayed', '/delayed', undefined, false],
    ['while it waits for a response', '/never', undefined, false],
    ['during the response', '/endless', undefined, true],
  ]
  describe.each(['stream', 'connection'] as const)('by closing the HTTP/2 %s', what => {
    test.each(http2Stages)('%s', async (_name, path, body, answers) => {
      const session = connectHttp2(gateway.url(80))
      session.on('error', () => {})
      const method = body === undefined ? 'GET' : 'POST'
      const stream = session.request({ ':path': path, ':method': method }, { endStream: body === undefined })
      stream.on('error', () => {})
      if (body !== undefined) stream.write(body)
      if (answers) await once(stream, 'data')
      await expect.poll(() => inFlight(gateway)).toBe(1)
      if (what === 'stream') stream.close(8)
      else session.destroy()
      await expect.poll(() => inFlight(gateway)).toBe(0)
      // A connection of HTTP/2 is kept; none of its streams is.
      session.destroy()
    })
  })
})

describe('a body that arrives byte by byte', () => {
  test.each([
    ['and is streamed', ''],
    ['and is buffered', 'buffer: {request: {}}, '],
  ])('%s ends with the request timeout', async (_name, policies) => {
    await using upstream = await startUpstream(echo)
    await using gateway = await startGateway(
      `binds: [{port: 80, listeners: [{routes: [{policies: {${policies}timeout: {requestTimeout: 300ms}}, ${backendAt(upstream.port)}}]}]}]`,
    )
    const socket = connect(gateway.gateway.portOf(80)!, '127.0.0.1')
    onTestFinished(() => void socket.destroy())
    socket.on('error', () => {})
    socket.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n')
    const drip = setInterval(() => socket.writable && socket.write('x'), 20)
    onTestFinished(() => clearInterval(drip))
    const [answer] = await once(socket, 'data')
    expect(String(answer)).toMatch(/^HTTP\/1\.1 504 /)
    await expect.poll(() => inFlight(gateway)).toBe(0)
  })
})

describe('an endless response that is no longer needed', () => {
  test.each([
    ['because of a retry', 'retry: {attempts: 1, codes: [503]}', 200],
    ['because it exceeds the buffer', 'buffer: {response: {maxBytes: 10}}', 502],
  ])('%s ends with its request', async (_name, policy, status) => {
    const peer = await startPeer(({ socket }) => {
      const first = socket === peer.connections[0]?.socket
      socket.write(first ? `HTTP/1.1 503 No\r\n\r\n${'x'.repeat(20)}` : `${OK}content-length: 2\r\n\r\nok`)
    })
    await using gateway = await startGateway(
      `binds: [{port: 80, listeners: [{routes: [{policies: {${policy}}, ${backendAt(peer.port)}}]}]}]`,
    )
    expect((await overHttp1(gateway)).status).toBe(status)
    await peer.connections[0]?.closed
  })
})

describe('request targets that are not paths', () => {
  const ask = async (gateway: TestGateway, line: string) =>
    rawRequest(gateway.url(80), `${line} HTTP/1.1\r\nHost: a.test:80\r\nConnection: close\r\n\r\n`)
  test('absolute targets name host and path, * is the server itself, and CONNECT is rejected', async () => {
    await using upstream = await startUpstream(echo)
    await using gateway = await startGateway(to(upstream.port))
    const absolute = await ask(gateway, 'GET http://b.test/x?y=1')
    expect(absolute).toMatch(/^HTTP\/1\.1 200 [\s\S]*"url":"\/x\?y=1"[\s\S]*"b\.test"/)
    expect(await ask(gateway, 'OPTIONS *')).toMatch(/^HTTP\/1\.1 (200|404) /)
    expect(await ask(gateway, 'CONNECT a.test:80')).toMatch(/^HTTP\/1\.1 405 /)
    expect(await ask(gateway, 'GET ftp://b.test/x')).toMatch(/^HTTP\/1\.1 400 /)
  })
})
