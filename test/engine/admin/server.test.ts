import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text as readAll } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Listening, listen } from '../../../src/engine/admin/listen.ts'
import { startAdmin, startReadiness, startStats } from '../../../src/engine/admin/server.ts'
import { text } from '../../../src/engine/admin/table.ts'
import { closeOf } from '../../helpers/upstream.ts'
import { call, FakeGateway } from './running-admin.ts'

let gateway: FakeGateway
let admin: Listening
const open: Listening[] = []

beforeEach(async () => {
  gateway = new FakeGateway()
  admin = await startAdmin('127.0.0.1:0', gateway)
  open.push(admin)
})

afterEach(async () => {
  for (const server of open.splice(0)) await server.close()
})

describe('paths', () => {
  test('the configuration is returned as indented JSON', async () => {
    gateway.dumped = { binds: [{ key: 'bind/3000' }] }
    const answer = await call(admin.address, '/config_dump')
    expect(answer).toMatchObject({ status: 200, headers: { 'content-type': 'application/json' } })
    expect(answer.text).toBe('{\n  "binds": [\n    {\n      "key": "bind/3000"\n    }\n  ]\n}\n')
  })

  test('a long configuration is sent in chunks without blocking, and is the same text', async () => {
    const routes = Array.from({ length: 20_000 }, (_, i) => ({
      key: `r${i}`,
      name: 'a\nb',
      matches: [{ path: { exact: '/' } }],
    }))
    gateway.dumped = { binds: [], routes, nothing: undefined, version: { version: '1' }, config: null, more: {} }
    let turns = 0
    const count = () => {
      turns++
      timer = setImmediate(count)
    }
    let timer = setImmediate(count)
    const { status, headers, text } = await call(admin.address, '/config_dump')
    clearImmediate(timer)
    expect([status, headers['content-length']]).toEqual([200, undefined])
    expect(text).toBe(`${JSON.stringify(gateway.dumped, null, 2)}\n`)
    expect(turns).toBeGreaterThan(10)
    const head = await call(admin.address, '/config_dump', { method: 'HEAD' })
    expect(head.headers['content-length']).toBe(String(Buffer.byteLength(text)))
  })

  test('a client that disconnects midway or never reads affects no others', async () => {
    const family = gateway.counted.counter('long_total', 'x'.repeat(1000), ['label'])
    for (let i = 0; i < 9000; i++) family.with(`${i}`.padEnd(1000, 'x')).add()
    const [host, port] = admin.address.split(':')
    const silent = connect({ host, port: Number(port) })
    silent.write('GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n')
    await once(silent, 'readable')
    expect((await call(admin.address, '/memory')).status).toBe(200)
    silent.destroy()
    const { text } = await call(admin.address, '/metrics')
    expect(text.split('\n')).toHaveLength(9000 + 3)
    expect(text.endsWith('} 1\n')).toBe(true)
  })

  test('a failing handler answers 500 with a message and no stack', async () => {
    gateway.dumped = new Error('the snapshot is gone')
    const answer = await call(admin.address, '/config_dump')
    expect(answer).toMatchObject({ status: 500, text: 'internal error: the snapshot is gone\n' })
  })

  test('an unknown path lists the existing ones', async () => {
    const answer = await call(admin.address, '/config-dump')
    expect(answer.status).toBe(404)
    expect(answer.text).toContain('/config_dump')
  })

  test('a wrong method gets the allowed one in the response', async () => {
    const answer = await call(admin.address, '/config_dump', { method: 'DELETE' })
    expect(answer).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD' } })
    expect(answer.text).toBe('/config_dump takes GET\n')
  })

  test('HEAD is GET without a body', async () => {
    const answer = await call(admin.address, '/config_dump', { method: 'HEAD' })
    expect(answer).toMatchObject({ status: 200, text: '' })
    expect(Number(answer.headers['content-length'])).toBeGreaterThan(10)
  })

  test('only a POST stops the gateway', async () => {
    expect(await call(admin.address, '/quitquitquit')).toMatchObject({ status: 405 })
    expect(gateway.quits).toBe(0)
    expect(await call(admin.address, '/quitquitquit', { method: 'POST' })).toMatchObject({
      status: 200,
      text: 'shutdown now\n',
    })
    expect(gateway.quits).toBe(1)
  })

  test('memory is JSON in bytes', async () => {
    const answer = await call(admin.address, '/memory')
    const report = JSON.parse(answer.text) as { process: { rss: number }; allocator: { kind: string } }
    expect(report.process.rss).toBeGreaterThan(1_000_000)
    expect(report.allocator.kind).toBe('v8')
  })

  test('the root lists every path', async () => {
    const { text } = await call(admin.address, '/')
    for (const path of ['/config_dump', '/debug/trace', '/logging', '/memory', '/quitquitquit']) {
      expect(text).toContain(path)
    }
  })

  test('docs/admin.md lists the same paths and methods', async () => {
    const { text } = await call(admin.address, '/')
    const listed = text.matchAll(/^(\/\S*) +(GET POST|GET|POST) /gm)
    const document = readFileSync(new URL('../../../docs/admin.md', import.meta.url), 'utf8')
    const documented = document.matchAll(/^\| `(\/[^`]*)` \| (GET, POST|GET|POST) \|/gm)
    expect([...documented].map(([, path, methods]) => `${path} ${methods}`)).toEqual(
      [...listed].map(([, path, methods]) => `${path} ${methods?.replace(' ', ', ')}`),
    )
  })

  test('an unexpected body does no harm', async () => {
    const answer = await fetch(`http://${admin.address}/logging`, { method: 'POST', body: 'x'.repeat(1_000_000) })
    expect(await answer.text()).toBe('current log level is info\n')
  })
})

