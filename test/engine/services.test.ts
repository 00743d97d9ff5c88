import { describe, expect, test } from 'vitest'
import { dumpOf } from '../../src/config/dump.ts'
import { startGateway, type TestGateway } from '../helpers/gateway.ts'
import { echo, startUpstream, type Upstream } from '../helpers/upstream.ts'
import { ManualClock } from './manual-clock.ts'

const SERVICE = 'default/app.example.com'

interface Shape {
  readonly workloads: readonly { readonly port: number; readonly more?: string }[]
  readonly policies?: string
  readonly route?: string
  readonly service?: string
}

const file = ({ workloads, policies = '{}', route = '{}', service = '' }: Shape) =>
  `
binds: [{port: 8080, listeners: [{routes: [{policies: ${route}, backends: [{service: {name: ${SERVICE}, port: 80}, policies: ${policies}}]}]}]}]
services:
- {name: app, namespace: default, hostname: app.example.com, vips: [], ports: {"80": 8080}${service}}
workloads:${workloads.map(
    ({ port, more = '' }) => `
- {workloadIps: [127.0.0.1], namespace: default, services: {${SERVICE}: {"80": ${port}}}${more}}`,
  )}${workloads.length === 0 ? ' []' : ''}
`.replaceAll(',\n-', '\n-')

/** A server that tells its name, or fails while told to. */
async function named(name: string): Promise<Upstream & { fails: number; headers: Record<string, string> }> {
  const upstream = await startUpstream((_req, res) => {
    if (state.fails > 0) {
      state.fails--
      res.writeHead(503, state.headers).end(name)
    } else res.end(name)
  })
  const state = Object.assign(upstream, { fails: 0, headers: {} as Record<string, string> })
  return state
}

const text = async (gateway: TestGateway, init?: RequestInit) => (await fetch(gateway.url(8080), init)).text()
const asked = async (gateway: TestGateway, times: number) => {
  const out: string[] = []
  for (let i = 0; i < times; i++) out.push(await text(gateway))
  return out.sort().join('')
}
const health = (gateway: TestGateway) => {
  const { backends } = dumpOf(gateway.gateway.snapshot!, 'test')
  return (backends[0] as { health: { endpoint: string; state: string; health: number; timesEvicted: number }[] }).health
}

/** 0, then just below 1, and so on: both endpoints of a pair are drawn, each first in turn. */
const alternating = () => {
  let i = 0
  return () => (i++ % 4 < 2 ? 0 : 0.999)
}

