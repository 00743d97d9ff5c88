import { once } from 'node:events'
import http from 'node:http'
import { Duplex } from 'node:stream'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ResponseParser } from '../../../src/engine/upstream/http1-parser.ts'
import { processorTime } from '../../helpers/processor-time.ts'

interface Message {
  status: number
  fields: string[]
  body: string
  trailers: string[]
  ended: boolean
  reusable: boolean
}

/** What our parser makes of `parts`, or the reason why it refuses. The connection closes behind them. */
function read(parts: readonly string[], method = 'GET', upgrade = false): Message | string {
  const message: Message = { status: 0, fields: [], body: '', trailers: [], ended: false, reusable: false }
  let switched = ''
  const parser = new ResponseParser({
    onHead(status, fields) {
      message.status = status
      message.fields = fields
    },
    onBody(bytes, from, to) {
      message.body += bytes.toString('latin1', from, to)
    },
    onEnd(trailers, reusable) {
      message.ended = true
      message.reusable = reusable
      message.trailers = trailers ?? []
    },
    onSwitch(_status, _fields, bytes, from, to) {
      switched = `switched:${bytes.toString('latin1', from, to)}`
    },
  })
  parser.start(method, upgrade)
  // As on a socket: the memory behind what was read holds the rest of earlier reads.
  const memory = Buffer.alloc(1 << 18, '\r\n\r\nHTTP/1.1 200 OK\r\n\r\n0\r\n\r\n')
  try {
    for (const part of parts) {
      if (message.ended || switched !== '') return 'bytes after the end'
      parser.execute(memory, 0, memory.write(part, 0, 'latin1'))
    }
    if (switched !== '') return switched
    if (!message.ended) parser.finish()
  } catch (error) {
    return (error as Error).message.replace('upstream call failed: invalid response: ', '')
  }
  return message
}

const head = (...lines: string[]): string => `HTTP/1.1 200 OK\r\n${lines.map(line => `${line}\r\n`).join('')}\r\n`
const chunked = (text: string): string => head('transfer-encoding: chunked') + text

describe('accepts', () => {
  test.each<[string, string, Partial<Message>]>([
    ['a status line without a reason', 'HTTP/1.1 204\r\n\r\n', { status: 204, reusable: true }],
    ['an empty reason', 'HTTP/1.1 200 \r\ncontent-length: 0\r\n\r\n', { status: 200 }],
    ['a reason with non-ASCII characters', 'HTTP/1.1 200 \xe9t\xe9 !\r\ncontent-length: 0\r\n\r\n', { status: 200 }],
    ['an unknown status', 'HTTP/1.1 799 X\r\ncontent-length: 0\r\n\r\n', { status: 799 }],
    ['space around a value', head('x:\t a b \t', 'content-length:0'), { fields: ['x', 'a b', 'content-length', '0'] }],
    ['an empty value', head('x:', 'content-length: 0'), { fields: ['x', '', 'content-length', '0'] }],
    [
      'HTTP/1.0 without reuse',
      'HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ncontent-length: 1\r\n\r\na',
      { body: 'a', reusable: false },
    ],
    [
      'connection: close among other options',
      `${head('connection: x, Close', 'x: 1', 'content-length: 1')}a`,
      { fields: ['content-length', '1'], reusable: false },
    ],
    [
      'transfer-encoding in any case',
      `${head('Transfer-Encoding: Chunked')}1\r\na\r\n0\r\n\r\n`,
      { body: 'a', reusable: true },
    ],
    ['chunk sizes with zeros and either case', chunked('00A\r\n0123456789\r\n000\r\n\r\n'), { body: '0123456789' }],
    ['chunk extensions', chunked('1;a;b=c;d="e \\" f"\r\nx\r\n0;y\r\n\r\n'), { body: 'x' }],
    ['trailers', chunked('0\r\nX-A: 1\r\nx-b:\r\n\r\n'), { trailers: ['X-A', '1', 'x-b', ''], reusable: true }],
    ['a body delimited by close', 'HTTP/1.1 200 OK\r\n\r\nabc', { body: 'abc', reusable: false }],
    [
      '204 with a content-length, without reuse',
      'HTTP/1.1 204 X\r\ncontent-length: 5\r\n\r\n',
      { body: '', reusable: false },
    ],
  ])('%s', (_name, text, expected) => {
    expect(read([text])).toMatchObject({ ended: true, ...expected })
    expect(read([...text])).toMatchObject({ ended: true, ...expected })
  })

  test('a HEAD response, whatever its headers announce', () => {
    // Once: a server that does send it would answer the next request with it.
    expect(read([head('content-length: 9')], 'HEAD')).toMatchObject({ body: '', ended: true, reusable: false })
    expect(read([chunked('')], 'HEAD')).toMatchObject({ body: '', ended: true, reusable: false })
    expect(read([head('content-length: 0')], 'HEAD')).toMatchObject({ body: '', ended: true, reusable: true })
    expect(read([head()], 'HEAD')).toMatchObject({ body: '', ended: true, reusable: true })
  })

  test('a requested protocol switch', () => {
    const reply = 'HTTP/1.1 101 X\r\nconnection: x, Upgrade\r\nupgrade: websocket\r\n\r\nrest'
    expect(read([reply], 'GET', true)).toBe('switched:rest')
    expect(read(['HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nrest'], 'CONNECT')).toBe('switched:rest')
  })
})

