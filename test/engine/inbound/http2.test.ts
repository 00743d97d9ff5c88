import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type ClientHttp2Session, connect, constants, createServer, type ServerHttp2Stream } from 'node:http2'
import net from 'node:net'
import { Readable } from 'node:stream'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createAuthority, createCertificate } from '../../helpers/certificates.ts'
import { startGateway, type TestGateway } from '../../helpers/gateway.ts'
import { fields, frame } from '../../helpers/http2-frames.ts'
import { closeOf, echo, rawRequest, startUpstream } from '../../helpers/upstream.ts'
import { ManualClock } from '../manual-clock.ts'

const authority = createAuthority('test authority')
const server = createCertificate(authority, ['any.test'])
const files = { 'server.pem': server.cert, 'server.key': server.key }

const plain = (host: string, more = '', frontend = '') =>
  `${frontend}\nbinds: [{port: 8080, listeners: [{routes: [{backends: [{host: '${host}'${more}}]}]}]}]`
const secured = (host: string, more = '') =>
  `binds: [{port: 8080, listeners: [{protocol: HTTPS, tls: {cert: server.pem, key: server.key}, routes: [{backends: [{host: '${host}'${more}}]}]}]}]`

function open(gateway: TestGateway, scheme: 'http' | 'https' = 'http'): ClientHttp2Session {
  const tls = scheme === 'https' ? { rejectUnauthorized: false, servername: 'any.test' } : {}
  const large = { maxSendHeaderBlockLength: 1_000_000 }
  const session = connect(`${scheme}://127.0.0.1:${gateway.gateway.portOf(8080)}`, { ...tls, ...large })
  session.on('error', () => {})
  onTestFinished(() => session.destroy())
  return session
}

interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: string
  readonly trailers: Readonly<Record<string, unknown>> | undefined
  /** HTTP/2 error code. */
  readonly code: number
}

async function send(
  session: ClientHttp2Session,
  headers: Record<string, string | string[]> = {},
  body?: string | Buffer | Readable,
): Promise<Reply> {
  const stream = session.request({ ':path': '/', ...headers }, { endStream: body === undefined })
  let head: Record<string, unknown> = {}
  let trailers: Record<string, unknown> | undefined
  const chunks: Buffer[] = []
  stream.on('response', fields => {
    head = fields
  })
  stream.on('trailers', fields => {
    trailers = fields
  })
  stream.on('data', (chunk: Buffer) => chunks.push(chunk))
  stream.on('error', () => {})
  if (body instanceof Readable) body.pipe(stream)
  else if (body !== undefined) stream.end(body)
  await new Promise<void>(resolve => stream.once('close', resolve))
  return {
    status: Number(head[':status']),
    headers: head,
    body: Buffer.concat(chunks).toString(),
    trailers,
    code: stream.rstCode,
  }
}

/** A backend that speaks HTTP/2 in plaintext. */
async function startH2Upstream(serve: (stream: ServerHttp2Stream, headers: Record<string, unknown>) => void) {
  const upstream = createServer()
  const sessions = new Set<{ destroy(): void }>()
  upstream.on('session', session => {
    sessions.add(session)
    session.on('error', () => {})
  })
  upstream.on('stream', (stream, headers) => {
    stream.on('error', () => {})
    serve(stream as ServerHttp2Stream, headers)
  })
  await new Promise<void>(resolve => upstream.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const session of sessions) session.destroy()
    upstream.close()
  })
  return `127.0.0.1:${(upstream.address() as net.AddressInfo).port}`
}

