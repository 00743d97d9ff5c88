import { expect, test } from 'vitest'
import { CONTROLLER, idOf } from '../../../../src/cluster/translate/cluster-view.ts'
import { finish } from '../../../../src/cluster/translate/finish.ts'
import { withAttached } from '../../../../src/cluster/translate/incremental/recompile.ts'
import type { Status } from '../../../../src/cluster/translate/status/conditions.ts'
import { translate } from '../../../../src/cluster/translate/translate.ts'
import { dumpOf } from '../../../../src/config/dump.ts'
import type { Snapshot } from '../../../../src/config/snapshot.ts'
import type { Pause } from '../../../../src/runtime/pause.ts'
import { LiveCompiler } from '../../../../src/tools/serve/cluster/live-compiler.ts'
import { LiveObjects } from '../../../../src/tools/serve/cluster/live-objects.ts'
import { startGateway } from '../../../helpers/gateway.ts'

const API = 'gateway.networking.k8s.io/v1'
type Item = { kind: string; metadata: { name: string; namespace?: string }; [more: string]: unknown }

/** The same numbers each time. */
function dice(seed: number) {
  let state = seed
  return (sides: number): number => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((state / 2_147_483_648) * sides)
  }
}

const named = (kind: string, name: string, more: object, apiVersion = API): Item => ({
  apiVersion,
  kind,
  metadata: { name, namespace: 'prod' },
  ...more,
})
const gateway = (name: string, more: object) =>
  named('Gateway', name, {
    spec: { gatewayClassName: 'ours', listeners: [{ name: 'http', port: 80, protocol: 'HTTP', ...more }] },
  })
const service = (i: number, port = 80) => named('Service', `s${i}`, { spec: { ports: [{ name: 'http', port }] } }, 'v1')

function slice(i: number, ip: number): Item {
  const item = named('EndpointSlice', `s${i}-1`, {}, 'discovery.k8s.io/v1')
  const labels = { 'kubernetes.io/service-name': `s${i}` }
  return {
    ...item,
    metadata: { ...item.metadata, labels } as Item['metadata'],
    addressType: 'IPv4',
    endpoints: Array.from({ length: 1 + (ip % 3) }, (_, n) => ({ addresses: [`10.0.${ip}.${n}`] })),
    ports: [{ name: 'http', port: 8080 }],
  }
}

function route(i: number, roll: (sides: number) => number): Item {
  const parents = [['edge'], ['inner'], ['edge', 'inner'], ['foreign']][roll(4)]!
  const refs = Array.from({ length: roll(3) }, () =>
    roll(4) === 0
      ? { group: 'agentgateway.dev', kind: 'AgentgatewayBackend', name: `b${roll(3)}` }
      : { name: `s${roll(6)}`, port: 80, weight: 1 + roll(3) },
  )
  const item = named('HTTPRoute', `r${i}`, {
    spec: {
      parentRefs: parents.map(name => ({ name })),
      ...(roll(2) ? { hostnames: [`h${roll(4)}.${roll(2) ? 'a' : 'b'}.test`] } : {}),
      rules: [
        { matches: [{ path: { type: 'PathPrefix', value: `/${roll(4)}` } }], backendRefs: refs },
        { backendRefs: refs },
      ],
    },
  })
  return { ...item, metadata: { ...item.metadata, labels: { app: `a${i % 3}` } } as Item['metadata'] }
}

/** Of the same names as other routes. */
function connection(i: number, roll: (sides: number) => number): Item {
  const backendRefs = [{ name: `s${roll(6)}`, port: 80 }]
  return named('TCPRoute', i === 0 ? 'r0' : `t${i}`, {
    spec: { parentRefs: [{ name: 'raw' }], rules: [{ backendRefs }] },
  })
}

function policy(i: number, roll: (sides: number) => number): Item {
  const at = { group: 'gateway.networking.k8s.io', kind: roll(9) ? 'HTTPRoute' : 'Gateway' }
  const aim =
    roll(3) || at.kind === 'Gateway'
      ? { targetRefs: [{ ...at, name: at.kind === 'Gateway' ? 'edge' : `r${roll(14)}` }] }
      : { targetSelectors: [{ ...at, matchLabels: { app: `a${roll(4)}` } }] }
  const service = { name: `s${roll(6)}`, port: 80 }
  const traffic = {
    headerModifiers: { request: { set: [{ name: `x-${i}`, value: String(roll(9)) }] } },
    ...(roll(3) ? {} : { basicAuthentication: { secretRef: { name: `secret${roll(3)}` } } }),
    ...(roll(3) ? {} : { extAuth: { backendRef: service, grpc: {} } }),
  }
  return named('AgentgatewayPolicy', `p${i}`, { spec: { ...aim, traffic } }, 'agentgateway.dev/v1alpha1')
}

function backend(i: number, roll: (sides: number) => number): Item {
  const auth = roll(2) ? {} : { policies: { auth: { secretRef: { name: `secret${roll(3)}` } } } }
  const spec = { static: { host: `h${roll(3)}.test`, port: 80 }, ...auth }
  return named('AgentgatewayBackend', `b${i}`, { spec }, 'agentgateway.dev/v1alpha1')
}