describe('rejects', () => {
  test.each([
    ['another protocol', 'SSH-2.0-OpenSSH_9.9\r\n\r\n'],
    ['HTTP/2', 'HTTP/2.0 200 OK\r\n\r\n'],
    ['HTTP/1.2', 'HTTP/1.2 200 OK\r\n\r\n'],
    ['a leading empty line', `\r\n${head('content-length: 0')}`],
    ['a two-digit status', 'HTTP/1.1 20 OK\r\n\r\n'],
    ['a four-digit status', 'HTTP/1.1 2000 OK\r\n\r\n'],
    ['a status below 100', 'HTTP/1.1 099 OK\r\n\r\n'],
    ['two spaces in the status line', 'HTTP/1.1  200 OK\r\n\r\n'],
    ['a bare LF after the status line', 'HTTP/1.1 200 OK\ncontent-length: 0\r\n\r\n'],
    ['a bare LF between fields', head('a: b\nc: d', 'content-length: 0')],
    ['a bare CR in a value', head('a: b\rc: d', 'content-length: 0')],
    ['a bare CR in the reason', 'HTTP/1.1 200 O\rK\r\ncontent-length: 0\r\n\r\n'],
    ['a bare LF at the end of the head', 'HTTP/1.1 200 OK\r\ncontent-length: 0\n\n'],
    ['a folded line', head('a: b', ' c', 'content-length: 0')],
    ['a line without a colon', head('a', 'content-length: 0')],
    ['an empty name', head(': a', 'content-length: 0')],
    ['a space before the colon', head('a : b', 'content-length: 0')],
    ['a space before the first name', head(' a: b', 'content-length: 0')],
    ['NUL in a value', head('a: \0', 'content-length: 0')],
    ['DEL in a value', head('a: \x7f', 'content-length: 0')],
    ['a non-ASCII name', head('\xe9: a', 'content-length: 0')],
    ['content-length and transfer-encoding', `${head('content-length: 3', 'transfer-encoding: chunked')}0\r\n\r\n`],
    ['two different content-lengths', `${head('content-length: 3', 'content-length: 4')}abcd`],
    ['two equal content-lengths', `${head('content-length: 3', 'content-length: 3')}abc`],
    ['a list of content-lengths', `${head('content-length: 3, 3')}abc`],
    ['a negative content-length', `${head('content-length: -1')}`],
    ['a content-length with a sign', `${head('content-length: +1')}a`],
    ['a hexadecimal content-length', `${head('content-length: 0x1')}a`],
    ['an empty content-length', `${head('content-length:')}`],
    ['a content-length beyond safe integers', `${head('content-length: 99999999999999999999')}a`],
    ['an unsupported transfer-encoding', `${head('transfer-encoding: gzip, chunked')}0\r\n\r\n`],
    ['identity', `${head('transfer-encoding: identity')}a`],
    ['chunked twice', `${head('transfer-encoding: chunked', 'transfer-encoding: chunked')}0\r\n\r\n`],
    ['chunked with a parameter', `${head('transfer-encoding: chunked;q=1')}0\r\n\r\n`],
    ['transfer-encoding in HTTP/1.0', 'HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n'],
    ['a chunk size with a sign', chunked('+1\r\na\r\n0\r\n\r\n')],
    ['a chunk size with 0x', chunked('0x1\r\na\r\n0\r\n\r\n')],
    ['a chunk size with a space', chunked('1 \r\na\r\n0\r\n\r\n')],
    ['an empty chunk size', chunked('\r\na\r\n0\r\n\r\n')],
    ['a chunk size that overflows', chunked('fffffffffffffffff\r\na')],
    ['a bare LF after a chunk size', chunked('1\na\r\n0\r\n\r\n')],
    ['a bare LF after a chunk', chunked('1\r\na\n0\r\n\r\n')],
    ['a chunk longer than its size', chunked('1\r\nab\r\n0\r\n\r\n')],
    ['a malformed chunk extension', chunked('1; =\r\na\r\n0\r\n\r\n')],
    ['a control character in a chunk extension', chunked('1;a="\n"\r\na\r\n0\r\n\r\n')],
    ['endless chunk extensions', chunked(`1;${'a'.repeat(20_000)}\r\na\r\n0\r\n\r\n`)],
    ['framing in trailers', chunked('0\r\ncontent-length: 3\r\n\r\n')],
    ['a folded trailer', chunked('0\r\na: b\r\n c\r\n\r\n')],
    ['a bare LF after the last chunk', chunked('0\r\n\n')],
    ['endless trailers', chunked(`0\r\n${'x: y\r\n'.repeat(10_000)}`)],
    ['bytes after a content-length body', `${head('content-length: 1')}ab`],
    ['bytes after a chunked body', chunked('0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n')],
    ['bytes after a response without a body', 'HTTP/1.1 204 X\r\n\r\nabc'],
    ['bytes after trailers', chunked('0\r\na: b\r\n\r\nx')],
    ['a truncated head', 'HTTP/1.1 200 OK\r\ncontent-len'],
    ['a truncated content-length body', `${head('content-length: 3')}ab`],
    ['a truncated chunked body', chunked('1\r\na\r\n')],
    ['a head over the limit', head(`a: ${'b'.repeat(70_000)}`, 'content-length: 0')],
    ['more fields than the limit', head(...Array(300).fill('a: b'), 'content-length: 0')],
    ['endless interim responses', 'HTTP/1.1 103 X\r\n\r\n'.repeat(20) + head('content-length: 0')],
    ['an interim response in HTTP/1.0', `HTTP/1.0 103 X\r\n\r\n${head('content-length: 0')}`],
    ['a tab before a length', `${head('content-length:\t5')}hello`],
    ['a tab and spaces before a length', `${head('content-length: \t 5')}hello`],
    ['a tab after a length', `${head('content-length: 5 \t ')}hello`],
    ['a tab before chunked', `${head('transfer-encoding:\tchunked')}0\r\n\r\n`],
    ['a tab after chunked', `${head('transfer-encoding: chunked\t')}0\r\n\r\n`],
    ['an interim response with a body', `HTTP/1.1 103 X\r\ncontent-length: 1\r\n\r\na${head('content-length: 0')}`],
    ['an unrequested protocol switch', 'HTTP/1.1 101 X\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n'],
  ])('%s, in one chunk and byte by byte', (_name, text) => {
    expect(read([text])).toEqual(expect.any(String))
    expect(read([...text])).toEqual(expect.any(String))
  })

  test('a protocol switch without a protocol', () => {
    expect(read(['HTTP/1.1 101 X\r\nconnection: upgrade\r\n\r\n'], 'GET', true)).toMatch('unexpected switch')
    expect(read(['HTTP/1.1 101 X\r\nupgrade: websocket\r\n\r\n'], 'GET', true)).toMatch('unexpected switch')
  })

  test('drops of endless headers in linear time', () => {
    const parts = ['HTTP/1.1 200 OK\r\na: ', ...Array<string>(70_000).fill('b')]
    expect(processorTime(() => expect(read(parts)).toBe('head too large'))).toBeLessThan(2000)
  })
})

