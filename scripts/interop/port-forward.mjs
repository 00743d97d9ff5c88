// npm run interop:port-forward: does `--kube` reach a gateway through a real API server and the library that kubelets and
// container runtimes forward ports with, and does the Role of docs/cluster-access.md allow it? With `-- --record` the
// result goes into docs/interop.md. Needs Go and a build; not part of the tests.
import { execFile, spawn } from 'node:child_process'
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { parse, parseAllDocuments } from 'yaml'
import { freePorts, moduleDirectory, startApiServer } from './api-server.mjs'
import { replaceSection } from './section.mjs'

const root = fileURLToPath(new URL('../../', import.meta.url))
const HARNESS = process.env.KUBE_HARNESS ?? join(root, '..', 'shared', 'harness', 'kube')
const BIN = process.env.KUBE_BIN ?? join(tmpdir(), 'gwctl-kube-bin')
const GATEWAY_API = 'v1.7.0'
/** What containerd and CRI-O have built in. */
const STREAMING = 'v0.37.2'

const folder = await mkdtemp(join(tmpdir(), 'gwctl-port-forward-'))
const [admin, listener, silent] = await freePorts()
const kubeconfig = join(folder, 'kubeconfig')
const stops = []
let failures = 0

try {
  await startGateway()
  const node = await startKubelet()
  const server = await startApiServer(HARNESS, BIN)
  stops.unshift(server.stop)
  await writeFile(kubeconfig, restricted(server.kubeconfig), { mode: 0o600 })
  await fill(server.call, node)
  const passed = await checkAll(server.call)
  const result = `kube-apiserver ${server.version}, k8s.io/cri-streaming ${STREAMING}: ${passed} of ${passed + failures} checks`
  process.stdout.write(`${result}\n`)
  if (process.argv.includes('--record')) await record(server.version, passed)
} finally {
  for (const stop of stops) await stop()
  await rm(folder, { recursive: true })
}
process.exitCode = failures === 0 ? 0 : 1

async function startGateway() {
  const file = join(folder, 'gateway.yaml')
  const address = port => `127.0.0.1:${port}`
  await writeFile(
    file,
    `config: { adminAddr: '${address(admin)}', statsAddr: 'off', readinessAddr: 'off' }
binds:
  - port: ${listener}
    listeners:
      - routes:
          - policies: { directResponse: { status: 200, body: hello } }
`,
  )
  const gateway = spawn(process.execPath, [join(root, 'bin/run.js'), 'run', '-f', file], { stdio: 'ignore' })
  stops.push(() => ended(gateway))
  for (let left = 100; ; left--) {
    const ready = await fetch(`http://${address(admin)}/healthz/ready`).then(
      ({ ok }) => ok,
      () => false,
    )
    if (ready) return
    if (left === 0) throw new Error('the gateway does not become ready')
    await new Promise(done => setTimeout(done, 100))
  }
}

/** Its port. Nobody listens in the pod `silent`. */
async function startKubelet() {
  const source = join(folder, 'kubelet')
  await cp(fileURLToPath(new URL('kubelet', import.meta.url)), source, { recursive: true })
  await writeFile(join(source, 'go.mod'), `module kubelet\n\ngo 1.26.0\n\nrequire k8s.io/cri-streaming ${STREAMING}\n`)
  const go = args => promisify(execFile)('go', args, { cwd: source, env: { ...process.env, GOFLAGS: '-mod=mod' } })
  await go(['mod', 'tidy'])
  await go(['build', '-o', 'kubelet', '.'])
  const pods = [`edge-1=127.0.0.1:${admin}`, `edge-2=127.0.0.1:${admin}`, `silent=127.0.0.1:${silent}`]
  const kubelet = spawn(join(source, 'kubelet'), pods, { stdio: ['pipe', 'pipe', 'ignore'] })
  stops.push(() => ended(kubelet))
  for await (const line of createInterface({ input: kubelet.stdout })) return Number(line)
  throw new Error('the kubelet does not start')
}

function ended(child) {
  return new Promise(done => {
    child.once('close', done)
    child.kill()
  })
}

/** Somebody who may do nothing but what Roles say. */
function restricted(text) {
  const config = parse(text)
  config.users[0].user.as = 'reader'
  config.contexts[0].context.namespace = 'prod'
  return JSON.stringify(config)
}

