import { once } from 'node:events'
import { createServer } from 'node:net'
import { gzipSync } from 'node:zlib'
import { fields, frame } from '../../test/helpers/http2-frames.ts'
import { openArena } from '../attack/arena.mjs'
import { configFor } from './gateway-config.ts'
import { exchange, processorTime, settled } from './gateway-work.ts'
import type { Place } from './place.ts'

const KB = 1024
/** bytes of a head, below the 64 KB that a gateway reads. */
const HEAD = 62 * KB
const BODY = 512 * KB

/** A gateway that is being traced, a backend that answers as it is told, and the places of what passes between. */
export async function openWire(): Promise<{ readonly places: readonly Place[]; close(): Promise<void> }> {
  const arena = openArena()
  let reply = ''
  const backend = createServer(socket => {
    socket.on('error', () => {})
    let seen = ''
    socket.on('data', chunk => {
      seen += chunk.toString('latin1')
      if (!seen.includes('\r\n\r\n') || reply === '') return
      socket.write(reply, 'latin1')
      if (/^connection: close/im.test(reply.slice(0, 200))) socket.end()
      seen = ''
    })
  }).listen(0, '127.0.0.1')
  await once(backend, 'listening')
  const upstream = `127.0.0.1:${(backend.address() as { port: number }).port}`
  const gateway = await arena.start(port => configFor(port, upstream))
  const watching = new AbortController()
  const trace = await fetch(`${gateway.admin}/debug/trace`, { signal: watching.signal })
  void trace.body?.pipeTo(new WritableStream()).catch(() => {})

  const spent = async (bytes: Buffer): Promise<number> => {
    await settled(gateway.pid)
    const before = processorTime(gateway.pid)
    await exchange(gateway.port, bytes, gateway.pid)
    return processorTime(gateway.pid) - before
  }
  const place = (name: string, bound: number, make: (text: string) => string | Buffer, answer = OK): Place => ({
    name,
    bound,
    counts: ignores(make),
    async cost(text) {
      reply = answer
      const made = make(text)
      return spent(Buffer.isBuffer(made) ? made : Buffer.from(made, 'latin1'))
    },
  })
  const answered = (name: string, host: string, make: (text: string) => string, bound = HEAD, path = '/'): Place => ({
    name: name.includes(':') ? name : `reply: ${name}`,
    bound,
    counts: ignores(make),
    async cost(text) {
      reply = make(text)
      const body = '{"model":"m","stream":true,"messages":[{"role":"user","content":"a"}]}'
      return spent(Buffer.from(host === 'llm' ? posted(host, path, body) : get(path, host), 'latin1'))
    },
  })
  return {
    places: [...requests(place), ...replies(answered), ...frames(place)],
    async close() {
      watching.abort()
      backend.close()
      await arena.close()
    },
  }
}

function ignores(make: (text: string) => string | Buffer): boolean {
  return String(make('a'.repeat(160))) === String(make('b'.repeat(160)))
}

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'

function get(path: string, host: string, more = ''): string {
  return `GET ${path} HTTP/1.1\r\nHost: ${host}.test\r\n${more}Connection: close\r\n\r\n`
}

function posted(host: string, path: string, body: string, more = 'content-type: application/json\r\n'): string {
  return `POST ${path} HTTP/1.1\r\nHost: ${host}.test\r\n${more}accept: application/json, text/event-stream\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`
}

type Make = (name: string, bound: number, make: (text: string) => string | Buffer) => Place

