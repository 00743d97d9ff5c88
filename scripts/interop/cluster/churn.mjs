// npm run interop:churn: `gwctl run --kube` beside a real API server while 1,000 objects a minute change for 20 minutes:
// memory, how soon a change is served, an API server that restarts meanwhile, a Lease that another replica takes. With
// `-- --record` the result goes into docs/interop.md. MINUTES, RATE and ROUTES change the amounts. Needs Go once.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { availableParallelism, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { freePorts, startApiServer } from '../api-server.mjs'
import { replaceSection } from '../section.mjs'
import { installDefinitions } from './definitions.mjs'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const { env } = process
const HARNESS = env.KUBE_HARNESS ?? join(root, '..', 'shared', 'harness', 'kube')
const BIN = env.KUBE_BIN ?? join(tmpdir(), 'gwctl-kube-bin')
const MINUTES = Number(env.MINUTES ?? 20)
const RATE = Number(env.RATE ?? 1000)
const ROUTES = Number(env.ROUTES ?? 5000)
const SERVICES = 50
const GATEWAY_API = '/apis/gateway.networking.k8s.io/v1'
const LEASE = '/apis/coordination.k8s.io/v1/namespaces/default/leases/gwctl-churn'

async function main() {
  const server = await startApiServer(HARNESS, BIN)
  const folder = await mkdtemp(join(tmpdir(), 'gwctl-churn-'))
  const kubeconfig = join(folder, 'kubeconfig')
  await writeFile(kubeconfig, server.kubeconfig, { mode: 0o600 })
  const [port] = await freePorts()
  let gateway
  try {
    await installDefinitions(server)
    const cluster = new Cluster(server.call)
    await cluster.fill(port)
    gateway = startReplica(kubeconfig)
    await gateway.says('admin server on')
    await until(() => located(port, 0), 120_000)
    say(`${ROUTES} routes are served after ${Math.round(performance.now() - gateway.started)} ms`)
    const result = await churn({ server, cluster, gateway, port })
    result.stale = await settled(server.call)
    say(`objects without a status of their last generation: ${result.stale}`)
    if (result.stale > 0 || result.leaderWrote > 0) process.exitCode = 1
    else if (process.argv.includes('--record')) await record(result, server.version)
  } finally {
    await gateway?.stop()
    await server.stop()
    await rm(folder, { recursive: true })
  }
}

class Cluster {
  #call
  #made = 0
  #host = 0

  constructor(call) {
    this.#call = call
  }

