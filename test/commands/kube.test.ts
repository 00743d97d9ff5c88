import type { Duplex } from 'node:stream'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { startAdmin } from '../../src/engine/admin/server.ts'
import { FakeGateway } from '../engine/admin/running-admin.ts'
import { startConnectProxy } from '../helpers/connect-proxy.ts'
import { docPage } from '../helpers/doc-page.ts'
import { message } from '../helpers/port-forward.ts'
import { EDGE, KubePlace, POD, pod, portIn, watched, withThreads } from './kube-place.ts'

let place: KubePlace
beforeEach(() => {
  place = new KubePlace()
})
afterEach(() => place[Symbol.asyncDispose]())

describe('commands forwarded to a pod', () => {
  test('dump', async () => {
    place.gateway.dumped = {
      ...(place.gateway.dumped as object),
      services: Array.from({ length: 2000 }, (_, i) => ({ name: `service-${i}` })),
    }
    await using cluster = await place.cluster([EDGE, POD])
    const { code, out } = await place.gwctl(cluster, 'dump', '-o', 'json', '--kube')
    expect(code).toBe(0)
    expect(JSON.parse(out)).toEqual(place.gateway.dumped)
  })

  test('log changes the filter', async () => {
    await using cluster = await place.cluster([EDGE, POD])
    expect(await place.gwctl(cluster, 'log', '--kube', 'edge', '--level', 'debug', '-q')).toEqual({
      code: 0,
      out: 'debug\n',
      err: '',
    })
    expect(place.gateway.log.filter()).toBe('debug')
  })

  test('trace, live', async () => {
    await using cluster = await place.cluster([EDGE, POD])
    const io = place.start(cluster, ['trace', '--raw', '--kube', 'edge'])
    place.gateway.finish(await watched(place.gateway), 204)
    expect(await io.ended).toBe(0)
    expect(io.stdout.text).toContain('"requestFinished"')
    expect(io.stderr.text).toMatch(
      /^Asking pod shop\/edge-1 of Gateway shop\/edge\.\nRecording the next request at .*edge-1.*\n$/,
    )
  })

  test('health through a proxy', async () => {
    await using cluster = await place.cluster([EDGE, POD])
    using proxy = await startConnectProxy(cluster.port)
    place.proxy = proxy.url
    expect((await place.gwctl(cluster, 'health', '--kube')).out).toBe('ready\n')
    expect(new Set(proxy.tunnels)).toEqual(new Set([`localhost:${cluster.port}`]))
  })

  test('profile', async () => {
    await using cluster = await place.cluster([EDGE, POD])
    const { code, out } = await place.gwctl(
      cluster,
      'profile',
      'heap',
      '--seconds',
      '1',
      '-o',
      'pprof=h.gz',
      '--kube',
      'edge',
    )
    expect([code, out]).toEqual([0, 'h.gz\n'])
  })

  test('top', async () => {
    await using cluster = await place.cluster([EDGE, POD])
    expect((await place.gwctl(cluster, 'top', '--interval', '100ms', '-o', 'json', '--kube', 'edge')).code).toBe(0)
  })
})

test('the examples in docs/cluster-access.md are valid commands', async () => {
  const examples = docPage('cluster-access.md').commands
  expect(examples.length).toBeGreaterThan(3)
  await using cluster = await place.cluster([])
  for (const { argv } of examples) {
    const { code, err } = await place.gwctl(cluster, ...argv)
    expect(err).toMatch(/namespace (prod|shop) has no (Gateway|Deployment)/)
    expect(code).toBe(4)
  }
})

