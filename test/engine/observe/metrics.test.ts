import { connect } from 'node:http2'
import { describe, expect, test } from 'vitest'
import { startGateway, type TestGateway } from '../../helpers/gateway.ts'
import { echo, startUpstream } from '../../helpers/upstream.ts'
import { ManualClock } from '../manual-clock.ts'
import { parseExposition, type Sample } from './exposition.ts'
import { until } from './until.ts'

const LABELS = {
  bind: 'bind/3000',
  gateway: 'default/default',
  listener: 'listener0',
  route: 'default/api',
  route_rule: 'unknown',
}
const API = { ...LABELS, backend: '/default/default/bind/3000/listener0/default/api/backend0' }
const ANSWERED = { ...API, protocol: 'http', method: 'GET', status: '200', reason: 'Upstream' }

function samples(gateway: TestGateway, name: string): Sample[] {
  return read(gateway).filter(sample => sample.name === `agentgateway_${name}`)
}

function read(gateway: TestGateway): readonly Sample[] {
  const { metrics } = gateway.gateway
  // The process goes on between two looks.
  const counted = (format: 'prometheus' | 'openmetrics') =>
    parseExposition(metrics.render(format), format).samples.filter(({ name }) => !name.startsWith('process_'))
  const open = counted('openmetrics')
  expect(counted('prometheus')).toEqual(open)
  return open
}

/** Sends GETs one after another and waits until all of them have been counted. */
async function get(gateway: TestGateway, ...paths: string[]): Promise<void> {
  const count = () => samples(gateway, 'requests_total').reduce((sum, each) => sum + each.value, 0)
  const wanted = count() + paths.length
  for (const path of paths) await fetch(gateway.url(3000) + path).then(r => r.arrayBuffer())
  await until(() => count() === wanted)
}

const config = (host: string, more = '') => `${more}
backends: [{name: shared, host: "${host}"}]
binds:
- port: 3000
  listeners:
  - routes:
    - name: api
      matches: [{path: {pathPrefix: /api}}]
      backends: [{host: "${host}"}]
    - name: shared
      ruleName: only
      matches: [{path: {pathPrefix: /shared}}]
      policies: {localRateLimit: [{maxTokens: 1, tokensPerFill: 1, fillInterval: 1h}]}
      backends: [{backend: /shared}]
    - matches: [{path: {exact: /direct}}]
      policies: {directResponse: {status: 418, body: tea}}
`