describe('logging', () => {
  const post = (query: string) => call(admin.address, `/logging${query}`, { method: 'POST' })

  test.each(['GET', 'POST'])('%s reads the level', async method => {
    const answer = await call(admin.address, '/logging', { method })
    expect(answer).toMatchObject({ status: 200, text: 'current log level is info\n' })
  })

  test('directives accumulate and take effect immediately', async () => {
    const upstream = gateway.log.logger('proxy').child('upstream')
    upstream.log('debug', 'not yet')
    await post('?level=warn')
    expect((await post('?level=proxy::upstream=debug')).text).toBe('current log level is proxy::upstream=debug,warn\n')
    upstream.log('debug', 'now')
    gateway.log.flush()
    expect(gateway.logged.join('')).toContain('\tdebug\tproxy::upstream\tnow\n')
    expect(gateway.logged.join('')).not.toContain('not yet')
  })

  test('reset restores the initial level before adding directives', async () => {
    await post('?level=trace,mcp=off')
    expect((await post('?reset&level=llm=debug')).text).toBe('current log level is llm=debug,info\n')
    expect((await post('?reset=1')).text).toBe('current log level is info\n')
  })

  test.each(['?level=mymodule', '?level=proxy=loud', '?level=debug,=info', '?level=a%20b=info'])(
    '%s is rejected and changes nothing',
    async query => {
      const answer = await post(query)
      expect(answer.status).toBe(400)
      expect(answer.text).toContain('Invalid level provided: ')
      expect((await post('')).text).toBe('current log level is info\n')
    },
  )

  test.each([
    ['?lvl=debug', 'there is no parameter lvl: level, reset\n'],
    ['?level=debug&level=warn', 'level is given more than once\n'],
    ['?%1B[2J=1', 'there is no parameter ␛[2J: level, reset\n'],
  ])('%s is rejected instead of ignored', async (query, reason) => {
    const answer = await post(query)
    expect([answer.status, answer.text]).toEqual([400, reason])
    expect((await post('')).text).toBe('current log level is info\n')
  })

  test('an error message is truncated and cannot control the terminal', async () => {
    const { status, text } = await post(`?level=%1B[2J${'x'.repeat(10_000)}`)
    expect([status, text.slice(0, 30)]).toEqual([400, 'Invalid level provided: ␛[2Jxx'])
    expect(text.length).toBeLessThan(1500)
  })

  test('a GET cannot change the level', async () => {
    expect((await call(admin.address, '/logging?level=off')).status).toBe(405)
    expect((await call(admin.address, '/logging?reset')).status).toBe(405)
    expect((await post('')).text).toBe('current log level is info\n')
  })
})

