import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { main } from '../../src/cli/main.ts'
import type { Listening } from '../../src/engine/admin/listen.ts'
import { startAdmin } from '../../src/engine/admin/server.ts'
import { thisThread } from '../../src/engine/admin/threads.ts'
import { systemClock } from '../../src/engine/clock.ts'
import { memoryIo } from '../cli/memory-io.ts'
import { FakeGateway } from '../engine/admin/running-admin.ts'
import { type KubeServerOptions, startKubeServer } from '../helpers/kube-server.ts'
import { message } from '../helpers/port-forward.ts'
import { frame } from '../helpers/websocket.ts'

const root = new URL('../../', import.meta.url)
const API = 'gateway.networking.k8s.io/v1'
const KINDS = {
  v1: { Pod: 'pods', Service: 'services' },
  [API]: { Gateway: 'gateways' },
  'apps/v1': {
    Deployment: 'deployments',
    ReplicaSet: 'replicasets',
    StatefulSet: 'statefulsets',
    DaemonSet: 'daemonsets',
  },
}
const OF_EDGE = { 'gateway.networking.k8s.io/gateway-name': 'edge', app: 'edge' }

function pod(name: string, { ready = true, phase = 'Running', labels = OF_EDGE as object, leaving = false } = {}) {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'shop', labels, ...(leaving ? { deletionTimestamp: '2026-11-21T12:00:00Z' } : {}) },
    status: { phase, conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }] },
  }
}
function resource(apiVersion: string, kind: string, name: string, spec: object = {}, namespace = 'shop') {
  return { apiVersion, kind, metadata: { name, namespace }, spec }
}
const EDGE = resource(API, 'Gateway', 'edge')
const POD = pod('edge-1')

let folder: string
let gateway: FakeGateway
let admin: Listening

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gwctl-kube-'))
  gateway = new FakeGateway()
  gateway.dumped = {
    binds: [],
    listeners: [],
    routes: [],
    policies: [],
    services: [],
    workloads: [],
    backends: [],
    version: { version: '1' },
    config: {},
  }
  admin = await startAdmin('127.0.0.1:0', Object.assign(gateway, { threads: thisThread('main', systemClock) }))
})

afterEach(async () => {
  await admin.close()
  rmSync(folder, { recursive: true })
})

/** A cluster in which port 15000 of every pod is the admin server. */
function startCluster(items: readonly object[], more: Partial<KubeServerOptions> = {}) {
  const portOf = (port: number) => (port === 15_000 ? Number(admin.address.split(':')[1]) : undefined)
  return startKubeServer({ kinds: KINDS, items: items as KubeServerOptions['items'], forwarding: { portOf }, ...more })
}

type Cluster = Awaited<ReturnType<typeof startCluster>>

async function gwctl(cluster: Cluster, ...argv: string[]) {
  const io = await running(cluster, argv)
  const code = await io.ended
  expect(io.stdout.text + io.stderr.text).not.toContain('secret-token')
  return { code, out: io.stdout.text, err: io.stderr.text }
}

function running({ url, authority }: Cluster, argv: readonly string[]) {
  const ca = Buffer.from(authority).toString('base64')
  const config = {
    'current-context': 'main',
    clusters: [{ name: 'c', cluster: { server: url, 'certificate-authority-data': ca } }],
    users: [{ name: 'u', user: { token: 'secret-token' } }],
    contexts: [{ name: 'main', context: { cluster: 'c', user: 'u', namespace: 'shop' } }],
  }
  writeFileSync(join(folder, 'config'), JSON.stringify(config))
  const io = memoryIo({ cwd: folder, env: { KUBECONFIG: join(folder, 'config') } })
  return Object.assign(io, { ended: main(argv, io, root) })
}