describe('request metrics', () => {
  test('one series per outcome, with agentgateway’s names for routes and backends', async () => {
    await using upstream = await startUpstream((_req, res) => res.end('12345'))
    await using gateway = await startGateway(config(upstream.host), { clock: new ManualClock() })
    await get(gateway, '/api/1', '/api/2?x', '/shared', '/shared', '/direct', '/none')
    const shared = { ...LABELS, route: 'default/shared', route_rule: 'only' }
    const own = { protocol: 'http', method: 'GET', backend: 'unknown' }
    expect(samples(gateway, 'requests_total')).toEqual(
      [
        { labels: ANSWERED, value: 2 },
        { labels: { ...ANSWERED, ...shared, backend: '/shared' }, value: 1 },
        { labels: { ...own, ...shared, status: '429', reason: 'RateLimit' }, value: 1 },
        { labels: { ...own, ...LABELS, route: 'default/route2', status: '418', reason: 'DirectResponse' }, value: 1 },
        { labels: { ...own, ...LABELS, route: 'unknown', status: '404', reason: 'NotFound' }, value: 1 },
      ].map(sample => ({ name: 'agentgateway_requests_total', ...sample })),
    )
    expect(samples(gateway, 'response_bytes_total')[0]).toMatchObject({ labels: ANSWERED, value: 10 })
    expect(samples(gateway, 'upstream_call_duration_seconds_count')).toMatchObject([
      { labels: { kind: 'Primary', subtype: 'Http' }, value: 3 },
    ])
  })

  test('a HEAD response has no bytes, whether proxied or generated', async () => {
    await using upstream = await startUpstream((_req, res) => res.end('12345'))
    await using gateway = await startGateway(config(upstream.host), { clock: new ManualClock() })
    for (const path of ['/api/1', '/direct', '/none']) await fetch(`${gateway.url(3000)}${path}`, { method: 'HEAD' })
    const session = connect(gateway.url(3000))
    session.request({ ':method': 'HEAD', ':path': '/direct' }).resume().end()
    await expect.poll(() => samples(gateway, 'requests_total').reduce((sum, { value }) => sum + value, 0)).toBe(4)
    session.destroy()
    expect(samples(gateway, 'response_bytes_total').map(({ value }) => value)).toEqual([0, 0, 0])
  })

  test('measures the request duration and the gateway’s share of it', async () => {
    const clock = new ManualClock()
    await using upstream = await startUpstream((_req, res) => {
      clock.advance(30)
      res.end('x')
    })
    await using gateway = await startGateway(config(upstream.host), { clock })
    await get(gateway, '/api')
    expect(samples(gateway, 'request_duration_seconds_sum')).toMatchObject([{ labels: ANSWERED, value: 0.03 }])
    const bucket = (le: string) =>
      samples(gateway, 'request_duration_seconds_bucket').find(sample => sample.labels.le === le)?.value
    expect([bucket('0.025'), bucket('0.05'), bucket('1.0'), bucket('+Inf')]).toEqual([0, 1, 1, 1])
    expect(samples(gateway, 'request_processing_seconds_sum')).toMatchObject([{ labels: API, value: 0 }])
    expect(samples(gateway, 'response_processing_seconds_count')).toMatchObject([{ labels: API, value: 1 }])
    expect(samples(gateway, 'upstream_call_duration_seconds_sum')[0]?.value).toBeCloseTo(0.03)
  })

  test('counts retries', async () => {
    let calls = 0
    await using upstream = await startUpstream((_req, res) => {
      res.writeHead(++calls < 3 ? 503 : 200).end()
    })
    const retrying = config(upstream.host).replace(
      'matches: [{path: {pathPrefix: /api}}]',
      'matches: [{path: {pathPrefix: /api}}]\n      policies: {retry: {attempts: 5, codes: [503]}}',
    )
    await using gateway = await startGateway(retrying)
    await get(gateway, '/api')
    expect(samples(gateway, 'retries_total')).toMatchObject([{ labels: ANSWERED, value: 2 }])
    expect(samples(gateway, 'upstream_call_duration_seconds_count')[0]?.value).toBe(3)
  })

  test('a reload continues the same series', async () => {
    await using upstream = await startUpstream(echo)
    await using gateway = await startGateway(config(upstream.host))
    await get(gateway, '/api')
    expect(await gateway.reload(config(upstream.host))).toEqual([])
    await get(gateway, '/api')
    expect(samples(gateway, 'requests_total')).toMatchObject([{ labels: ANSWERED, value: 2 }])
  })

  test('methods made up by clients share one series', async () => {
    await using upstream = await startUpstream(echo)
    await using gateway = await startGateway(config(upstream.host))
    for (const method of ['PROPFIND', 'SEARCH', 'QUERY']) {
      await fetch(`${gateway.url(3000)}/direct`, { method }).then(r => r.text())
    }
    await until(() => samples(gateway, 'requests_total')[0]?.value === 3)
    expect(samples(gateway, 'requests_total').map(sample => sample.labels.method)).toEqual(['_OTHER'])
  })

  test('MCP methods made up by clients share one series', async () => {
    await using gateway = await startGateway(
      `binds: [{port: 3000, listeners: [{routes: [{backends: [{mcp: {targets: [{name: t, mcp: {host: 'http://127.0.0.1:1/mcp'}}]}}]}]}]}]`,
    )
    const headers = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' }
    for (const method of ['x/1', 'constructor', 'tools/list']) {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method })
      await fetch(gateway.url(3000), { method: 'POST', headers, body }).then(r => r.text())
    }
    await until(() => samples(gateway, 'mcp_requests_total').reduce((sum, { value }) => sum + value, 0) === 3)
    const counted = samples(gateway, 'mcp_requests_total').map(({ labels, value }) => [labels.method, value])
    expect(counted.toSorted()).toEqual([
      ['_OTHER', 2],
      ['tools/list', 1],
    ])
  })
})

describe('config.metrics', () => {
  test('adds custom labels, with `unknown` for one that fails', async () => {
    const fields =
      'config: {metrics: {fields: {add: {path: request.path, who: jwt.sub, odd: \'"a\\"\\\\\\n"\', map: \'{"a": 1}\'}}}}'
    await using upstream = await startUpstream(echo)
    await using gateway = await startGateway(config(upstream.host, fields))
    await get(gateway, '/api/a', '/api/b', '/api/a')
    const own = { who: 'unknown', odd: 'a"\\\n', map: '{"a":1}' }
    expect(samples(gateway, 'requests_total')).toMatchObject([
      { labels: { ...ANSWERED, ...own, path: '/api/a' }, value: 2 },
      { labels: { ...ANSWERED, ...own, path: '/api/b' }, value: 1 },
    ])
    expect(samples(gateway, 'request_processing_seconds_count')[0]?.labels).toEqual({ ...API, ...own, path: '/api/a' })
  })

  test.each(['agentgateway_requests_total', 'requests_total', 'requests'])('%s can be excluded', async name => {
    await using upstream = await startUpstream(echo)
    await using gateway = await startGateway(config(upstream.host, `config: {metrics: {remove: [${name}, build]}}`))
    await fetch(`${gateway.url(3000)}/api`).then(r => r.text())
    await until(() => samples(gateway, 'request_duration_seconds_count').length === 1)
    const { types } = parseExposition(gateway.gateway.metrics.render(), 'prometheus')
    expect(types.has('agentgateway_requests_total')).toBe(false)
    expect(types.has('agentgateway_build_info')).toBe(false)
    expect(types.has('agentgateway_response_bytes_total')).toBe(true)
  })

  test.each([
    ['a-b', 'is not a label name'],
    ['__name__', 'is not a label name'],
    ['route', 'have a label `route` already'],
    ['le', 'have a label `le` already'],
  ])('the label %s is rejected', async (name, why) => {
    await expect(startGateway(`config: {metrics: {fields: {add: {${name}: '1'}}}}`)).rejects.toThrow(why)
  })

  test('only classic histograms are supported', async () => {
    await expect(startGateway('config: {histograms: native}')).rejects.toThrow('GW601')
  })
})
