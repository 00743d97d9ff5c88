import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startGateway, type TestGateway } from '../../helpers/gateway.ts'
import { rawRequest, startUpstream, type Upstream } from '../../helpers/upstream.ts'

/** What must never become a request of its own. */
const SMUGGLED = 'GET /smuggled HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'
const post = (fields: string, body = '') =>
  `POST /first HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${fields}\r\n${body}`
const get = (line: string, fields = 'Host: a\r\n') => `${line}\r\n${fields}Connection: close\r\n\r\n`

let upstream: Upstream
let gateway: TestGateway
let seen: { method: string; url: string; host: string; body: string; fields: string }[] = []

beforeAll(async () => {
  upstream = await startUpstream((req, res) => {
    let body = ''
    req.on('data', chunk => {
      body += chunk.toString('latin1')
    })
    req.on('end', () => {
      const { method = '', url = '', headers, rawHeaders } = req
      seen.push({ method, url, host: headers.host ?? '', body, fields: rawHeaders.join('|').toLowerCase() })
      res.end('served')
    })
  })
  gateway = await startGateway(`
binds: [{port: 8080, listeners: [{routes: [{backends: [{host: '${upstream.host}'}]}]}]}]`)
})
afterAll(async () => {
  await gateway[Symbol.asyncDispose]()
  await upstream[Symbol.asyncDispose]()
})
beforeEach(() => {
  seen = []
})

