import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { type ClusterServing, serveCluster } from '../../../../src/tools/serve/cluster/serve-cluster.ts'
import { MemoryOutput, memoryIo } from '../../../cli/memory-io.ts'
import { LivingCluster } from '../../../helpers/living-cluster.ts'
import { startUpstream } from '../../../helpers/upstream.ts'

const GATEWAY_API = 'gateway.networking.k8s.io/v1'
const PATIENCE = { timeout: 20_000, interval: 10 }

class Place implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'gwctl-live-'))
  readonly cluster = new LivingCluster()
  readonly log = new MemoryOutput()
  readonly #running: { stop(): Promise<void> }[] = []

  async serve(options: Partial<ClusterServing> = {}) {
    writeFileSync(join(this.folder, 'config'), this.cluster.kubeconfig)
    const env = {
      KUBECONFIG: join(this.folder, 'config'),
      ADMIN_ADDR: '127.0.0.1:0',
      STATS_ADDR: '127.0.0.1:0',
      READINESS_ADDR: '127.0.0.1:0',
      CONNECTION_MIN_TERMINATION_DEADLINE: '0s',
    }
    const { stdin } = memoryIo()
    const running = await serveCluster(
      {
        className: 'ours',
        addresses: { published: '192.0.2.7' },
        log: this.log,
        version: '1',
        portFor: () => 0,
        ...options,
      },
      { cwd: this.folder, env, stdin },
    )
    this.#running.push(running)
    return running
  }

  async [Symbol.asyncDispose]() {
    for (const each of this.#running) await each.stop()
    await this.cluster[Symbol.asyncDispose]()
    rmSync(this.folder, { recursive: true })
  }
}

function gateway(
  name: string,
  listeners: readonly object[] = [{ name: 'http', port: 80, protocol: 'HTTP' }],
  more = {},
) {
  const spec = { gatewayClassName: 'ours', listeners, ...more }
  return { apiVersion: GATEWAY_API, kind: 'Gateway', metadata: { name, namespace: 'prod' }, spec }
}

function route(name: string, rule: object, parent = 'edge') {
  const spec = { parentRefs: [{ name: parent }], rules: [rule] }
  return { apiVersion: GATEWAY_API, kind: 'HTTPRoute', metadata: { name, namespace: 'prod' }, spec }
}

const to = (hostname: string) => ({
  matches: [{ path: { type: 'PathPrefix', value: '/' } }],
  filters: [{ type: 'RequestRedirect', requestRedirect: { hostname, statusCode: 302 } }],
})

const conditions = (item: { status?: unknown } | undefined) =>
  ((item?.status as { conditions?: { type: string; status: string }[] } | undefined)?.conditions ?? []).map(
    ({ type, status }) => `${type}=${status}`,
  )

async function locationOf(port: number | undefined): Promise<string | null> {
  const { headers } = await fetch(`http://127.0.0.1:${port}/`, { redirect: 'manual' })
  return headers.get('location')?.replace(/:\d+/, '') ?? null
}

interface RouteStatus {
  readonly parents?: readonly { controllerName: string; conditions: { type: string; observedGeneration: number }[] }[]
}
const parentsOf = (place: Place, name: string) =>
  (place.cluster.get('HTTPRoute', 'prod', name)?.status as RouteStatus | undefined)?.parents ?? []

test('serves a Gateway and a route, reports their status and follows changes', async () => {
  await using place = new Place()
  await using upstream = await startUpstream((_, res) => res.end('from the pod'))
  await place.cluster.open()
  place.cluster.put(gateway('edge'))
  place.cluster.put({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'app', namespace: 'prod' },
    spec: { ports: [{ port: 80 }] },
  })
  place.cluster.put({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: 'app-1', namespace: 'prod', labels: { 'kubernetes.io/service-name': 'app' } },
    addressType: 'IPv4',
    endpoints: [{ addresses: ['127.0.0.1'], conditions: { ready: true } }],
    ports: [{ port: upstream.port }],
  })
  place.cluster.put(route('app', { backendRefs: [{ name: 'app', port: 80 }] }))
  const running = await place.serve()
  await vi.waitFor(
    () => expect(conditions(place.cluster.get('Gateway', 'prod', 'edge'))).toContain('Programmed=True'),
    PATIENCE,
  )
  await vi.waitFor(() => expect(parentsOf(place, 'app')).toHaveLength(1), PATIENCE)
  expect(await (await fetch(`http://127.0.0.1:${running.ports.get(80)}/`)).text()).toBe('from the pod')
  expect(conditions(place.cluster.get('GatewayClass', '', 'ours'))).toEqual(['Accepted=True', 'SupportedVersion=True'])
  const status = place.cluster.get('Gateway', 'prod', 'edge')?.status as { addresses: unknown; listeners: unknown[] }
  expect(status.addresses).toEqual([{ type: 'IPAddress', value: '192.0.2.7' }])
  expect(status.listeners[0]).toMatchObject({ name: 'http', attachedRoutes: 1 })

  place.cluster.put(route('app', to('moved.example')))
  await vi.waitFor(async () => expect(await locationOf(running.ports.get(80))).toBe('http://moved.example/'), PATIENCE)
  await vi.waitFor(() => expect(parentsOf(place, 'app')[0]?.conditions[0]?.observedGeneration).toBe(2), PATIENCE)

  place.cluster.delete('HTTPRoute', 'prod', 'app')
  await vi.waitFor(async () => {
    expect((await fetch(`http://127.0.0.1:${running.ports.get(80)}/`)).status).toBe(404)
  }, PATIENCE)
})

