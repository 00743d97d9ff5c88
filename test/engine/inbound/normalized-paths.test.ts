import { connect as connectHttp2 } from 'node:http2'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { openDryGateway } from '../../../src/tools/dry-run/dry-run.ts'
import { startGateway, type TestGateway } from '../../helpers/gateway.ts'
import { rawRequest, startUpstream, type Upstream } from '../../helpers/upstream.ts'

let upstream: Upstream
let gateway: TestGateway
let seen: string[] = []
const config = (host: string, http = '') => `
frontendPolicies: {http: {${http}}}
binds:
- port: 80
  listeners:
  - routes:
    - matches: [{path: {pathPrefix: /admin}}]
      policies: {authorization: {rules: [{deny: 'true'}]}}
      backends: [{host: '${host}'}]
    - matches: [{path: {pathPrefix: /transform}}]
      policies:
        transformations: {request: {set: {':path': "request.headers['x-path']"}}}
        authorization: {rules: [{deny: 'request.path.startsWith("/rule")'}, {allow: 'true'}]}
      backends: [{host: '${host}'}]
    - policies: {authorization: {rules: [{deny: 'request.path.startsWith("/rule")'}, {allow: 'true'}]}}
      backends: [{host: '${host}'}]
`

beforeAll(async () => {
  upstream = await startUpstream((req, res) => {
    seen.push(req.url ?? '')
    res.end()
  })
  gateway = await startGateway(config(upstream.host))
})
afterAll(async () => {
  await gateway[Symbol.asyncDispose]()
  await upstream[Symbol.asyncDispose]()
})
beforeEach(() => {
  seen = []
})

async function http1(target: string, field = 'x-a: 1', to = gateway): Promise<string> {
  return rawRequest(to.url(80), `GET ${target} HTTP/1.1\r\nhost: a.test\r\n${field}\r\nconnection: close\r\n\r\n`)
}

function http2(path: string): Promise<number> {
  const client = connectHttp2(gateway.url(80))
  return new Promise<number>((resolve, reject) => {
    client.on('error', reject)
    client.request({ ':path': path }).on('response', headers => resolve(Number(headers[':status'])))
  }).finally(() => client.destroy())
}

const FORMS = (name: string) => [
  `//${name}`,
  `///${name}//x`,
  `/./${name}`,
  `/x/../${name}`,
  `/x/..//${name}`,
  `/%2e/${name}`,
  `/x/%2E%2e/${name}`,
  `/x/.%2e/${name}?q`,
  `/%${name.charCodeAt(0).toString(16)}${name.slice(1)}`,
  `http://a.test/x/../${name}`,
  `http://a.test//${name}`,
]
const REFUSED = (name: string) => [
  `/${name}%2fx`,
  `/x%2f..%2f${name}`,
  `/x/..;/${name}`,
  `/x/..%5c${name}`,
  `/%%32%65/${name}`,
]

describe.each(['admin', 'rule'])('no spelling of /%s bypasses its guard', name => {
  test('over HTTP/1.1', async () => {
    for (const target of FORMS(name)) expect([target, (await http1(target)).slice(9, 12)]).toEqual([target, '403'])
    for (const target of REFUSED(name)) expect([target, (await http1(target)).slice(9, 12)]).toEqual([target, '400'])
    expect(seen).toEqual([])
  })

  test('over HTTP/2', async () => {
    const own = (target: string) => target.startsWith('/')
    for (const target of FORMS(name).filter(own)) expect([target, await http2(target)]).toEqual([target, 403])
    for (const target of REFUSED(name)) expect([target, await http2(target)]).toEqual([target, 400])
    expect(seen).toEqual([])
  })

  test('in a dry run', async () => {
    const stdin = Readable.from([config('app.test:80')])
    const dry = await openDryGateway('-', { cwd: '/', env: {}, stdin })
    for (const url of FORMS(name)) {
      const { status, upstream: calls } = await dry.run({ method: 'GET', url, headers: [] })
      expect([url, status, calls.length]).toEqual([url, 403, 0])
    }
    for (const url of REFUSED(name)) {
      const { status, upstream: calls } = await dry.run({ method: 'GET', url, headers: [] })
      expect([url, status, calls.length]).toEqual([url, 400, 0])
    }
  })
})

test('the backend gets the normalized path and the original query', async () => {
  await http1('/a//b/%7e/../c?x=//..%2f')
  expect(seen).toEqual(['/a/b/c?x=//..%2f'])
})

test('the response explains the rejected path, and the log keeps the original one', async () => {
  expect(await http1('/a%2fb')).toContain('invalid request: encoded slash in the path')
  await http1('/x/../admin')
  expect(gateway.logged.filter(line => line.includes('http.path')).at(-1)).toContain('http.path=/x/../admin ')
})

describe('a path set by an expression', () => {
  test('is also normalized before later policies see it', async () => {
    await http1('/transform', 'x-path: /x//y/../z')
    expect(seen).toEqual(['/x/z'])
  })

  test('is ignored when the normalization rules reject it', async () => {
    await http1('/transform', 'x-path: /x/..%2fadmin')
    expect(seen).toEqual(['/transform'])
  })
})

test('`none` leaves paths unchanged', async () => {
  const as = await startGateway(config(upstream.host, 'pathNormalization: none'))
  onTestFinished(() => as[Symbol.asyncDispose]())
  for (const target of ['//x', '/x/../y', '/%61%2f%', '/a/..;/b']) await http1(target, undefined, as)
  expect(seen).toEqual(['//x', '/x/../y', '/%61%2f%', '/a/..;/b'])
})

test('`redirect` sends the client to the decoded path on the same host', async () => {
  const as = await startGateway(
    config(upstream.host, 'pathNormalization: {encodedSlashes: redirect, mergeSlashes: false}'),
  )
  onTestFinished(() => as[Symbol.asyncDispose]())
  const reply = await http1('/%2fevil.test/%2e%2e%2fx?q=%2f', undefined, as)
  expect(reply).toMatch(/^HTTP\/1\.1 307 /)
  expect(reply).toContain('location: http://a.test//x?q=%2f\r\n')
  expect(await http1('/x//y', undefined, as)).toMatch(/^HTTP\/1\.1 200 /)
  expect(seen).toEqual(['/x//y'])
})

test('a trace shows both the original and the normalized path', async () => {
  const watch = gateway.trace.watch({ requests: 1 })
  if (watch === undefined || 'problem' in watch) throw new Error('nobody may watch')
  await http1('/a//b')
  const urls: (string | undefined)[] = []
  for (let event = watch.next(); event; event = watch.next())
    if (event.message.type === 'snapshot') urls.push(event.message.state.url)
  watch.close()
  expect(urls.slice(0, 2)).toEqual(['http://a.test/a//b', 'http://a.test/a/b'])
})
