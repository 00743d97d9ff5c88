import { connect as connectHttp2, type IncomingHttpHeaders } from 'node:http2'
import { createServer, type Server, type Socket } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startGateway, type TestGateway } from '../../helpers/gateway.ts'
import { portOf, rawRequest } from '../../helpers/upstream.ts'

// What a client writes has one meaning: routes, rules and the backend see the same host, the same path and the same
// fields, and no bytes pass them unread.

let backend: Server
let gateway: TestGateway
/** All that the backend has been sent, and what it answers with in place of a plain reply. */
let received = ''
let answer = ''
const PLAIN = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'

beforeAll(async () => {
  backend = createServer((socket: Socket) => {
    socket
      .on('error', () => {})
      .on('data', data => {
        received += data.toString('latin1')
        if (received.includes('\r\n\r\n')) socket.write(answer)
      })
  })
  await new Promise<void>(resolve => backend.listen(0, '127.0.0.1', resolve))
  const host = `{host: '127.0.0.1:${portOf(backend)}'}`
  const transform = `transformations: {request: {set: {':method': "request.headers['x-method']", ':path': "request.headers['x-path']", ':authority': "request.headers['x-authority']"}}}`
  gateway = await startGateway(`
binds:
- port: 80
  listeners:
  - routes:
    - hostnames: [admin.test]
      policies: {authorization: {rules: [{deny: 'true'}]}}
      backends: [${host}]
    - matches: [{path: {pathPrefix: /set}}]
      policies: {requestHeaderModifier: {set: {x-forwarded-user: gateway, authorization: Bearer gateway}}}
      backends: [${host}]
    - matches: [{path: {pathPrefix: /rule}}]
      policies: {authorization: {rules: [{deny: "'x-listed' in request.headers"}, {allow: 'true'}]}}
      backends: [${host}]
    - matches: [{path: {pathPrefix: /transform}}]
      policies: {${transform}}
      backends: [${host}]
    - matches: [{path: {exact: /host}, headers: [{name: host, value: {exact: plain.test}}]}]
      policies: {directResponse: {status: 299}}
    - backends: [${host}]`)
})
afterAll(async () => {
  await gateway[Symbol.asyncDispose]()
  backend.close()
})
beforeEach(() => {
  received = ''
  answer = PLAIN
})

