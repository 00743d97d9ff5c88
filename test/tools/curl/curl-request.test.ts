import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseCurl } from '../../../src/tools/curl/curl-request.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'gwctl-curl-'))
  writeFileSync(join(folder, 'body.txt'), 'one\ntwo\n')
})
afterAll(() => rmSync(folder, { recursive: true }))

function read(...words: string[]) {
  const { method, url, headers, body } = parseCurl(words, { cwd: folder, example: 'gwctl example' })
  return { method, url: url.href, headers, body: body?.toString() }
}

const FORM: [string, string] = ['content-type', 'application/x-www-form-urlencoded']
const plain = { method: 'GET', url: 'http://h/', headers: [], body: undefined }

test.each<[string[], Partial<ReturnType<typeof read>>]>([
  [['http://h/'], {}],
  [['h'], {}],
  [['curl', 'http://h/'], {}],
  [['/a?b=1'], { url: 'http://localhost/a?b=1' }],
  [['put', 'h'], { method: 'PUT' }],
  [['h', '-X', 'DELETE'], { method: 'DELETE' }],
  [['h', '-XDELETE'], { method: 'DELETE' }],
  [['-sSLX', 'DELETE', '--url', 'h'], { method: 'DELETE' }],
  [['-I', 'h'], { method: 'HEAD' }],
  [
    ['h', '-H', 'X-A: b', '-HX-C:d'],
    {
      headers: [
        ['X-A', 'b'],
        ['X-C', 'd'],
      ],
    },
  ],
  [['h', '-d', 'a=1', '-d', 'b=2'], { method: 'POST', headers: [FORM], body: 'a=1&b=2' }],
  [
    ['PUT', 'h', '-d', 'a', '-H', 'Content-Type: text/plain'],
    { method: 'PUT', headers: [['Content-Type', 'text/plain']], body: 'a' },
  ],
  [['h', '-d', '@body.txt'], { method: 'POST', headers: [FORM], body: 'onetwo' }],
  [['h', '--data-binary', '@body.txt'], { method: 'POST', headers: [FORM], body: 'one\ntwo\n' }],
  [['h', '--data-raw', '@body.txt'], { method: 'POST', headers: [FORM], body: '@body.txt' }],
  [
    ['h', '--data-urlencode', 'q=a b&c', '--data-urlencode', 'r@body.txt'],
    { method: 'POST', headers: [FORM], body: 'q=a%20b%26c&r=one%0Atwo%0A' },
  ],
  [['-G', 'h?x=1', '-d', 'a=1'], { url: 'http://h/?x=1&a=1' }],
  [
    ['h', '--json', '{}'],
    {
      method: 'POST',
      headers: [
        ['content-type', 'application/json'],
        ['accept', 'application/json'],
      ],
      body: '{}',
    },
  ],
  [
    ['h', '--json', '{}', '-H', 'accept: text/event-stream'],
    {
      method: 'POST',
      headers: [
        ['accept', 'text/event-stream'],
        ['content-type', 'application/json'],
      ],
      body: '{}',
    },
  ],
  [['h', '-u', 'me:pw'], { headers: [['authorization', 'Basic bWU6cHc=']] }],
  [
    ['h', '--oauth2-bearer', 't', '-A', 'me', '-b', 'a=1', '-e', 'http://r'],
    {
      headers: [
        ['authorization', 'Bearer t'],
        ['user-agent', 'me'],
        ['cookie', 'a=1'],
        ['referer', 'http://r'],
      ],
    },
  ],
  [['h', '--compressed'], { headers: [['accept-encoding', 'deflate, gzip, br, zstd']] }],
])('%j', (words, expected) => {
  expect(read(...words)).toEqual({ ...plain, ...expected })
})

test.each<[string[], string]>([
  [[], 'needs a URL'],
  [['GET'], 'needs a URL'],
  [['GET', 'h', 'more'], 'more is one word too many'],
  [['G-T', 'h'], 'G-T is not a method'],
  [['ftp://h'], 'not an HTTP URL'],
  [['h', '-H'], '-H needs a value'],
  [['h', '-H', 'nonsense'], 'not a header'],
  [['h', '-H', 'a: b\r\nc: d'], 'The value of a has a control character'],
  [['h', '-A', 'a\u0000'], 'The value of user-agent has a control character'],
  [['h', '-b', 'jar.txt'], 'a file of cookies'],
  [['h', '-F', 'a=b'], '-F is not an option'],
  [['h', '-sF', 'a=b'], '-sF is not an option'],
  [['h', '--proxy', 'p'], '--proxy is not an option'],
  [['h', '-d', '@missing'], 'cannot read missing'],
  [['h', '-d', '@-'], 'stdin, which is not read here'],
])('%j is rejected', (words, message) => {
  expect(() => read(...words)).toThrow(message)
})

test.each<[string, { host: string; port: number } | undefined]>([
  ['h:80:127.0.0.1:8080', { host: '127.0.0.1', port: 8080 }],
  ['::[::1]:', { host: '::1', port: 80 }],
  ['other::127.0.0.1:1', undefined],
])('--connect-to %s', (text, expected) => {
  const place = { cwd: folder, example: '' }
  expect(parseCurl(['h', '--connect-to', text], place).connectTo).toEqual(expected)
})

test('credentials in the URL become an Authorization header', () => {
  const { url, headers } = parseCurl(['http://a%20b:c%zz@h/x'], { cwd: folder, example: '' })
  expect(url.href).toBe('http://h/x')
  expect(headers).toEqual([['authorization', `Basic ${Buffer.from('a b:c%zz').toString('base64')}`]])
})

test('a header is sent as UTF-8 in byte form', () => {
  const { headers } = parseCurl(['h', '-H', 'x: é'], { cwd: folder, example: '' })
  expect(headers).toEqual([['x', 'Ã©']])
})

test('--resolve sets the address for a host and port', () => {
  const place = { cwd: folder, example: '' }
  expect(parseCurl(['h', '--resolve', 'h:80:10.0.0.1'], place).connectTo).toEqual({ host: '10.0.0.1', port: 80 })
})
