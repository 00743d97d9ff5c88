import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { Http1Downstream, type ReplyWire } from '../../../src/engine/inbound/http1-downstream.ts'
import type { Exchange } from '../../../src/http/exchange.ts'
import { startGateway, type TestGateway } from '../../helpers/gateway.ts'
import { ENDLESS, ownSockets, standstill } from '../../helpers/own-sockets.ts'
import { closeOf, echo, rawRequest, startUpstream } from '../../helpers/upstream.ts'
import { ManualClock } from '../manual-clock.ts'

const route = (inner: string) => `binds: [{port: 8080, listeners: [{routes: [{${inner}}]}]}]`
const direct = (body = 'no') => route(`policies: {directResponse: {status: 403, body: ${body}}}`)
const proxy = (host: string, policies = '') =>
  route(`${policies === '' ? '' : `policies: {${policies}}, `}backends: [{host: '${host}'}]`)

function dial(gateway: TestGateway): Socket {
  const socket = connect(gateway.gateway.portOf(8080)!, '127.0.0.1')
  socket.on('error', () => {})
  onTestFinished(() => void socket.destroy())
  return socket
}

/** Everything until it holds `mark` so many times, or until the connection ends. */
function until(socket: Socket, mark: string | undefined, times = 1): Promise<string> {
  let text = ''
  return new Promise(resolve => {
    const take = (chunk: Buffer): void => {
      text += chunk.toString('latin1')
      if (mark === undefined || text.split(mark).length <= times) return
      socket.off('data', take)
      resolve(text)
    }
    socket.on('data', take)
    socket.once('close', () => resolve(text))
  })
}

async function inPieces(socket: Socket, bytes: string, size: number): Promise<void> {
  socket.setNoDelay(true)
  for (let at = 0; at < bytes.length; at += size) {
    await new Promise(resolve => socket.write(bytes.slice(at, at + size), 'latin1', resolve))
    await new Promise(setImmediate)
  }
}