  async apply(object) {
    const { apiVersion, kind, metadata } = object
    const group = apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`
    const within = metadata.namespace === undefined ? '' : `/namespaces/${metadata.namespace}`
    const plural = kind === 'GatewayClass' ? 'gatewayclasses' : `${kind.toLowerCase()}s`
    const path = `${group}${within}/${plural}/${metadata.name}?fieldManager=churn&force=true`
    const { status, body } = await this.#call('PATCH', path, object)
    if (status >= 300) throw new Error(`${kind} ${metadata.name}: ${body.message}`)
  }

  async fill(port) {
    const listeners = [{ name: 'http', port, protocol: 'HTTP' }]
    await this.apply({
      apiVersion: 'gateway.networking.k8s.io/v1',
      kind: 'Gateway',
      metadata: { name: 'edge', namespace: 'default' },
      spec: { gatewayClassName: 'churn', listeners },
    })
    for (let i = 0; i < SERVICES; i++) {
      await this.apply(service(i))
      await this.apply(endpoints(i, 1))
    }
    const numbers = Array.from({ length: ROUTES }, (_, i) => i)
    const work = async () => {
      for (let i = numbers.shift(); i !== undefined; i = numbers.shift()) await this.apply(route(i, 'h0'))
    }
    await Promise.all([1, 2, 3, 4].map(work))
  }

  /** One of the changes that a cluster sees: a route, its backend, endpoints of a Service, a route that comes and goes. */
  async change(i) {
    const kind = i % 10
    if (kind < 7) return this.apply(route((i * 7) % ROUTES || 1, `h${++this.#host}`))
    if (kind < 9) return this.apply(endpoints(i % SERVICES, (i % 200) + 1))
    const gone = this.#made - 20
    if (gone >= 0) await this.#call('DELETE', `${GATEWAY_API}/namespaces/default/httproutes/route-${ROUTES + gone}`)
    return this.apply(route(ROUTES + this.#made++, 'h0'))
  }
}

function service(i) {
  const metadata = { name: `app-${i}`, namespace: 'default' }
  return { apiVersion: 'v1', kind: 'Service', metadata, spec: { ports: [{ name: 'http', port: 80 }] } }
}

function endpoints(i, last) {
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: `app-${i}`, namespace: 'default', labels: { 'kubernetes.io/service-name': `app-${i}` } },
    addressType: 'IPv4',
    ports: [{ name: 'http', port: 8080 }],
    endpoints: [{ addresses: [`10.9.${i}.${last}`] }],
  }
}

/** Every fifth redirects, which shows from outside which version is served; the others call a Service. */
function route(i, host) {
  const matches = [{ path: { type: 'Exact', value: `/r${i}` }, headers: [{ name: 'x', value: host }] }]
  const seen = { type: 'RequestRedirect', requestRedirect: { hostname: host, statusCode: 302 } }
  const rule =
    i % 5 === 0
      ? { matches: [{ path: { type: 'Exact', value: `/r${i}` } }], filters: [seen] }
      : { matches, backendRefs: [{ name: `app-${i % SERVICES}`, port: 80 }] }
  const metadata = { name: `route-${i}`, namespace: 'default' }
  const spec = { parentRefs: [{ name: 'edge' }], rules: [rule] }
  return { apiVersion: 'gateway.networking.k8s.io/v1', kind: 'HTTPRoute', metadata, spec }
}

async function churn({ server, cluster, gateway, port }) {
  const result = { minutes: [], latencies: [], changes: 0, outage: 0, leaderWrote: 0, load: 0 }
  const probing = new AbortController()
  const probes = probe(cluster, port, result, probing.signal)
  for (let minute = 0; minute < MINUTES; minute++) {
    const end = Date.now() + 60_000
    const cpu = await gateway.cpu()
    let heap = Number.POSITIVE_INFINITY
    const sampler = setInterval(async () => {
      heap = Math.min(heap, (await gateway.memory().catch(() => undefined)) ?? heap)
    }, 2000)
    if (minute === Math.floor(MINUTES / 2)) result.outage = await outage(server, port)
    if (minute === Math.floor((MINUTES * 3) / 4)) result.leaderWrote = await stolenLease(server.call, cluster)
    for (let i = 0; i < RATE && Date.now() < end; i++) {
      await cluster.change(result.changes++)
      await sleep(Math.max(0, (end - Date.now()) / (RATE - i) - 2))
    }
    await sleep(Math.max(0, end - Date.now()))
    clearInterval(sampler)
    result.load += loadavg()[0] / MINUTES
    const row = { changes: result.changes, heap: Math.round(heap / 1e6), rss: await gateway.rss() }
    row.cpu = Math.round(((await gateway.cpu()) - cpu) * 10) / 10
    result.minutes.push(row)
    say(`minute ${minute + 1}: ${JSON.stringify(row)}`)
  }
  probing.abort()
  await probes
  const sorted = result.latencies.toSorted((a, b) => a - b)
  result.median = Math.round(sorted[sorted.length >> 1])
  result.p99 = Math.round(sorted[Math.floor(sorted.length * 0.99)])
  say(`${sorted.length} changes were served after ${result.median} ms (median), ${result.p99} ms (99th percentile)`)
  return result
}

/** How long a change of one route takes to be served, from its acceptance by the API server on. */
async function probe(cluster, port, result, signal) {
  for (let i = 1; !signal.aborted; i++) {
    try {
      await cluster.apply(route(0, `probe${i}`))
      const from = performance.now()
      await until(async () => (await located(port, 0)) === `probe${i}`, 60_000)
      result.latencies.push(performance.now() - from)
    } catch {
      // The API server is away.
    }
    await sleep(1000)
  }
}

/** The API server restarts; what was served stays so. Returns how often it was not. */
async function outage(server, port) {
  const away = server.restart(10_000)
  let failed = 0
  let asked = 0
  for (let over = false; !over; asked++) {
    over = await Promise.race([away.then(() => true), sleep(100).then(() => false)])
    if ((await located(port, 0).catch(() => undefined)) === undefined) failed++
  }
  say(`the API server restarted: ${asked} requests meanwhile, ${failed} failed`)
  return failed
}

/** Somebody else takes the Lease and keeps it for 30 s. Returns how many statuses were written in that time. */
async function stolenLease(call, cluster) {
  const { body } = await call('GET', LEASE)
  const holderIdentity = 'somebody-else'
  const take = async () => {
    const { body: now } = await call('GET', LEASE)
    const renewTime = new Date().toISOString().replace('Z', '000Z')
    return (await call('PUT', LEASE, { ...now, spec: { ...now.spec, holderIdentity, renewTime } })).status
  }
  for (let status = 409; status === 409; ) status = await take()
  // It notices with its next renewal, two seconds later at most.
  await sleep(3000)
  for (let i = 10; i < 60; i++) await cluster.apply(route(i, 'stolen'))
  const renewal = setInterval(() => void take(), 5000)
  await sleep(27_000)
  clearInterval(renewal)
  const { body: list } = await call('GET', `${GATEWAY_API}/namespaces/default/httproutes`)
  const wrote = list.items.filter(
    ({ metadata, status }) => /^route-[1-5]\d$/.test(metadata.name) && isCurrent(metadata, status),
  )
  say(`the Lease of ${body.spec.holderIdentity} was taken: ${wrote.length} of 50 statuses written meanwhile`)
  return wrote.length
}

function isCurrent({ generation }, status) {
  const [parent] = status?.parents ?? []
  return parent?.conditions.every(({ observedGeneration }) => observedGeneration === generation) ?? false
}

/** The number of routes whose status is not that of their last generation, when nothing changes any more. */
async function settled(call) {
  for (let left = 60; ; left--) {
    const { body } = await call('GET', `${GATEWAY_API}/namespaces/default/httproutes`)
    const stale = body.items.filter(({ metadata, status }) => !isCurrent(metadata, status)).length
    if (stale === 0 || left === 0) return stale
    await sleep(2000)
  }
}

function startReplica(kubeconfig) {
  const started = performance.now()
  const addresses = { ADMIN_ADDR: '127.0.0.1:0', STATS_ADDR: '127.0.0.1:0', READINESS_ADDR: '127.0.0.1:0' }
  const collecting = ['--expose-gc', '--import', new URL('../../soak/collect-often.mjs', import.meta.url).href]
  const args = [
    ...collecting,
    join(root, 'bin/run.js'),
    'run',
    '--kube',
    '--kubeconfig',
    kubeconfig,
    '--gateway-class',
    'churn',
  ]
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...env, ...addresses, CONNECTION_MIN_TERMINATION_DEADLINE: '0s', RUST_LOG: 'info,request=off' },
  })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', text => {
    said += text
    if (env.VERBOSE) process.stderr.write(text)
  })
  const exit = once(child, 'close')
  const admin = () => /admin server on (\S+)\.\n/.exec(said)[1]
  const statOf = async () => (await readFile(`/proc/${child.pid}/stat`, 'utf8')).split(') ')[1].split(' ')
  return {
    started,
    says: words => until(() => said.includes(words), 60_000),
    memory: async () => (await (await fetch(`http://${admin()}/memory`)).json()).process.heapUsed,
    rss: async () => Number(/VmRSS:\s+(\d+)/.exec(await readFile(`/proc/${child.pid}/status`, 'utf8'))[1]) >> 10,
    cpu: async () => {
      const stat = await statOf()
      return (Number(stat[11]) + Number(stat[12])) / 100
    },
    stop: async () => {
      child.kill('SIGTERM')
      await exit
    },
  }
}

