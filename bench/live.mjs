// What one change of a cluster with 5,000 HTTPRoutes costs `run --kube`: processor time of the serving thread until the
// change is served, and the longest time for which requests wait for it.
import { load } from '../src/config/load.ts'
import { offlineRuntime } from '../src/config/offline-runtime.ts'
import { LiveCompiler } from '../src/tools/serve/cluster/live-compiler.ts'
import { LiveObjects } from '../src/tools/serve/cluster/live-objects.ts'
import { createGateway } from '../src/tools/serve/one-gateway.ts'

const ROUTES = Number(process.env.ROUTES ?? 5000)
const POLICIES = ROUTES / 10
const SERVICES = Math.min(500, ROUTES / 10)
const SECRETS = 50
const ROUNDS = Number(process.env.ROUNDS ?? 5)

const GATEWAY = 'gateway.networking.k8s.io/v1'
const OWN = 'agentgateway.dev/v1alpha1'
const object = (apiVersion, kind, name, more, metadata = {}) => ({
  apiVersion,
  kind,
  metadata: { name, namespace: 'shop', creationTimestamp: '2026-01-01T00:00:00Z', ...metadata },
  ...more,
})

const route = (i, timeout = 10) =>
  object(GATEWAY, 'HTTPRoute', `route-${i}`, {
    spec: {
      parentRefs: [{ name: 'edge' }],
      hostnames: [`host-${i % 50}.example.com`],
      rules: [
        {
          matches: [
            {
              path: { type: 'PathPrefix', value: `/api/${i}` },
              method: 'GET',
              headers: [{ name: 'x-tenant', value: `tenant-${i}` }],
            },
          ],
          filters: [
            { type: 'RequestHeaderModifier', requestHeaderModifier: { set: [{ name: 'x-route', value: String(i) }] } },
          ],
          timeouts: { request: `${timeout}s` },
          backendRefs: [{ name: `svc-${i % SERVICES}`, port: 80 }],
        },
      ],
    },
  })

const policy = (i, requests = 1) =>
  object(OWN, 'AgentgatewayPolicy', `policy-${i}`, {
    spec: {
      targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name: `route-${(i * ROUTES) / POLICIES}` }],
      traffic: {
        authorization: { action: 'Require', policy: { matchExpressions: [`request.headers["x-user"] == "u${i}"`] } },
        rateLimit: { local: [{ requests, unit: 'Seconds' }] },
        ...(i < SECRETS ? { basicAuthentication: { secretRef: { name: `users-${i}` } } } : {}),
      },
    },
  })

const service = (i, port = 80) =>
  object('v1', 'Service', `svc-${i}`, {
    spec: { ports: [{ name: 'http', port: 80 }, ...(port === 80 ? [] : [{ name: 'more', port }])] },
  })
const slice = (i, ip = 0) =>
  object(
    'discovery.k8s.io/v1',
    'EndpointSlice',
    `svc-${i}-1`,
    {
      addressType: 'IPv4',
      endpoints: [0, 1, 2].map(n => ({ addresses: [`10.${ip}.${i % 250}.${n + 1}`], conditions: { ready: true } })),
      ports: [{ name: 'http', port: 8080 }],
    },
    { labels: { 'kubernetes.io/service-name': `svc-${i}` } },
  )
const secret = (i, n = 0) =>
  object('v1', 'Secret', `users-${i}`, {
    data: { '.htaccess': Buffer.from(`user${n}:{SHA}qUqP5cyxm6YcTAhz05Hph5gvu9M=\n`).toString('base64') },
  })
const gateway = (label = 0) =>
  object(GATEWAY, 'Gateway', 'edge', {
    spec: {
      gatewayClassName: 'agentgateway',
      listeners: [
        { name: 'http', port: 8080, protocol: 'HTTP' },
        ...(label ? [{ name: 'more', port: 8081, protocol: 'HTTP', hostname: `h${label}.test` }] : []),
      ],
    },
  })
const gatewayPolicy = value =>
  object(OWN, 'AgentgatewayPolicy', 'everywhere', {
    spec: {
      targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'edge' }],
      traffic: { headerModifiers: { request: { set: [{ name: 'x-edge', value: String(value) }] } } },
    },
  })
const backend = value =>
  object(OWN, 'AgentgatewayBackend', 'outside', { spec: { static: { host: `h${value}.example.com`, port: 80 } } })
const count = (n, make) => Array.from({ length: n }, (_, i) => make(i))

