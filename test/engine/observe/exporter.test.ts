import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { describe, expect, test } from 'vitest'
import { startGateway, type TestGateway } from '../../helpers/gateway.ts'
import { ownPort } from '../../helpers/own-port.ts'
import { ManualClock } from '../manual-clock.ts'
import { type OtlpReceiver, startReceiver } from './otlp-receiver.ts'
import { timeUntil, until } from './until.ts'

const config = (host: string, protocol: 'grpc' | 'http', more = '') => `
frontendPolicies:
  accessLog:
    add: {from: '"log"'}
    otlp: {host: "${host}", protocol: ${protocol}${more}}
binds: [{port: 3000, listeners: [{routes: [{policies: {directResponse: {status: 200, body: ok}}}]}]}]`

async function send(gateway: TestGateway, count: number, path = '/'): Promise<void> {
  const logged = () => (gateway.logged.join('').match(/\trequest /g) ?? []).length
  const wanted = logged() + count
  for (let sent = 0; sent < count; sent += 50) {
    const some = Array.from({ length: Math.min(50, count - sent) })
    await Promise.all(some.map(() => fetch(gateway.url(3000) + path).then(r => r.arrayBuffer())))
  }
  await until(() => logged() === wanted)
}

const lost = (gateway: TestGateway) =>
  Number(/telemetry_lost_total\{signal="logs"\} (\d+)/.exec(gateway.gateway.metrics.render())?.[1])

const paths = ({ logs }: OtlpReceiver) => logs.map(log => log.attributes['http.path'])

describe.each(['http', 'grpc'] as const)('access logs over OTLP, %s', protocol => {
  test('are batched for one second, with the same fields as the log', async () => {
    const clock = new ManualClock()
    await using receiver = await startReceiver(protocol)
    await using gateway = await startGateway(config(receiver.host, protocol), { clock })
    await send(gateway, 2, '/a')
    clock.advance(999)
    expect(receiver.calls).toEqual([])
    clock.advance(1)
    await until(() => receiver.logs.length === 2)
    expect(receiver.calls).toHaveLength(1)
    expect(receiver.logs[0]).toMatchObject({
      severity: '9 INFO',
      time: BigInt(Date.UTC(2026, 0, 15, 12, 30, 45, 250)) * 1_000_000n,
      traceId: '',
      attributes: {
        gateway: 'default/default',
        'http.path': '/a',
        'http.status': 'int:200',
        from: 'log',
        duration: '0ms',
      },
    })
    expect(receiver.resources).toEqual([{ 'service.name': 'agentgateway', 'service.version': '0' }])
  })

  test('use headers and resource attributes from the environment, overridden by the config', async () => {
    const clock = new ManualClock()
    await using receiver = await startReceiver(protocol)
    const env = {
      OTEL_SERVICE_NAME: 'edge',
      OTEL_RESOURCE_ATTRIBUTES: 'service.name=other,team=a%2Cb,zone=1,,=x',
      OTEL_EXPORTER_OTLP_HEADERS: 'X-Key=for%20all',
      OTEL_EXPORTER_OTLP_LOGS_HEADERS: 'x-key=secret%20key, not a name=1',
    }
    const text = config(receiver.host, protocol).replace(
      'frontendPolicies:',
      `frontendPolicies:\n  tracing: {host: "${receiver.host}", resources: {zone: '"2"'}}`,
    )
    await using gateway = await startGateway(text, { clock, env })
    await send(gateway, 1)
    clock.advance(1000)
    await until(() => receiver.logs.length === 1)
    expect(receiver.resources).toEqual([{ 'service.name': 'edge', 'service.version': '0', team: 'a,b', zone: '2' }])
    expect(receiver.calls.map(call => call.headers['x-key'])).toEqual(['secret key'])
  })

  test('send a full batch at once, and nothing twice', async () => {
    const clock = new ManualClock()
    await using receiver = await startReceiver(protocol)
    await using gateway = await startGateway(config(receiver.host, protocol), { clock })
    await send(gateway, 600)
    await until(() => receiver.logs.length >= 512)
    await timeUntil(clock, () => receiver.logs.length === 600)
    expect(lost(gateway)).toBe(0)
  })

  test('are flushed when the gateway stops', async () => {
    await using receiver = await startReceiver(protocol)
    {
      await using gateway = await startGateway(config(receiver.host, protocol), { clock: new ManualClock() })
      await send(gateway, 3)
      expect(receiver.logs).toEqual([])
    }
    expect(receiver.logs).toHaveLength(3)
  })

  test('retry a temporarily failed export with increasing delays', async () => {
    const clock = new ManualClock()
    await using receiver = await startReceiver(protocol)
    await using gateway = await startGateway(config(receiver.host, protocol), { clock, random: () => 0.5 })
    receiver.answers.push({ status: 503 }, protocol === 'grpc' ? { grpcStatus: 14 } : { status: 429, retryAfter: '7' })
    await send(gateway, 1)
    await timeUntil(clock, () => receiver.calls.length === 1)
    const first = await timeUntil(clock, () => receiver.calls.length === 2)
    const second = await timeUntil(clock, () => receiver.calls.length === 3)
    expect(Math.round(first / 500)).toBe(2)
    expect(Math.round(second / 500)).toBe(protocol === 'grpc' ? 4 : 14)
    expect(receiver.logs).toHaveLength(1)
    await until(() => gateway.logged.join('').includes('telemetry export recovered'))
    expect(gateway.logged.join('').match(/cannot be exported/g)).toHaveLength(1)
    expect(lost(gateway)).toBe(0)
  })

  test('do not retry a rejected export', async () => {
    const clock = new ManualClock()
    await using receiver = await startReceiver(protocol)
    await using gateway = await startGateway(config(receiver.host, protocol), { clock })
    receiver.answers.push(protocol === 'grpc' ? { grpcStatus: 3 } : { status: 400 })
    await send(gateway, 2, '/refused')
    clock.advance(1000)
    await until(() => lost(gateway) === 2)
    await send(gateway, 1, '/next')
    clock.advance(1000)
    await until(() => receiver.logs.length === 1)
    expect(paths(receiver)).toEqual(['/next'])
  })
})