test('serves only the named Gateway, with settings from a file', async () => {
  await using place = new Place()
  await place.cluster.open()
  place.cluster.put(gateway('edge'))
  place.cluster.put(gateway('other', [{ name: 'http', port: 81, protocol: 'HTTP' }]))
  place.cluster.put(route('app', to('moved.example')))
  const text =
    'config: {logging: {format: json}, metrics: {fields: {add: {team: \'"$$a"\'}}}}\nbinds: [{port: 82, listeners: [{routes: []}]}]\n'
  const running = await place.serve({ gateway: 'prod/edge', settings: { file: 'settings.yaml', text } })
  await vi.waitFor(
    () => expect(conditions(place.cluster.get('Gateway', 'prod', 'edge'))).toContain('Programmed=True'),
    PATIENCE,
  )
  expect([...running.ports.keys()]).toEqual([80])
  expect(conditions(place.cluster.get('Gateway', 'prod', 'other'))).toEqual([])
  expect(await locationOf(running.ports.get(80))).toBe('http://moved.example/')
  expect(() => JSON.parse(place.log.text.split('\n')[0]!)).not.toThrow()
})

test('invalid settings are rejected before anything is served', async () => {
  await using place = new Place()
  const settings = { file: 'settings.yaml', text: 'config:\n  adminAdress: x\n' }
  await expect(place.serve({ settings })).rejects.toThrow(/^settings\.yaml:2: /)
})

test('keeps serving while the API server is down, then catches up with changes', async () => {
  await using place = new Place()
  await place.cluster.open()
  place.cluster.put(gateway('edge'))
  place.cluster.put(route('app', to('one.example')))
  const running = await place.serve()
  const served = (host: string) =>
    vi.waitFor(async () => expect(await locationOf(running.ports.get(80))).toBe(`http://${host}/`), PATIENCE)
  await served('one.example')

  await place.cluster.cut()
  await vi.waitFor(() => expect(place.log.text).toContain('the cluster is not followed'), PATIENCE)
  expect(await locationOf(running.ports.get(80))).toBe('http://one.example/')
  place.cluster.put(route('app', to('two.example')))
  place.cluster.forget()
  await place.cluster.open()
  await served('two.example')

  place.cluster.bookmark()
  place.cluster.expire()
  place.cluster.put(route('app', to('three.example')))
  await served('three.example')
  expect(place.log.text).not.toContain('secret-token')
})

test('retries a conflicting update and keeps status entries of other controllers', async () => {
  await using place = new Place()
  await place.cluster.open()
  const foreign = { parentRef: { name: 'other' }, controllerName: 'example.com/other', conditions: [] }
  place.cluster.put(gateway('edge'))
  place.cluster.put({ ...route('app', to('one.example')), status: { parents: [foreign] } })
  let times = 0
  place.cluster.beforeApply = () => {
    // Somebody else is faster, once.
    if (times++ === 0)
      place.cluster.put({ ...gateway('edge'), metadata: { ...gateway('edge').metadata, labels: { a: 'b' } } })
  }
  await place.serve()
  await vi.waitFor(() => expect(parentsOf(place, 'app')).toHaveLength(2), PATIENCE)
  expect(parentsOf(place, 'app')[0]).toEqual(foreign)
  await vi.waitFor(
    () => expect(conditions(place.cluster.get('Gateway', 'prod', 'edge'))).toContain('Programmed=True'),
    PATIENCE,
  )
})