async function fill(call, kubeletPort) {
  const made = async (path, body) => {
    const { status, body: answer } = await call('POST', path, body)
    if (status !== 201) throw new Error(`${path}: ${answer.message}`)
  }
  const labels = { app: 'edge', 'gateway.networking.k8s.io/gateway-name': 'edge' }
  const selector = { matchLabels: { app: 'edge' } }
  const template = { metadata: { labels }, spec: { containers: [{ name: 'proxy', image: 'proxy' }] } }
  const kind = (apiVersion, name, spec) => ({ apiVersion, kind: name, metadata: { name: 'edge' }, spec })
  await made('/api/v1/namespaces', { metadata: { name: 'prod' } })
  await made('/api/v1/nodes', { metadata: { name: 'node' } })
  const addresses = [{ type: 'InternalIP', address: '127.0.0.1' }]
  await apply(call, '/api/v1/nodes/node/status', {
    apiVersion: 'v1',
    kind: 'Node',
    status: { addresses, daemonEndpoints: { kubeletEndpoint: { Port: kubeletPort } } },
  })
  for (const [name, own, ready] of [
    ['edge-1', labels, 'False'],
    ['edge-2', labels, 'True'],
    ['silent', { app: 'silent' }, 'True'],
    ['lost', { app: 'lost' }, 'True'],
  ]) {
    const spec = { ...template.spec, nodeName: 'node' }
    await made('/api/v1/namespaces/prod/pods', { metadata: { name, labels: own }, spec })
    await apply(call, `/api/v1/namespaces/prod/pods/${name}/status`, {
      apiVersion: 'v1',
      kind: 'Pod',
      status: { phase: 'Running', conditions: [{ type: 'Ready', status: ready }] },
    })
  }
  await made(
    '/api/v1/namespaces/prod/services',
    kind('v1', 'Service', { selector: { app: 'edge' }, ports: [{ port: 80 }] }),
  )
  const apps = '/apis/apps/v1/namespaces/prod'
  await made(`${apps}/deployments`, kind('apps/v1', 'Deployment', { selector, template }))
  await made(`${apps}/replicasets`, kind('apps/v1', 'ReplicaSet', { selector, template }))
  await made(`${apps}/statefulsets`, kind('apps/v1', 'StatefulSet', { selector, template, serviceName: 'edge' }))
  await made(`${apps}/daemonsets`, kind('apps/v1', 'DaemonSet', { selector, template }))
  await defineGateways(call)
  const api = 'gateway.networking.k8s.io/v1'
  const listeners = [{ name: 'http', port: 80, protocol: 'HTTP' }]
  await made(`/apis/${api}/namespaces/prod/gateways`, kind(api, 'Gateway', { gatewayClassName: 'any', listeners }))
}

async function apply(call, path, value) {
  const { status, body } = await call('PATCH', `${path}?fieldManager=interop&force=true`, JSON.stringify(value))
  if (status !== 200 && status !== 201) throw new Error(`${path}: ${body.message}`)
}

async function defineGateways(call) {
  const directory = join(await moduleDirectory('sigs.k8s.io/gateway-api', GATEWAY_API), 'config/crd/standard')
  const [document] = parseAllDocuments(
    await readFile(join(directory, 'gateway.networking.k8s.io_gateways.yaml'), 'utf8'),
  )
  const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
  const { metadata, ...definition } = document.toJS()
  // Its group is protected: only definitions that say who approved them are taken.
  await apply(call, `${path}/${metadata.name}`, { ...definition, metadata })
  for (let left = 100; left > 0; left--) {
    if ((await call('GET', '/apis/gateway.networking.k8s.io/v1/namespaces/prod/gateways')).status === 200) return
    await new Promise(done => setTimeout(done, 100))
  }
  throw new Error('Gateways are not served')
}

/** How many passed; `failures` counts the others. */
async function checkAll(call) {
  let passed = 0
  const check = async (what, argv, { code = 0, out = '', err = '' }) => {
    const told = await gwctl(argv)
    const good = told.code === code && told.out.includes(out) && told.err.includes(err)
    if (good) passed++
    else failures++
    process.stdout.write(`${good ? 'ok' : 'FAILED'}  ${what}\n`)
    if (!good) process.stdout.write(`  code ${told.code}\n  ${told.out.slice(0, 500)}\n  ${told.err}\n`)
  }
  await checkRights(check, call)
  await checkTargets(check)
  await checkCommands(check)
  await checkFailures(check)
  return passed
}