/** The statuses of what comes back until the connection ends. */
async function http1(...lines: string[]): Promise<string[]> {
  const reply = await rawRequest(gateway.url(80), `${lines.join('\r\n')}\r\n\r\n`)
  return [...reply.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(match => match[1] as string)
}

const get = (target: string, ...fields: string[]) =>
  http1(`GET ${target} HTTP/1.1`, 'host: plain.test', ...fields, 'connection: close')

/** Undefined: the stream was reset. */
function http2(head: Readonly<Record<string, string>>, data?: string): Promise<number | undefined> {
  const client = connectHttp2(gateway.url(80))
  return new Promise<number | undefined>(resolve => {
    client.on('error', () => resolve(undefined))
    client.once('remoteSettings', () => {
      const stream = client.request(
        { ':method': 'GET', ':scheme': 'http', ':path': '/', ':authority': 'plain.test', ...head },
        { endStream: data === undefined },
      )
      if (data !== undefined) stream.write(data)
      stream.on('error', () => resolve(undefined))
      stream.on('response', (headers: IncomingHttpHeaders) => resolve(Number(headers[':status'])))
      stream.on('close', () => resolve(undefined))
    })
  }).finally(() => client.destroy())
}

describe('an unrequested or unsupported protocol switch is refused', () => {
  const PROTOCOLS = [
    'h2c',
    'H2C',
    'h2',
    'TLS/1.0',
    'HTTP/2.0',
    'tcp',
    'SPDY/3.1',
    'connect-udp',
    'h2c, TLS/1.0',
    'websocket/13',
    'web socket',
    'websocket;x',
    '"websocket"',
  ]

  test.each(PROTOCOLS)('over HTTP/1.1: %s', async protocol => {
    answer = `HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: ${protocol}\r\n\r\n`
    const statuses = await get(
      '/',
      'connection: upgrade, http2-settings',
      `upgrade: ${protocol}`,
      'http2-settings: AAMAAABk',
    )
    expect(statuses).toEqual(['502'])
    expect(received).toBe('GET / HTTP/1.1\r\nhost: plain.test\r\n\r\n')
  })

  test.each(PROTOCOLS)('over HTTP/2: %s', async protocol => {
    const status = await http2({ ':method': 'CONNECT', ':protocol': protocol }, 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
    expect(status === undefined || status >= 400).toBe(true)
    expect(received).toBe('')
  })

  test('over HTTP/2, even when listed with websocket', async () => {
    expect(await http2({ ':method': 'CONNECT', ':protocol': 'websocket, h2c' }, 'x')).toBe(501)
    expect(received).toBe('')
  })

  test.each([
    [['upgrade: h2c, websocket']],
    [['upgrade: h2c', 'upgrade: WebSocket']],
    [['upgrade: websocket', 'upgrade: h2c']],
  ])('only websocket is forwarded from a list: %j', async fields => {
    answer = 'HTTP/1.1 101 X\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n'
    expect(await get('/', 'connection: upgrade', ...fields)).toEqual(['502'])
    expect(received).toBe('GET / HTTP/1.1\r\nhost: plain.test\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n')
  })

  test.each(['POST', 'HEAD', 'PUT'])('also for %s requests', async method => {
    await http1(`${method} / HTTP/1.1`, 'host: a', 'connection: upgrade, close', 'upgrade: websocket')
    expect(received).not.toContain('upgrade')
  })

  test('HTTP2-Settings is stripped, listed in Connection or not', async () => {
    await get('/', 'http2-settings: AAMAAABk')
    expect(received).toBe('GET / HTTP/1.1\r\nhost: plain.test\r\n\r\n')
  })
})

describe('ambiguous paths are rejected', () => {
  const bytes = Array.from({ length: 256 }, (_, code) => String.fromCharCode(code))
  const odd = bytes.filter(each => !/[!-~]/.test(each) || each === '#' || each === '\\')

  test('over HTTP/1.1, anywhere in the target and in any form', async () => {
    for (const character of odd) {
      for (const target of [
        `/admin${character}x`,
        `/${character}`,
        `/x?q=${character}`,
        `http://plain.test/x${character}y`,
      ]) {
        expect([target, await get(target)]).toEqual([target, ['400']])
      }
    }
    expect(received).toBe('')
  })

  test('over HTTP/2', async () => {
    for (const character of odd) {
      const status = await http2({ ':path': `/admin${character}x` })
      expect([character, status === undefined || status === 400]).toEqual([character, true])
    }
    expect(received).toBe('')
  })

  test('percent-encoded and all other characters pass unchanged', async () => {
    for (const target of ['/a%23b', '/a%20b%09', '/a"<>^`{|}b', '/x?q=%5c%23', "/!$&'()*+,;=:@[]~"]) {
      received = ''
      expect(await get(target)).toEqual(['200'])
      expect(received).toBe(`GET ${target} HTTP/1.1\r\nhost: plain.test\r\n\r\n`)
    }
  })
})

describe('a host has one canonical name', () => {
  test.each(['admin.test.', 'ADMIN.test', 'Admin.Test.:8080', 'admin.test:'])(
    '%s does not bypass a rule',
    async host => {
      expect(await http1('GET / HTTP/1.1', `host: ${host}`, 'connection: close')).toEqual(['403'])
      expect(await http1(`GET http://${host}/ HTTP/1.1`, 'host: plain.test', 'connection: close')).toEqual(['403'])
      expect(await http2({ ':authority': host })).toBe(403)
      expect(received).toBe('')
    },
  )

  test.each(['a:0', 'a:65536', 'a:080', 'a:99999', 'a..', '.a', 'a,b', 'a%2eb', '*'])('%s is refused', async host => {
    expect(await http1('GET / HTTP/1.1', `host: ${host}`, 'connection: close')).toEqual(['400'])
    expect(await http1(`GET http://${host}/ HTTP/1.1`, 'host: a', 'connection: close')).toEqual(['400'])
    expect((await http2({ ':authority': host })) ?? 400).toBe(400)
    expect(received).toBe('')
  })

  test('an absolute target without a host is rejected', async () => {
    for (const target of ['http:///x', 'http://', 'http://:80/', 'http://?x'])
      expect([target, await get(target)]).toEqual([target, ['400']])
  })

  test('the backend and a `host` condition see the name used for routing', async () => {
    await http1('GET http://Other.test./x HTTP/1.1', 'Host: plain.test', 'connection: close')
    expect(received).toBe('GET /x HTTP/1.1\r\nhost: other.test\r\n\r\n')
    expect(await http1('GET /host HTTP/1.1', 'host: PLAIN.test.', 'connection: close')).toEqual(['299'])
  })
})

describe('headers listed in Connection are removed before policies run', () => {
  const listing = (...names: string[]) => `connection: ${['close', ...names].join(', ')}`

  test.each(['x-forwarded-user', 'X-Forwarded-User', 'authorization, x-forwarded-user', 'x-forwarded-user, host'])(
    'and cannot remove headers set by the gateway: %s',
    async names => {
      await http1(
        'GET /set HTTP/1.1',
        'host: a',
        'x-forwarded-user: client',
        'authorization: Bearer client',
        listing(names),
      )
      expect(received).toContain('x-forwarded-user: gateway\r\n')
      expect(received).toContain('authorization: Bearer gateway\r\n')
      expect(received).not.toContain('client')
    },
  )

  test('a rule and the backend see the same headers', async () => {
    await http1('GET /rule HTTP/1.1', 'host: a', 'x-listed: 1', 'x-other: 1', listing('x-listed'))
    expect(received).toBe('GET /rule HTTP/1.1\r\nhost: a\r\nx-other: 1\r\n\r\n')
  })

  test('headers needed for framing and routing are kept', async () => {
    const fields = ['host: a', 'content-length: 5', 'te: trailers']
    await rawRequest(
      gateway.url(80),
      `POST / HTTP/1.1\r\n${fields.join('\r\n')}\r\n${listing('host', 'content-length', 'te', 'transfer-encoding', ':path')}\r\n\r\nhello`,
    )
    expect(received).toBe('POST / HTTP/1.1\r\nhost: a\r\nte: trailers\r\ncontent-length: 5\r\n\r\nhello')
  })

  test('in responses as well', async () => {
    answer = 'HTTP/1.1 200 OK\r\nconnection: x-a, content-length\r\nX-A: 1\r\nx-b: 2\r\ncontent-length: 2\r\n\r\nok'
    const reply = await rawRequest(gateway.url(80), `GET / HTTP/1.1\r\nhost: a\r\n${listing()}\r\n\r\n`)
    expect(reply).toMatch(/^HTTP\/1\.1 200 OK\r\nx-b: 2\r\ncontent-length: 2\r\n.*\r\n\r\nok$/s)
  })
})

describe('client input to an expression that sets the request line', () => {
  test.each(['CONNECT', 'connect', 'Connect'])('opens no tunnel: %s', async method => {
    await rawRequest(
      gateway.url(80),
      `GET /transform HTTP/1.1\r\nhost: a\r\nx-method: ${method}\r\nconnection: close\r\n\r\nDELETE / HTTP/1.1\r\n\r\n`,
    )
    expect(received).toMatch(/^GET \/transform HTTP\/1\.1\r\n/)
    expect(received).not.toContain('DELETE')
  })

  test.each(['/a#b', '/a\\b', '/a b', 'http://x/', '*', '/\xe9'])('cannot set an ambiguous path: %j', async path => {
    await get('/transform', `x-path: ${path}`)
    expect(received).toMatch(/^GET \/transform HTTP\/1\.1\r\n/)
  })

  test.each(['a#b', 'a b', 'user@a', 'a:99999', 'a,b'])('cannot set an invalid host: %j', async authority => {
    await get('/transform', `x-authority: ${authority}`)
    expect(received).toContain('host: plain.test\r\n')
  })

  test('GET rewritten to HEAD gets a response without content-length', async () => {
    answer = 'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n'
    const reply = await rawRequest(
      gateway.url(80),
      'GET /transform HTTP/1.1\r\nhost: a\r\nx-method: HEAD\r\nconnection: close\r\n\r\n',
    )
    expect(reply).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
    expect(reply).toMatch(/\r\n0\r\n\r\n$/)
  })
})

test('a backend connection is not reused after a HEAD response with a content-length', async () => {
  answer = 'HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n'
  const connections: number[] = []
  backend.on('connection', socket => connections.push(socket.remotePort as number))
  for (let i = 0; i < 2; i++) {
    received = ''
    await http1('HEAD / HTTP/1.1', 'host: a', 'connection: close')
  }
  expect(connections).toHaveLength(2)
})