test('conditions of others stay as they are, and belong to the others', async () => {
  await using place = new Place()
  await place.cluster.open()
  const theirs = {
    type: 'Seen',
    status: 'True',
    reason: 'Seeded',
    message: '',
    lastTransitionTime: '2026-01-01T00:00:00Z',
  }
  const listeners = [{ name: 'http', conditions: [theirs], attachedRoutes: 0, supportedKinds: [] }]
  place.cluster.put({ ...gateway('edge'), status: { conditions: [theirs], listeners } })
  const asked: string[] = []
  place.cluster.beforeApply = body => asked.push(body)
  await place.serve()
  const shown = () =>
    place.cluster.get('Gateway', 'prod', 'edge') as { status: (typeof listeners)[0] & { listeners: typeof listeners } }
  for (const hostname of ['one.example', 'two.example']) {
    place.cluster.put(gateway('edge', [{ name: 'http', port: 80, protocol: 'HTTP', hostname }]))
    const { generation } = place.cluster.get('Gateway', 'prod', 'edge')!.metadata
    await vi.waitFor(() => {
      for (const part of [shown().status, shown().status.listeners[0]!]) {
        expect(part.conditions).toContainEqual(theirs)
        expect(part.conditions).toContainEqual(
          expect.objectContaining({ type: 'Accepted', observedGeneration: generation }),
        )
      }
    }, PATIENCE)
  }
  expect(asked.join()).not.toContain('Seeded')
})

test('a bad object affects only itself', async () => {
  await using place = new Place()
  await place.cluster.open()
  place.cluster.put(
    gateway('edge', [
      { name: 'http', port: 80, protocol: 'HTTP' },
      { name: 'odd', port: 81, protocol: 'example.com/odd' },
    ]),
  )
  place.cluster.put(route('app', to('one.example')))
  place.cluster.put(
    route('bad', {
      matches: [{ path: { type: 'PathPrefix', value: '/bad' } }],
      backendRefs: [{ name: 'gone', port: 80 }],
    }),
  )
  const running = await place.serve()
  await vi.waitFor(async () => expect(await locationOf(running.ports.get(80))).toBe('http://one.example/'), PATIENCE)
  expect((await fetch(`http://127.0.0.1:${running.ports.get(80)}/bad`)).status).toBe(500)
  await vi.waitFor(() => {
    const { conditions = [] } = parentsOf(place, 'bad')[0] ?? {}
    expect(conditions).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ type: 'ResolvedRefs', status: 'False', reason: 'BackendNotFound' }),
      ]),
    )
  }, PATIENCE)
  const { listeners } = place.cluster.get('Gateway', 'prod', 'edge')!.status as {
    listeners: { conditions: unknown[] }[]
  }
  expect(listeners[1]?.conditions).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ type: 'Accepted', status: 'False', reason: 'UnsupportedProtocol' }),
    ]),
  )
})

test('an unreadable model reports why, and the others are served', async () => {
  await using place = new Place()
  await place.cluster.open()
  const kinds = [{ group: 'agentgateway.dev', kind: 'ProxyModel' }]
  place.cluster.put(gateway('edge', [{ name: 'http', port: 80, protocol: 'HTTP', allowedRoutes: { kinds } }]))
  const model = (name: string, more: object) => ({
    apiVersion: 'agentgateway.dev/v1alpha1',
    kind: 'AgentgatewayModel',
    metadata: { name, namespace: 'prod' },
    spec: { parentRefs: [{ name: 'edge' }], provider: 'OpenAI', ...more },
  })
  place.cluster.put(model('good', {}))
  place.cluster.put(model('newer', { provider: 'FromTheFuture' }))
  place.cluster.put(model('wrong', { policies: { transformations: [{ field: 'user', expression: 'request.' }] } }))
  const matches = ['(?<=a)b']
  place.cluster.put(model('odd', { policies: { promptGuard: { request: [{ regex: { matches } }] } } }))
  const running = await place.serve()
  const shown = (name: string) =>
    (place.cluster.get('AgentgatewayModel', 'prod', name)?.status as RouteStatus | undefined)?.parents?.[0]?.conditions
  for (const [name, message] of [
    ['newer', 'FromTheFuture'],
    ['wrong', 'transformations'],
  ] as const) {
    const told = { type: 'ResolvedRefs', status: 'False', message: expect.stringContaining(message) }
    await vi.waitFor(() => expect(shown(name)).toContainEqual(expect.objectContaining(told)), PATIENCE)
  }
  expect(shown('good')).toContainEqual(expect.objectContaining({ type: 'ResolvedRefs', status: 'True' }))
  const dropped = { type: 'PartiallyInvalid', message: expect.stringContaining('look-around') }
  await vi.waitFor(() => expect(shown('odd')).toContainEqual(expect.objectContaining(dropped)), PATIENCE)
  const models = (await (await fetch(`http://127.0.0.1:${running.ports.get(80)}/v1/models`)).json()) as {
    data: { id: string }[]
  }
  // Without its guard, the model refuses everybody, who then does not see it either.
  expect(models.data.map(({ id }) => id)).toEqual(['good'])
})