describe('endpoints', () => {
  test('requests are spread over the service’s workloads, except unhealthy ones', async () => {
    await using a = await named('a')
    await using b = await named('b')
    await using c = await named('c')
    const config = file({
      workloads: [{ port: a.port }, { port: b.port }, { port: c.port, more: ', status: Unhealthy' }],
    })
    await using gateway = await startGateway(config, { clock: new ManualClock(), random: alternating() })
    expect(await asked(gateway, 8)).toBe('aaaabbbb')
  })

  test('`healthPolicy: AllowAll` also calls unhealthy workloads', async () => {
    await using a = await named('a')
    const config = file({
      workloads: [{ port: a.port, more: ', status: Unhealthy' }],
      service: ', ipFamilies: IPv4, loadBalancer: {mode: Standard, routingPreferences: [], healthPolicy: AllowAll}',
    })
    await using gateway = await startGateway(config)
    expect(await text(gateway)).toBe('a')
  })

  test('a workload without addresses is called by its hostname', async () => {
    await using a = await named('a')
    const config = file({ workloads: [{ port: a.port, more: ', hostname: localhost' }] })
    await using gateway = await startGateway(config.replace('workloadIps: [127.0.0.1]', 'workloadIps: []'))
    expect(await text(gateway)).toBe('a')
  })

  test('the client’s Host header is kept', async () => {
    await using upstream = await startUpstream(echo)
    await using gateway = await startGateway(file({ workloads: [{ port: upstream.port }] }))
    const seen = JSON.parse(await text(gateway)) as { headers: string[] }
    const at = seen.headers.findIndex(h => h.toLowerCase() === 'host')
    expect(seen.headers[at + 1]).toBe(new URL(gateway.url(8080)).host)
  })

  test('the service’s target port applies when a workload sets none', async () => {
    await using a = await named('a')
    const config = file({ workloads: [{ port: a.port }] })
      .replace('"80": 8080', `"80": ${a.port}`)
      .replace(`{"80": ${a.port}}}}`, '{}}}')
    await using gateway = await startGateway(config)
    expect(await text(gateway)).toBe('a')
  })

  test('a service without endpoints responds with 503', async () => {
    await using gateway = await startGateway(file({ workloads: [] }))
    const response = await fetch(gateway.url(8080))
    expect([response.status, await response.text()]).toEqual([503, 'no healthy backends'])
  })

  test('an endpoint with capacity 0 gets no requests', async () => {
    await using a = await named('a')
    await using b = await named('b')
    const config = file({ workloads: [{ port: a.port, more: ', capacity: 0' }, { port: b.port }] })
    await using gateway = await startGateway(config)
    expect(await asked(gateway, 5)).toBe('bbbbb')
  })

  test.each([
    [
      'an unknown service',
      'default/app.example.com, port: 80',
      'default/apps.example.com, port: 80',
      /GW204 no service is/,
    ],
    ['an unknown port', 'app.example.com, port: 80', 'app.example.com, port: 81', /GW208 .* has no port 81/],
  ])('%s is a finding', async (_name, from, to, finding) => {
    const wrong = file({ workloads: [] }).replace(from, to)
    await expect(startGateway(wrong)).rejects.toThrow(finding)
  })

  test('appProtocols selects the HTTP version', async () => {
    await using a = await named('a')
    const config = file({ workloads: [{ port: a.port }], service: ', appProtocols: {"80": Http2}' })
    await using gateway = await startGateway(config)
    // The server speaks HTTP/1.1 only.
    expect((await fetch(gateway.url(8080))).status).toBe(503)
  })

  test('session affinity pins a value to an endpoint', async () => {
    await using a = await named('a')
    await using b = await named('b')
    const workloads = [{ port: a.port }, { port: b.port }]
    const policies = `{sessionAffinity: {source: 'request.headers["x-user"]'}}`
    await using gateway = await startGateway(file({ workloads, policies }))
    const users = Array.from({ length: 24 }, (_, i) => `user${i}`)
    const first = await Promise.all(users.map(u => text(gateway, { headers: { 'x-user': u } })))
    const second = await Promise.all(users.map(u => text(gateway, { headers: { 'x-user': u } })))
    expect(second).toEqual(first)
    expect(new Set(first).size).toBe(2)
  })
})