describe('which pod is asked', () => {
  const deployment = resource('apps/v1', 'Deployment', 'edge', { selector: { matchLabels: { app: 'edge' } } })
  const expressions = [
    { key: 'app', operator: 'In', values: ['edge', 'other'] },
    { key: 'track', operator: 'DoesNotExist' },
    { key: 'app', operator: 'NotIn', values: ['canary'] },
    { key: 'app', operator: 'Exists' },
  ]
  const all = [
    EDGE,
    POD,
    pod('canary', { labels: { app: 'edge', track: 'canary' } }),
    pod('other', { labels: { app: 'nobody' } }),
    deployment,
    resource('apps/v1', 'ReplicaSet', 'edge-7d', { selector: { matchExpressions: expressions } }),
    resource('apps/v1', 'StatefulSet', 'edge', {
      selector: { matchLabels: { app: 'edge' }, matchExpressions: expressions },
    }),
    resource('apps/v1', 'DaemonSet', 'edge', { selector: { matchExpressions: expressions } }),
    resource('v1', 'Service', 'edge', { selector: { ...OF_EDGE } }),
  ]
  test.each([
    ['--kube'],
    ['--kube', 'edge'],
    ['--kube', 'gateway/edge.shop'],
    ['--kube', 'gtw/edge', '-n', 'shop'],
    ['--kube', 'pod/edge-1.shop', '-n', 'shop'],
    ['--kube', 'po/edge-1'],
    ['--kube', 'svc/edge'],
    ['--kube', 'deploy/edge', '--pod', 'edge-1'],
    ['--kube', 'replicaset/edge-7d'],
    ['--kube', 'StatefulSet/edge'],
    ['--kube=ds/edge'],
  ])('%s %s %s %s', async (...flags) => {
    await using cluster = await startCluster(all)
    const { code, out, err } = await gwctl(cluster, 'health', ...flags)
    expect([out, code]).toEqual(['ready\n', 0])
    expect(err).toContain('Asking pod shop/edge-1')
    expect(cluster.requests.at(-1)).toBe('/api/v1/namespaces/shop/pods/edge-1/portforward?ports=15000')
  })

  test('of several the first that is ready, and it is said', async () => {
    const several = [
      pod('a', { ready: false }),
      pod('b', { leaving: true }),
      pod('d'),
      pod('c'),
      pod('0', { phase: 'Failed' }),
    ]
    await using cluster = await startCluster([EDGE, ...several])
    const { err } = await gwctl(cluster, 'health', '--kube')
    expect(err).toBe('Asking pod shop/c, one of 4 of Gateway shop/edge (2 ready); --pod names another.\n')
    expect((await gwctl(cluster, 'health', '--kube', '-q', '--pod', 'a')).err).toBe('')
    expect(cluster.requests.at(-1)).toContain('/pods/a/portforward')
  })

  test('a name with dots, where the namespace is said otherwise', async () => {
    await using cluster = await startCluster([pod('edge.v1')])
    expect((await gwctl(cluster, 'health', '--kube', 'pod/edge.v1', '-n', 'shop')).code).toBe(0)
  })

  const twoGateways = [EDGE, resource(API, 'Gateway', 'inner')]
  test.each<[string, readonly object[], readonly string[], number, readonly string[]]>([
    ['several Gateways', twoGateways, ['--kube'], 2, ['has 2 Gateways', 'Name one with --kube NAME: edge, inner.']],
    ['no Gateway', [], ['--kube'], 4, ['namespace shop has no Gateway.', '-n']],
    ['no such Gateway', [EDGE], ['--kube', 'egde'], 4, ['has no Gateway egde: did you mean `edge`?']],
    ['no such pod', [POD], ['--kube', 'pod/edge-2'], 4, ['did you mean `edge-1`?', 'It has: edge-1.']],
    [
      'no such pod of it',
      [EDGE, POD],
      ['--kube', '--pod', 'edg-1'],
      4,
      ['Gateway shop/edge has no running pod edg-1: did you mean `edge-1`?'],
    ],
    ['no pods', [EDGE], ['--kube', 'edge'], 4, ['Gateway shop/edge has no running pod.']],
    ['no running pods', [EDGE, pod('x', { phase: 'Pending' })], ['--kube'], 4, ['has no running pod: x is Pending.']],
    [
      'a pod that ended',
      [pod('x', { phase: 'Succeeded' })],
      ['--kube', 'pod/x'],
      4,
      ['Pod shop/x does not run: it is Succeeded.'],
    ],
    [
      'a Service without pods',
      [resource('v1', 'Service', 'ext')],
      ['--kube', 'svc/ext'],
      4,
      ['Service shop/ext selects no pods.'],
    ],
    ['another type', [], ['--kube', 'deplyment/x'], 2, ['did you mean `deployment`?', 'Types: pod, gateway, ']],
    ['a path for a name', [], ['--kube', 'pod/../../x'], 2, ['names no resource']],
    ['flags of a cluster without one', [], ['--pod', 'x'], 2, ['--kube']],
    ['two places', [], ['--kube', 'x', '--local'], 2, ['--kube']],
  ])('%s', async (_what, items, flags, code, words) => {
    await using cluster = await startCluster(items)
    const told = await gwctl(cluster, 'health', ...flags)
    for (const each of words) expect(told.err).toContain(each)
    expect(told.code).toBe(code)
  })

  test.each([
    ['pods', ['--kube', 'edge'], 'list on pods there'],
    ['gateways', ['--kube'], 'list on gateways.gateway.networking.k8s.io there'],
    ['deployments', ['--kube', 'deploy/edge'], 'get on deployments.apps there'],
    ['pods/portforward', ['--kube', 'edge'], 'verbs create and get on pods/portforward in namespace shop'],
  ])('what may not be read: %s', async (forbidden, flags, words) => {
    await using cluster = await startCluster(all, { forbidden: [forbidden] })
    const { code, err } = await gwctl(cluster, 'health', ...flags)
    expect(err).toContain(words)
    expect(err).toContain('docs/cluster-access.md')
    expect(code).toBe(4)
  })
})