/** What Node's own client makes of the same bytes. */
async function readByNode(parts: readonly string[], method: string): Promise<Message | string> {
  const socket = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done(), final: done => done() })
  const request = http.request({ method, createConnection: () => socket })
  const outcome = new Promise<Message | string>(resolve => {
    request.on('error', error => resolve(error.message))
    request.on('upgrade', () => resolve('switched'))
    request.on('response', response => {
      const message: Message = {
        status: response.statusCode as number,
        fields: response.rawHeaders,
        body: '',
        trailers: [],
        ended: false,
        reusable: false,
      }
      response.setEncoding('latin1')
      response.on('data', text => {
        message.body += text
      })
      response.on('error', error => resolve(error.message))
      response.on('end', () => resolve({ ...message, trailers: response.rawTrailers, ended: response.complete }))
    })
  })
  request.end()
  await once(request, 'finish')
  for (const part of parts) socket.push(Buffer.from(part, 'latin1'))
  socket.push(null)
  const result = await outcome
  socket.destroy()
  return result
}

const FIELDS = [
  'content-length: 3',
  'content-length: 5',
  'transfer-encoding: chunked',
  'Transfer-Encoding:chunked ',
  'connection: close',
  'connection: keep-alive',
  'connection: x-a',
  'x-a: 1',
  'x-empty:',
  'set-cookie: a=b; c',
  'x-l: \xe9',
  'keep-alive: timeout=5',
  'upgrade: h2c',
  'trailer: x-t',
  'date: now',
]
const BODIES = [
  '',
  'abc',
  'abcde',
  '3\r\nabc\r\n0\r\n\r\n',
  '3;x=1\r\nabc\r\n2\r\nde\r\n0\r\nx-t: 1\r\n\r\n',
  '0\r\n\r\n',
  'a\r\n0123456789\r\n0;y\r\n\r\n',
]
const BYTES = [
  '\r',
  '\n',
  '\r\n',
  ' ',
  '\t',
  ':',
  ';',
  ',',
  '0',
  '9',
  'f',
  'a',
  'A',
  '=',
  '"',
  '\0',
  '\x7f',
  '\xff',
  '-',
  '+',
  'HTTP/1.1 200 OK\r\n\r\n',
]