describe('exporter settings', () => {
  test('filter and fields', async () => {
    const clock = new ManualClock()
    await using receiver = await startReceiver('http')
    const more = `, filter: 'request.path == "/b"', fields: {add: {q: '1'}, remove: [duration, http.path]}, path: /custom/logs`
    await using gateway = await startGateway(config(receiver.host, 'http', more), { clock })
    await send(gateway, 1, '/a')
    await send(gateway, 1, '/b')
    clock.advance(1000)
    await until(() => receiver.calls.length === 1)
    expect(receiver.calls[0]?.path).toBe('/custom/logs')
    expect(receiver.logs.map(log => log.attributes)).toEqual([
      {
        gateway: 'default/default',
        listener: 'listener0',
        route: 'default/route0',
        'src.addr': expect.any(String),
        'http.method': 'GET',
        'http.host': '127.0.0.1',
        'http.version': 'HTTP/1.1',
        'http.status': 'int:200',
        protocol: 'http',
        reason: 'DirectResponse',
        q: 'int:1',
      },
    ])
    expect(gateway.logged.join('')).toContain('http.path=/a')
  })

  test('policies on the collector: its headers', async () => {
    const clock = new ManualClock()
    await using receiver = await startReceiver('http')
    const more = ', policies: {requestHeaderModifier: {set: {x-tenant: "7"}}}'
    await using gateway = await startGateway(config(receiver.host, 'http', more), { clock })
    await send(gateway, 1)
    clock.advance(1000)
    await until(() => receiver.calls.length === 1)
    expect(receiver.calls[0]?.headers).toMatchObject({ 'x-tenant': '7', host: receiver.host })
    expect(receiver.logs).toHaveLength(1)
  })

  test('a named backend as the collector', async () => {
    const clock = new ManualClock()
    await using receiver = await startReceiver('grpc')
    const text = config('x:1', 'grpc').replace('host: "x:1"', 'backend: /collector')
    const named = `${text}\nbackends: [{name: collector, host: "${receiver.host}"}]`
    await using gateway = await startGateway(named, { clock })
    await send(gateway, 1)
    clock.advance(1000)
    await until(() => receiver.logs.length === 1)
  })
})

describe.each(['http', 'grpc'] as const)('a collector that accepts connections but never responds, %s', protocol => {
  test('does not affect requests, and gets every record after it recovers', async () => {
    const clock = new ManualClock()
    const sockets = new Set<Socket>()
    const silent = createServer(socket => {
      sockets.add(socket.on('error', () => {}).resume())
      socket.on('close', () => sockets.delete(socket))
    })
    const port = await ownPort()
    await once(silent.listen(port, '127.0.0.1'), 'listening')
    await using gateway = await startGateway(config(`127.0.0.1:${port}`, protocol), { clock })
    await send(gateway, 20, '/before')
    clock.advance(1000)
    await until(() => sockets.size === 1)
    // Requests go on while the export hangs, and what they leave waits for its turn.
    await send(gateway, 100, '/meanwhile')
    await timeUntil(clock, () => gateway.logged.join('').includes('cannot be exported'))
    expect(sockets.size).toBeLessThanOrEqual(1)
    silent.close()
    for (const socket of sockets) socket.destroy()
    await using receiver = await startReceiver(protocol, port)
    await timeUntil(clock, () => receiver.logs.length >= 120)
    expect(paths(receiver).filter(path => path === '/before')).toHaveLength(20)
    expect(receiver.logs).toHaveLength(120)
    expect(lost(gateway)).toBe(0)
    expect(gateway.logged.join('')).toContain('telemetry export recovered')
  })
})

describe('an unreachable collector', () => {
  const dead = config('127.0.0.1:1', 'http')

  test('does not affect requests; the oldest records are dropped and counted', async () => {
    const clock = new ManualClock()
    await using gateway = await startGateway(dead, { clock })
    await send(gateway, 4096 + 512)
    await send(gateway, 100)
    await until(() => lost(gateway) >= 100)
    const reply = await fetch(`${gateway.url(3000)}/`)
    expect(await reply.text()).toBe('ok')
    expect(gateway.logged.join('').match(/cannot be exported/g)).toHaveLength(1)
  })

  test('does not keep the gateway from stopping', async () => {
    const gateway = await startGateway(dead)
    await send(gateway, 3)
    await gateway[Symbol.asyncDispose]()
    expect(lost(gateway)).toBe(3)
  })

  test('a reload sends pending records to the new collector', async () => {
    const clock = new ManualClock()
    await using receiver = await startReceiver('grpc')
    await using gateway = await startGateway(dead, { clock })
    await send(gateway, 2, '/before')
    expect(await gateway.reload(config(receiver.host, 'grpc'))).toEqual([])
    await send(gateway, 1, '/after')
    clock.advance(1000)
    await until(() => receiver.logs.length === 3)
    expect(paths(receiver)).toEqual(['/before', '/before', '/after'])
  })
})
