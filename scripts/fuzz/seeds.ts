import { fields, frame } from '../../test/helpers/http2-frames.ts'

const line = (first: string, ...more: string[]) => [first, 'Host: a.test', ...more, '', ''].join('\r\n')

export const REQUESTS = [
  line('GET /a/b?x=1&y=%2e HTTP/1.1', 'User-Agent: a', 'Accept: */*', 'Cookie: a=b; c=d'),
  line('GET http://a.test/a HTTP/1.1', 'X-Forwarded-For: 10.0.0.1', 'Connection: x-a', 'X-A: 1'),
  `${line('POST /a HTTP/1.1', 'Content-Length: 11', 'Content-Type: text/plain')}hello world`,
  `${line('POST /json HTTP/1.1', 'Content-Length: 13', 'Content-Type: application/json')}{"a":[1,"b"]}`,
  `${line('PUT /a HTTP/1.1', 'Transfer-Encoding: chunked')}5\r\nhello\r\n6;x="y"\r\n world\r\n0\r\nX: 1\r\n\r\n`,
  `${line('POST /a HTTP/1.1', 'Transfer-Encoding: chunked', 'Trailer: X', 'TE: trailers')}0\r\n\r\n`,
  line('HEAD /a HTTP/1.1', 'Range: bytes=0-1'),
  line('OPTIONS * HTTP/1.1', 'Origin: https://a.test', 'Access-Control-Request-Method: PUT'),
  line(
    'GET /ws HTTP/1.1',
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
    'Sec-WebSocket-Version: 13',
  ),
  line('DELETE /key HTTP/1.1', 'Authorization: Bearer secret', 'X-Api-Key: a'),
  'GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n',
  `${line('POST /a HTTP/1.1', 'Expect: 100-continue', 'Content-Length: 5')}hello`,
]

export const REPLIES = [
  'HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-type: text/plain\r\n\r\nhello',
  'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n6;x=y\r\n world\r\n0\r\nx: 1\r\n\r\n',
  'HTTP/1.1 204 No Content\r\ndate: Thu, 01 Jan 2026 00:00:00 GMT\r\n\r\n',
  'HTTP/1.1 304 Not Modified\r\netag: "a"\r\n\r\n',
  'HTTP/1.1 302 Found\r\nlocation: https://a.test/\r\nset-cookie: a=b; Path=/\r\ncontent-length: 0\r\n\r\n',
  'HTTP/1.1 103 Early Hints\r\nlink: </a>; rel=preload\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok',
  'HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/event-stream\r\n\r\ndata: {"a":1}\n\nevent: x\nid: 1\ndata: b\n\n',
  'HTTP/1.1 500 Internal Server Error\r\nconnection: close, x-a\r\nx-a: 1\r\nretry-after: 1\r\ncontent-length: 3\r\n\r\nbad',
  'HTTP/1.0 200 OK\r\ncontent-type: application/json\r\n\r\n{"a":1}',
]

const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'
const request = (stream: number, flags: number, ...more: string[]) =>
  frame(
    1,
    flags,
    stream,
    fields([':method', 'POST', ':scheme', 'http', ':authority', 'a.test', ':path', '/a', ...more]),
  )
const tail = (...frames: Buffer[]) => Buffer.concat(frames).toString('latin1')

/** Connections of HTTP/2, and how many streams each has. */
export const CONNECTIONS: readonly { readonly preface: string; readonly streams: number; readonly bytes: string }[] = [
  {
    preface: PREFACE + tail(frame(4, 0, 0, Buffer.alloc(0))),
    streams: 3,
    bytes: tail(
      request(1, 5, 'x-a', '1', 'cookie', 'a=b'),
      request(3, 4, 'content-length', '5'),
      frame(0, 1, 3, Buffer.from('hello')),
      request(5, 4, 'te', 'trailers', 'expect', '100-continue'),
      frame(0, 0, 5, Buffer.from('hello')),
      frame(1, 5, 5, fields(['x-trailer', '1'])),
    ),
  },
  {
    preface: PREFACE + tail(frame(4, 0, 0, Buffer.from([0, 4, 0, 0, 255, 255]))),
    streams: 2,
    bytes: tail(
      frame(1, 1, 1, fields([':method', 'GET', ':scheme', 'http'])),
      frame(9, 4, 1, fields([':authority', 'a.test', ':path', '/b?c'])),
      frame(8, 0, 0, Buffer.from([0, 0, 0, 9])),
      frame(6, 0, 0, Buffer.alloc(8)),
      request(3, 4, ':protocol', 'websocket'),
      frame(3, 0, 3, Buffer.from([0, 0, 0, 8])),
      frame(7, 0, 0, Buffer.alloc(8)),
    ),
  },
]