const secret = (i: number, n: number) => {
  const users = Buffer.from(`u${n}:{SHA}qUqP5cyxm6YcTAhz05Hph5gvu9M=\n`).toString('base64')
  return named('Secret', `secret${i}`, { data: n % 3 ? { '.htaccess': users, Authorization: users } : {} }, 'v1')
}

function world(random: number) {
  const roll = dice(random)
  const start = [
    { apiVersion: API, kind: 'GatewayClass', metadata: { name: 'ours' }, spec: { controllerName: CONTROLLER } },
    gateway('edge', {}),
    gateway('inner', { hostname: '*.a.test', port: 81 }),
    ...[0, 1, 2, 3, 4].flatMap(i => [service(i), slice(i, i)]),
    gateway('raw', { protocol: 'TCP', port: 82 }),
    ...[0, 1, 2].map(i => connection(i, roll)),
    ...Array.from({ length: 12 }, (_, i) => route(i, roll)),
    ...[0, 1, 2].map(i => policy(i, roll)),
    ...[0, 1].flatMap(i => [backend(i, roll), secret(i, i)]),
  ]
  /** What one step changes: an object and whether it is there afterwards. */
  const step = (): readonly [Item, boolean] => {
    switch (roll(10)) {
      case 4:
        return [connection(roll(4), roll), roll(5) > 0]
      case 0:
        return [slice(roll(7), roll(200)), roll(5) > 0]
      case 1:
        return [service(roll(7), roll(4) ? 80 : 81), roll(5) > 0]
      case 2:
        return [policy(roll(4), roll), roll(5) > 0]
      case 3:
        return [secret(roll(3), roll(9)), roll(5) > 0]
      case 5:
        return [backend(roll(3), roll), roll(5) > 0]
      default:
        return [route(roll(15), roll), roll(5) > 0]
    }
  }
  return { start, step }
}

/** What is served and shown, whatever the order. */
function shown(snapshot: Snapshot) {
  const { routes, policies, idlePolicies: _, ...rest } = dumpOf(snapshot, '1') as Record<string, unknown>
  const sorted = (list: unknown) => (list as object[]).map(each => JSON.stringify(each)).sort()
  const { listeners, backends, ...others } = rest as { listeners: { routes: string[] }[]; backends: unknown }
  return {
    routes: sorted(routes),
    policies: sorted(policies),
    backends: sorted(backends),
    listeners: listeners.map(each => ({ ...each, routes: each.routes.toSorted() })),
    ...others,
  }
}

async function follow(seed: number, steps: number) {
  await using host = await startGateway('{}')
  const { runtime, state } = host.gateway
  const live = { className: 'ours', addressOf: () => ({ listen: undefined, published: ['192.0.2.1'] }) }
  const make = () => new LiveCompiler({ runtime, state, env: {}, config: {} }, live)
  const { start, step } = world(seed)
  const objects = new LiveObjects()
  const put = (item: Item) => {
    objects.put({ ...item, metadata: { creationTimestamp: '2026-01-01T00:00:00Z', ...item.metadata } })
  }
  for (const item of start) put(item as Item)
  const compiler = make()
  const held = new Map<string, unknown>()
  const keep = (statuses: readonly Status[], whole: boolean) => {
    if (whole) held.clear()
    for (const { resource, status } of statuses) held.set(idOf(resource), JSON.stringify(status))
  }
  let few = 0
  const first = await compiler.compile(await objects.settle(), objects)
  keep(first.statuses, first.whole)
  for (let i = 0; i < steps; i++) {
    const [item, there] = step()
    if (there) put(item)
    else objects.remove(item)
    const made = await compiler.compile(await objects.settle(), objects)
    keep(made.statuses, made.whole)
    if (!made.whole) few++
    const again = await make().compile(new Set(), objects)
    const label = `seed ${seed}, step ${i}: ${JSON.stringify(item)} ${there ? 'put' : 'removed'}`
    expect(shown(made.snapshot), label).toEqual(shown(again.snapshot))
    const wanted = new Map(again.statuses.map(({ resource, status }) => [idOf(resource), JSON.stringify(status)]))
    for (const [id, status] of wanted) expect(held.get(id), `${label}: ${id}`).toBe(status)
  }
  return few
}

/** More of them find what these do not: each must hold. */
const SEEDS = [3, 6, 7]

test('an incremental compile gives the same config and status as a full one', async () => {
  for (const seed of SEEDS) expect(await follow(seed, 30)).toBeGreaterThan(5)
})