// long: one place a line
function requests(place: Make): Place[] {
  const head = (name: string, make: (text: string) => string) => place(`request: ${name}`, HEAD, make)
  const field = (name: string, host = 'expr', prefix = '') =>
    head(`field ${name}`, text => get('/a/b/c/d', host, `${name}: ${prefix}${text}\r\n`))
  const base64 = (text: string) => Buffer.from(text, 'latin1').toString('base64url').slice(0, text.length)
  const json = (name: string, host: string, make: (text: string) => string) =>
    place(`body: ${name}`, BODY, text => posted(host, host === 'llm' ? '/v1/chat/completions' : '/mcp', make(text)))
  const quoted = (text: string) => JSON.stringify(text)
  const chunked = (body: string, host = 'expr') =>
    `POST / HTTP/1.1\r\nHost: ${host}.test\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n${body}`
  const deep = (open: string, close: string) => (text: string) =>
    `${open.repeat(text.length / (open.length + close.length))}${close.repeat(text.length / (open.length + close.length))}`
  return [
    head('method', text => `G${text} / HTTP/1.1\r\nHost: rest.test\r\nConnection: close\r\n\r\n`),
    head('path', text => get(`/${text}`, 'rest')),
    head('path below a prefix', text => get(`/a/b/c/${text}`, 'none')),
    head('path for a pattern', text => get(`/${text}`, 'match', 'x-a: b\r\n')),
    head('path for expressions', text => get(`/${text}`, 'expr', 'x-a: b\r\ncookie: a\r\n')),
    head('query', text => get(`/c?${text}`, 'match', 'x-a: aab\r\n')),
    head('query value for a pattern', text => get(`/c?q=${text}`, 'match', 'x-a: aab\r\n')),
    head('query for expressions', text => get(`/?${text}`, 'expr', 'x-a: b\r\n')),
    head('query with a key', text => get(`/?api_key=${text}&key=${text.slice(0, 10)}`, 'key')),
    head('version', text => `GET / HTTP/1.1${text}\r\nHost: a\r\n\r\n`),
    head(
      'target in absolute form',
      text => `GET http://${text}/ HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n`,
    ),
    head('host', text => `GET / HTTP/1.1\r\nHost: ${text}\r\nConnection: close\r\n\r\n`),
    head('host below a wildcard', text => `GET / HTTP/1.1\r\nHost: ${text}.a.wild.test\r\nConnection: close\r\n\r\n`),
    head('field name', text => get('/', 'expr', `x${text}: a\r\n`)),
    head('fields of one name', text => get('/', 'expr', `x-a: ${text[0]}\r\n`.repeat(text.length / 8))),
    head('fields of many names', text => get('/', 'expr', manyFields(text))),
    head('fields without a value', text => get('/', 'expr', 'x:\r\n'.repeat(text.length / 4))),
    head('field connection', text => `GET / HTTP/1.1\r\nHost: expr.test\r\nConnection: ${text}\r\n\r\n`),
    head('empty lines', text => `${'\r\n'.repeat(text.length / 2)}${get('/', 'rest')}`),
    head('bytes before a request', text => `${text}${get('/', 'rest')}`),
    head('requests sent ahead', text => 'GET /exact HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(text.length / 34 / 8)),
    ...['cookie', 'accept', 'accept-encoding', 'accept-language', 'x-a', 'user-agent', 'referer'].map(name =>
      field(name),
    ),
    ...['via', 'forwarded', 'x-forwarded-for', 'traceparent', 'tracestate', 'baggage', 'te', 'upgrade'].map(name =>
      field(name),
    ),
    ...['expect', 'transfer-encoding', 'content-length', 'content-type', 'content-encoding', 'range'].map(name =>
      field(name),
    ),
    ...['if-none-match', 'sec-websocket-protocol', 'keep-alive', 'proxy-authorization', 'link'].map(name =>
      field(name),
    ),
    field('x-a', 'match'),
    field('origin', 'rest'),
    field('origin', 'csrf'),
    field('access-control-request-headers', 'rest'),
    field('authorization', 'jwt'),
    field('authorization', 'jwt', 'Bearer '),
    head('token: its head', text => get('/', 'jwt', `authorization: Bearer ${base64(text)}.e30.e30\r\n`)),
    head('token: its claims', text =>
      get('/', 'jwt', `authorization: Bearer eyJhbGciOiJFUzI1NiIsImtpZCI6ImEifQ.${base64(text)}.e30\r\n`),
    ),
    head('token: its signature', text =>
      get('/', 'jwt', `authorization: Bearer eyJhbGciOiJFUzI1NiIsImtpZCI6ImEifQ.e30.${base64(text)}\r\n`),
    ),
    field('authorization', 'basic'),
    field('authorization', 'basic', 'Basic '),
    head('credentials: a password', text =>
      get(
        '/',
        'basic',
        `authorization: Basic ${Buffer.from(`a:${text}`, 'latin1').toString('base64').slice(0, text.length)}\r\n`,
      ),
    ),
    field('authorization', 'key', 'Bearer '),
    head(
      'preflight',
      text =>
        `OPTIONS / HTTP/1.1\r\nHost: rest.test\r\nOrigin: https://a.test\r\nAccess-Control-Request-Method: ${text}\r\nConnection: close\r\n\r\n`,
    ),
    head(
      'mcp session',
      text =>
        `POST /mcp HTTP/1.1\r\nHost: mcp.test\r\nMcp-Session-Id: ${text}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}`,
    ),
    head('mcp version', text => get('/mcp', 'mcp', `mcp-protocol-version: ${text}\r\naccept: text/event-stream\r\n`)),
    head('chunk extension', text => chunked(`1;${text}\r\na\r\n0\r\n\r\n`)),
    head('chunk size', text => chunked(`${text}\r\na\r\n0\r\n\r\n`)),
    head('trailer', text => chunked(`1\r\na\r\n0\r\nx: ${text}\r\n\r\n`)),
    place('body: chunks of one byte', BODY, text => chunked(`${'1\r\na\r\n'.repeat(text.length / 6)}0\r\n\r\n`)),
    place('body: chunks of one byte, sent on', BODY, text =>
      chunked(`${'1\r\na\r\n'.repeat(text.length / 6)}0\r\n\r\n`, 'rest'),
    ),
    place('body: as JSON and as a form in expressions', BODY, text => posted('expr', '/', text)),
    place('body: a JSON text in expressions', BODY, text => posted('expr', '/', quoted(text))),
    place('body: of a form', BODY, text =>
      posted('llm', '/v1/audio/transcriptions', text, 'content-type: multipart/form-data; boundary=a\r\n'),
    ),
    place('body: parts of a form', BODY, text =>
      posted(
        'llm',
        '/v1/audio/transcriptions',
        `--a\r\ncontent-disposition: form-data; name="${text}`,
        'content-type: multipart/form-data; boundary=a\r\n',
      ),
    ),
    place('body: that is packed', BODY, text => Buffer.concat([packed(text)])),
    json('llm, as a whole', 'llm', text => text),
    json('llm, the model', 'llm', text => `{"model":${quoted(text)},"messages":[]}`),
    json('llm, a message', 'llm', text => `{"model":"m","messages":[{"role":"user","content":${quoted(text)}}]}`),
    json('llm, messages', 'llm', text => `{"model":"m","messages":[${'{},'.repeat(text.length / 3)}{}]}`),
    json('llm, a key', 'llm', text => `{${quoted(text)}:1,"model":"m"}`),
    json(
      'llm, keys',
      'llm',
      text => `{${Array.from({ length: text.length / 8 }, (_, i) => `"a${i}":1`).join(',')},"model":"m"}`,
    ),
    json('llm, one key again and again', 'llm', text => `{${'"model":"a",'.repeat(text.length / 12)}"model":"m"}`),
    json('llm, lists in lists', 'llm', text => `{"model":"m","a":${deep('[', ']')(text)}}`),
    json('llm, objects in objects', 'llm', text => `{"model":"m","a":${deep('{"a":', '}')(text)}}`),
    json('llm, a number', 'llm', text => `{"model":"m","a":1${text.replace(/\D/g, '0')}}`),
    json('mcp, as a whole', 'mcp', text => text),
    json('mcp, the method', 'mcp', text => `{"jsonrpc":"2.0","id":1,"method":${quoted(text)}}`),
    json('mcp, the id', 'mcp', text => `{"jsonrpc":"2.0","id":${quoted(text)},"method":"ping"}`),
    json(
      'mcp, a tool',
      'mcp',
      text => `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":${quoted(text)}}}`,
    ),
    json(
      'mcp, initialize',
      'mcp',
      text =>
        `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":${quoted(text)},"version":"1"}}}`,
    ),
    json('mcp, a batch', 'mcp', text => `[${'{"jsonrpc":"2.0"},'.repeat(text.length / 18)}{}]`),
    json(
      'mcp, lists in lists',
      'mcp',
      text => `{"jsonrpc":"2.0","id":1,"method":"a","params":{"a":${deep('[', ']')(text)}}}`,
    ),
    json(
      'mcp, objects in objects',
      'mcp',
      text => `{"jsonrpc":"2.0","id":1,"method":"a","params":${deep('{"a":', '}')(text)}}`,
    ),
  ]
}

function manyFields(text: string): string {
  let out = ''
  for (let i = 0; out.length < text.length - 16; i++) out += `x-${i}: ${text[0]}\r\n`
  return out
}

/** A body that grows a thousandfold when it is unpacked. */
function packed(text: string): Buffer {
  const body = gzipSync(`{"model":"${text.repeat(20)}`)
  return Buffer.concat([
    Buffer.from(
      posted('llm', '/v1/chat/completions', '', `content-encoding: gzip\r\n`).replace(
        'Content-Length: 0',
        `Content-Length: ${body.length}`,
      ),
      'latin1',
    ),
    body,
  ])
}

type MakeReply = (name: string, host: string, make: (text: string) => string, bound?: number, path?: string) => Place

// long: one place a line
function replies(answered: MakeReply): Place[] {
  const close = 'connection: close\r\n'
  const head = (name: string, make: (text: string) => string) => answered(name, 'reply', make)
  const field = (name: string) => head(`field ${name}`, text => `HTTP/1.1 200 OK\r\n${close}${name}: ${text}\r\n\r\nok`)
  const stream = (name: string, make: (text: string) => string) =>
    answered(
      `stream: ${name}`,
      'llm',
      text => `HTTP/1.1 200 OK\r\n${close}content-type: text/event-stream\r\n\r\n${make(text)}`,
      BODY,
      '/v1/chat/completions',
    )
  const json = (name: string, make: (text: string) => string, path = '/v1/chat/completions') =>
    answered(
      `llm: ${name}`,
      'llm',
      text => `HTTP/1.1 200 OK\r\n${close}content-type: application/json\r\n\r\n${make(text)}`,
      BODY,
      path,
    )
  return [
    head('reason', text => `HTTP/1.1 200 ${text}\r\n${close}\r\nok`),
    head('status', text => `HTTP/1.1 ${text} OK\r\n${close}\r\nok`),
    head('field name', text => `HTTP/1.1 200 OK\r\n${close}x${text}: a\r\n\r\nok`),
    head('fields', text => `HTTP/1.1 200 OK\r\n${close}${'x: a\r\n'.repeat(text.length / 6)}\r\nok`),
    head(
      'interim heads',
      text => `${'HTTP/1.1 103 Early\r\n\r\n'.repeat(text.length / 22)}HTTP/1.1 200 OK\r\n${close}\r\nok`,
    ),
    ...['set-cookie', 'content-type', 'location', 'connection', 'content-encoding', 'transfer-encoding'].map(field),
    ...['x-a', 'retry-after', 'keep-alive', 'content-length', 'trailer', 'www-authenticate', 'link'].map(field),
    head(
      'chunk extension',
      text => `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n${close}\r\n1;${text}\r\na\r\n0\r\n\r\n`,
    ),
    head(
      'trailer',
      text => `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n${close}\r\n1\r\na\r\n0\r\nx: ${text}\r\n\r\n`,
    ),
    answered(
      'chunks of one byte',
      'reply',
      text =>
        `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n${close}\r\n${'1\r\na\r\n'.repeat(text.length / 6)}0\r\n\r\n`,
      BODY,
    ),
    answered('body that policies read', 'reply', text => `HTTP/1.1 200 OK\r\n${close}\r\n${text}`, BODY),
    stream('as a whole', text => text),
    stream('one line', text => `data: ${text.replace(/[\r\n]/g, ' ')}\n\n`),
    stream('events', text => 'data: {}\n\n'.repeat(text.length / 10)),
    stream('events without data', text => '\n'.repeat(text.length)),
    stream('lines of one event', text => `${'data: a\n'.repeat(text.length / 8)}\n`),
    stream('fields', text => `${'id: 1\n'.repeat(text.length / 6)}\n`),
    stream('a delta', text => `data: {"choices":[{"delta":{"content":${JSON.stringify(text)}}}]}\n\ndata: [DONE]\n\n`),
    json('as a whole', text => text),
    json(
      'a message',
      text => `{"choices":[{"message":{"content":${JSON.stringify(text)}}}],"usage":{"prompt_tokens":1}}`,
    ),
    json('lists in lists', text => `{"a":${'['.repeat(text.length / 2)}${']'.repeat(text.length / 2)}}`),
    json('an error', text => text.padEnd(1)),
  ]
}

const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1')
const SETTINGS = frame(4, 0, 0, Buffer.alloc(0))
const END_HEADERS = 4

// long: one place a line
function frames(place: Make): Place[] {
  const http2 = (name: string, make: (text: string) => readonly Buffer[], bound = HEAD) =>
    place(`http2: ${name}`, bound, text => Buffer.concat([PREFACE, SETTINGS, ...make(text)]))
  const asked = (...more: string[]) =>
    fields([':method', 'GET', ':scheme', 'http', ':authority', 'rest.test', ':path', '/', ...more])
  const started = frame(
    1,
    END_HEADERS,
    1,
    fields([':method', 'POST', ':scheme', 'http', ':authority', 'expr.test', ':path', '/']),
  )
  const empty = Buffer.alloc(0)
  const repeated = (one: Buffer, text: string) => Array.from({ length: text.length / one.length }, () => one)
  const ended = (block: Buffer) => split(block, 16_000, 5)
  return [
    http2('path', text =>
      ended(fields([':method', 'GET', ':scheme', 'http', ':authority', 'rest.test', ':path', `/${text}`])),
    ),
    http2('authority', text => ended(fields([':method', 'GET', ':scheme', 'http', ':authority', text, ':path', '/']))),
    http2('method', text => ended(fields([':method', `G${text}`, ':scheme', 'http', ':authority', 'a', ':path', '/']))),
    http2('field name', text => ended(asked(`x${text}`, 'a'))),
    http2('field value', text => ended(asked('x-a', text))),
    http2('cookies', text =>
      ended(asked(...Array.from({ length: text.length / 10 }, () => ['cookie', text[0] ?? 'a']).flat())),
    ),
    http2('fields', text =>
      ended(asked(...Array.from({ length: text.length / 6 }, () => ['x', text[0] ?? 'a']).flat())),
    ),
    http2('a head in pieces of one byte', text => split(asked('x-a', text.slice(0, text.length / 10)), 1, 5)),
    http2('data of one byte', text => [
      started,
      ...repeated(frame(0, 0, 1, Buffer.from('a')), text),
      frame(0, 1, 1, empty),
    ]),
    http2('data of no byte', text => [started, ...repeated(frame(0, 0, 1, empty), text), frame(0, 1, 1, empty)]),
    http2('data with padding', text => [
      started,
      ...repeated(frame(0, 8, 1, Buffer.from([7, 97, 0, 0, 0, 0, 0, 0, 0])), text),
      frame(0, 1, 1, empty),
    ]),
    http2('settings', text => repeated(SETTINGS, text)),
    http2('settings, one again and again', text => repeated(frame(4, 0, 0, Buffer.from([0, 4, 0, 0, 255, 255])), text)),
    http2('pings', text => repeated(frame(6, 0, 0, Buffer.alloc(8)), text)),
    http2('priorities', text => repeated(frame(2, 0, 3, Buffer.alloc(5)), text)),
    http2('window updates', text => repeated(frame(8, 0, 0, Buffer.from([0, 0, 0, 1])), text)),
    http2('streams that are reset', text =>
      Array.from({ length: text.length / 80 }, (_, i) => [
        frame(1, END_HEADERS, 2 * i + 1, asked()),
        frame(3, 0, 2 * i + 1, Buffer.alloc(4)),
      ]).flat(),
    ),
    http2('frames that nobody knows', text => repeated(frame(99, 0, 0, Buffer.from('a')), text)),
  ]
}

/** A head that ends its request, in as many frames as it takes. */
function split(block: Buffer, size: number, flags: number): Buffer[] {
  const out: Buffer[] = []
  for (let at = 0; at < block.length; at += size) {
    const last = at + size >= block.length
    const own = at === 0 ? (flags & 1) | (last ? END_HEADERS : 0) : last ? END_HEADERS : 0
    out.push(frame(at === 0 ? 1 : 9, own, 1, block.subarray(at, at + size)))
  }
  return out
}