describe('a request split at any point is parsed', () => {
  const plain = 'POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\nhello world'
  const chunked =
    'POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5;x="y z"\r\nhello\r\n06\r\n world\r\n0\r\nX: 1\r\n\r\n'
  test.each([
    ['content-length, byte by byte', plain, 1],
    ['content-length, three bytes at a time', plain, 3],
    ['chunked, byte by byte', chunked, 1],
    ['chunked, seven bytes at a time', chunked, 7],
    ['chunked, all at once', chunked, 1000],
  ])('%s', async (_name, bytes, size) => {
    await using upstream = await startUpstream(echo)
    await using gateway = await startGateway(proxy(upstream.host))
    const socket = dial(gateway)
    for (let i = 0; i < 2; i++) {
      const answer = until(socket, '"body":"hello world"')
      await inPieces(socket, bytes, size)
      expect(await answer).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
    }
  })

  test('skips empty lines before a request', async () => {
    await using gateway = await startGateway(direct())
    const answer = await rawRequest(gateway.url(8080), '\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
    expect(answer).toMatch(/^HTTP\/1\.1 403 /)
  })

  test.each([
    ['at once', '\r\n'.repeat(9), 100],
    ['one by one', '\r\n'.repeat(9), 2],
    ['after a request', `GET / HTTP/1.1\r\nHost: a\r\n\r\n${'\r\n'.repeat(9)}`, 1000],
    ['by the megabyte', '\r\n'.repeat(500_000), 1_000_000],
  ])('more than eight empty lines are rejected: %s', async (_name, bytes, size) => {
    await using gateway = await startGateway(direct())
    const socket = dial(gateway)
    const answer = until(socket, undefined)
    await inPieces(socket, bytes, size)
    socket.end()
    expect(await answer).toMatch(/HTTP\/1\.1 400 /)
  })
})

describe('pipelined requests', () => {
  test('are all answered, even thousands of them', async () => {
    await using gateway = await startGateway(direct())
    const socket = dial(gateway)
    const count = 3000
    const answers = until(socket, '\r\n\r\nno', count)
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(count))
    expect((await answers).match(/HTTP\/1\.1 403 /g)).toHaveLength(count)
  })

  test('wait for the previous response, bodies included, without being buffered', async () => {
    let answer: () => void = () => {}
    const seen: string[] = []
    await using upstream = await startUpstream((req, res) => {
      const size = { bytes: 0 }
      req.on('data', chunk => {
        size.bytes += chunk.length
      })
      req.on('end', () => {
        seen.push(`${req.url} ${size.bytes}`)
        if (req.url === '/1') answer = () => res.end('first')
        else res.end('later')
      })
    })
    await using gateway = await startGateway(proxy(upstream.host))
    const accepted = ownSockets('server')
    const socket = dial(gateway)
    const answers = until(socket, 'later')
    const size = 4 << 20
    socket.write('GET /1 HTTP/1.1\r\nHost: a\r\n\r\n')
    socket.write(`POST /2 HTTP/1.1\r\nHost: a\r\nContent-Length: ${size}\r\n\r\n`)
    socket.write(Buffer.alloc(size))
    await expect.poll(() => seen).toEqual(['/1 0'])
    const taken = () => accepted.find(each => each.remotePort === socket.localPort)?.bytesRead ?? Number.NaN
    expect(await standstill(taken)).toBeLessThan(1 << 20)
    answer()
    expect(await answers).toMatch(/first[\s\S]*later/)
    expect(seen).toEqual(['/1 0', `/2 ${size}`])
  })

  test('are read no faster than they are answered', async () => {
    let served = 0
    await using upstream = await startUpstream((_req, res) => {
      if (++served <= 600) res.end('ok')
    })
    await using gateway = await startGateway(proxy(upstream.host))
    const accepted = ownSockets('server')
    const socket = dial(gateway)
    socket.resume()
    const request = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'
    const block = Buffer.from(request.repeat(40_000))
    for (let i = 0; i < 40; i++) socket.write(block)
    await expect.poll(() => served).toBe(601)
    // 128 KB; not as much again for each reply.
    const taken = () => accepted.find(each => each.remotePort === socket.localPort)?.bytesRead ?? Number.NaN
    expect(await standstill(taken)).toBeLessThan(1 << 20)
  })

  test('after a request with connection: close are ignored', async () => {
    await using gateway = await startGateway(direct())
    const bytes = 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n'
    expect((await rawRequest(gateway.url(8080), bytes)).match(/HTTP\/1\.1/g)).toHaveLength(1)
  })
})

