import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { describe, expect, test } from 'vitest'
import { startGateway } from '../helpers/gateway.ts'
import { echo, startUpstream, type Upstream } from '../helpers/upstream.ts'
import { ManualClock } from './manual-clock.ts'

interface Copy {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

/** A server that keeps what it gets and, unless it is to answer, never says a word. */
async function recorder(answers = true): Promise<Upstream & { copies: Copy[]; next(): Promise<Copy> }> {
  const copies: Copy[] = []
  const upstream = await startUpstream((req, res) => {
    const chunks: Buffer[] = []
    req.on('data', (chunk: Buffer) => chunks.push(chunk))
    req.on('end', () => {
      copies.push({ method: req.method!, url: req.url!, headers: req.headers, body: Buffer.concat(chunks).toString() })
      upstream.server.emit('copied')
      if (answers) res.writeHead(500).end('mirror')
    })
  })
  return Object.assign(upstream, {
    copies,
    next: async () => {
      if (copies.length === 0) await once(upstream.server, 'copied')
      return copies.shift()!
    },
  })
}

const file = (backend: string, mirror: string, percentage = '1', more = '') => `
binds: [{port: 8080, listeners: [{routes: [{
  backends: [{host: '${backend}'}],
  policies: {requestMirror: {backend: ${mirror}, percentage: ${percentage}}, requestHeaderModifier: {add: {x-route: '1'}}}}]}]}]
${more}`

describe('a mirrored request', () => {
  test('has the headers sent to the backend and no body', async () => {
    await using upstream = await startUpstream(echo)
    await using mirror = await recorder()
    await using gateway = await startGateway(file(upstream.host, `{host: '${mirror.host}'}`))
    const response = await fetch(`${gateway.url(8080)}/a?q=1`, {
      method: 'POST',
      body: 'hello',
      headers: { 'x-own': '2' },
    })
    expect(((await response.json()) as { body: string }).body).toBe('hello')
    const copy = await mirror.next()
    expect([copy.method, copy.url, copy.body]).toEqual(['POST', '/a?q=1', ''])
    expect(copy.headers).toMatchObject({ 'x-own': '2', 'x-route': '1', 'content-length': '0' })
  })

  test('goes to several mirrors, each with its own percentage', async () => {
    await using upstream = await startUpstream(echo)
    await using first = await recorder()
    await using second = await recorder()
    await using never = await recorder()
    const more = `, more: [{backend: {host: '${second.host}'}, percentage: 1}, {backend: {host: '${never.host}'}, percentage: 0}]`
    const text = file(upstream.host, `{host: '${first.host}'}`).replace('percentage: 1', `percentage: 1${more}`)
    await using gateway = await startGateway(text)
    await fetch(`${gateway.url(8080)}/a`)
    expect([(await first.next()).url, (await second.next()).url]).toEqual(['/a', '/a'])
    expect(never.copies).toEqual([])
  })

  test('goes to a named backend under the policies of that backend', async () => {
    await using upstream = await startUpstream(echo)
    await using mirror = await recorder()
    const backends = `backends: [{name: m, host: '${mirror.host}', policies: {requestHeaderModifier: {set: {x-mirrored: 'yes'}}}}]`
    await using gateway = await startGateway(file(upstream.host, '{backend: /m}', '1', backends))
    const seen = (await (await fetch(gateway.url(8080))).json()) as { headers: string[] }
    expect(seen.headers).not.toContain('x-mirrored')
    expect((await mirror.next()).headers['x-mirrored']).toBe('yes')
  })

  test('goes to a service', async () => {
    await using upstream = await startUpstream(echo)
    await using mirror = await recorder()
    const mesh = `
services: [{name: m, namespace: default, hostname: m.test, vips: [], ports: {"80": ${mirror.port}}}]
workloads: [{workloadIps: [127.0.0.1], namespace: default, services: {default/m.test: {}}}]`
    const target = '{service: {name: default/m.test, port: 80}}'
    await using gateway = await startGateway(file(upstream.host, target, '1', mesh))
    await fetch(gateway.url(8080))
    expect((await mirror.next()).method).toBe('GET')
  })

  test('counts as a separate call in the metrics', async () => {
    await using upstream = await startUpstream(echo)
    await using mirror = await recorder()
    await using gateway = await startGateway(file(upstream.host, `{host: '${mirror.host}'}`))
    await fetch(gateway.url(8080))
    const series = 'agentgateway_upstream_call_duration_seconds_count{kind="Mirror",subtype="Http"}'
    await expect.poll(() => gateway.gateway.metrics.render()).toContain(`${series} 1`)
  })

  test('is sent for the configured share of requests', async () => {
    await using upstream = await startUpstream(echo)
    await using mirror = await recorder()
    const draws = [0.1, 0.9, 0.29, 0.3]
    const random = () => draws.shift() ?? 0
    const config = file(upstream.host, `{host: '${mirror.host}'}`, '0.3')
    await using gateway = await startGateway(config, { random })
    for (const path of ['a', 'b', 'c', 'd']) await fetch(`${gateway.url(8080)}/${path}`)
    const urls = [(await mirror.next()).url, (await mirror.next()).url]
    expect(urls.sort()).toEqual(['/a', '/c'])
    expect(mirror.copies).toEqual([])
  })
})

describe('the original request', () => {
  test('does not wait for the mirror’s response', async () => {
    await using upstream = await startUpstream(echo)
    await using mirror = await recorder(false)
    await using gateway = await startGateway(file(upstream.host, `{host: '${mirror.host}'}`))
    expect((await fetch(gateway.url(8080))).status).toBe(200)
    await mirror.next()
  })

  test('leaves no connection open when the mirror’s response never ends', async () => {
    const clock = new ManualClock()
    await using upstream = await startUpstream(echo)
    const gone = Promise.withResolvers<void>()
    await using mirror = await startUpstream((req, res) => {
      req.socket.once('close', () => gone.resolve())
      res.writeHead(200).write('and so on')
    })
    await using gateway = await startGateway(file(upstream.host, `{host: '${mirror.host}'}`), { clock })
    expect((await fetch(gateway.url(8080))).status).toBe(200)
    const series = 'agentgateway_upstream_call_duration_seconds_count{kind="Mirror",subtype="Http"}'
    await expect.poll(() => gateway.gateway.metrics.render()).toContain(`${series} 1`)
    clock.advance(30_000)
    await gone.promise
  })

  test('is not affected by an unreachable mirror', async () => {
    await using upstream = await startUpstream(echo)
    await using gateway = await startGateway(file(upstream.host, `{host: '127.0.0.1:1'}`))
    expect((await fetch(gateway.url(8080))).status).toBe(200)
  })
})

test.each([
  ['{backend: /nope}', '', /GW201 no backend is named/],
  [
    '{backend: /m}',
    'backends: [{name: m, mcp: {targets: [{name: t, mcp: {host: "http://127.0.0.1:1/mcp"}}]}}]',
    /GW211 .* kind `mcp`/,
  ],
])('a mirror to %s is a finding', async (target, more, finding) => {
  await expect(startGateway(file('127.0.0.1:1', target, '1', more))).rejects.toThrow(finding)
})