describe('requests over HTTP/2', () => {
  test('one plaintext port speaks HTTP/1.1 and HTTP/2', async () => {
    await using upstream = await startUpstream(echo)
    await using gateway = await startGateway(plain(upstream.host, ", policies: {http: {version: 'HTTP/1.1'}}"))
    const session = open(gateway)
    const [one, two] = await Promise.all([
      send(session, { ':method': 'POST', ':path': '/a?b=%20c', 'x-a': '1' }, 'hello'),
      send(session, { cookie: ['a=1', 'b=2'] }),
    ])
    const seen = JSON.parse(one.body)
    expect(seen).toMatchObject({ method: 'POST', url: '/a?b=%20c', body: 'hello' })
    expect(seen.headers.join('|')).toContain('x-a|1')
    expect(seen.headers[seen.headers.indexOf('host') + 1]).toBe(`127.0.0.1:${gateway.gateway.portOf(8080)}`)
    expect(JSON.parse(two.body).headers.join('|')).toContain('cookie|a=1; b=2')
    expect(await rawRequest(gateway.url(8080), 'GET /h1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')).toContain(
      '/h1',
    )
    expect(gateway.logged.join('')).toContain('http.version=HTTP/2.0')
  })

  test('are negotiated through ALPN over TLS', async () => {
    await using upstream = await startUpstream(echo)
    await using gateway = await startGateway(secured(upstream.host), { files })
    const reply = await send(open(gateway, 'https'), { ':authority': 'any.test' })
    expect(reply.status).toBe(200)
    expect(JSON.parse(reply.body).headers).toContain('any.test')
  })

  test('connection headers from the backend are stripped, repeated headers pass', async () => {
    await using upstream = await startUpstream((_req, res) => {
      res.writeHead(200, ['Set-Cookie', 'a=1', 'Keep-Alive', 'timeout=9', 'Set-Cookie', 'b=2', 'X-Up', 'Yes'])
      res.end('ok')
    })
    await using gateway = await startGateway(plain(upstream.host, ", policies: {http: {version: 'HTTP/1.1'}}"))
    const { headers, body } = await send(open(gateway))
    expect([headers['set-cookie'], headers['x-up'], headers['keep-alive'], headers['connection'], body]).toEqual([
      ['a=1', 'b=2'],
      'Yes',
      undefined,
      undefined,
      'ok',
    ])
  })

  test.each([
    ['HEAD', { ':method': 'HEAD' }, 200],
    ['no content', { ':path': '/204' }, 204],
    ['an unmatched path', { ':path': '/none' }, 404],
    ['CONNECT', { ':method': 'CONNECT', ':authority': 'a:1' }, 405],
    ['a host that differs from the authority', { ':authority': 'a', host: 'b' }, 400],
  ])('%s', async (_name, headers, status) => {
    await using upstream = await startUpstream((req, res) => {
      res.writeHead(req.url === '/204' ? 204 : 200, { 'x-up': '1' })
      res.end(req.method === 'HEAD' ? undefined : '')
    })
    await using gateway = await startGateway(`
binds: [{port: 8080, listeners: [{routes: [{matches: [{path: {exact: /}}, {path: {exact: /204}}], backends: [{host: '${upstream.host}', policies: {http: {version: HTTP/1.1}}}]}]}]}]`)
    const session = open(gateway)
    const wanted: Record<string, string> = { ...headers }
    if (wanted[':method'] === 'CONNECT') {
      const stream = session.request(wanted)
      const [head] = await once(stream, 'response')
      expect(head[':status']).toBe(status)
      return
    }
    expect(await send(session, wanted)).toMatchObject({ status, code: 0 })
  })

  test('headers pass whatever their name', async () => {
    const odd = ['constructor', 'a', '__proto__', 'b', 'toString', 'c', 'hasownproperty', 'd']
    await using upstream = await startUpstream((_req, res) => res.writeHead(200, odd).end())
    await using gateway = await startGateway(plain(upstream.host, ', policies: {http: {version: HTTP/1.1}}'))
    const { headers } = await send(open(gateway))
    const seen = ['constructor', '__proto__', 'tostring', 'hasownproperty'].map(
      name => Object.getOwnPropertyDescriptor(headers, name)?.value,
    )
    expect(seen).toEqual(['a', 'b', 'c', 'd'])
  })

  test('an early response stops the request and keeps the connection usable', async () => {
    await using gateway = await startGateway(
      'binds: [{port: 8080, listeners: [{routes: [{policies: {directResponse: {status: 403, body: no}}}]}]}]',
    )
    const session = open(gateway)
    const endless = new Readable({
      read() {
        this.push(randomBytes(16 * 1024))
      },
    })
    const early = await send(session, { ':method': 'POST' }, endless)
    endless.destroy()
    expect(early).toMatchObject({ status: 403, body: 'no', code: constants.NGHTTP2_NO_ERROR })
    for (let i = 0; i < 20; i++) expect(await send(session, { ':method': 'POST' }, 'x')).toMatchObject({ status: 403 })
  })

  test('rejecting a buffered body keeps the connection usable', async () => {
    await using upstream = await startUpstream(echo)
    await using gateway = await startGateway(
      `binds: [{port: 8080, listeners: [{routes: [{policies: {buffer: {request: {maxBytes: 1000}}}, backends: [{host: '${upstream.host}', policies: {http: {version: HTTP/1.1}}}]}]}]}]`,
    )
    const session = open(gateway)
    for (let i = 0; i < 5; i++) {
      expect(await send(session, { ':method': 'POST' }, randomBytes(300_000))).toMatchObject({ status: 413, code: 0 })
    }
    expect((await send(session, { ':method': 'POST' }, 'x'.repeat(1000))).status).toBe(200)
  })
})