describe('access control', () => {
  const ask = (headers: Record<string, string>) => call(admin.address, '/config_dump', { headers })

  test.each([
    ['a name rebound to this address', { host: 'attacker.example' }],
    ['a rebound name with the right port', { host: 'attacker.example:15000' }],
    ['a name that only starts like localhost', { host: 'localhost.attacker.example' }],
    ['a name that looks like an address', { host: '127.0.0.1.nip.io' }],
    ['a page from another origin', { host: 'localhost', origin: 'http://localhost:3000' }],
    ['a sandboxed page', { host: 'localhost', origin: 'null' }],
    ['an image on another site', { host: 'localhost', 'sec-fetch-site': 'cross-site' }],
    ['a script from a sibling port', { host: 'localhost', 'sec-fetch-site': 'same-site' }],
  ])('%s is rejected', async (_, headers) => {
    const answer = await ask(headers)
    expect(answer.status).toBe(403)
    expect(answer.text).not.toContain('binds')
  })

  test.each([
    ['curl', { host: '127.0.0.1' }],
    ['a port-forward', { host: 'localhost:9999' }],
    ['IPv6', { host: '[::1]:15000' }],
    ['its own page', { host: 'localhost:15000', origin: 'http://localhost:15000', 'sec-fetch-site': 'same-origin' }],
    ['a typed URL', { host: 'localhost:15000', 'sec-fetch-site': 'none' }],
  ])('%s is allowed', async (_, headers) => {
    expect((await ask(headers)).status).toBe(200)
  })

  test('two Host headers are rejected', async () => {
    const [host, port] = admin.address.split(':')
    const socket = connect({ host, port: Number(port) })
    socket.end('GET /config_dump HTTP/1.1\r\nHost: localhost\r\nHost: attacker.example\r\nConnection: close\r\n\r\n')
    expect(await readAll(socket)).toMatch(/^HTTP\/1\.1 400 .*\r\n\r\nthere is more than one Host\n$/s)
  })

  test('no response allows other origins', async () => {
    const answer = await ask({ host: 'localhost', origin: 'http://localhost' })
    expect(answer.headers['access-control-allow-origin']).toBeUndefined()
    expect(answer.headers['x-content-type-options']).toBe('nosniff')
  })

  test('a rejected request has no effect', async () => {
    await call(admin.address, '/quitquitquit', { method: 'POST', headers: { origin: 'http://attacker.example' } })
    expect(gateway.quits).toBe(0)
  })
})

describe('addresses', () => {
  const start = async (address: string) => {
    const server = await startAdmin(address, gateway)
    open.push(server)
    return server
  }

  test('localhost answers on IPv4', async () => {
    const server = await start('localhost:0')
    expect(server.address).toMatch(/^127\.0\.0\.1:\d+$/)
    expect((await call(server.address, '/memory')).status).toBe(200)
  })

  test('off opens no port', async () => {
    expect((await start('off')).address).toBe('off')
  })

  test.each(['example.com:15000', '15000', ':15000', '127.0.0.1', '127.0.0.1:99999', 'unix:relative', '', '::1:15000'])(
    '%s is not an address',
    async address => {
      await expect(start(address)).rejects.toThrow(TypeError)
    },
  )

  test('a port in use is an error, not a second server', async () => {
    await expect(start(admin.address)).rejects.toMatchObject({ code: 'EADDRINUSE' })
  })

  describe('Unix sockets', () => {
    let folder: string
    beforeEach(() => {
      folder = mkdtempSync(join(tmpdir(), 'gwctl-admin-'))
    })
    afterEach(() => rmSync(folder, { recursive: true }))

    test('are open to the owner only, with any host name, and are removed on close', async () => {
      const path = join(folder, 'admin.sock')
      const server = await start(`unix:${path}`)
      expect(statSync(path).mode & 0o777).toBe(0o600)
      expect((await call(server.address, '/memory', { headers: { host: 'whatever' } })).status).toBe(200)
      await server.close()
      expect(existsSync(path)).toBe(false)
    })

    test('replace the file of a dead process, but not of one that answers', async () => {
      const path = join(folder, 'admin.sock')
      const { promise, resolve } = Promise.withResolvers<void>()
      const dead = createServer().listen(path, resolve)
      await promise
      await expect(start(`unix:${path}`)).rejects.toMatchObject({ code: 'EADDRINUSE' })
      dead.close()
    })
  })
})

