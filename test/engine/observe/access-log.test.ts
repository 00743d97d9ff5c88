import { describe, expect, test } from 'vitest'
import { startGateway, type TestGateway, type TestGatewayOptions } from '../../helpers/gateway.ts'
import { echo, rawRequest, startUpstream } from '../../helpers/upstream.ts'
import { ManualClock } from '../manual-clock.ts'
import { until } from './until.ts'

const RULES = (host: string) => `
binds:
- port: 3000
  listeners:
  - routes:
    - name: api
      ruleName: first
      matches: [{path: {pathPrefix: /api}}]
      backends: [{host: "${host}"}]
    - matches: [{path: {exact: /direct}}]
      policies: {directResponse: {status: 418, body: tea}}
`

async function withUpstream(
  config: string,
  run: (gateway: TestGateway) => Promise<void>,
  options: TestGatewayOptions = {},
): Promise<void> {
  await using upstream = await startUpstream(echo)
  await using gateway = await startGateway(`${config}\n${RULES(upstream.host)}`, {
    clock: new ManualClock(),
    ...options,
  })
  await run(gateway)
}

/** The lines of the access log so far, once there are `count`. */
async function lines(gateway: TestGateway, count: number): Promise<string[]> {
  const all = () =>
    gateway.logged
      .join('')
      .split('\n')
      .filter(line => line.includes('request') && !line.includes('lines lost'))
  await until(() => all().length >= count)
  return all()
}

const withoutPorts = (line: string) => line.replace(/(endpoint|src\.addr)=127\.0\.0\.1:\d+/g, '$1=127.0.0.1:PORT')

test('writes one line per request with ordered fields and omits absent ones', async () => {
  await withUpstream('', async gateway => {
    await fetch(`${gateway.url(3000)}/api/x?q=1`).then(r => r.text())
    await fetch(`${gateway.url(3000)}/direct`).then(r => r.text())
    await fetch(`${gateway.url(3000)}/none`).then(r => r.text())
    const start = '2026-01-15T12:30:45.250Z\tinfo\trequest gateway=default/default listener=listener0'
    const from = 'src.addr=127.0.0.1:PORT http.method=GET http.host=127.0.0.1'
    expect((await lines(gateway, 3)).map(withoutPorts)).toEqual([
      `${start} route_rule=first route=default/api endpoint=127.0.0.1:PORT ${from} http.path="/api/x?q=1" http.version=HTTP/1.1 http.status=200 protocol=http duration=0ms`.replace(
        '"/api/x?q=1"',
        '/api/x?q=1',
      ),
      `${start} route=default/route1 ${from} http.path=/direct http.version=HTTP/1.1 http.status=418 protocol=http reason=DirectResponse duration=0ms`,
      `${start} ${from} http.path=/none http.version=HTTP/1.1 http.status=404 protocol=http error="route not found" reason=NotFound duration=0ms`,
    ])
  })
})

test('writes the same record as JSON', async () => {
  await withUpstream(
    'frontendPolicies: {accessLog: {add: {map: \'{"a": 1}\', list: "[1, 2.5]", big: "9007199254740993"}, remove: [src.addr, endpoint]}}',
    async gateway => {
      await fetch(`${gateway.url(3000)}/api/"x"`).then(r => r.text())
      expect((await lines(gateway, 1)).map(line => JSON.parse(line) as unknown)).toEqual([
        {
          level: 'info',
          time: '2026-01-15T12:30:45.250Z',
          scope: 'request',
          gateway: 'default/default',
          listener: 'listener0',
          route_rule: 'first',
          route: 'default/api',
          'http.method': 'GET',
          'http.host': '127.0.0.1',
          'http.path': '/api/%22x%22',
          'http.version': 'HTTP/1.1',
          'http.status': 200,
          protocol: 'http',
          duration: '0ms',
          map: { a: 1 },
          list: [1, 2.5],
          big: '9007199254740993',
        },
      ])
    },
    { logFormat: 'json' },
  )
})

