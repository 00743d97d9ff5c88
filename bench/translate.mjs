// Time and memory of translating 5,000 HTTPRoutes with 500 policies, and of compiling again after one route has changed.
import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROUTES = 5000
const POLICIES = 500
const SERVICES = 100
const ROUNDS = 5
const CHANGES = 40

const route = (i, timeout = 10) => `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: route-${i}, namespace: shop}
spec:
  parentRefs: [{name: edge}]
  hostnames: [host-${i % 50}.example.com]
  rules:
    - matches:
        - path: {type: PathPrefix, value: /api/${i}}
          method: GET
          headers: [{name: x-tenant, value: tenant-${i}}]
      filters:
        - type: RequestHeaderModifier
          requestHeaderModifier: {set: [{name: x-route, value: "${i}"}]}
      timeouts: {request: ${timeout}s}
      backendRefs: [{name: svc-${i % SERVICES}, port: 80}]`

const policy = i => `apiVersion: agentgateway.dev/v1alpha1
kind: ProxyPolicy
metadata: {name: policy-${i}, namespace: shop}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: route-${(i * ROUTES) / POLICIES}}]
  traffic:
    authorization: {action: Require, policy: {matchExpressions: ['request.headers["x-user"] == "u${i}"']}}
    rateLimit: {local: [{requests: ${i + 1}, unit: Seconds}]}`

const service = i => `apiVersion: v1
kind: Service
metadata: {name: svc-${i}, namespace: shop}
spec: {ports: [{port: 80}]}`

const GATEWAY = `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: shop}
spec:
  gatewayClassName: agentgateway
  listeners: [{name: http, port: 8080, protocol: HTTP}]`

const count = (n, make) => Array.from({ length: n }, (_, i) => make(i))

function documents(changed, timeout) {
  const routes = count(ROUTES, i => route(i, i === changed ? timeout : 10))
  return `${[GATEWAY, ...count(SERVICES, service), ...routes, ...count(POLICIES, policy)].join('\n---\n')}\n`
}

const bin = fileURLToPath(new URL('../bin/run.js', import.meta.url))

/** The whole command, as a person runs it. */
async function translation(file) {
  const started = process.hrtime.bigint()
  const script = `process.on('exit', () => process.stderr.write(JSON.stringify(process.resourceUsage())))`
  const load = `data:text/javascript,${encodeURIComponent(script)}`
  const child = spawn(process.execPath, ['--import', load, bin, 'translate', '-f', file], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let bytes = 0
  let told = ''
  child.stdout.on('data', part => {
    bytes += part.length
  })
  child.stderr.on('data', part => {
    told += part
  })
  const code = await new Promise(done => child.on('close', done))
  if (code !== 0) throw new Error(`gwctl translate ended with ${code}: ${told.slice(0, 500)}`)
  const usage = JSON.parse(told.slice(told.lastIndexOf('{"')))
  return {
    cpu: (usage.userCPUTime + usage.systemCPUTime) / 1e6,
    wall: Number(process.hrtime.bigint() - started) / 1e9,
    rss: usage.maxRSS / 1024,
    bytes,
  }
}

/** What `run` does when a file has changed: from its text to the snapshot, and to the tables of the engine. */
async function changes() {
  const { InputLoader } = await import('../src/tools/input/input-loader.ts')
  const { ReloadableState } = await import('../src/engine/state-store.ts')
  const { offlineRuntime } = await import('../src/config/offline-runtime.ts')
  const { routeTables } = await import('../src/engine/route-table.ts')
  const state = new ReloadableState()
  const runtime = { ...offlineRuntime(), state }
  const loader = new InputLoader(state)
  const options = { cwd: '/', env: {}, tier: 'env' }
  const load = text => loader.load([{ file: 'all.yaml', text }], options, runtime)
  await load(documents())
  const rows = []
  for (let i = 0; i < CHANGES; i++) {
    const changed = (i * 997) % ROUTES
    const text = documents(changed, 20 + i)
    // Back first: each change is of one route.
    const before = process.cpuUsage()
    const started = performance.now()
    const { snapshot } = await load(text)
    const wall = performance.now() - started
    const cpu = process.cpuUsage(before)
    const tabled = performance.now()
    routeTables(snapshot)
    const tables = performance.now() - tabled
    const found = snapshot.binds[0].listeners[0].routes.find(({ name }) => name === `route-${changed}`)
    if (found?.pipeline.timeout.request !== (20 + i) * 1000) throw new Error(`route-${changed} has not changed`)
    rows.push({ quick: loader.quick, wall, cpu: (cpu.user + cpu.system) / 1000, tables })
    await load(documents())
  }
  process.stdout.write(JSON.stringify({ rows, rss: process.resourceUsage().maxRSS / 1024 }))
}

const middle = values => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]
const most = values => Math.max(...values)
const show = (values, digits = 1) => `${middle(values).toFixed(digits)} (most ${most(values).toFixed(digits)})`

async function report() {
  const folder = mkdtempSync(join(tmpdir(), 'bench-translate-'))
  const file = join(folder, 'all.yaml')
  const text = documents()
  writeFileSync(file, text)
  const runs = []
  for (let i = 0; i < ROUNDS; i++) runs.push(await translation(file))
  rmSync(folder, { recursive: true })
  const of = (rows, key) => rows.map(row => row[key])
  process.stdout.write(
    `gwctl translate: ${ROUTES} HTTPRoutes, ${POLICIES} policies, ${(text.length / 1e6).toFixed(1)} MB; medians of ${ROUNDS}\n` +
      `  processor time ${show(of(runs, 'cpu'), 2)} s, wall ${show(of(runs, 'wall'), 2)} s, memory ${show(of(runs, 'rss'), 0)} MB\n`,
  )
  const self = fileURLToPath(import.meta.url)
  const { rows } = JSON.parse(
    execFileSync(process.execPath, ['--disable-warning=ExperimentalWarning', self, '--changes'], {
      maxBuffer: 1 << 28,
    }).toString(),
  )
  // The first changes are made by code that is not compiled yet.
  const warm = rows.slice(5)
  process.stdout.write(
    `one route changed: ${rows.filter(({ quick }) => quick).length} of ${rows.length} without the others; medians of ${warm.length}\n` +
      `  text to snapshot: processor time ${show(of(warm, 'cpu'))} ms, wall ${show(of(warm, 'wall'))} ms (first ${rows[0].wall.toFixed(1)} ms)\n` +
      `  snapshot to route tables: wall ${show(of(warm, 'tables'))} ms\n`,
  )
}

await (process.argv.includes('--changes') ? changes() : report())
