import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { connect, type Socket } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { startGateway, type TestGateway } from '../../helpers/gateway.ts'
import { closeOf, echo, rawRequest, startUpstream } from '../../helpers/upstream.ts'
import { ManualClock } from '../manual-clock.ts'

const direct = (frontend = '') =>
  `${frontend === '' ? '' : `frontendPolicies: {http: {${frontend}}}`}
binds: [{port: 8080, listeners: [{routes: [{policies: {directResponse: {status: 403, body: no}}}]}]}]`
const proxy = (host: string, policies = '', frontend = '') =>
  `${frontend === '' ? '' : `frontendPolicies: {http: {${frontend}}}`}
binds: [{port: 8080, listeners: [{routes: [{${policies === '' ? '' : `policies: {${policies}}, `}backends: [{host: '${host}'}]}]}]}]`

function dial(gateway: TestGateway): Socket {
  const socket = connect(gateway.gateway.portOf(8080)!, '127.0.0.1')
  socket.on('error', () => {})
  onTestFinished(() => void socket.destroy())
  return socket
}

/** Everything until the connection ends. */
function untilClosed(socket: Socket): Promise<string> {
  let text = ''
  socket.on('data', chunk => {
    text += chunk.toString('latin1')
  })
  return new Promise(resolve => socket.once('close', () => resolve(text)))
}

/** Everything until `mark` has come so many times. */
function until(socket: Socket, mark: string, times = 1): Promise<string> {
  let text = ''
  return new Promise(resolve => {
    const take = (chunk: Buffer): void => {
      text += chunk.toString('latin1')
      if (text.split(mark).length <= times) return
      socket.off('data', take)
      resolve(text)
    }
    socket.on('data', take)
  })
}