describe('streams', () => {
  test('a large body passes in both directions, no faster than it is read', async () => {
    let sent = 0
    const upstream = await startH2Upstream(stream => {
      stream.respond({ ':status': 200 })
      stream.pipe(stream)
    })
    await using gateway = await startGateway(plain(upstream))
    const size = 32 * 1024 * 1024
    const block = randomBytes(64 * 1024)
    const source = new Readable({
      read() {
        if (sent >= size) this.push(null)
        else {
          sent += block.length
          this.push(block)
        }
      },
    })
    const stream = open(gateway).request({ ':path': '/', ':method': 'POST' })
    source.pipe(stream)
    await once(stream, 'response')
    // Nobody reads: what is under way is bounded by the windows and buffers between the two ends.
    let before = -1
    while (before !== sent) {
      before = sent
      await new Promise(resolve => setTimeout(resolve, 50))
    }
    expect(sent).toBeLessThan(size / 2)
    let received = 0
    for await (const chunk of stream) received += chunk.length
    expect(received).toBe(size)
  })

  test('a client’s stream reset cancels the upstream call but not other streams', async () => {
    const ended: string[] = []
    const upstream = await startH2Upstream((stream, headers) => {
      stream.on('close', () => ended.push(String(headers[':path'])))
      stream.respond({ ':status': 200 })
      stream.write('first')
      if (headers[':path'] === '/short') setTimeout(() => stream.end('last'), 20)
    })
    await using gateway = await startGateway(plain(upstream))
    const session = open(gateway)
    const long = session.request({ ':path': '/long' })
    long.on('error', () => {})
    await once(long, 'data')
    const short = send(session, { ':path': '/short' })
    long.close(constants.NGHTTP2_CANCEL)
    expect((await short).body).toBe('firstlast')
    await expect.poll(() => ended).toContain('/long')
  })

  test('a backend that disconnects resets the stream', async () => {
    await using upstream = await startUpstream((_req, res) => {
      res.writeHead(200)
      res.write('some')
      setImmediate(() => res.destroy())
    })
    await using gateway = await startGateway(plain(upstream.host, ', policies: {http: {version: HTTP/1.1}}'))
    expect(await send(open(gateway))).toMatchObject({ status: 200, code: constants.NGHTTP2_INTERNAL_ERROR })
  })

  test('trailers from an HTTP/1.1 or HTTP/2 backend arrive', async () => {
    const two = await startH2Upstream(stream => {
      stream.respond({ ':status': 200 }, { waitForTrailers: true })
      stream.on('wantTrailers', () => stream.sendTrailers({ 'x-end': 'two' }))
      stream.end('body')
    })
    await using one = await startUpstream((_req, res) => {
      res.writeHead(200, { trailer: 'x-end' })
      res.write('body')
      res.addTrailers({ 'x-end': 'one' })
      res.end()
    })
    await using first = await startGateway(plain(two))
    await using second = await startGateway(plain(one.host, ', policies: {http: {version: HTTP/1.1}}'))
    expect(await send(open(first))).toMatchObject({ body: 'body', trailers: { 'x-end': 'two' } })
    expect(await send(open(second))).toMatchObject({ body: 'body', trailers: { 'x-end': 'one' } })
  })
})

describe('the HTTP version used for the backend', () => {
  const versions = async (config: (host: string) => string, scheme: 'http' | 'https', headers = {}) => {
    const seen: string[] = []
    const upstream = net.createServer(socket => {
      socket.on('error', () => {})
      socket.once('data', data => {
        seen.push(data.toString('latin1', 0, 3) === 'PRI' ? '2' : '1.1')
        socket.destroy()
      })
    })
    await new Promise<void>(resolve => upstream.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void upstream.close())
    await using gateway = await startGateway(config(`127.0.0.1:${(upstream.address() as net.AddressInfo).port}`), {
      files,
    })
    await send(open(gateway, scheme), { ':method': 'POST', ':authority': 'any.test', ...headers })
    return seen[0]
  }
  const grpc = { 'content-type': 'application/grpc' }
  test('matches the client’s over plaintext', async () => expect(await versions(plain, 'http')).toBe('2'))
  test('is 1.1 over TLS', async () => expect(await versions(secured, 'https')).toBe('1.1'))
  test('is 2 for gRPC over TLS', async () => expect(await versions(secured, 'https', grpc)).toBe('2'))
  test('follows the config', async () => {
    const fixed = (version: string) => (host: string) => plain(host, `, policies: {http: {version: ${version}}}`)
    expect(await versions(fixed('HTTP/1.1'), 'http', grpc)).toBe('1.1')
    expect(await versions(fixed('HTTP/2.0'), 'http')).toBe('2')
  })
})

