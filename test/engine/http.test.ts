import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { Readable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { startGateway } from '../helpers/gateway.ts'
import { echo, rawRequest, startUpstream } from '../helpers/upstream.ts'
import { ManualClock } from './manual-clock.ts'

const one = (host: string, more = '') =>
  `binds: [{port: 8080, listeners: [{routes: [{backends: [{host: '${host}'}]${more}}]}]}]`

describe('route precedence', () => {
  const route = (name: string, match: string, hosts = '') => `
- {name: ${name}, ${hosts ? `hostnames: [${hosts}], ` : ''}matches: [${match}], policies: {directResponse: {status: 200, body: ${name}}}}`
  const file = `
gateways: {default: {port: 8080}}
routes:${route('any', '{}')}${route('prefix', '{path: {pathPrefix: /foo}}')}${route('longer', '{path: {pathPrefix: /foo/bar/}}')}${route('exact', '{path: {exact: /foo/bar}}')}${route('method', '{path: {pathPrefix: /foo}, method: POST}')}${route('header', '{path: {pathPrefix: /foo}, headers: [{name: x-a, value: {exact: "1"}}]}')}${route('query', '{path: {pathPrefix: /foo}, query: [{name: q, value: {regex: "[a-c]+"}}]}')}${route('pattern', '{path: {regex: "/re/[0-9]+"}}')}${route('wild', '{}', '"*.example.com"')}${route('deeper', '{}', '"*.a.example.com"')}${route('named', '{path: {pathPrefix: /named}}', 'www.example.com')}
`
  test.each([
    ['/', {}, 'any'],
    ['/foo', {}, 'prefix'],
    ['/foobar', {}, 'any'],
    ['/foo/', {}, 'prefix'],
    ['/foo/bar', {}, 'exact'],
    ['/foo/bar/', {}, 'longer'],
    ['/foo/bar/baz?x=1', {}, 'longer'],
    ['/foo?q=abc', {}, 'query'],
    ['/foo?q=abcd', {}, 'prefix'],
    ['/foo?q=zzz&q=a', {}, 'query'],
    ['/re/12', {}, 'pattern'],
    ['/re/12/x', {}, 'any'],
    ['/foo', { 'x-a': '1' }, 'header'],
    ['/foo', { 'X-A': '2' }, 'prefix'],
    ['/', { host: 'x.example.com' }, 'wild'],
    ['/', { host: 'X.Y.Example.com:99' }, 'wild'],
    ['/', { host: 'x.a.example.com' }, 'deeper'],
    ['/', { host: 'example.com' }, 'any'],
    ['/named/x', { host: 'www.example.com' }, 'named'],
    ['/other', { host: 'www.example.com' }, 'wild'],
  ])('%s %o routes to %s', async (path, headers, expected) => {
    await using gateway = await startGateway(file)
    expect(await get(`${gateway.url(8080)}${path}`, headers)).toBe(expected)
  })

  test('a method match takes precedence over header matches', async () => {
    await using gateway = await startGateway(file)
    const response = await fetch(`${gateway.url(8080)}/foo`, { method: 'POST', headers: { 'x-a': '1' } })
    expect(await response.text()).toBe('method')
  })
})

describe('errors', () => {
  test('responds 404 without a route, 500 without a backend and 503 when the connection is refused', async () => {
    await using gateway = await startGateway(`
gateways: {default: {port: 8080}}
routes:
- {name: none, matches: [{path: {pathPrefix: /none}}]}
- {name: refused, matches: [{path: {pathPrefix: /refused}}], backends: [{host: '127.0.0.1:1'}]}
`)
    const answers = await Promise.all(
      ['/x', '/none', '/refused'].map(async path => {
        const response = await fetch(gateway.url(8080) + path)
        return [response.status, response.headers.get('content-type'), (await response.text()).replace(/: .*/, '')]
      }),
    )
    expect(answers).toEqual([
      [404, 'text/plain', 'route not found'],
      [500, 'text/plain', 'no valid backends'],
      [503, 'text/plain', 'upstream call failed'],
    ])
  })

  test('responds 504 and cancels the upstream call when the backend times out', async () => {
    let left: () => void = () => {}
    const gone = new Promise<void>(resolve => {
      left = resolve
    })
    const clock = new ManualClock()
    await using upstream = await startUpstream(req => {
      req.socket.on('close', () => left())
      clock.advance(50_000)
    })
    const config = one(upstream.host, ', policies: {timeout: {requestTimeout: 50s}}')
    await using gateway = await startGateway(config, { clock })
    const response = await fetch(gateway.url(8080))
    expect([response.status, await response.text()]).toEqual([504, 'request timeout'])
    await gone
  })

  test('a gRPC client gets the error in gRPC trailers', async () => {
    await using gateway = await startGateway('gateways: {default: {port: 8080}}')
    const response = await fetch(gateway.url(8080), { method: 'POST', headers: { 'content-type': 'application/grpc' } })
    expect([response.status, response.headers.get('grpc-status'), response.headers.get('grpc-message')]).toEqual([
      200,
      '12',
      'route%20not%20found',
    ])
  })
})

describe('the request sent to the backend', () => {
  test('strips hop-by-hop headers and keeps the order and case of all others', async () => {
    await using upstream = await startUpstream(echo)
    await using gateway = await startGateway(
      `frontendPolicies: {http: {http1HeaderCase: preserve}}\n${one(upstream.host)}`,
    )
    const answer = await rawRequest(
      gateway.url(8080),
      'GET /p?q=%20a HTTP/1.1\r\nHost: h.test\r\nX-Dup: 1\r\nConnection: close, X-Mine\r\nX-Mine: gone\r\nKeep-Alive: 5\r\nTE: gzip\r\nProxy-Connection: x\r\nX-Dup: 2\r\nx-CASE: Kept\r\n\r\n',
    )
    const seen = JSON.parse(answer.slice(answer.indexOf('{'), answer.lastIndexOf('}') + 1))
    expect(seen.url).toBe('/p?q=%20a')
    expect(seen.headers.join('|')).toMatch(/X-Dup\|1\|X-Dup\|2\|x-CASE\|Kept/)
    expect(seen.headers.map((h: string) => h.toLowerCase())).not.toContain('x-mine')
    expect(
      seen.headers
        .map((h: string) => h.toLowerCase())
        .filter((h: string) => ['keep-alive', 'te', 'proxy-connection'].includes(h)),
    ).toEqual([])
    expect(seen.headers[seen.headers.findIndex((h: string) => h.toLowerCase() === 'host') + 1]).toBe('h.test')
  })

  test('header names are lowercased unless the config says otherwise', async () => {
    await using upstream = await startUpstream(echo)
    await using gateway = await startGateway(one(upstream.host))
    const answer = await rawRequest(
      gateway.url(8080),
      'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX-Mixed: A\r\n\r\n',
    )
    expect(JSON.parse(answer.slice(answer.indexOf('{'), answer.lastIndexOf('}') + 1)).headers).toContain('x-mixed')
  })

  test('backend connections are kept alive and reused', async () => {
    await using upstream = await startUpstream(echo)
    await using gateway = await startGateway(one(upstream.host))
    for (let i = 0; i < 20; i++) await (await fetch(gateway.url(8080), { method: 'POST', body: 'x' })).text()
    expect(upstream.connections).toBe(1)
  })

  test('weights split requests, and a backend with weight 0 gets none', async () => {
    const named = (name: string) => startUpstream((_req, res) => res.end(name))
    await using a = await named('a')
    await using b = await named('b')
    await using c = await named('c')
    let turn = 0
    const random = () => (turn++ % 10) / 10
    await using gateway = await startGateway(
      `binds: [{port: 8080, listeners: [{routes: [{backends: [{host: '${a.host}', weight: 7}, {host: '${b.host}', weight: 3}, {host: '${c.host}', weight: 0}]}]}]}]`,
      { random },
    )
    const counts: Record<string, number> = {}
    for (let i = 0; i < 20; i++) {
      const name = await (await fetch(gateway.url(8080))).text()
      counts[name] = (counts[name] ?? 0) + 1
    }
    expect(counts).toEqual({ a: 14, b: 6 })
  })
})

describe('ambiguous requests', () => {
  test.each([
    ['two Host headers', 'GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n'],
    [
      'content-length and chunked',
      'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    ['two content-lengths', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd'],
    ['a folded field', 'GET / HTTP/1.1\r\nHost: a\r\nX: 1\r\n  2\r\n\r\n'],
    ['a space before the colon', 'GET / HTTP/1.1\r\nHost: a\r\nX : 1\r\n\r\n'],
    ['no Host header', 'GET / HTTP/1.1\r\nX: 1\r\n\r\n'],
    ['a host with a path', 'GET / HTTP/1.1\r\nHost: a/b\r\n\r\n'],
    ['bytes that are not HTTP', 'hello\r\n\r\n'],
  ])('%s: responds 400 and closes the connection', async (_name, bytes) => {
    let reached = 0
    await using upstream = await startUpstream((_req, res) => {
      reached++
      res.end()
    })
    await using gateway = await startGateway(one(upstream.host))
    expect(await rawRequest(gateway.url(8080), bytes)).toMatch(/^HTTP\/1\.1 400 /)
    expect(reached).toBe(0)
  })
})

describe('bodies', () => {
  test('a large body passes unchanged in both directions without memory growth', async () => {
    const size = 192 * 1024 * 1024
    const block = randomBytes(1024 * 1024)
    await using upstream = await startUpstream((req, res) => {
      res.writeHead(200)
      req.pipe(res)
    })
    await using gateway = await startGateway(one(upstream.host))
    const sent = createHash('sha256')
    const received = createHash('sha256')
    let left = size
    const body = new Readable({
      read() {
        if (left === 0) this.push(null)
        else {
          left -= block.length
          sent.update(block)
          this.push(block)
        }
      },
    })
    const before = process.memoryUsage().rss
    let peak = 0
    let total = 0
    const req = httpRequest(gateway.url(8080), { method: 'POST' })
    body.pipe(req)
    const [res] = await once(req, 'response')
    for await (const chunk of res) {
      received.update(chunk)
      total += chunk.length
      peak = Math.max(peak, process.memoryUsage().rss)
    }
    expect(total).toBe(size)
    expect(received.digest('hex')).toBe(sent.digest('hex'))
    // Client, gateway and upstream share this process: their buffers need less than
    // half of what passes.
    expect(peak - before).toBeLessThan((size * 3) / 4)
  })

  test('a client disconnect cancels the upstream call', async () => {
    let left: () => void = () => {}
    const gone = new Promise<void>(resolve => {
      left = resolve
    })
    await using upstream = await startUpstream((_req, res) => {
      res.on('close', () => left())
      res.write('first')
    })
    await using gateway = await startGateway(one(upstream.host))
    const req = httpRequest(gateway.url(8080))
    req.on('error', () => {})
    req.end()
    const [res] = await once(req, 'response')
    await once(res, 'data')
    req.destroy()
    await gone
  })

  test('a backend that disconnects mid-body does not yield a complete response', async () => {
    await using upstream = await startUpstream((_req, res) => {
      res.writeHead(200, { 'content-length': '100' })
      res.write('some')
      setImmediate(() => res.destroy())
    })
    await using gateway = await startGateway(one(upstream.host))
    const response = await fetch(gateway.url(8080))
    await expect(response.text()).rejects.toThrow()
  })
})

describe('upgrades', () => {
  test('a protocol switch connects both sockets', async () => {
    await using upstream = await startUpstream(echo)
    upstream.server.on('upgrade', (_req, socket) => {
      // The client may be cut off with bytes under way.
      socket.on('error', () => {})
      socket.write(
        'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: x\r\n\r\n',
      )
      socket.on('data', (data: Buffer) => socket.write(`<${data}>`)).on('end', () => socket.end())
    })
    await using gateway = await startGateway(one(upstream.host))
    const socket = connect(Number(new URL(gateway.url(8080)).port), '127.0.0.1')
    socket.write(
      'GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: k\r\nSec-WebSocket-Version: 13\r\n\r\n',
    )
    const text = await readUntil(socket, '\r\n\r\n')
    expect(text).toMatch(/^HTTP\/1\.1 101 /)
    expect(text.toLowerCase()).toContain('sec-websocket-accept: x')
    socket.write('ping')
    expect(await readUntil(socket, '>')).toBe('<ping>')
    socket.destroy()
  })

  test('a backend that declines the upgrade sends a normal response', async () => {
    await using upstream = await startUpstream((_req, res) => {
      res.writeHead(426, { 'content-length': '2' })
      res.end('no')
    })
    await using gateway = await startGateway(one(upstream.host))
    const answer = await rawRequest(
      gateway.url(8080),
      'GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
    )
    expect(answer).toMatch(/^HTTP\/1\.1 426 [\s\S]*no$/)
  })
})

async function get(url: string, headers: Record<string, string>): Promise<string> {
  const req = httpRequest(url, { headers })
  req.end()
  const [res] = await once(req, 'response')
  let text = ''
  for await (const chunk of res) text += chunk
  return text
}

function readUntil(socket: import('node:net').Socket, mark: string): Promise<string> {
  return new Promise(resolve => {
    let text = ''
    const take = (data: Buffer): void => {
      text += data.toString('latin1')
      if (!text.includes(mark)) return
      socket.off('data', take)
      resolve(text)
    }
    socket.on('data', take)
  })
}

describe('responses buffered by a policy', () => {
  const buffered = (host: string, response: string) =>
    one(
      host,
      `, policies: {buffer: {response: ${response}}, transformations: {response: {set: {x-size: 'string(size(response.body))'}}}}`,
    )

  test('a header expression can read the body, which passes unchanged', async () => {
    await using upstream = await startUpstream((_req, res) => {
      res.write('one,')
      res.end('two')
    })
    await using gateway = await startGateway(buffered(upstream.host, '{maxBytes: 100}'))
    const response = await fetch(gateway.url(8080))
    expect([response.headers.get('x-size'), await response.text()]).toEqual(['7', 'one,two'])
  })

  test('an oversized response becomes a 502, or is streamed with failOpen', async () => {
    await using upstream = await startUpstream((_req, res) => {
      res.write('x'.repeat(80))
      res.end('y'.repeat(80))
    })
    await using closed = await startGateway(buffered(upstream.host, '{maxBytes: 100}'))
    expect((await fetch(closed.url(8080))).status).toBe(502)
    await using open = await startGateway(
      one(upstream.host, ', policies: {buffer: {response: {maxBytes: 100, failureMode: failOpen}}}'),
    )
    expect((await (await fetch(open.url(8080))).text()).length).toBe(160)
  })
})