async function located(port, i) {
  const { headers } = await fetch(`http://127.0.0.1:${port}/r${i}`, { redirect: 'manual' })
  const place = headers.get('location')
  return place === null ? undefined : new URL(place).hostname
}

async function until(holds, ms) {
  for (const deadline = Date.now() + ms; Date.now() < deadline; await sleep(20)) {
    const value = await Promise.resolve()
      .then(holds)
      .catch(() => undefined)
    if (value) return value
  }
  throw new Error(`not within ${ms} ms`)
}

function say(line) {
  process.stdout.write(`${line}\n`)
}

function record({ minutes, changes, median, p99, load, outage: failed }, version) {
  const quarter = minutes.length / 4
  const heaps = [0, 1, 2, 3]
    .map(i =>
      minutes.slice(Math.floor(i * quarter), Math.max(1, Math.floor((i + 1) * quarter))).map(({ heap }) => heap),
    )
    .map(part => `${Math.min(...part)} MB`)
    .join(', ')
  const text = `## A cluster that changes

\`npm run interop:churn\`: \`gwctl run --kube\` beside kube-apiserver ${version} with ${ROUTES} HTTPRoutes, ${changes} changes in ${minutes.length} minutes: routes, their backends, endpoints, routes that come and go. Smallest heap in each quarter of the time: ${heaps}; resident memory at most ${Math.max(...minutes.map(({ rss }) => rss))} MB. A change was served ${median} ms after the API server had taken it (median; 99th percentile ${p99} ms), with a load of ${Math.round(load)} on ${availableParallelism()} cores. Meanwhile the API server was away for ten seconds, and ${failed} requests failed; another replica took the Lease for 30 seconds, and no status was written. In the end, every route had the status of its last generation.
`
  return replaceSection(join(root, 'docs/interop.md'), 'churn', 'npm run interop:churn -- --record', text)
}

await main()