describe('hostile clients', () => {
  const direct = 'binds: [{port: 8080, listeners: [{routes: [{policies: {directResponse: {status: 200, body: ok}}}]}]}]'

  test('opening and resetting streams endlessly closes the connection', async () => {
    await using gateway = await startGateway(direct)
    const session = open(gateway)
    const gone = once(session, 'goaway')
    let opened = 0
    const flood = setInterval(() => {
      for (let i = 0; i < 100 && !session.destroyed && !session.closed; i++) {
        opened++
        const stream = session.request({ ':path': '/' })
        stream.on('error', () => {})
        stream.close(constants.NGHTTP2_CANCEL)
      }
    }, 1)
    onTestFinished(() => clearInterval(flood))
    const [code] = await gone
    clearInterval(flood)
    expect([constants.NGHTTP2_ENHANCE_YOUR_CALM, constants.NGHTTP2_INTERNAL_ERROR]).toContain(code)
    expect(opened).toBeLessThan(20_000)
    expect((await send(open(gateway))).status).toBe(200)
  })

  test('headers over 64 KB are rejected, and the gateway keeps running', async () => {
    await using gateway = await startGateway(direct)
    const session = open(gateway)
    const large = await send(session, { 'x-large': 'a'.repeat(70_000) }).catch(() => undefined)
    expect(large?.status).not.toBe(200)
    const many = Object.fromEntries(Array.from({ length: 1500 }, (_, i) => [`x-${i}`, '1']))
    expect((await send(open(gateway), many).catch(() => undefined))?.status).not.toBe(200)
    expect((await send(open(gateway), { 'x-fits': 'a'.repeat(20_000) })).status).toBe(200)
  })

  test.each([
    ['a connection field', ['connection', 'close']],
    ['transfer-encoding', ['transfer-encoding', 'chunked']],
    ['an uppercase field name', ['X-Upper', '1']],
    ['an unknown pseudo-header', [':foo', '1']],
    ['a second path', [':path', '/admin']],
    ['a content-length that does not match the body', ['content-length', '5']],
  ])('%s: a malformed request never reaches the backend', async (_name, [name, value]) => {
    let reached = 0
    const upstream = await startH2Upstream(stream => {
      reached++
      stream.respond({ ':status': 200 })
      stream.end()
    })
    await using gateway = await startGateway(plain(upstream))
    const socket = net.connect(gateway.gateway.portOf(8080)!, '127.0.0.1')
    onTestFinished(() => void socket.destroy())
    socket.on('error', () => {})
    socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
    socket.write(frame(4, 0, 0, Buffer.alloc(0)))
    const block = fields([':method', 'POST', ':scheme', 'http', ':path', '/', ':authority', 'a', name!, value!])
    socket.write(frame(1, 5, 1, block))
    const error = await new Promise<number>(resolve => {
      let bytes = Buffer.alloc(0)
      socket.on('data', (chunk: Buffer) => {
        bytes = Buffer.concat([bytes, chunk])
        for (let at = 0; at + 9 <= bytes.length; at += 9 + bytes.readUIntBE(at, 3)) {
          if (at + 9 + bytes.readUIntBE(at, 3) > bytes.length) break
          if (bytes[at + 3] === 3) resolve(bytes.readUInt32BE(at + 9))
        }
      })
    })
    expect([error, reached]).toEqual([constants.NGHTTP2_PROTOCOL_ERROR, 0])
  })

  test('a line break in a header value does not create a second header', async () => {
    await using upstream = await startUpstream(echo)
    await using gateway = await startGateway(plain(upstream.host, ', policies: {http: {version: HTTP/1.1}}'))
    const socket = net.connect(gateway.gateway.portOf(8080)!, '127.0.0.1')
    onTestFinished(() => void socket.destroy())
    socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
    socket.write(frame(4, 0, 0, Buffer.alloc(0)))
    const head = [':method', 'GET', ':scheme', 'http', ':path', '/', ':authority', 'a']
    socket.write(frame(1, 5, 1, fields([...head, 'x-a', '1\r\nx-b: 2', 'x-c', '3'])))
    const text = await new Promise<string>(resolve => {
      let seen = ''
      socket.on('data', chunk => {
        seen += chunk.toString('latin1')
        if (seen.includes('x-c')) resolve(seen)
      })
    })
    expect(text).not.toContain('x-b')
  })

  test('a client that stops halfway through the preface is disconnected', async () => {
    const clock = new ManualClock()
    const config = plain('127.0.0.1:1', '', 'frontendPolicies: {http: {http1IdleTimeout: 50s}}')
    await using gateway = await startGateway(config, { clock })
    const socket = net.connect(gateway.gateway.portOf(8080)!, '127.0.0.1', () => socket.write('PRI * HTTP/2'))
    const closed = closeOf(socket)
    await expect.poll(() => clock.pending).toBeGreaterThan(0)
    clock.advance(50_000)
    await closed
  })
})