async function send(bytes: string) {
  const answer = await rawRequest(gateway.url(8080), bytes).catch(() => '')
  return { statuses: [...answer.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(m => m[1]), urls: seen.map(r => r.url) }
}

describe('is rejected, and nothing reaches the backend', () => {
  test.each([
    // One length and chunks, or several lengths: two readers may choose differently.
    ['content-length and chunked', post('Content-Length: 5\r\nTransfer-Encoding: chunked\r\n', `0\r\n\r\n${SMUGGLED}`)],
    ['chunked and content-length', post('Transfer-Encoding: chunked\r\nContent-Length: 5\r\n', `0\r\n\r\n${SMUGGLED}`)],
    ['two content-lengths', post('Content-Length: 0\r\nContent-Length: 59\r\n', SMUGGLED)],
    ['two lengths in one content-length', post('Content-Length: 0, 59\r\n', SMUGGLED)],
    ['the same content-length twice', post('Content-Length: 59\r\nContent-Length: 59\r\n', SMUGGLED)],
    ['a content-length with a space before the colon', post('Content-Length : 59\r\n', SMUGGLED)],
    ['a folded content-length', post('Content-Length:\r\n 59\r\n', SMUGGLED)],
    ['a content-length with a sign', post('Content-Length: +59\r\n', SMUGGLED)],
    ['a negative content-length', post('Content-Length: -1\r\n', SMUGGLED)],
    ['a hexadecimal content-length', post('Content-Length: 0x3b\r\n', SMUGGLED)],
    ['a content-length with trailing data', post('Content-Length: 5 5\r\n', SMUGGLED)],
    ['an empty content-length', post('Content-Length:\r\n', SMUGGLED)],
    ['a content-length that overflows', post('Content-Length: 99999999999999999999999\r\n', SMUGGLED)],
    // Codings that one reader takes for chunks and another does not.
    ['an unknown transfer coding', post('Transfer-Encoding: xchunked\r\n', SMUGGLED)],
    ['chunked before another coding', post('Transfer-Encoding: chunked, identity\r\n', `0\r\n\r\n${SMUGGLED}`)],
    ['chunked twice', post('Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n', `0\r\n\r\n${SMUGGLED}`)],
    [
      'a second transfer-encoding with another coding',
      post('Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n', SMUGGLED),
    ],
    ['chunked twice in one field', post('Transfer-Encoding: chunked, chunked\r\n', `0\r\n\r\n${SMUGGLED}`)],
    ['chunked with a parameter', post('Transfer-Encoding: chunked;q=1\r\n', `0\r\n\r\n${SMUGGLED}`)],
    ['an empty element before chunked', post('Transfer-Encoding: , chunked\r\n', `0\r\n\r\n${SMUGGLED}`)],
    ['chunked in quotes', post('Transfer-Encoding: "chunked"\r\n', SMUGGLED)],
    ['a vertical tab before chunked', post('Transfer-Encoding: \x0bchunked\r\n', SMUGGLED)],
    ['a NUL after chunked', post('Transfer-Encoding: chunked\0\r\n', SMUGGLED)],
    ['identity', post('Transfer-Encoding: identity\r\n', SMUGGLED)],
    // Names that one reader recognizes and another does not.
    ['a space before the colon', post('Transfer-Encoding : chunked\r\n', `0\r\n\r\n${SMUGGLED}`)],
    ['a tab before the colon', post('Transfer-Encoding\t: chunked\r\n', `0\r\n\r\n${SMUGGLED}`)],
    ['a space before the name', post(' Transfer-Encoding: chunked\r\n', `0\r\n\r\n${SMUGGLED}`)],
    ['a folded field', post('X: 1\r\n Transfer-Encoding: chunked\r\n', `0\r\n\r\n${SMUGGLED}`)],
    ['a NUL in a name', post('Transfer\0-Encoding: chunked\r\n', SMUGGLED)],
    ['a name without a colon', post('Transfer-Encoding\r\n', SMUGGLED)],
    ['an empty name', post(': chunked\r\n', SMUGGLED)],
    // Line ends.
    ['a bare CR in a value', post('X: 1\rTransfer-Encoding: chunked\r\n', `0\r\n\r\n${SMUGGLED}`)],
    ['a bare LF in a value', post('X: 1\nTransfer-Encoding: chunked\r\n', `0\r\n\r\n${SMUGGLED}`)],
    ['a NUL in a value', post('X: 1\x002\r\n')],
    ['a head with bare LFs', `POST /first HTTP/1.1\nHost: a\nContent-Length: 0\n\n${SMUGGLED}`],
    // Chunks.
    ['a chunk size with a 0x prefix', post('Transfer-Encoding: chunked\r\n', `0x5\r\nhello\r\n0\r\n\r\n${SMUGGLED}`)],
    ['a signed chunk size', post('Transfer-Encoding: chunked\r\n', `+5\r\nhello\r\n0\r\n\r\n${SMUGGLED}`)],
    ['a chunk size that overflows', post('Transfer-Encoding: chunked\r\n', `10000000000000005\r\nhello\r\n0\r\n\r\n`)],
    ['a chunk longer than its size', post('Transfer-Encoding: chunked\r\n', `3\r\nhello\r\n0\r\n\r\n${SMUGGLED}`)],
    ['a chunk size ended by a bare LF', post('Transfer-Encoding: chunked\r\n', `5\nhello\r\n0\r\n\r\n${SMUGGLED}`)],
    [
      'a chunk extension with a bare LF',
      post('Transfer-Encoding: chunked\r\n', `5;a\nb\r\nhello\r\n0\r\n\r\n${SMUGGLED}`),
    ],
    [
      'a chunk extension with a bare CR',
      post('Transfer-Encoding: chunked\r\n', `5;a\rb\r\nhello\r\n0\r\n\r\n${SMUGGLED}`),
    ],
    ['an endless chunk extension', post('Transfer-Encoding: chunked\r\n', `5;${'a'.repeat(70_000)}`)],
    ['a chunk not ended by CRLF', post('Transfer-Encoding: chunked\r\n', `5\r\nhelloXX0\r\n\r\n${SMUGGLED}`)],
    ['a space after a chunk size', post('Transfer-Encoding: chunked\r\n', `5 \r\nhello\r\n0\r\n\r\n${SMUGGLED}`)],
    ['a last chunk ended by a bare LF', post('Transfer-Encoding: chunked\r\n', `5\r\nhello\r\n0\n\n${SMUGGLED}`)],
    ['a folded trailer', post('Transfer-Encoding: chunked\r\n', `0\r\nx: 1\r\n y\r\n\r\n${SMUGGLED}`)],
    ['an empty chunk size', post('Transfer-Encoding: chunked\r\n', `\r\nhello\r\n0\r\n\r\n${SMUGGLED}`)],
    [
      'a content-length in the trailers',
      post('Transfer-Encoding: chunked\r\n', `5\r\nhello\r\n0\r\nContent-Length: 59\r\n\r\n${SMUGGLED}`),
    ],
    ['a request after a rejected one', `GET /x HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n${SMUGGLED}`],
    // The request line and the host.
    [
      'chunked in HTTP/1.0',
      `POST /first HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${SMUGGLED}`,
    ],
    ['no version', 'GET /first\r\n\r\n'],
    ['an unknown version', get('GET /first HTTP/1.9')],
    ['a two-digit minor version', get('GET /first HTTP/1.10')],
    ['an HTTP/2.0 request line', get('GET /first HTTP/2.0')],
    ['a space in the target', get('GET /first x HTTP/1.1')],
    ['a tab in the request line', get('GET\t/first HTTP/1.1')],
    ['a method that is not a token', get('SMUGGLE(D) /first HTTP/1.1')],
    ['a lowercase method', get('get /first HTTP/1.1')],
    ['a target without a slash', get('GET first HTTP/1.1')],
    ['an asterisk target without OPTIONS', get('GET * HTTP/1.1')],
    ['two hosts', get('GET /first HTTP/1.1', 'Host: a\r\nHost: b\r\n')],
    ['no host', get('GET /first HTTP/1.1', '')],
    ['the same host twice', get('GET /first HTTP/1.1', 'Host: a\r\nHost: a\r\n')],
    ['two hosts in one field', get('GET /first HTTP/1.1', 'Host: a, b\r\n')],
    ['a host with a fragment', get('GET /first HTTP/1.1', 'Host: a#b\r\n')],
    ['a host with a NUL', get('GET /first HTTP/1.1', 'Host: a\x00b\r\n')],
    ['a host with a space', get('GET /first HTTP/1.1', 'Host: a b\r\n')],
    ['a host with a path', get('GET /first HTTP/1.1', 'Host: a/b\r\n')],
    ['a host with a user name', get('GET /first HTTP/1.1', 'Host: user@a\r\n')],
    ['an absolute target with a user name', get('GET http://user@b/first HTTP/1.1')],
  ])('%s', async (_name, bytes) => {
    const { statuses, urls } = await send(bytes)
    expect(urls).toEqual([])
    // Some are refused by a reply, the worst by silence; none is served, and nothing follows.
    expect(statuses.filter(status => !/^4\d\d$/.test(status!))).toEqual([])
    expect(statuses.length).toBeLessThan(2)
  })
})

describe('is served as a single request', () => {
  const length = SMUGGLED.length
  test.each([
    ['a request inside a body', post(`Content-Length: ${length}\r\n`, SMUGGLED), SMUGGLED],
    [
      'a request inside a chunk',
      post('Transfer-Encoding: chunked\r\n', `${length.toString(16)}\r\n${SMUGGLED}\r\n0\r\n\r\n`),
      SMUGGLED,
    ],
    [
      'a GET with a body',
      `GET /first HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: ${length}\r\n\r\n${SMUGGLED}`,
      SMUGGLED,
    ],
    ['a chunk extension', post('Transfer-Encoding: chunked\r\n', '5;a=b\r\nhello\r\n0\r\n\r\n'), 'hello'],
    ['chunked in uppercase', post('TRANSFER-ENCODING: CHUNKED\r\n', '5\r\nhello\r\n0\r\n\r\n'), 'hello'],
    [
      'trailer fields',
      post('Transfer-Encoding: chunked\r\n', '5\r\nhello\r\n0\r\nX-End: 9\r\nHost: b\r\n\r\n'),
      'hello',
    ],
    [
      'a content-length listed in Connection',
      post('Connection: content-length\r\nContent-Length: 5\r\n', 'hello'),
      'hello',
    ],
    [
      'a transfer-encoding listed in Connection',
      post('Connection: transfer-encoding\r\nTransfer-Encoding: chunked\r\n', '5\r\nhello\r\n0\r\n\r\n'),
      'hello',
    ],
    ['a host listed in Connection', post('Connection: host\r\nContent-Length: 5\r\n', 'hello'), 'hello'],
  ])('%s', async (_name, bytes, body) => {
    const { statuses } = await send(bytes)
    expect([statuses, seen.map(r => [r.url, r.host, r.body])]).toEqual([['200'], [['/first', 'a', body]]])
    expect(seen[0]!.fields.match(/content-length\|/g)?.length ?? 0).toBeLessThan(2)
    expect(seen[0]!.fields.includes('content-length|')).not.toBe(seen[0]!.fields.includes('transfer-encoding|'))
  })

  test('an absolute target overrides the Host header', async () => {
    await send(get('GET http://b.test/first HTTP/1.1', 'Host: a\r\n'))
    expect(seen.map(r => [r.url, r.host])).toEqual([['/first', 'b.test']])
  })

  test('a truncated body is not forwarded as a request', async () => {
    const bytes = `POST /first HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nshort`
    const { connect } = await import('node:net')
    const socket = connect(gateway.gateway.portOf(8080)!, '127.0.0.1')
    socket.on('error', () => {})
    await new Promise(resolve => socket.write(bytes, resolve))
    await expect.poll(() => upstream.connections).toBeGreaterThan(0)
    socket.destroy()
    await new Promise(resolve => setTimeout(resolve, 50))
    expect(seen).toEqual([])
  })

  test('two requests on one connection stay separate', async () => {
    const one = 'POST /first HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc'
    const two = post('Transfer-Encoding: chunked\r\n', '3\r\ndef\r\n0\r\n\r\n').replace('/first', '/second')
    expect((await send(one + two)).statuses).toEqual(['200', '200'])
    expect(seen.map(r => r.url + r.body).toSorted()).toEqual(['/firstabc', '/seconddef'])
  })
})