describe('frontendPolicies.accessLog', () => {
  test('appends computed fields, drops failed and null ones, replaces names and expands maps', async () => {
    const config = `
frontendPolicies:
  accessLog:
    remove: [src.addr, endpoint, http.host, gateway, route_rule]
    add:
      agent: 'request.headers["user-agent"]'
      missing: jwt.sub
      nothing: 'null'
      http.path: '"<hidden>"'
      flat: 'flatten({"a": 1, "b": {"c": 2}})'
      map: '{"a": "x y"}'
      bytes: 'b"abc"'
      quoted: '"a\\"b c"'`
    await withUpstream(config, async gateway => {
      await fetch(`${gateway.url(3000)}/api`, { headers: { 'user-agent': 'me' } }).then(r => r.text())
      expect((await lines(gateway, 1))[0]?.split('\trequest ')[1]).toBe(
        'listener=listener0 route=default/api http.method=GET http.version=HTTP/1.1 http.status=200 protocol=http duration=0ms ' +
          'agent=me http.path=<hidden> flat.a=1 flat.b={"c":2} map={"a":"x y"} bytes=YWJj quoted="a\\"b c"',
      )
    })
  })

  test('a filter that evaluates to false drops the record', async () => {
    await withUpstream('frontendPolicies: {accessLog: {filter: response.code >= 400}}', async gateway => {
      await fetch(`${gateway.url(3000)}/api`).then(r => r.text())
      await fetch(`${gateway.url(3000)}/none`).then(r => r.text())
      await fetch(`${gateway.url(3000)}/direct`).then(r => r.text())
      expect((await lines(gateway, 2)).map(line => /http\.status=(\d+)/.exec(line)?.[1])).toEqual(['404', '418'])
    })
  })

  test('a filter that fails drops the record', async () => {
    await withUpstream(
      'frontendPolicies: {accessLog: {filter: jwt.admin == true || request.path == "/direct"}}',
      async gateway => {
        await fetch(`${gateway.url(3000)}/api`).then(r => r.text())
        await fetch(`${gateway.url(3000)}/direct`).then(r => r.text())
        expect(await lines(gateway, 1)).toHaveLength(1)
        expect(gateway.logged.join('')).toContain('http.path=/direct')
      },
    )
  })

  test('captures bodies while they are streamed', async () => {
    const add = '{sent: string(request.body), got: size(response.body), first: json(response.body).method}'
    await withUpstream(`frontendPolicies: {http: {maxBufferSize: 1000}, accessLog: {add: ${add}}}`, async gateway => {
      const big = 'x'.repeat(900)
      const body = new ReadableStream({
        start(stream) {
          for (const text of ['{"a":', '1}']) stream.enqueue(new TextEncoder().encode(text))
          stream.close()
        },
      })
      const reply = await fetch(`${gateway.url(3000)}/api`, { method: 'POST', body, duplex: 'half' } as RequestInit)
      expect(JSON.parse(await reply.text())).toMatchObject({ body: '{"a":1}' })
      await fetch(`${gateway.url(3000)}/api`, { method: 'PUT', body: big }).then(r => r.text())
      const [small, large] = await lines(gateway, 2)
      expect(small).toMatch(/ sent="\{\\"a\\":1\}" got=\d+ first=POST$/)
      // The answer repeats the request and is longer than the limit: it is not kept, but passed on.
      expect(large).toMatch(/ duration=0ms sent=x{900}$/)
    })
  })

  test('client input cannot forge a line or a field', async () => {
    const config = `
frontendPolicies:
  accessLog:
    add: {all: 'flatten(json(request.headers["x-q"]))'}`
    await withUpstream(config, async gateway => {
      for (const value of ['{"x y=z":"\\n\\u001b[31m http.status=200"}', '{"http.status":200}', 'no JSON']) {
        const head = `GET /direct HTTP/1.1\r\nhost: a\r\nx-q: ${value}\r\nconnection: close\r\n\r\n`
        await rawRequest(gateway.url(3000), head)
      }
      const [hostile, replaced, failed] = await lines(gateway, 3)
      expect(gateway.logged.join('').split('\n')).toHaveLength(4)
      expect(hostile).toMatch(/ duration=0ms "all\.x y=z"="\\n\\u001b\[31m http\.status=200"$/)
      expect(replaced).toMatch(/ http\.status=418 .* all\.http\.status=200$/)
      expect(failed).toMatch(/ duration=0ms$/)
    })
  })
})

test('config.logging accepts the same rules in its deprecated form', async () => {
  const config =
    'config: {logging: {filter: response.code == 404, fields: {add: {p: request.path}, remove: [http.path]}}}'
  await withUpstream(config, async gateway => {
    await fetch(`${gateway.url(3000)}/direct`).then(r => r.text())
    await fetch(`${gateway.url(3000)}/none`).then(r => r.text())
    const [only] = await lines(gateway, 1)
    expect(gateway.logged.join('').match(/http\.status/g)).toHaveLength(1)
    expect(only).toMatch(/ p=\/none$/)
    expect(only).not.toContain('http.path')
  })
})

test('setting both forms is an error at the deprecated one', async () => {
  const text = `
config:
  logging:
    filter: 'true'
    fields: {add: {a: '1'}}
frontendPolicies: {accessLog: {}}
`
  await expect(startGateway(text)).rejects.toThrow(
    /4:5 GW111 `config\.logging\.filter` is the deprecated form of `frontendPolicies\.accessLog`, and both are set\n5:5 GW111/,
  )
})

test('logs nothing when the level hides the record', async () => {
  await withUpstream(
    'frontendPolicies: {accessLog: {add: {a: fail()}}}',
    async gateway => {
      await fetch(`${gateway.url(3000)}/api`).then(r => r.text())
      await until(() => gateway.gateway.metrics.render().includes('status="200"'))
      expect(gateway.logged.join('')).toBe('')
    },
    { logFilter: 'info,request=warn' },
  )
})

test('logs connection and request ids at debug level', async () => {
  await withUpstream(
    '',
    async gateway => {
      await fetch(`${gateway.url(3000)}/api`).then(r => r.text())
      expect((await lines(gateway, 1))[0]).toMatch(/\trequest connection\.id=\d+ request\.id=\d+ gateway=/)
    },
    { logFilter: 'request=debug' },
  )
})

test('logs a request when the client disconnects', async () => {
  await using upstream = await startUpstream((_req, res) => {
    res.writeHead(200)
    res.write('begun')
  })
  await using gateway = await startGateway(RULES(upstream.host))
  const stop = new AbortController()
  const reply = await fetch(`${gateway.url(3000)}/api`, { signal: stop.signal })
  await reply.body?.getReader().read()
  expect(gateway.logged.join('')).toBe('')
  stop.abort()
  expect((await lines(gateway, 1))[0]).toMatch(/http\.status=200 protocol=http error="the client left" duration=\d+ms$/)
})