describe('settings', () => {
  const direct = (frontend: string) => `frontendPolicies: {http: {${frontend}}}
binds: [{port: 8080, listeners: [{routes: [{policies: {directResponse: {status: 200, body: ok}}}]}]}]`

  test('configured windows and limits are announced to the client', async () => {
    await using gateway = await startGateway(
      direct(
        'http2WindowSize: 70000, http2FrameSize: 20000, http2MaxHeaderSize: 8000, http2ConnectionWindowSize: 90000',
      ),
    )
    const session = open(gateway)
    const [settings] = await once(session, 'remoteSettings')
    expect(settings).toMatchObject({ initialWindowSize: 70000, maxFrameSize: 20000 })
    await send(session)
    expect(session.state.remoteWindowSize).toBe(90000)
    expect((await send(session, { 'x-large': 'a'.repeat(9000) })).status).toBe(431)
  })

  test.each([
    ['a field of 70 KB', { 'x-large': 'a'.repeat(70_000) }],
    [
      'fields of 130 KB in total',
      Object.fromEntries(Array.from({ length: 26 }, (_, i) => [`x-${i}`, 'b'.repeat(5000)])),
    ],
    ['1200 fields', Object.fromEntries(Array.from({ length: 1200 }, (_, i) => [`x-${i}`, '1']))],
  ])('%s get a 431 and an access log record', async (_what, fields) => {
    await using gateway = await startGateway(direct(''))
    const session = open(gateway)
    await once(session, 'remoteSettings')
    expect((await send(session, fields)).status).toBe(431)
    expect((await send(session)).status).toBe(200)
    expect(gateway.logged.filter(line => line.includes('http.status=431'))).toHaveLength(1)
  })

  test('a client that ignores pings is disconnected, one that answers stays', async () => {
    const clock = new ManualClock()
    const config = direct('http2KeepaliveInterval: 20s, http2KeepaliveTimeout: 5s')
    await using gateway = await startGateway(config, { clock })
    const intervals = () => clock.armed.filter(ms => ms === 20_000).length
    const deaf = net.connect(gateway.gateway.portOf(8080)!, '127.0.0.1')
    deaf.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
    deaf.write(frame(4, 0, 0, Buffer.alloc(0)))
    const session = open(gateway)
    await expect.poll(intervals).toBe(2)
    clock.advance(20_000)
    // The one that answers is asked again.
    await expect.poll(intervals).toBe(3)
    clock.advance(5000)
    await closeOf(deaf)
    expect((await send(session)).status).toBe(200)
  })

  test('a connection past its maximum duration accepts no new streams', async () => {
    const clock = new ManualClock()
    await using gateway = await startGateway(direct('maxConnectionDuration: 30s'), { clock })
    const session = open(gateway)
    expect((await send(session)).status).toBe(200)
    clock.advance(30_000)
    await once(session, 'close')
  })
})

test('a graceful stop lets open streams finish and accepts no new ones', async () => {
  let finish: () => void = () => {}
  const upstream = await startH2Upstream(stream => {
    stream.respond({ ':status': 200 })
    stream.write('first ')
    finish = () => stream.end('last')
  })
  await using gateway = await startGateway(plain(upstream))
  const session = open(gateway)
  const running = session.request({ ':path': '/' })
  let text = ''
  running.on('data', chunk => {
    text += chunk
  })
  await once(running, 'data')
  const goaway = once(session, 'goaway')
  const stopped = gateway.gateway.stop({ min: 0, max: 5000 })
  await goaway
  finish()
  await once(running, 'close')
  expect(text).toBe('first last')
  await stopped
})