const CHANGES = {
  'a route': i => route((i * 97) % ROUTES, 11 + i),
  'a new route': i => route(ROUTES + i),
  'an EndpointSlice': i => slice((i * 7) % SERVICES, i + 1),
  'a Service': i => service((i * 7) % SERVICES, 90 + i),
  'a Secret of a policy': i => secret(i % SECRETS, i + 1),
  'a policy of a route': i => policy((i * 7) % POLICIES, i + 2),
  'a policy of the Gateway': i => gatewayPolicy(i),
  'a backend': i => backend(i),
  'the Gateway': i => gateway(i + 1),
}

const world = { env: {}, tier: 'env', runtime: offlineRuntime(), readReferenced: () => undefined }
const empty = await load('<cluster>', '{}', world)
const one = createGateway({ version: '1', log: { write() {} }, portFor: () => 0 }, empty.snapshot.settings)
await one.gateway.apply(empty.snapshot)
const live = { className: 'agentgateway', addressOf: () => ({ listen: undefined, published: ['192.0.2.1'] }) }
const compiler = new LiveCompiler({ runtime: one.gateway.runtime, state: one.gateway.state, env: {}, config: {} }, live)
const objects = new LiveObjects(console.error)
const cpu = () => {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

/** The longest time that the thread works without serving anything else, in processor time: others load the machine. */
class Turns {
  longest = 0
  #since = cpu()
  #next = setImmediate(() => this.#turn())

  #turn() {
    const now = cpu()
    this.longest = Math.max(this.longest, now - this.#since)
    this.#since = now
    this.#next = setImmediate(() => this.#turn())
  }

  async end() {
    await new Promise(done => setTimeout(done, 5))
    clearImmediate(this.#next)
    return this.longest
  }
}

async function serve() {
  const changed = await objects.settle()
  const { snapshot, whole } = await compiler.compile(changed, objects)
  if (snapshot !== one.gateway.snapshot) await one.gateway.apply(snapshot)
  return whole
}

async function measured(put) {
  const turns = new Turns()
  await new Promise(done => setTimeout(done, 5))
  const before = cpu()
  const started = performance.now()
  put()
  const whole = await serve()
  return { whole, wall: performance.now() - started, cpu: cpu() - before, turn: await turns.end() }
}

const middle = (rows, key) =>
  rows
    .map(row => row[key])
    .toSorted((a, b) => a - b)
    [Math.floor(rows.length / 2)].toFixed(1)
const most = (rows, key) => Math.max(...rows.map(row => row[key])).toFixed(1)
const show = (name, rows) =>
  console.log(
    `${name.padEnd(24)} ${String(rows.filter(({ whole }) => whole).length).padStart(3)} ${['cpu', 'turn', 'wall'].map(key => `${middle(rows, key).padStart(8)} ${most(rows, key).padStart(8)}`).join('')}`,
  )

const initial = [
  object(
    GATEWAY,
    'GatewayClass',
    'agentgateway',
    { spec: { controllerName: 'agentgateway.dev/agentgateway' } },
    { namespace: undefined },
  ),
  gateway(),
  gatewayPolicy('start'),
  backend('start'),
  object(GATEWAY, 'HTTPRoute', 'outside', {
    spec: {
      parentRefs: [{ name: 'edge' }],
      rules: [
        {
          matches: [{ path: { value: '/out' } }],
          backendRefs: [{ group: 'agentgateway.dev', kind: 'AgentgatewayBackend', name: 'outside' }],
        },
      ],
    },
  }),
  ...count(SERVICES, i => service(i)),
  ...count(SERVICES, i => slice(i)),
  ...count(SECRETS, i => secret(i)),
  ...count(ROUTES, i => route(i)),
  ...count(POLICIES, i => policy(i)),
]
console.log(`${'change'.padEnd(24)} all  processor ms       longest turn       wall ms`)
show('initial load', [
  await measured(() => {
    for (const each of initial) objects.put(each)
  }),
])
const wanted = process.argv[2]
for (const [name, make] of Object.entries(CHANGES)) {
  if (wanted && name !== wanted) continue
  for (let i = 100; i < 103; i++) await measured(() => objects.put(make(i)))
  const rows = []
  for (let i = 0; i < ROUNDS; i++) rows.push(await measured(() => objects.put(make(i))))
  show(name, rows)
}
await one.gateway.stop({ min: 0, max: 0 })