describe('what comes through', () => {
  test('dump', async () => {
    gateway.dumped = {
      ...(gateway.dumped as object),
      services: Array.from({ length: 2000 }, (_, i) => ({ name: `service-${i}` })),
    }
    await using cluster = await startCluster([EDGE, POD])
    const { code, out } = await gwctl(cluster, 'dump', '-o', 'json', '--kube')
    expect(code).toBe(0)
    expect(JSON.parse(out)).toEqual(gateway.dumped)
  })

  test('log changes the filter', async () => {
    await using cluster = await startCluster([EDGE, POD])
    expect(await gwctl(cluster, 'log', '--kube', 'edge', '--level', 'debug', '-q')).toEqual({
      code: 0,
      out: 'debug\n',
      err: '',
    })
    expect(gateway.log.filter()).toBe('debug')
  })

  test('trace, as it happens', async () => {
    await using cluster = await startCluster([EDGE, POD])
    const io = running(cluster, ['trace', '--raw', '--kube', 'edge'])
    let x = gateway.arrive('/one')
    while (x.trace === undefined) {
      await new Promise(setImmediate)
      x = gateway.arrive('/one')
    }
    gateway.finish(x, 204)
    expect(await io.ended).toBe(0)
    expect(io.stdout.text).toContain('"requestFinished"')
    expect(io.stderr.text).toBe('Asking pod shop/edge-1 of Gateway shop/edge.\n')
  })

  test('profile', async () => {
    await using cluster = await startCluster([EDGE, POD])
    const { code, out } = await gwctl(
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
    await using cluster = await startCluster([EDGE, POD])
    expect((await gwctl(cluster, 'top', '--interval', '100ms', '-o', 'json', '--kube', 'edge')).code).toBe(0)
  })
})

describe('all pods', () => {
  const other = pod('edge-2')
  const pods = [EDGE, POD, other, pod('edge-3', { phase: 'Pending' })]
  /** The admin server of the last pod is not there. */
  const withSilent = {
    forwarding: { portOf: () => Number(admin.address.split(':')[1]), silent: ['edge-2'] },
  }

  test('log changes and shows every one, or the one that is named', async () => {
    await using cluster = await startCluster(pods)
    const { out, code, err } = await gwctl(cluster, 'log', '--kube', '--level', 'warn')
    expect([out, code, err]).toEqual(['shop/edge-1: warn\nshop/edge-2: warn\n', 0, ''])
    expect((await gwctl(cluster, 'log', '--kube', '--pod', 'edge-2')).out).toBe('warn\n')
  })

  test('health tells each by its name', async () => {
    await using cluster = await startCluster(pods)
    expect(await gwctl(cluster, 'health', '--kube', '--all-pods')).toEqual({
      code: 0,
      out: 'shop/edge-1\n  ready\nshop/edge-2\n  ready\n',
      err: '',
    })
    const { out } = await gwctl(cluster, 'health', '--kube', '--all-pods', '-o', 'json')
    expect(JSON.parse(out)).toEqual([
      { pod: 'shop/edge-1', ready: true, backends: [] },
      { pod: 'shop/edge-2', ready: true, backends: [] },
    ])
    gateway.pending = ['configuration']
    expect((await gwctl(cluster, 'health', '--kube', '--all-pods')).code).toBe(1)
  })

  test('dump says in every format whose it is', async () => {
    await using cluster = await startCluster(pods)
    const dump = async (...argv: string[]) => (await gwctl(cluster, 'dump', '--kube', '--all-pods', ...argv)).out
    expect(JSON.parse(await dump('-o', 'json'))).toEqual([
      { pod: 'shop/edge-1', value: gateway.dumped },
      { pod: 'shop/edge-2', value: gateway.dumped },
    ])
    const lines = (await dump('-o', 'jsonl')).trim().split('\n')
    expect(new Set(lines.map(line => JSON.parse(line).pod))).toEqual(new Set(['shop/edge-1', 'shop/edge-2']))
    expect(await dump()).toMatch(/^# pod shop\/edge-1\n[^#]*---\n# pod shop\/edge-2\n/)
    expect(await dump('-o', 'dot')).toMatch(/^\/\/ pod shop\/edge-1\ndigraph/)
    expect(await dump('routes')).toMatch(/^pod shop\/edge-1\n[\s\S]*\npod shop\/edge-2\n/)
  })

  test('those that answer are shown, and then who does not', async () => {
    await using cluster = await startCluster(pods, withSilent)
    const { out, code, err } = await gwctl(cluster, 'health', '--kube', '--all-pods')
    expect(out).toBe('shop/edge-1\n  ready\n')
    expect(err).toContain('nothing answers on port 15000 of pod shop/edge-2')
    expect(code).toBe(4)
  })

  test('none answers', async () => {
    await using cluster = await startCluster(pods)
    const { out, code, err } = await gwctl(cluster, 'log', '--kube', '--admin-port', '1')
    expect([out, code]).toEqual(['', 4])
    expect(err.match(/nothing answers on port 1 of pod shop\/edge-[12]/g)).toHaveLength(2)
  })

  test('is no choice beside one pod, or where there is none', async () => {
    await using cluster = await startCluster(pods)
    expect((await gwctl(cluster, 'dump', '--kube', '--all-pods', '--pod', 'edge-1')).code).toBe(2)
    expect((await gwctl(cluster, 'dump', '--all-pods')).code).toBe(2)
  })
})

describe('what goes wrong on the way', () => {
  async function ask(say: (socket: Duplex) => void, protocol?: string) {
    const forwarding = { portOf: () => undefined, say, ...(protocol === undefined ? {} : { protocol }) }
    await using cluster = await startCluster([EDGE, POD], { forwarding })
    const { code, err } = await gwctl(cluster, 'dump', '-q', '--kube', 'edge')
    expect(code).toBe(4)
    return err
  }
  const answer = (text: string) => message(0, `HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n${text}`)

  test('nobody listens on the port', async () => {
    await using cluster = await startCluster([EDGE, POD])
    const { code, err } = await gwctl(cluster, 'dump', '--kube', 'edge', '--admin-port', '15001')
    expect(err).toContain('nothing answers on port 15001 of pod shop/edge-1: connection refused.')
    expect(err).toContain('--admin-port')
    expect(code).toBe(4)
  })

  test('an error that tries to drive the terminal', async () => {
    const err = await ask(socket => socket.write(message(1, `no such \u001b[31mpod\u0007${'x'.repeat(9000)}`)))
    expect(err).toContain('no such ␛[31mpod␇x')
    expect(err.length).toBeLessThan(1000)
  })

  test('an error in pieces', async () => {
    const err = await ask(socket => {
      socket.write(Buffer.from([0x02, 4, 1, 0x6e, 0x6f, 0x70]))
      socket.write(Buffer.from([0x89, 1, 0x21]))
      socket.write(Buffer.from([0x80, 1, 0x65]))
    })
    expect(err).toContain(': nope.')
  })

  test('the pod is gone when its turn comes', async () => {
    await using cluster = await startCluster([EDGE, POD], { forwarding: undefined as never })
    const { code, err } = await gwctl(cluster, 'dump', '--kube', 'edge')
    expect(err).toContain('the API server opens no way to pod shop/edge-1 (500): no node.')
    expect(code).toBe(4)
  })

  test.each<[string, (socket: Duplex) => void, string]>([
    ['cut before the answer', socket => socket.destroy(), 'no gateway answers at pod shop/edge-1'],
    [
      'closed before the answer',
      socket => socket.end(frame(Buffer.of(3, 0xe8), { opcode: 8 })),
      'no gateway answers at pod shop/edge-1',
    ],
    [
      'cut in the middle',
      socket => void socket.write(answer('{'), () => socket.destroy()),
      'the connection to pod shop/edge-1 broke',
    ],
    [
      'closed in the middle',
      socket =>
        void socket.write(Buffer.concat([answer('{'), frame(Buffer.alloc(0), { opcode: 8 }), message(0, 'more')])),
      'the connection to pod shop/edge-1 broke',
    ],
    [
      'a frame of impossible length',
      socket => void socket.write(Buffer.from([0x82, 127, ...Array(8).fill(255)])),
      'impossible length',
    ],
    ['an endless ping', socket => void socket.write(Buffer.from([0x89, 126, 0xff, 0xff])), 'control frame is too long'],
    ['masked frames', socket => void socket.write(frame(Buffer.of(0, 1), { masked: true })), 'masked'],
    ['an extension', socket => void socket.write(Buffer.from([0xc2, 1, 0])), 'extension'],
    ['an unknown kind of frame', socket => void socket.write(Buffer.from([0x83, 1, 0])), 'nobody knows (3)'],
    ['a piece of no message', socket => void socket.write(Buffer.from([0x80, 1, 0])), 'mixed up'],
    ['no HTTP', socket => void socket.write(message(0, 'hello\r\n')), 'no gateway answers at pod shop/edge-1'],
  ])('%s', async (_what, say, words) => {
    expect(await ask(say)).toContain(words)
  })

  test('another subprotocol', async () => {
    expect(await ask(() => {}, 'v1.echo')).toContain('it speaks the subprotocol v1.echo, not v4.channel.k8s.io')
  })

  test('no cluster', async () => {
    const cluster = await startCluster([])
    await cluster[Symbol.asyncDispose]()
    const { code, err } = await gwctl(cluster, 'dump', '--kube')
    expect(err).toContain('connection refused')
    expect(code).toBe(4)
  })

  test('a huge frame passes in pieces', async () => {
    const body = `{"binds":[],"routes":[],"backends":[],"config":"${'x'.repeat(2_000_000)}"}`
    const forwarding = {
      portOf: () => undefined,
      say: (socket: Duplex) => {
        const bytes = message(0, `HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
        for (let i = 0; i < bytes.length; i += 50_001) socket.write(bytes.subarray(i, i + 50_001))
      },
    }
    await using cluster = await startCluster([EDGE, POD], { forwarding })
    const { code, out } = await gwctl(cluster, 'dump', '-o', 'json', '--kube', 'edge')
    expect(code).toBe(0)
    expect(JSON.parse(out)).toEqual(JSON.parse(body))
  })
})