const mutation = fc.record({
  at: fc.nat(400),
  remove: fc.constantFrom(0, 0, 1, 1, 2, 5),
  insert: fc.constantFrom('', '', ...BYTES),
})
const scenario = fc.record({
  start: fc.constantFrom(
    'HTTP/1.1 200 OK',
    'HTTP/1.1 200 OK',
    'HTTP/1.1 204 No',
    'HTTP/1.1 304 Not',
    'HTTP/1.0 200 OK',
    'HTTP/1.1 404',
    'HTTP/1.1 103 Hint\r\n\r\nHTTP/1.1 200 OK',
  ),
  fields: fc.array(fc.constantFrom(...FIELDS), { maxLength: 4 }),
  body: fc.constantFrom(...BODIES),
  mutations: fc.array(mutation, { maxLength: 3 }),
  cuts: fc.array(fc.nat(400), { maxLength: 4 }),
  method: fc.constantFrom('GET', 'GET', 'GET', 'HEAD', 'POST'),
})

test('whatever is accepted, Node parses the same way', async () => {
  let taken = 0
  await fc.assert(
    fc.asyncProperty(scenario, async ({ start, fields, body, mutations, cuts, method }) => {
      let text = `${start}\r\n${fields.map(field => `${field}\r\n`).join('')}\r\n${body}`
      for (const { at, remove, insert } of mutations) {
        const where = at % (text.length + 1)
        text = text.slice(0, where) + insert + text.slice(where + remove)
      }
      const places = [...new Set(cuts.map(cut => cut % (text.length + 1)))].sort((a, b) => a - b)
      const parts = [0, ...places].map((from, i) => text.slice(from, places[i])).filter(part => part !== '')
      const ours = read(parts, method)
      // The same verdict however the bytes arrive, except about bytes that only come when all is over.
      if (typeof ours !== 'string') {
        taken++
        const whole = read([text], method)
        if (typeof whole !== 'string') expect({ ...whole, reusable: true }).toEqual({ ...ours, reusable: true })
        const theirs = await readByNode(parts, method)
        expect(theirs).toMatchObject({ status: ours.status, body: ours.body, trailers: ours.trailers, ended: true })
        expect(endToEnd((theirs as Message).fields)).toEqual(ours.fields)
      }
    }),
    { seed: 20_261_121, numRuns: 6000 },
  )
  expect(taken).toBeGreaterThan(1000)
})

function endToEnd(fields: readonly string[]): string[] {
  const own = new Set(['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade'])
  for (let i = 0; i < fields.length; i += 2) {
    if (fields[i]?.toLowerCase() !== 'connection') continue
    for (const name of fields[i + 1]?.toLowerCase().split(',') ?? []) own.add(name.trim())
  }
  own.delete('close')
  return fields.filter((_, i) => !own.has(fields[i - (i % 2)]?.toLowerCase() ?? ''))
}