/** Leaves the rights behind that the documentation says are enough. */
async function checkRights(check, call) {
  const denied = 'may not list gateways.gateway.networking.k8s.io in namespace prod'
  await check('nothing without a Role', ['health', '--kube'], { code: 4, err: denied })
  const role = await roleOfTheDocs()
  const forwarding = role.rules.find(({ resources }) => resources.includes('pods/portforward'))
  const { verbs } = forwarding
  forwarding.verbs = ['create']
  await grant(call, role)
  const lacking = { code: 4, err: 'create and get on pods/portforward' }
  await check('no way with the verb create alone', ['health', '--kube'], lacking)
  forwarding.verbs = verbs
  await grant(call, role)
}

async function checkTargets(check) {
  for (const target of [
    'edge',
    'gtw/edge',
    'pod/edge-2',
    'svc/edge',
    'deploy/edge',
    'rs/edge',
    'sts/edge',
    'ds/edge',
  ]) {
    await check(`health --kube ${target}`, ['health', '--kube', target], { out: 'ready', err: 'pod prod/edge-2' })
  }
  await check('health --kube', ['health', '--kube', '-n', 'prod'], { out: 'ready', err: 'Gateway prod/edge' })
}

async function checkCommands(check) {
  const one = (name, ...more) => [name, '--kube', 'edge', ...more]
  const all = (name, ...more) => one(name, '--all-pods', ...more)
  const request = ['--', 'GET', `http://127.0.0.1:${listener}/`]
  const second = { out: 'prod/edge-1' }
  await check('dump', one('dump', '-o', 'json'), { out: '"routes"' })
  await check('dump of all pods', all('dump', 'routes'), second)
  await check('log of all pods', one('log', '--level', 'debug'), { out: 'prod/edge-1: debug' })
  await check('log', one('log', '--pod', 'edge-1'), { out: 'debug' })
  await check('top', one('top', '--interval', '100ms', '-o', 'json'), { out: '{' })
  await check('top of all pods', all('top', '--interval', '100ms'), second)
  await check('health of all pods', all('health'), second)
  // Longer than the pause between two pings.
  await check('profile', one('profile', 'cpu', '--seconds', '12', '-o', 'pprof=cpu.gz'), { out: 'cpu.gz' })
  const finished = '"requestFinished"'
  await check('trace', one('trace', '--raw', ...request), { out: finished })
  await check('trace of all pods', all('trace', '--raw', ...request), { out: finished, err: 'Seen by pod prod/edge-' })
}

async function checkFailures(check) {
  const health = pod => ['health', '--kube', `pod/${pod}`]
  await check('nobody listens', health('silent'), { code: 4, err: 'nothing answers on port 15000' })
  await check('a pod that its node lost', health('lost'), { code: 4, err: 'unable to find a sandbox' })
  await check('no such pod', health('edge-3'), { code: 4, err: 'did you mean' })
}

async function roleOfTheDocs() {
  const text = await readFile(join(root, 'docs/cluster-access.md'), 'utf8')
  return parse(/```yaml\n([\s\S]*?)```/.exec(text)[1])
}

async function grant(call, role) {
  const api = 'rbac.authorization.k8s.io'
  const path = `/apis/${api}/v1/namespaces/prod`
  await apply(call, `${path}/roles/gwctl`, role)
  await apply(call, `${path}/rolebindings/gwctl`, {
    apiVersion: `${api}/v1`,
    kind: 'RoleBinding',
    metadata: { name: 'gwctl' },
    roleRef: { apiGroup: api, kind: 'Role', name: 'gwctl' },
    subjects: [{ apiGroup: api, kind: 'User', name: 'reader' }],
  })
  // What is granted holds when the server has seen it, which is soon.
  await new Promise(done => setTimeout(done, 1000))
}

function gwctl(argv) {
  const env = { ...process.env, KUBECONFIG: kubeconfig }
  return new Promise(done => {
    execFile(process.execPath, [join(root, 'bin/run.js'), ...argv], { env, cwd: folder }, (error, out, err) =>
      done({ code: error?.code ?? 0, out, err }),
    )
  })
}

function record(version, passed) {
  const text = `## Port-forwarding

\`--kube\` through kube-apiserver ${version} to a kubelet that forwards ports with k8s.io/cri-streaming ${STREAMING}, the library of container runtimes, with the rights of the Role in [cluster-access.md](cluster-access.md) and no others: ${passed} of ${passed + failures} checks passed. Each of the six commands; each type of resource; refusals, a port that nobody listens on, a pod that is not there.
`
  return replaceSection(join(root, 'docs/interop.md'), 'port-forward', 'npm run interop:port-forward -- --record', text)
}