test('pauses change nothing', async () => {
  await using host = await startGateway('{}')
  const { runtime } = host.gateway
  const objects = new LiveObjects()
  for (const item of world(3).start) objects.put(item as Item)
  await objects.settle()
  let pauses = 0
  const pause = () => {
    pauses++
    return Promise.resolve()
  }
  const made = async (more: { readonly pause?: Pause }) => {
    const options = { partial: false, withSecrets: true, allowUnguarded: false, filePath: undefined, ...more }
    const translated = await translate(objects.resources, objects.faults, options)
    const readReferenced = () => undefined
    const { loaded, statuses } = await finish(translated, { runtime, readReferenced, file: '', ...more })
    return JSON.stringify([statuses.map(({ status }) => status), dumpOf(loaded.snapshot!, '1')])
  }
  expect(await made({ pause })).toBe(await made({}))
  // In translating, in tracing who reaches what, in reading and in compiling each of the routes.
  expect(pauses).toBeGreaterThan(4 * 12)
})

test('route counts in the status are adjusted by the difference', () => {
  const raw = { metadata: { name: 'g', namespace: 'prod' } }
  const resource = { kind: { kind: 'Gateway' }, namespace: 'prod', name: 'g', raw } as unknown as Status['resource']
  const status = {
    resource,
    status: {
      listeners: [
        { name: 'a', attachedRoutes: 2 },
        { name: 'b', attachedRoutes: 1 },
      ],
    },
  }
  expect(withAttached(status, new Map([['Gateway/prod/g#b', -1]])).status.listeners).toEqual([
    { name: 'a', attachedRoutes: 2 },
    { name: 'b', attachedRoutes: 0 },
  ])
})

const ROUTE = { name: 'r1', kind: 'HTTPRoute', group: 'gateway.networking.k8s.io' }
const mistaken = (spec: object) =>
  named('AgentgatewayPolicy', 'p', { spec: { targetRefs: [ROUTE], ...spec } }, 'agentgateway.dev/v1alpha1')
const SOUND = { headerModifiers: { request: { set: [{ name: 'x-a', value: 'b' }] } } }

test.each<[string, object, string[], string]>([
  [
    'a field from a newer release',
    { traffic: { ...SOUND, cors: { newer: true } } },
    ['requestHeaderModifier'],
    'traffic.cors',
  ],
  [
    'a newer field in a guard denies every request',
    { traffic: { ...SOUND, basicAuthentication: { newer: true } } },
    ['authorization', 'requestHeaderModifier'],
    'traffic.basicAuthentication',
  ],
  [
    'a newer field in a backend guard',
    { backend: { mcp: { authorization: { newer: true } } } },
    ['authorization'],
    'backend.mcp',
  ],
])('a policy with an error: %s', async (_, spec, inForce, place) => {
  await using host = await startGateway('{}')
  const { runtime, state } = host.gateway
  const told: string[] = []
  const objects = new LiveObjects((object, reasons) => told.push(`${object}: ${reasons.join()}`))
  const { start } = world(1)
  for (const item of [...start.filter(({ kind }) => kind !== 'AgentgatewayPolicy'), route(1, () => 0), mistaken(spec)])
    objects.put(item as Item)
  const live = { className: 'ours', addressOf: () => ({ listen: undefined, published: ['192.0.2.1'] }) }
  const compiler = new LiveCompiler({ runtime, state, env: {}, config: {} }, live)
  const { snapshot, statuses } = await compiler.compile(await objects.settle(), objects)
  const made = snapshot.binds.flatMap(({ listeners }) => listeners.flatMap(({ routes }) => routes))
  const { pipeline } = made.find(({ name }) => name === 'r1')!
  expect(pipeline.steps.map(({ policy }) => policy).sort()).toEqual(inForce)
  const status = JSON.stringify(statuses.find(({ resource }) => resource.name === 'p')?.status)
  expect(status).toContain('PartiallyValid')
  expect(status).toContain(place)
  expect(told).toEqual([expect.stringContaining(`AgentgatewayPolicy prod/p: ${place}`)])
})

test('a backend with an error serves nothing and reports it', async () => {
  await using host = await startGateway('{}')
  const { runtime, state } = host.gateway
  const objects = new LiveObjects()
  const ref = { group: 'agentgateway.dev', kind: 'AgentgatewayBackend', name: 'b' }
  const { start } = world(1)
  const item = route(1, () => 0)
  const spec = { parentRefs: [{ name: 'edge' }], rules: [{ backendRefs: [ref] }] }
  const backend = named('AgentgatewayBackend', 'b', { spec: { static: { host: 'a.test', port: 80, newer: 1 } } })
  for (const each of [...start, { ...item, spec }, { ...backend, apiVersion: 'agentgateway.dev/v1alpha1' }])
    objects.put(each as Item)
  const live = { className: 'ours', addressOf: () => ({ listen: undefined, published: ['192.0.2.1'] }) }
  const compiler = new LiveCompiler({ runtime, state, env: {}, config: {} }, live)
  const { snapshot, statuses } = await compiler.compile(await objects.settle(), objects)
  const made = snapshot.binds.flatMap(({ listeners }) => listeners.flatMap(({ routes }) => routes))
  expect(made.find(({ name }) => name === 'r1')?.backends.map(({ backend: { kind } }) => kind)).toEqual(['invalid'])
  expect(JSON.stringify(statuses.find(({ resource }) => resource.name === 'b')?.status)).toContain('TranslationError')
})
