import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import http from 'node:http'
import http2 from 'node:http2'
import type net from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import tls from 'node:tls'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createTransport } from '../../../src/engine/upstream/transport.ts'
import type { Target, TlsOptions, Transport } from '../../../src/http/transport.ts'
import { ENDLESS, ownSockets, standstill } from '../../helpers/own-sockets.ts'
import { drain, exchange, type Outcome, recorder, requestOf, StoppedClock, startPeer, targetOf } from './peers.ts'

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'

function open(clock = new StoppedClock()): Transport {
  const transport = createTransport({ clock })
  onTestFinished(() => transport.close())
  return transport
}

async function serve(
  server: http.Server | net.Server | http2.Http2Server,
  at: net.ListenOptions = {},
): Promise<number> {
  server.listen({ port: 0, host: '127.0.0.1', ...at })
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    if ('closeAllConnections' in server) server.closeAllConnections()
  })
  const address = server.address()
  return typeof address === 'string' ? 0 : (address as AddressInfo).port
}

const fixture = (name: string): Promise<string> => readFile(join(import.meta.dirname, 'fixtures', name), 'utf8')

describe('HTTP/1.1', () => {
  test('sends the request as given and returns the response with all headers in order', async () => {
    const peer = await startPeer(({ socket }) =>
      socket.write(
        'HTTP/1.1 200 Fine\r\nDate: today\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nX-Latin: \xe9\r\n' +
          'Connection: keep-alive, X-Private\r\nKeep-Alive: timeout=9\r\nX-Private: 1\r\nContent-Length: 2\r\n\r\nok',
        'latin1',
      ),
    )
    const reply = await exchange(
      open(),
      targetOf(peer.port),
      requestOf({ path: '/a?b=%20', authority: 'api.test:8', fields: ['X-One', '1', 'Cookie', 'a', 'cookie', 'b'] }),
    )
    expect(reply).toMatchObject({ status: 200, body: 'ok', cut: false })
    expect(reply.headers).toEqual([
      'Date',
      'today',
      'Set-Cookie',
      'a=1',
      'Set-Cookie',
      'b=2',
      'X-Latin',
      '\xe9',
      'Content-Length',
      '2',
    ])
    const lines = peer.connections[0]?.received.split('\r\n') ?? []
    expect(lines[0]).toBe('GET /a?b=%20 HTTP/1.1')
    expect(lines[1]).toBe('host: api.test:8')
    expect(lines).toEqual(expect.arrayContaining(['X-One: 1', 'Cookie: a', 'cookie: b']))
  })

  test.each([
    [
      'a chunked body',
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n',
      'abcde',
    ],
    ['a body that ends with the connection', 'HTTP/1.0 200 OK\r\n\r\nabcde', 'abcde'],
    ['an empty body', 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n', ''],
    ['204', 'HTTP/1.1 204 No Content\r\n\r\n', ''],
    ['304 with a content-length', 'HTTP/1.1 304 Not Modified\r\ncontent-length: 7\r\n\r\n', ''],
    ['an early hint first', `HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n${OK}`, 'ok'],
  ])('%s', async (_name, text, body) => {
    const peer = await startPeer(({ socket }) => {
      socket.write(text)
      if (text.includes('1.0')) socket.end()
    })
    const reply = await exchange(open(), targetOf(peer.port), requestOf())
    expect(reply.error).toBeUndefined()
    expect(reply.body).toBe(body)
    expect(reply.headers).not.toContain('transfer-encoding')
  })

  test('any split of a response yields the same result', async () => {
    const text = 'HTTP/1.1 200 OK\r\nx: 1\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nx-end: 1\r\n\r\n'
    let at = 0
    const peer = await startPeer(({ socket }) => {
      const first = text.slice(0, at)
      const rest = text.slice(at)
      if (first !== '') socket.write(first)
      setImmediate(() => setImmediate(() => socket.write(rest)))
    })
    const transport = open()
    for (at = 0; at < text.length; at++) {
      const reply = await exchange(transport, targetOf(peer.port), requestOf())
      expect(reply).toMatchObject({ status: 200, body: 'abc', headers: ['x', '1'], trailers: ['x-end', '1'] })
    }
  })

  test('a HEAD response ends after its headers', async () => {
    const peer = await startPeer(({ socket }) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 900\r\n\r\n'))
    const reply = await exchange(open(), targetOf(peer.port), requestOf({ method: 'HEAD' }))
    expect(reply).toMatchObject({ status: 200, headers: ['content-length', '900'], body: '' })
  })

  test('a buffered body sets its own content-length, overriding the headers', async () => {
    const peer = await startPeer(({ socket }) => socket.write(OK))
    await exchange(
      open(),
      targetOf(peer.port),
      requestOf({
        method: 'POST',
        body: Buffer.from('hello'),
        fields: ['Content-Length', '99', 'Expect', '100-continue'],
      }),
    )
    const received = peer.connections[0]?.received ?? ''
    expect(received.match(/content-length: \d+/gi)).toEqual(['content-length: 5'])
    expect(received).not.toMatch(/expect/i)
    expect(received.endsWith('\r\n\r\nhello')).toBe(true)
  })

  test('POST without a body sends content-length: 0', async () => {
    const peer = await startPeer(({ socket }) => socket.write(OK))
    await exchange(open(), targetOf(peer.port), requestOf({ method: 'POST' }))
    expect(peer.connections[0]?.received).toMatch(/content-length: 0\r\n/i)
  })

  test.each([
    ['in chunks', [], 'chunked'],
    ['with the content-length from the client', ['Content-Length', '6'], '6'],
  ])('a streamed body is sent %s', async (_name, fields, framing) => {
    const server = http.createServer(async (request, response) => {
      response.end(
        `${request.headers['transfer-encoding'] ?? request.headers['content-length']} ${await drain(request)}`,
      )
    })
    const port = await serve(server)
    const reply = await exchange(
      open(),
      targetOf(port),
      requestOf({ method: 'PUT', body: Readable.from([Buffer.from('abc'), Buffer.from('def')]), fields }),
    )
    expect(reply.body).toBe(`${framing} abcdef`)
  })

  test('an aborted request body fails the call and closes the connection', async () => {
    const peer = await startPeer()
    const body = new Readable({ read() {} })
    const outcome = exchange(open(), targetOf(peer.port), requestOf({ method: 'POST', body }))
    body.push('part')
    const connection = await peer.nth(0)
    await connection.request()
    body.destroy(new Error('client left'))
    expect((await outcome).error).toMatchObject({ code: 'upstreamFailed' })
    await connection.closed
    expect(connection.received.endsWith('0\r\n\r\n')).toBe(false)
  })

  test('streams 100 MB to a slow reader in bounded memory, byte for byte', async () => {
    const block = Buffer.alloc(1 << 20, 'gateway')
    let written = 0
    let taken = 0
    const server = http.createServer((_request, response) => {
      const send = (): void => {
        while (written < 100 << 20) {
          written += block.length
          if (!response.write(block)) return void response.once('drain', send)
        }
        response.end()
      }
      send()
    })
    const port = await serve(server)
    const hash = createHash('sha1')
    const opened = ownSockets('client')
    let underWay = 0
    let owed = 0
    const outcome = await new Promise<Outcome>(resolve => {
      let resume = (): void => {}
      open().dispatch(
        targetOf(port),
        requestOf(),
        recorder(resolve, {
          chunk(chunk) {
            hash.update(chunk)
            taken += chunk.length
            owed += chunk.length
            underWay = Math.max(underWay, opened[0]!.bytesRead - taken)
            if (owed < 1 << 20) return true
            setImmediate(() => {
              owed = 0
              resume()
            })
            return false
          },
          sink: then => {
            resume = then
          },
        }),
      )
    })
    expect(outcome).toMatchObject({ status: 200, cut: false })
    const expected = createHash('sha1')
    for (let i = 0; i < 100; i++) expected.update(block)
    expect(hash.digest('hex')).toBe(expected.digest('hex'))
    expect(underWay).toBeLessThan(4 << 20)
  })

  test('a paused receiver stops the sender until it resumes', async () => {
    let written = 0
    const server = http.createServer((_request, response) => {
      const block = Buffer.alloc(65_536)
      const send = (): void => {
        while (written < 64 << 20) {
          written += block.length
          if (!response.write(block)) return void response.once('drain', send)
        }
        response.end()
      }
      send()
    })
    const port = await serve(server)
    const opened = ownSockets('client')
    let resume = (): void => {}
    let taken = 0
    let full = true
    const first = Promise.withResolvers<void>()
    const outcome = new Promise<Outcome>(resolve =>
      open().dispatch(
        targetOf(port),
        requestOf(),
        recorder(resolve, {
          chunk(chunk) {
            taken += chunk.length
            first.resolve()
            return !full
          },
          sink: then => {
            resume = then
          },
        }),
      ),
    )
    await first.promise
    expect(await standstill(() => opened[0]!.bytesRead)).toBeLessThan(4 << 20)
    expect(taken).toBeLessThan(2 << 20)
    full = false
    resume()
    expect(await outcome).toMatchObject({ status: 200, cut: false })
    expect(taken).toBe(64 << 20)
  })

  test('a slow server pauses reading of the request body', async () => {
    const held = Promise.withResolvers<void>()
    const server = http.createServer(async (request, response) => {
      await held.promise
      response.end(String((await drain(request)).length))
    })
    const port = await serve(server)
    let made = 0
    let enough = false
    const body = new Readable({
      highWaterMark: 65_536,
      read() {
        if (enough || made >= ENDLESS) return void this.push(null)
        made += 65_536
        this.push(Buffer.alloc(65_536))
      },
    })
    const outcome = exchange(open(), targetOf(port), requestOf({ method: 'POST', body }))
    await expect.poll(() => made).toBeGreaterThan(65_536)
    expect(await standstill(() => made)).toBeLessThan(ENDLESS)
    enough = true
    held.resolve()
    expect((await outcome).body).toBe(String(made))
  })

  test('connections are reused, the most recently used first', async () => {
    const peer = await startPeer(({ socket }) => socket.write(OK))
    const transport = open()
    for (let i = 0; i < 5; i++) expect((await exchange(transport, targetOf(peer.port), requestOf())).body).toBe('ok')
    expect(peer.connections).toHaveLength(1)
    await Promise.all([1, 2, 3].map(() => exchange(transport, targetOf(peer.port), requestOf())))
    expect(peer.connections).toHaveLength(3)
    await exchange(transport, targetOf(peer.port), requestOf({ method: 'POST', body: Buffer.from('x') }))
    expect(peer.connections).toHaveLength(3)
  })

  test('a connection closed by the server is not reused', async () => {
    const peer = await startPeer(({ socket }, _n) =>
      socket.end('HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok'),
    )
    const transport = open()
    for (let i = 0; i < 3; i++) expect((await exchange(transport, targetOf(peer.port), requestOf())).body).toBe('ok')
    expect(peer.connections).toHaveLength(3)
  })

  test('an idempotent request is retried when its reused connection turns out closed', async () => {
    const peer = await startPeer(({ socket }, n) => {
      if (n === 1) socket.write(OK)
      else socket.resetAndDestroy()
    })
    const transport = open()
    await exchange(transport, targetOf(peer.port), requestOf())
    expect(await exchange(transport, targetOf(peer.port), requestOf())).toMatchObject({ status: 200, body: 'ok' })
    expect(peer.connections.map(connection => connection.heads().length)).toEqual([2, 1])
    await transport.close()
    await peer.connections[1]?.closed
  })

  test('a non-idempotent request is not sent twice', async () => {
    const peer = await startPeer(({ socket }, n) => {
      if (n === 1) socket.write(OK)
      else socket.resetAndDestroy()
    })
    const transport = open()
    await exchange(transport, targetOf(peer.port), requestOf())
    const post = await exchange(transport, targetOf(peer.port), requestOf({ method: 'POST', body: Buffer.from('x') }))
    expect(post.error).toMatchObject({ code: 'upstreamFailed', details: { retryable: true } })
    expect(peer.connections).toHaveLength(1)
  })

  test('refused, reset and truncated responses fail with their registered errors', async () => {
    const refused = await exchange(open(), targetOf(1), requestOf())
    expect(refused.error).toMatchObject({
      code: 'upstreamFailed',
      status: 503,
      message: 'upstream call failed: connection refused',
      details: { retryable: true },
    })

    const reset = await startPeer(({ socket }) => socket.resetAndDestroy())
    expect((await exchange(open(), targetOf(reset.port), requestOf())).error).toMatchObject({
      code: 'upstreamFailed',
      details: { retryable: true },
    })

    const cut = await startPeer(({ socket }) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc'))
    const outcome = await exchange(open(), targetOf(cut.port), requestOf())
    expect(outcome).toMatchObject({ status: 200, body: 'abc', cut: true })
    expect(outcome.error).toMatchObject({ code: 'upstreamFailed' })
  })

  test('a name that does not resolve fails with dnsFailed', async () => {
    const outcome = await exchange(open(), targetOf(80, { host: 'nowhere.invalid', named: true }), requestOf())
    expect(outcome.error).toMatchObject({ code: 'dnsFailed', status: 503, details: { retryable: true } })
  })

  test('a server that misses the timeout fails the call', async () => {
    const clock = new StoppedClock()
    const peer = await startPeer()
    const outcome = exchange(open(clock), targetOf(peer.port), requestOf({ timeout: 300 }))
    const connection = await peer.nth(0)
    await connection.request()
    clock.advance(299)
    clock.advance(1)
    expect((await outcome).error).toMatchObject({ code: 'upstreamTimeout', status: 504, details: { retryable: true } })
    await connection.closed
  })

  test('the timeout covers the response only up to its headers', async () => {
    const clock = new StoppedClock()
    const peer = await startPeer(({ socket }) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n'))
    const head = Promise.withResolvers<void>()
    const outcome = new Promise<Outcome>(resolve =>
      open(clock).dispatch(targetOf(peer.port), requestOf({ timeout: 300 }), recorder(resolve, { head: head.resolve })),
    )
    await head.promise
    clock.advance(10_000)
    peer.connections[0]?.socket.write('ok')
    expect(await outcome).toMatchObject({ status: 200, body: 'ok', cut: false })
  })

  test('a TLS handshake that never completes fails the call', async () => {
    const clock = new StoppedClock()
    const peer = await startPeer()
    const outcome = exchange(
      open(clock),
      targetOf(peer.port, { tls: {}, connectTimeout: 1000 }),
      requestOf({ timeout: 5000 }),
    )
    const connection = await peer.nth(0)
    clock.advance(1000)
    expect((await outcome).error).toMatchObject({ code: 'upstreamTimeout', status: 504, details: { retryable: true } })
    await connection.closed
  })

  test.each(['before the head', 'in the body'])(
    'cancelling %s closes the connection and emits nothing more',
    async when => {
      const peer = await startPeer(({ socket }) => {
        if (when === 'in the body') socket.write('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc')
      })
      let heard = 0
      const head = Promise.withResolvers<void>()
      const call = open().dispatch(
        targetOf(peer.port),
        requestOf(),
        recorder(() => heard++, { head: head.resolve }),
      )
      const connection = await peer.nth(0)
      await connection.request()
      if (when === 'in the body') await head.promise
      call.cancel()
      call.cancel()
      await connection.closed
      await new Promise(setImmediate)
      expect(heard).toBe(0)
    },
  )

  test('cancelling while connecting emits nothing and sends no request', async () => {
    const peer = await startPeer(({ socket }) => socket.write(OK))
    let heard = 0
    const transport = open()
    transport
      .dispatch(
        targetOf(peer.port),
        requestOf(),
        recorder(() => heard++),
      )
      .cancel()
    expect((await exchange(transport, targetOf(peer.port), requestOf())).body).toBe('ok')
    expect(heard).toBe(0)
    expect(peer.connections.flatMap(connection => connection.heads())).toHaveLength(1)
  })

  test('an invalid header fails the call, but only after dispatch has returned', async () => {
    const peer = await startPeer(({ socket }) => socket.write(OK))
    let returned = false
    const outcome = new Promise<Outcome>(resolve => {
      open().dispatch(
        targetOf(peer.port),
        requestOf({ fields: ['x', 'a\r\ny: b'] }),
        recorder(result => {
          expect(returned).toBe(true)
          resolve(result)
        }),
      )
      returned = true
    })
    expect((await outcome).error).toMatchObject({ code: 'upstreamFailed', details: { retryable: false } })
    expect(peer.connections.flatMap(connection => connection.heads())).toEqual([])
  })

  test('closing the transport fails calls in flight', async () => {
    const peer = await startPeer()
    const transport = createTransport({ clock: new StoppedClock() })
    const outcome = exchange(transport, targetOf(peer.port), requestOf())
    const connection = await peer.nth(0)
    await connection.request()
    await transport.close()
    expect((await outcome).error).toMatchObject({ code: 'shuttingDown' })
    await connection.closed
  })

  describe('upgrade', () => {
    const websocket = { upgrade: 'websocket', fields: ['Sec-WebSocket-Key', 'abc'] }

    test('hands over the socket with the bytes already received', async () => {
      const peer = await startPeer(({ socket }) => {
        socket.write('HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nfirst')
        socket.on('data', text => socket.write(text))
      })
      const { status, headers, socket } = await exchange(open(), targetOf(peer.port), requestOf(websocket))
      expect(status).toBe(101)
      expect(headers.join()).toMatch(/upgrade,websocket/i)
      expect(peer.connections[0]?.received).toMatch(/connection: upgrade\r\nupgrade: websocket\r\n/i)
      let text = ''
      socket?.on('data', chunk => {
        text += chunk
        if (text === 'first') socket.write('echo')
        if (text === 'firstecho') socket.end()
      })
      await once(socket as NonNullable<typeof socket>, 'close')
      expect(text).toBe('firstecho')
    })

    test('a server that declines returns a normal response', async () => {
      const peer = await startPeer(({ socket }) => socket.write('HTTP/1.1 403 No\r\ncontent-length: 2\r\n\r\nno'))
      expect(await exchange(open(), targetOf(peer.port), requestOf(websocket))).toMatchObject({
        status: 403,
        body: 'no',
      })
    })

    test('an unsolicited protocol switch fails the call', async () => {
      const peer = await startPeer(({ socket }) =>
        socket.write('HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'),
      )
      const outcome = await exchange(open(), targetOf(peer.port), requestOf())
      expect(outcome.error).toMatchObject({ code: expect.stringMatching(/^(upgrade|upstream)Failed$/) })
      await peer.connections[0]?.closed
    })
  })

  test('connects to a Unix socket', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'upstream-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    const path = join(folder, 'socket')
    const server = http.createServer((request, response) => response.end(request.headers.host))
    server.listen(path)
    await once(server, 'listening')
    onTestFinished(() => void server.close())
    const reply = await exchange(open(), targetOf(0, { unixPath: path }), requestOf())
    expect(reply.body).toBe('upstream.test')
    expect((await exchange(open(), targetOf(0, { unixPath: join(folder, 'none') }), requestOf())).error).toMatchObject({
      message: 'upstream call failed: no such socket',
    })
  })

  describe('TLS', async () => {
    const [ca, cert, key, clientCert, clientKey] = (await Promise.all(
      ['ca.pem', 'server.pem', 'server.key', 'client.pem', 'client.key'].map(fixture),
    )) as [string, string, string, string, string]

    async function secured(more: tls.TlsOptions = {}): Promise<(options: TlsOptions) => Target> {
      const server = tls.createServer({ cert, key, ...more }, socket => {
        socket.on('error', () => {})
        socket.on('data', () => {
          const peer = socket.getPeerCertificate()
          const text = `${socket.servername || '-'} ${socket.alpnProtocol || '-'} ${peer.subject?.CN ?? '-'}`
          socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${text.length}\r\n\r\n${text}`)
        })
      })
      server.on('tlsClientError', () => {})
      const port = await serve(server)
      return options => targetOf(port, { tls: options })
    }

    test.each([
      ['the given server name', { ca, servername: 'upstream.test' }, 'upstream.test http/1.1 -'],
      [
        'a client certificate',
        { ca, servername: 'upstream.test', cert: clientCert, key: clientKey },
        'upstream.test http/1.1 client',
      ],
      ['no verification at all', { insecureSkipVerify: 'All' as const }, '- http/1.1 -'],
      ['no verification of the name', { ca, insecureSkipVerify: 'Hostname' as const }, '- http/1.1 -'],
      [
        'an accepted identity',
        { ca, subjectAltNames: ['spiffe://test/other', 'spiffe://test/server'] },
        '- http/1.1 -',
      ],
      ['an accepted name', { ca, subjectAltNames: ['upstream.test'] }, '- http/1.1 -'],
    ])('with %s', async (_name, options, seen) => {
      const target = (await secured({ ALPNProtocols: ['http/1.1'], requestCert: true, rejectUnauthorized: false }))(
        options,
      )
      const transport = open()
      expect(await exchange(transport, target, requestOf())).toMatchObject({ status: 200, body: seen })
      expect(await exchange(transport, target, requestOf({ authority: 'other.test' }))).toMatchObject({ body: seen })
    })

    test.each([
      ['an unknown CA', { servername: 'upstream.test' }],
      ['another name', { ca, servername: 'other.test' }],
      ['the address instead of a name', { ca }],
      ['no accepted identity', { ca, servername: 'upstream.test', subjectAltNames: ['spiffe://test/other'] }],
      ['an invalid chain even without name verification', { insecureSkipVerify: 'Hostname' as const }],
      ['an unreadable key', { ca, cert: 'nonsense', key: 'nonsense' }],
    ])('refuses %s', async (_name, options) => {
      const target = (await secured())(options)
      const outcome = await exchange(open(), target, requestOf())
      expect(outcome.error).toMatchObject({ code: 'upstreamFailed' })
    })

    test('large bodies stay intact', async () => {
      const block = Buffer.alloc(3 << 20, 'secret')
      const server = (await import('node:https')).createServer({ cert, key }, async (request, response) => {
        expect((await drain(request)).length).toBe(block.length)
        response.end(block)
      })
      const port = await serve(server)
      const hash = createHash('sha1')
      const outcome = await new Promise<Outcome>(resolve =>
        open().dispatch(
          targetOf(port, { tls: { ca, servername: 'upstream.test' } }),
          requestOf({ method: 'POST', body: block }),
          recorder(resolve, { chunk: chunk => hash.update(chunk) !== undefined }),
        ),
      )
      expect(outcome).toMatchObject({ status: 200, cut: false })
      expect(hash.digest('hex')).toBe(createHash('sha1').update(block).digest('hex'))
    })
  })
})

describe('HTTP/2', () => {
  async function h2c(
    handle: (stream: http2.ServerHttp2Stream, headers: http2.IncomingHttpHeaders) => void,
  ): Promise<{ port: number; sessions: () => number }> {
    let count = 0
    const server = http2.createServer()
    const open = new Set<http2.ServerHttp2Session>()
    server.on('session', session => {
      count++
      open.add(session)
    })
    server.on('stream', handle)
    const port = await serve(server)
    onTestFinished(() => {
      for (const session of open) session.destroy()
    })
    return { port, sessions: () => count }
  }

  test('many calls share one connection', async () => {
    const held: http2.ServerHttp2Stream[] = []
    const { port, sessions } = await h2c(stream => {
      stream.on('error', () => {})
      held.push(stream)
      if (held.length === 1 || held.length === 11) {
        for (const one of held.slice(held.length === 1 ? 0 : 1)) {
          one.respond({ ':status': 201, 'x-a': '1', 'set-cookie': ['a', 'b'] })
          one.end('ok')
        }
      }
    })
    const transport = open()
    const target = targetOf(port, { version: '2' })
    const first = await exchange(transport, target, requestOf({ fields: ['X-Mixed', '1'] }))
    expect(first).toMatchObject({ status: 201, body: 'ok' })
    expect(first.headers.join()).toContain('x-a,1,set-cookie,a,set-cookie,b')
    const rest = await Promise.all(Array.from({ length: 10 }, () => exchange(transport, target, requestOf())))
    expect(rest.map(({ body }) => body)).toEqual(Array(10).fill('ok'))
    expect(sessions()).toBe(1)
  })

  test('cancelling ends the stream but keeps the connection', async () => {
    const ended = Promise.withResolvers<void>()
    const { port, sessions } = await h2c((stream, headers) => {
      stream.on('error', () => {})
      stream.respond({ ':status': 200 })
      if (headers[':path'] === '/hold') stream.once('close', () => ended.resolve())
      else stream.end(String(headers[':authority']))
    })
    const transport = open()
    const target = targetOf(port, { version: '2' })
    const head = Promise.withResolvers<void>()
    const call = transport.dispatch(
      target,
      requestOf({ path: '/hold' }),
      recorder(() => {}, { head: head.resolve }),
    )
    await head.promise
    call.cancel()
    await ended.promise
    expect((await exchange(transport, target, requestOf())).body).toBe('upstream.test')
    expect(sessions()).toBe(1)
  })

  test('is negotiated through ALPN over TLS', async () => {
    const [ca, cert, key] = (await Promise.all(['ca.pem', 'server.pem', 'server.key'].map(fixture))) as [
      string,
      string,
      string,
    ]
    const server = http2.createSecureServer({ cert, key, allowHTTP1: true }, (request, response) => {
      response.end(request.httpVersion)
    })
    const open2 = new Set<net.Socket>()
    server.on('connection', (socket: net.Socket) => open2.add(socket))
    const port = await serve(server)
    onTestFinished(() => {
      for (const socket of open2) socket.destroy()
    })
    const secure = { ca, servername: 'upstream.test' }
    const transport = open()
    const seen = async (key: string, more: Partial<Target>): Promise<string> =>
      (await exchange(transport, targetOf(port, { key, ...more }), requestOf())).body
    expect(await seen('a', { tls: { ...secure, alpn: ['h2', 'http/1.1'] } })).toBe('2.0')
    expect(await seen('b', { tls: secure })).toBe('1.1')
    expect(await seen('c', { tls: secure, version: '2' })).toBe('2.0')
    expect(await seen('d', { tls: { ...secure, alpn: ['h2', 'http/1.1'] }, version: '1.1' })).toBe('1.1')
  })
})