test('a rule that only the compiler rejects is reported, and the others are served', async () => {
  await using place = new Place()
  await place.cluster.open()
  place.cluster.put(gateway('edge'))
  const odd = { ...to('odd.example'), matches: [{ path: { type: 'RegularExpression', value: '/(?<=a)b' } }] }
  const both = route('app', to('one.example'))
  place.cluster.put({ ...both, spec: { ...both.spec, rules: [odd, ...both.spec.rules] } })
  const running = await place.serve()
  await vi.waitFor(async () => expect(await locationOf(running.ports.get(80))).toBe('http://one.example/'), PATIENCE)
  await vi.waitFor(() => {
    const types = parentsOf(place, 'app')[0]?.conditions.map(({ type }) => type)
    expect(types).toEqual(['Accepted', 'ResolvedRefs', 'PartiallyInvalid'])
  }, PATIENCE)
})

test('each Gateway gets a stable address from the pool, and two can use the same port', async () => {
  await using place = new Place()
  await place.cluster.open()
  place.cluster.put(gateway('edge'))
  place.cluster.put({ ...gateway('inner'), status: { addresses: [{ type: 'IPAddress', value: '127.0.9.5' }] } })
  place.cluster.put(gateway('fixed', undefined, { addresses: [{ value: '127.0.9.1' }] }))
  place.cluster.put(gateway('far', undefined, { addresses: [{ value: '192.0.2.250' }] }))
  const addresses = { pool: '127.0.9.1-127.0.9.9' }
  const running = place.serve({ addresses })
  await running
  const addressOf = (name: string) =>
    (place.cluster.get('Gateway', 'prod', name)?.status as { addresses?: { value: string }[] } | undefined)
      ?.addresses?.[0]?.value
  await vi.waitFor(() => expect(addressOf('fixed')).toBe('127.0.9.1'), PATIENCE)
  await vi.waitFor(() => expect(addressOf('edge')).toBe('127.0.9.2'), PATIENCE)
  expect(addressOf('inner')).toBe('127.0.9.5')
  await vi.waitFor(
    () => expect(conditions(place.cluster.get('Gateway', 'prod', 'far'))).toContain('Programmed=False'),
    PATIENCE,
  )
  const { binds } = await dumpOf(place)
  expect(binds.map(({ address, port }) => `${address}:${port}`).sort()).toEqual([
    '127.0.9.1:80',
    '127.0.9.2:80',
    '127.0.9.5:80',
  ])
  expect(binds[0]?.origin).toMatch(/^Gateway prod\/\w+ listener http$/)

  async function dumpOf({ log: _ }: Place) {
    const { admin } = await running
    return (await (await fetch(`http://${admin}/config_dump`)).json()) as {
      binds: { address: string; port: number; origin: string }[]
    }
  }
})

test('a port in use is not programmed until it can be opened', async () => {
  await using place = new Place()
  await place.cluster.open()
  const other = createServer()
  await new Promise<void>(resolve => other.listen(0, '127.0.0.1', resolve))
  const { port: taken } = other.address() as AddressInfo
  const two = [80, 81].map(port => ({ name: `http-${port}`, port, protocol: 'HTTP' }))
  place.cluster.put(gateway('edge', two, { addresses: [{ value: '127.0.0.1' }] }))
  place.cluster.put(route('app', to('one.example')))
  await place.serve({ portFor: port => (port === 81 ? taken : 0) })
  type Shown = { listeners: { name: string; status?: unknown; conditions: { type: string; message: string }[] }[] }
  const shown = () => place.cluster.get('Gateway', 'prod', 'edge')
  const listener = (i: number) => (shown()?.status as Shown | undefined)?.listeners[i]
  await vi.waitFor(() => expect(conditions(shown())).toContain('Programmed=False'), PATIENCE)
  expect(conditions({ status: listener(0) })).toContain('Programmed=True')
  expect(listener(1)?.conditions).toContainEqual(
    expect.objectContaining({
      type: 'Programmed',
      status: 'False',
      reason: 'Pending',
      message: expect.stringContaining(`${taken}`),
    }),
  )

  await new Promise(resolve => other.close(resolve))
  // Every change tries again, and so does time.
  place.cluster.put(route('app', to('two.example')))
  await vi.waitFor(() => expect(conditions(shown())).toContain('Programmed=True'), PATIENCE)
  expect(conditions({ status: listener(1) })).toContain('Programmed=True')
})

test('only one of two replicas writes status, and the other takes over when it stops', async () => {
  await using place = new Place()
  await place.cluster.open()
  place.cluster.put(gateway('edge'))
  const first = await place.serve()
  const lease = () => place.cluster.get('Lease', 'infra', 'gwctl-ours')?.spec as { holderIdentity: string } | undefined
  await vi.waitFor(() => expect(lease()?.holderIdentity).toBeTruthy(), PATIENCE)
  const leader = lease()?.holderIdentity
  await place.serve()
  await first.stop()
  await vi.waitFor(() => {
    expect(lease()?.holderIdentity).toBeTruthy()
    expect(lease()?.holderIdentity).not.toBe(leader)
  }, PATIENCE)
})