describe('a slow client', () => {
  test('is disconnected with a reason when its headers take longer than 30 s', async () => {
    const clock = new ManualClock()
    await using gateway = await startGateway(direct(), { clock })
    const socket = dial(gateway)
    const answer = until(socket, undefined)
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n')
    await once(socket, 'connect')
    const trickle = setInterval(() => {
      socket.write('x: 1\r\n')
      clock.advance(5000)
    }, 5)
    onTestFinished(() => clearInterval(trickle))
    expect(await answer).toMatch(/^HTTP\/1\.1 408 [\s\S]*connection: close/)
  })

  test('gets the full idle timeout between requests, but no more', async () => {
    const clock = new ManualClock()
    await using gateway = await startGateway(`frontendPolicies: {http: {http1IdleTimeout: 60s}}\n${direct()}`, {
      clock,
    })
    const socket = dial(gateway)
    for (let i = 0; i < 3; i++) {
      const answer = until(socket, '\r\n\r\nno')
      socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
      expect(await answer).toContain(' 403 ')
      clock.advance(59_000)
    }
    clock.advance(1000)
    await closeOf(socket)
  })

  test('that reads a large response slowly gets all of it and throttles the backend', async () => {
    let sent = 0
    let enough = false
    await using upstream = await startUpstream((_req, res) => {
      const more = (): void => {
        while (!enough && sent < ENDLESS) {
          sent += 1 << 16
          if (!res.write(Buffer.alloc(1 << 16))) return void res.once('drain', more)
        }
        res.end()
      }
      more()
    })
    await using gateway = await startGateway(proxy(upstream.host))
    const socket = dial(gateway)
    socket.pause()
    socket.write('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
    await expect.poll(() => sent).toBeGreaterThan(0)
    expect(await standstill(() => sent)).toBeLessThan(ENDLESS)
    enough = true
    let got = 0
    socket.on('data', chunk => {
      got += chunk.length
    })
    socket.resume()
    await closeOf(socket)
    expect(got).toBeGreaterThan(sent)
  })

  test('that half-closes in the middle of a request gets 400', async () => {
    const served: string[] = []
    await using upstream = await startUpstream((req, res) => {
      req.on('end', () => served.push(req.url ?? ''))
      req.resume()
      res.end()
    })
    await using gateway = await startGateway(proxy(upstream.host, 'buffer: {request: {maxBytes: 1000}}'))
    for (const part of ['GET / HT', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhello']) {
      const socket = dial(gateway)
      const answer = until(socket, undefined)
      socket.end(part)
      expect(await answer).toMatch(/^HTTP\/1\.1 400 /)
    }
    expect(served).toEqual([])
  })
})

describe('malformed HTTP/1.1 is rejected at once', () => {
  test.each([
    ['binary data', '\x16\x03\x01\x02\x00'],
    ['a bare line feed in an incomplete head', 'GET / HTTP/1.1\nHost: a\r\n'],
    ['an unknown expectation', 'GET / HTTP/1.1\r\nHost: a\r\nExpect: cake\r\n\r\n', 417],
    ['an unsupported transfer coding', 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n'],
    ['an endless head', `GET / HTTP/1.1\r\nX: ${'a'.repeat(70_000)}`, 431],
    ['a malformed chunked body', 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n'],
    [
      'endless trailers',
      `POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n${'X: 1\r\n'.repeat(4000)}`,
    ],
  ])('%s', async (_name, bytes, status = 400) => {
    const policies = 'buffer: {request: {maxBytes: 1000}}, directResponse: {status: 200, body: served}'
    await using gateway = await startGateway(route(`policies: {${policies}}`))
    const answer = await rawRequest(gateway.url(8080), bytes)
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} [\\s\\S]*connection: close`))
    expect(answer).not.toContain('served')
  })
})

describe('a response', () => {
  const respond = (head: string, body = '') =>
    startUpstream((_req, res) => {
      res.socket!.end(`HTTP/1.1 ${head}\r\nConnection: close\r\n\r\n${body}`)
    })
  const ask = (gateway: TestGateway, line: string, fields = '') =>
    rawRequest(gateway.url(8080), `${line}\r\nHost: a\r\n${fields}\r\n`)

  test('to HTTP/1.0 is not chunked and ends with the connection', async () => {
    await using upstream = await respond('200 OK', 'until the end')
    await using gateway = await startGateway(proxy(upstream.host))
    const answer = await ask(gateway, 'GET / HTTP/1.0')
    expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*connection: close\r\n\r\nuntil the end$/)
    expect(answer).not.toContain('transfer-encoding')
  })

  test('to HTTP/1.0 keeps the connection alive when asked to', async () => {
    await using gateway = await startGateway(direct())
    const socket = dial(gateway)
    for (let i = 0; i < 2; i++) {
      const answer = until(socket, '\r\n\r\nno')
      socket.write('GET / HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n\r\n')
      expect(await answer).toContain('connection: keep-alive')
    }
  })

  test.each([
    ['HEAD / HTTP/1.1', '200 OK\r\nContent-Length: 5', '', /content-length: 5\r\n/i],
    [
      'GET / HTTP/1.1',
      '204 No Content',
      '',
      /^HTTP\/1\.1 204 No Content\r\n(?![\s\S]*(transfer-encoding|content-length))/,
    ],
    ['GET / HTTP/1.1', '304 Not Modified\r\nContent-Length: 7', '', /^HTTP\/1\.1 304 /],
  ])('%s: %s has no body, and the next response follows', async (line, head, body, expected) => {
    await using upstream = await respond(head, body)
    await using gateway = await startGateway(proxy(upstream.host))
    const socket = dial(gateway)
    for (let i = 0; i < 2; i++) {
      const answer = until(socket, '\r\n\r\n')
      socket.write(`${line}\r\nHost: a\r\n\r\n`)
      const text = await answer
      expect(text).toMatch(expected)
      expect(text.endsWith('\r\n\r\n')).toBe(true)
    }
  })

  test.each([
    ['longer', '3', 'hello'],
    ['shorter', '10', 'hello'],
  ])('with a body %s than the content-length set by a policy is cut off', async (_name, length, body) => {
    await using upstream = await startUpstream((_req, res) => {
      res.write(body)
      setImmediate(() => res.end())
    })
    const claim = `responseHeaderModifier: {set: {content-length: '${length}'}}`
    await using gateway = await startGateway(proxy(upstream.host, claim))
    const answer = await ask(gateway, 'GET / HTTP/1.1')
    expect(answer.split('\r\n\r\n')[1]!.length).toBeLessThanOrEqual(Number(length))
  })

  test('has a single framing header, whatever a policy adds', async () => {
    await using upstream = await startUpstream((_req, res) => {
      res.write('hel')
      res.end('lo')
    })
    const claim = "responseHeaderModifier: {add: {transfer-encoding: gzip, keep-alive: 'timeout=1'}}"
    await using gateway = await startGateway(proxy(upstream.host, claim))
    const answer = await ask(gateway, 'GET / HTTP/1.1', 'Connection: close\r\n')
    expect(answer.match(/transfer-encoding: /gi)).toHaveLength(1)
    expect(answer).not.toMatch(/keep-alive/i)
    expect(answer).toMatch(/\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n$|\r\n\r\n5\r\nhello\r\n0\r\n\r\n$/)
  })
})

describe('a request', () => {
  test.each([
    ['of HTTP/1.0 without a host', 'GET / HTTP/1.0\r\n\r\n'],
    ['with an empty host', 'GET / HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n'],
  ])('%s is sent to the backend with its configured host', async (_name, request) => {
    await using upstream = await startUpstream(echo)
    await using gateway = await startGateway(proxy(upstream.host))
    expect(await rawRequest(gateway.url(8080), request)).toContain(`"host","${upstream.host}"`)
  })

  test.each([
    ['a content-length', 'Content-Length: 5\r\n\r\nhello'],
    ['chunked encoding', 'Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n'],
  ])('with a body sent with %s is not upgraded and keeps its body', async (_name, rest) => {
    await using upstream = await startUpstream(echo)
    await using gateway = await startGateway(proxy(upstream.host))
    const socket = dial(gateway)
    const answer = until(socket, '"body":"hello"')
    socket.write(`POST / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n${rest}`)
    const text = await answer
    expect(text).toContain('"body":"hello"')
    expect(text).not.toMatch(/"upgrade"/i)
  })

  test('may use any method', async () => {
    await using gateway = await startGateway(
      route('policies: {directResponse: {status: 200, bodyExpression: request.method}}'),
    )
    const ask = (method: string) =>
      rawRequest(gateway.url(8080), `${method} / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`)
    expect(await ask('RPC_IN_DATA')).toMatch(/^HTTP\/1.1 200 [\s\S]*RPC_IN_DATA$/)
    expect(await ask('rpc_in_data')).toMatch(/^HTTP\/1.1 400 /)
  })
})

describe('a header value that would split the header', () => {
  test.each(['a\r\nx-second: 1', 'a\nb', 'a\rb', 'a\0b', 'a\u{1f600}b'])('%j is not written', value => {
    const written: string[] = []
    const socket = { destroyed: false, writableLength: 0, write: (text: string) => written.push(text) }
    const wire = { socket, closes: () => false, closeAfterwards() {}, date: () => 'now', replied() {}, release() {} }
    const x = { received: { method: 'GET' }, responseBytes: 0 }
    const out = new Http1Downstream(wire as unknown as ReplyWire, x as Exchange, 1)
    expect(() => out.reply(200, ['x-first', value], 'body')).toThrow('cannot be written')
    expect(out.state).toBe('waiting')
    out.reply(500, ['x-first', 'fine'], 'body')
    expect(written.join('')).toBe(
      'HTTP/1.1 500 Internal Server Error\r\nx-first: fine\r\ndate: now\r\ncontent-length: 4\r\n\r\nbody',
    )
  })
})