describe('all pods', () => {
  const other = pod('edge-2')
  const pods = [EDGE, POD, other, pod('edge-3', { phase: 'Pending' })]
  /** Nobody listens in the last one. */
  const withSilent = { own: { 'edge-2': undefined } }

  test('log changes and shows all pods, or the one named', async () => {
    await using cluster = await place.cluster(pods)
    const { out, code, err } = await place.gwctl(cluster, 'log', '--kube', '--level', 'warn')
    expect([out, code, err]).toEqual(['shop/edge-1: warn\nshop/edge-2: warn\n', 0, ''])
    expect((await place.gwctl(cluster, 'log', '--kube', '--pod', 'edge-2')).out).toBe('warn\n')
  })

  test('log queries several pods at a time', async () => {
    const waiting: Duplex[] = []
    const answer = message(0, 'HTTP/1.1 200 OK\r\ncontent-length: 25\r\n\r\ncurrent log level is warn\n')
    const say = (socket: Duplex) => {
      waiting.push(socket)
      if (waiting.length === 8) for (const each of waiting) each.write(answer)
    }
    const eight = Array.from({ length: 8 }, (_, i) => pod(`edge-${i}`))
    const forwarding = { portOf: () => undefined, say }
    await using cluster = await place.cluster([EDGE, ...eight], { forwarding })
    const { out } = await place.gwctl(cluster, 'log', '--kube')
    expect(out).toBe(eight.map(({ metadata }) => `shop/${metadata.name}: warn\n`).join(''))
  })

  test('health reports each pod by name', async () => {
    await using cluster = await place.cluster(pods)
    expect(await place.gwctl(cluster, 'health', '--kube', '--all-pods')).toEqual({
      code: 0,
      out: 'shop/edge-1\n  ready\nshop/edge-2\n  ready\n',
      err: '',
    })
    const { out } = await place.gwctl(cluster, 'health', '--kube', '--all-pods', '-o', 'json')
    expect(JSON.parse(out)).toEqual([
      { pod: 'shop/edge-1', ready: true, backends: [] },
      { pod: 'shop/edge-2', ready: true, backends: [] },
    ])
    place.gateway.pending = ['configuration']
    expect((await place.gwctl(cluster, 'health', '--kube', '--all-pods')).code).toBe(1)
  })

  test('dump names the pod in every format', async () => {
    await using cluster = await place.cluster(pods)
    const dump = async (...argv: string[]) => (await place.gwctl(cluster, 'dump', '--kube', '--all-pods', ...argv)).out
    expect(JSON.parse(await dump('-o', 'json'))).toEqual([
      { pod: 'shop/edge-1', value: place.gateway.dumped },
      { pod: 'shop/edge-2', value: place.gateway.dumped },
    ])
    const lines = (await dump('-o', 'jsonl')).trim().split('\n')
    expect(new Set(lines.map(line => JSON.parse(line).pod))).toEqual(new Set(['shop/edge-1', 'shop/edge-2']))
    expect(await dump()).toMatch(/^# pod shop\/edge-1\n[^#]*---\n# pod shop\/edge-2\n/)
    expect(await dump('-o', 'dot')).toMatch(/^\/\/ pod shop\/edge-1\ndigraph/)
    expect(await dump('routes')).toMatch(/^pod shop\/edge-1\n[\s\S]*\npod shop\/edge-2\n/)
  })

  test('top measures each pod', async () => {
    await using cluster = await place.cluster(pods)
    const { code, out } = await place.gwctl(cluster, 'top', '--kube', '--all-pods', '--interval', '100ms', '--json')
    const looks = out
      .trim()
      .split('\n')
      .map(line => JSON.parse(line))
    expect(looks).toMatchObject([
      { pod: 'shop/edge-1', total: {} },
      { pod: 'shop/edge-2', total: {} },
    ])
    expect(code).toBe(0)
    expect((await place.gwctl(cluster, 'top', '--kube', '--all-pods', '--interval', '100ms')).out).toMatch(
      /^pod shop\/edge-1\n.* requests\/s[\s\S]*\npod shop\/edge-2\n/,
    )
  })

  test('trace shows one request, from the pod that handles it', async () => {
    const second = new FakeGateway()
    const other = await startAdmin('127.0.0.1:0', withThreads(second))
    await using cluster = await place.cluster(pods, { own: { 'edge-2': portIn(other.address) } })
    const io = place.start(cluster, ['trace', '--raw', '--kube', '--all-pods'])
    const x = await watched(second)
    second.finish(x, 418)
    expect(await io.ended).toBe(0)
    expect(io.stdout.text).toContain('418')
    expect(io.stderr.text).toBe('Recording the next request at 2 pods. Ctrl-C stops.\nSeen by pod shop/edge-2.\n')
    await expect.poll(() => cluster.forwarded.size).toBe(0)
    expect((await place.gwctl(cluster, 'trace', '--kube', '--all-pods', '--follow')).code).toBe(2)
    await other.close()
  })

  test('trace fails unless every pod answers', async () => {
    await using cluster = await place.cluster(pods, withSilent)
    const { code, err } = await place.gwctl(cluster, 'trace', '--kube', '--all-pods', '--raw')
    expect(err).toContain('pod shop/edge-2: connection refused')
    expect(code).toBe(4)
    await expect.poll(() => cluster.forwarded.size).toBe(0)
  })

  test('shows the pods that answer, then reports those that do not', async () => {
    await using cluster = await place.cluster(pods, withSilent)
    const { out, code, err } = await place.gwctl(cluster, 'health', '--kube', '--all-pods')
    expect(out).toBe('shop/edge-1\n  ready\n')
    expect(err).toContain('nothing answers on port 15000 of pod shop/edge-2')
    expect(code).toBe(4)
  })

  test('fails when no pod answers', async () => {
    await using cluster = await place.cluster(pods)
    const { out, code, err } = await place.gwctl(cluster, 'log', '--kube', '--admin-port', '1')
    expect([out, code]).toEqual(['', 4])
    expect(err.match(/nothing answers on port 1 of pod shop\/edge-[12]/g)).toHaveLength(2)
  })

  test('is a usage error with --pod or without --kube', async () => {
    await using cluster = await place.cluster(pods)
    expect((await place.gwctl(cluster, 'dump', '--kube', '--all-pods', '--pod', 'edge-1')).code).toBe(2)
    expect((await place.gwctl(cluster, 'dump', '--all-pods')).code).toBe(2)
  })
})