describe('misbehaving clients', () => {
  const dial = (address: string): Promise<Socket> => {
    const [host, port] = address.split(':')
    return new Promise(resolve => {
      const socket = connect({ host, port: Number(port) }, () => resolve(socket))
      socket.on('error', () => {})
    })
  }

  test('a thousand silent ones do not block others, and further ones are rejected', async () => {
    const silent = await Promise.all(Array.from({ length: 1000 }, () => dial(admin.address)))
    expect((await call(admin.address, '/memory')).status).toBe(200)
    const more = await Promise.all(Array.from({ length: 100 }, () => dial(admin.address)))
    await Promise.any(more.map(socket => closeOf(socket)))
    for (const socket of [...silent, ...more]) socket.destroy()
    await expect.poll(() => call(admin.address, '/memory').then(({ status }) => status, String)).toBe(200)
  })

  test.each([
    ['nothing', ''],
    ['half a head', 'GET / HTTP/1.1\r\nHost: local'],
    ['a head and half a body', 'POST /logging HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nabc'],
  ])('one that sends %s times out', async (_name, bytes) => {
    const handler = () => text('ok\n')
    const paths = [{ path: '/logging', methods: ['POST' as const], summary: '', handler }]
    const server = await listen({ kind: 'tcp', hosts: ['127.0.0.1'], port: 0 }, { paths, requestTimeout: 40 })
    open.push(server)
    const socket = await dial(server.address)
    socket.write(bytes)
    await closeOf(socket)
  })

  test('a 20 KB request head is rejected', async () => {
    expect((await call(admin.address, '/memory', { headers: { x: 'a'.repeat(20_000) } })).status).toBe(431)
  })
})

describe('readiness and stats', () => {
  test('readiness lists what is pending', async () => {
    const server = await startReadiness('127.0.0.1:0', gateway)
    open.push(server)
    expect(await call(server.address, '/healthz/ready')).toMatchObject({ status: 200, text: 'ready\n' })
    gateway.pending = ['config', 'bind 3000']
    expect(await call(server.address, '/healthz/ready')).toMatchObject({
      status: 500,
      text: 'not ready, pending: config, bind 3000\n',
    })
    expect((await call(server.address, '/config_dump')).status).toBe(404)
    expect((await call(server.address, '/healthz/ready', { method: 'POST' })).status).toBe(405)
  })

  describe.each(['/metrics', '/stats/prometheus'])('%s', path => {
    const scrape = async (accept?: string) => {
      const server = await startStats('127.0.0.1:0', gateway)
      open.push(server)
      const headers = { host: 'gateway.monitoring', ...(accept === undefined ? {} : { accept }) }
      return call(server.address, path, { headers })
    }
    beforeEach(() => gateway.counted.counter('asked_total', 'Asked.').with().add(2))

    test.each([
      undefined,
      '',
      '*/*',
      'text/html',
      'text/plain;version=0.0.4',
      'application/openmetrics-text;q=0',
      'application/openmetrics-text;q=lots',
      'application/openmetrics-text;version=2.0.0, text/plain;q=0.1',
      'application/openmetrics-text;q=0.1, text/plain;q=0.9',
      'application/openmetrics-text;q=0.5, */*',
      'application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited',
    ])('Accept: %s gets Prometheus text', async accept => {
      const { status, headers, text } = await scrape(accept)
      expect(status).toBe(200)
      expect(headers).toMatchObject({ 'content-type': 'text/plain; version=0.0.4; charset=utf-8', vary: 'accept' })
      expect(text).toBe('# HELP asked_total Asked.\n# TYPE asked_total counter\nasked_total 2\n')
    })

    test.each([
      'application/openmetrics-text',
      'application/openmetrics-text; version="1.0.0"; charset=utf-8',
      'Application/OpenMetrics-Text, text/plain',
      'text/plain;q=0.4, application/openmetrics-text;version=1.0.0;q=0.5, */*;q=0.9',
      // What Prometheus 3 sends.
      'application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2',
    ])('Accept: %s gets OpenMetrics', async accept => {
      const { headers, text } = await scrape(accept)
      expect(headers['content-type']).toBe('application/openmetrics-text; version=1.0.0; charset=utf-8')
      expect(text).toBe('# HELP asked Asked.\n# TYPE asked counter\nasked_total 2\n# EOF\n')
    })
  })
})