describe('a response before the end of the request', () => {
  test('with a small body keeps the connection open for the next request', async () => {
    await using gateway = await startGateway(direct())
    const socket = dial(gateway)
    const post = `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n`
    socket.write(post)
    expect(await until(socket, 'no')).toMatch(/^HTTP\/1\.1 403 (?![\s\S]*connection: close)/i)
    socket.write('x'.repeat(1000))
    socket.write('GET /second HTTP/1.1\r\nHost: a\r\n\r\n')
    expect(await until(socket, 'no')).toMatch(/^HTTP\/1\.1 403 /)
  })

  test('with a large body closes the connection only after the client could read the response', async () => {
    await using gateway = await startGateway(direct())
    for (let round = 0; round < 5; round++) {
      const socket = dial(gateway)
      socket.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 50000000\r\n\r\n')
      // The client keeps writing what it has begun, and reads only then.
      socket.pause()
      for (let i = 0; i < 8; i++) socket.write(Buffer.alloc(16 * 1024))
      await new Promise(resolve => setTimeout(resolve, 20))
      socket.resume()
      expect(await untilClosed(socket)).toMatch(/^HTTP\/1\.1 403 [\s\S]*connection: close[\s\S]*no$/i)
    }
  })

  test.each(['Content-Length: 20000000', 'Transfer-Encoding: chunked'])(
    'reaches a client that sends all of its 20 MB before reading (%s)',
    async framing => {
      await using gateway = await startGateway(direct())
      const socket = dial(gateway).pause()
      socket.write(`POST / HTTP/1.1\r\nHost: a\r\n${framing}\r\n\r\n`)
      if (framing.endsWith('chunked')) socket.write(`${(20_000_000).toString(16)}\r\n`)
      await new Promise<unknown>(resolve => socket.write(Buffer.alloc(20_000_000), resolve))
      expect(await untilClosed(socket.resume())).toMatch(/^HTTP\/1\.1 403 [\s\S]*no$/i)
    },
  )

  test('closes the connection when the request body is endless', async () => {
    await using gateway = await startGateway(direct())
    const socket = dial(gateway)
    socket.write('POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n')
    const block = `10000\r\n${'x'.repeat(0x10000)}\r\n`
    const flood = setInterval(() => socket.write(block), 1)
    onTestFinished(() => clearInterval(flood))
    expect(await untilClosed(socket)).toMatch(/^HTTP\/1\.1 403 /)
  })

  test('is forwarded from the backend while the client is still sending', async () => {
    await using upstream = await startUpstream((_req, res) => {
      res.writeHead(413, { connection: 'close' })
      res.end('enough')
    })
    await using gateway = await startGateway(proxy(upstream.host))
    const socket = dial(gateway)
    socket.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\nfirst')
    expect(await until(socket, 'enough')).toMatch(/^HTTP\/1\.1 413 /)
  })

  test('for an unreachable backend keeps the connection usable', async () => {
    await using gateway = await startGateway(proxy('127.0.0.1:1'))
    const socket = dial(gateway)
    socket.write(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n`)
    await until(socket, 'connection refused')
    socket.write('helloGET / HTTP/1.1\r\nHost: a\r\n\r\n')
    expect(await until(socket, 'connection refused')).toMatch(/^HTTP\/1\.1 503 /)
  })

  test('for a body that is too large does not stall the connection', async () => {
    await using upstream = await startUpstream(echo)
    await using gateway = await startGateway(proxy(upstream.host, 'buffer: {request: {maxBytes: 1000}}'))
    const socket = dial(gateway)
    const body = 'x'.repeat(50_000)
    for (let i = 0; i < 3; i++) {
      socket.write(`POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nc350\r\n${body}\r\n0\r\n\r\n`)
      expect(await until(socket, '\r\n\r\n')).toMatch(/^HTTP\/1\.1 413 /)
    }
  })
})

describe('expect: 100-continue', () => {
  const head = 'POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n'
  test('gets 100 Continue when the body is needed', async () => {
    await using upstream = await startUpstream(echo)
    await using gateway = await startGateway(proxy(upstream.host))
    const socket = dial(gateway)
    socket.write(head)
    expect(await until(socket, '\r\n\r\n')).toBe('HTTP/1.1 100 Continue\r\n\r\n')
    socket.write('hello')
    expect(await until(socket, '"body":"hello"')).toMatch(/^HTTP\/1\.1 200 /)
  })
  test('gets the final response and a closed connection when nothing reads the body', async () => {
    await using gateway = await startGateway(direct())
    const socket = dial(gateway)
    socket.write(head)
    const text = await until(socket, 'no')
    expect(text).toMatch(/^HTTP\/1\.1 403 [\s\S]*connection: close/i)
    socket.end()
    await closeOf(socket)
  })
})

describe('header limits', () => {
  const fields = (count: number) => Array.from({ length: count }, (_, i) => `x-${i}: 1\r\n`).join('')
  const get = (count: number) => `GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${fields(count - 2)}\r\n`
  test('a hundred headers pass, unless the config sets another limit', async () => {
    await using gateway = await startGateway(direct())
    expect(await rawRequest(gateway.url(8080), get(100))).toMatch(/^HTTP\/1\.1 403 /)
    expect(await rawRequest(gateway.url(8080), get(101))).toMatch(/^HTTP\/1\.1 431 [\s\S]*connection: close/i)
    await using other = await startGateway(direct('http1MaxHeaders: 10'))
    expect(await rawRequest(other.url(8080), get(10))).toMatch(/^HTTP\/1\.1 403 /)
    expect(await rawRequest(other.url(8080), get(11))).toMatch(/^HTTP\/1\.1 431 /)
  })
  test('64 KB of headers are rejected', async () => {
    await using gateway = await startGateway(direct())
    const large = (size: number) => `GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX: ${'a'.repeat(size)}\r\n\r\n`
    expect(await rawRequest(gateway.url(8080), large(60_000))).toMatch(/^HTTP\/1\.1 403 /)
    expect(await rawRequest(gateway.url(8080), large(70_000))).toMatch(/^HTTP\/1\.1 431 /)
  })
})

describe('connection lifetime', () => {
  test('a silent connection is closed after the configured idle timeout', async () => {
    const clock = new ManualClock()
    await using gateway = await startGateway(direct('http1IdleTimeout: 20s'), { clock })
    const silent = dial(gateway)
    await expect.poll(() => clock.pending).toBe(1)
    clock.advance(20_000)
    await closeOf(silent)
  })

  test('no connection outlives maxConnectionDuration, but a request in flight completes', async () => {
    const clock = new ManualClock()
    let answer: (() => void) | undefined
    await using upstream = await startUpstream((_req, res) => {
      answer = () => res.end('late')
    })
    const config = proxy(upstream.host, '', 'maxConnectionDuration: 50s')
    await using gateway = await startGateway(config, { clock })
    const before = clock.pending
    const idle = dial(gateway)
    await expect.poll(() => clock.pending).toBeGreaterThan(before)
    clock.advance(50_000)
    await closeOf(idle)
    const busy = dial(gateway)
    busy.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    await expect.poll(() => answer).toBeDefined()
    clock.advance(50_000)
    answer!()
    expect(await untilClosed(busy)).toMatch(/^HTTP\/1\.1 200 [\s\S]*connection: close[\s\S]*late/i)
  })

  test('an idle timeout of 0 disables it, even before the first request', async () => {
    const clock = new ManualClock()
    await using gateway = await startGateway(direct('http1IdleTimeout: 0s'), { clock })
    const socket = dial(gateway)
    await expect
      .poll(() => gateway.gateway.metrics.render())
      .toMatch(/^agentgateway_downstream_connections_active\{.*\} 1$/m)
    for (let i = 0; i < 2; i++) {
      clock.advance(3_600_000)
      socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
      expect(await until(socket, 'no')).toContain('403')
    }
  })

  test('a stop closes idle connections and finishes active ones', async () => {
    let answer: (() => void) | undefined
    await using upstream = await startUpstream((_req, res) => {
      answer = () => res.end('late')
    })
    await using gateway = await startGateway(proxy(upstream.host))
    const [silent, idle, busy] = [dial(gateway), dial(gateway), dial(gateway)]
    const closed = Promise.all([closeOf(silent), closeOf(idle)])
    idle.write('GET /x HTTP/1.1\r\nHost: a\r\n\r\n')
    await expect.poll(() => answer).toBeDefined()
    answer!()
    await until(idle, 'late')
    busy.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    const before = answer
    await expect.poll(() => answer !== before).toBe(true)
    const stopped = gateway.gateway.stop({ min: 0, max: 5000 })
    await closed
    answer!()
    expect(await untilClosed(busy)).toContain('late')
    await stopped
  })

  test('many idle connections use little memory', async () => {
    await using gateway = await startGateway(direct())
    const count = 1000
    const sockets = Array.from({ length: count }, () => dial(gateway))
    await Promise.all(
      sockets.map(socket => {
        socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
        return until(socket, 'no')
      }),
    )
    const after = process.memoryUsage().heapUsed
    for (const socket of sockets) socket.destroy()
    // Both ends are in this process.
    expect(after / count).toBeLessThan(200 * 1024)
  })
})

test('buffering without a policy limit is capped by maxBufferSize', async () => {
  await using upstream = await startUpstream(echo)
  const seen = async (frontend: string) => {
    await using gateway = await startGateway(
      proxy(upstream.host, `transformations: {request: {set: {x-size: 'string(size(request.body))'}}}`, frontend),
    )
    const response = await fetch(gateway.url(8080), { method: 'POST', body: 'x'.repeat(2000) })
    const { headers, body } = (await response.json()) as { headers: string[]; body: string }
    return [headers[headers.indexOf('x-size') + 1], body.length]
  }
  expect(await seen('maxBufferSize: 2000')).toEqual(['2000', 2000])
  const [size, length] = await seen('maxBufferSize: 1999')
  expect(size).not.toBe('2000')
  expect(length).toBe(2000)
})

test('pipelined requests are answered in order', async () => {
  await using upstream = await startUpstream((req, res) => {
    setTimeout(() => res.end(`<${req.url}>`), req.url === '/1' ? 30 : 0)
  })
  await using gateway = await startGateway(proxy(upstream.host))
  const socket = dial(gateway)
  socket.write([1, 2, 3].map(i => `GET /${i} HTTP/1.1\r\nHost: a\r\n\r\n`).join(''))
  const text = await until(socket, '>', 3)
  expect(text.match(/<[^>]*>/g)).toEqual(['</1>', '</2>', '</3>'])
})

test('an h2c upgrade is ignored, and the request is served over HTTP/1.1', async () => {
  await using upstream = await startUpstream(echo)
  await using gateway = await startGateway(proxy(upstream.host))
  const answer = await rawRequest(
    gateway.url(8080),
    'GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n',
  )
  expect(answer).toMatch(/^HTTP\/1\.1 200 /)
  expect(answer.slice(answer.indexOf('{')).toLowerCase()).not.toMatch(/upgrade|http2-settings/)
})

test('a client that sends connection: close gets it back', async () => {
  await using gateway = await startGateway(direct())
  const req = httpRequest(gateway.url(8080), { headers: { connection: 'close' } })
  req.end()
  const [res] = await once(req, 'response')
  expect(res.headers.connection).toBe('close')
  res.resume()
})