describe('health', () => {
  const evicting = (eviction: string, more = '') => `{health: {eviction: ${eviction}${more}}}`

  test('a failing endpoint is evicted for a while', async () => {
    await using a = await named('a')
    await using b = await named('b')
    const clock = new ManualClock()
    const config = file({ workloads: [{ port: a.port }, { port: b.port }], policies: evicting('{duration: 10s}') })
    await using gateway = await startGateway(config, { clock, random: alternating() })
    a.fails = 1
    expect(await asked(gateway, 8)).toBe('abbbbbbb')
    expect(health(gateway).map(h => h.state)).toEqual(['evicted', 'healthy'])
    clock.advance(9999)
    expect(health(gateway).map(h => h.state)).toEqual(['evicted', 'healthy'])
    clock.advance(1)
    expect(health(gateway)[0]).toMatchObject({ state: 'healthy', health: 0.7 })
  })

  test('each eviction lasts longer until a request succeeds', async () => {
    await using a = await named('a')
    const clock = new ManualClock()
    const config = file({ workloads: [{ port: a.port }], policies: evicting('{duration: 10s}') })
    await using gateway = await startGateway(config, { clock })
    const evictedFor = async () => {
      a.fails = 1
      await asked(gateway, 1)
      for (let seconds = 0; ; seconds++) {
        if (health(gateway)[0]!.state === 'healthy') return seconds
        clock.advance(1000)
      }
    }
    expect([await evictedFor(), await evictedFor(), await evictedFor()]).toEqual([10, 20, 30])
    await asked(gateway, 1)
    expect(await evictedFor()).toBe(10)
  })

  test('eviction takes the configured number of consecutive failures', async () => {
    await using a = await named('a')
    const config = file({ workloads: [{ port: a.port }], policies: evicting('{consecutiveFailures: 2}') })
    await using gateway = await startGateway(config, { clock: new ManualClock() })
    a.fails = 1
    await asked(gateway, 2)
    a.fails = 1
    await asked(gateway, 1)
    expect(health(gateway)[0]!.state).toBe('healthy')
    a.fails = 1
    await asked(gateway, 1)
    expect(health(gateway)[0]!.state).toBe('evicted')
  })

  test('an endpoint below the health threshold is evicted and returns with restoreHealth', async () => {
    await using a = await named('a')
    const clock = new ManualClock()
    const policies = evicting('{healthThreshold: 0.5, restoreHealth: 0.9}')
    await using gateway = await startGateway(file({ workloads: [{ port: a.port }], policies }), { clock })
    a.fails = 2
    await asked(gateway, 1)
    expect(health(gateway)[0]).toMatchObject({ state: 'healthy', health: 0.7 })
    await asked(gateway, 1)
    expect(health(gateway)[0]!.state).toBe('evicted')
    clock.advance(3000)
    expect(health(gateway)[0]).toMatchObject({ state: 'healthy', health: 0.9 })
  })

  test('if every endpoint is evicted, they are used anyway', async () => {
    await using a = await named('a')
    await using b = await named('b')
    const config = file({ workloads: [{ port: a.port }, { port: b.port }], policies: evicting('{duration: 60s}') })
    await using gateway = await startGateway(config, { clock: new ManualClock(), random: alternating() })
    a.fails = b.fails = 1
    await asked(gateway, 2)
    expect(health(gateway).map(h => h.state)).toEqual(['evicted', 'evicted'])
    expect((await fetch(gateway.url(8080))).status).toBe(200)
  })

  test('without a health policy nothing is evicted, but the health score affects selection', async () => {
    await using a = await named('a')
    await using b = await named('b')
    const config = file({ workloads: [{ port: a.port }, { port: b.port }] })
    await using gateway = await startGateway(config, { clock: new ManualClock(), random: alternating() })
    a.fails = 1
    expect(await asked(gateway, 6)).toBe('abbbbb')
    expect(health(gateway).map(h => h.state)).toEqual(['healthy', 'healthy'])
  })

  test('an expression defines unhealthy, and Retry-After of a 429 sets the eviction time', async () => {
    await using a = await startUpstream((_req, res) => void res.writeHead(429, { 'retry-after': '7' }).end())
    const clock = new ManualClock()
    const policies = `{health: {unhealthyExpression: response.code == 429}}`
    await using gateway = await startGateway(file({ workloads: [{ port: a.port }], policies }), { clock })
    await asked(gateway, 1)
    expect(health(gateway)[0]!.state).toBe('evicted')
    clock.advance(6999)
    expect(health(gateway)[0]!.state).toBe('evicted')
    clock.advance(1)
    expect(health(gateway)[0]!.state).toBe('healthy')
  })

  test('an empty health policy evicts nothing without a duration', async () => {
    await using a = await named('a')
    const config = file({ workloads: [{ port: a.port }], policies: '{health: {}}' })
    await using gateway = await startGateway(config, { clock: new ManualClock() })
    a.fails = 3
    await asked(gateway, 3)
    expect(health(gateway)[0]).toMatchObject({ state: 'healthy', timesEvicted: 0 })
  })

  test('an endpoint that refuses connections is evicted, and the retry uses another one', async () => {
    await using b = await named('b')
    const config = file({
      workloads: [{ port: 1 }, { port: b.port }],
      policies: evicting('{duration: 60s}'),
      route: '{retry: {attempts: 1}}',
    })
    await using gateway = await startGateway(config, { clock: new ManualClock(), random: alternating() })
    expect(await asked(gateway, 4)).toBe('bbbb')
    expect(health(gateway).map(h => h.state)).toEqual(['evicted', 'healthy'])
  })

  test('evictions survive a reload of unrelated settings', async () => {
    await using a = await named('a')
    await using b = await named('b')
    const shape = { workloads: [{ port: a.port }, { port: b.port }], policies: evicting('{duration: 60s}') }
    await using gateway = await startGateway(file(shape), { clock: new ManualClock(), random: alternating() })
    a.fails = 1
    await asked(gateway, 4)
    const route = '{requestHeaderModifier: {add: {x-a: "1"}}}'
    expect(await gateway.reload(file({ ...shape, route }))).toEqual([])
    expect(health(gateway).map(h => h.state)).toEqual(['evicted', 'healthy'])
    expect(await asked(gateway, 4)).toBe('bbbb')
  })
})
