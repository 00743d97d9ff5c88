// Processor time and memory of `gwctl validate` as it is built, for a file of 30,000 lines, for 1,000 small files and for
// 1,000 files of Kubernetes resources, next to a process that reads the same files and parses them with the YAML library
// alone. Whole processes on both sides, start and all; the two take turns, because a busy machine changes its speed.
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const LARGE_LINES = 30_000
const SMALL_FILES = 1000
const ROUNDS = 5

const route = (i, indent) =>
  `- name: route-${i}
  hostnames: [host-${i % 50}.example.com]
  matches:
  - path:
      pathPrefix: /api/${i}
    method: GET
    headers:
    - name: x-tenant
      value:
        exact: tenant-${i}
  policies:
    jwtAuth:
      mode: strict
      issuer: https://login.example.com
      audiences: [api-${i}]
      jwks:
        url: https://login.example.com/keys.json
    authorization:
      rules:
      - require: jwt.email.endsWith("@example.com")
      - deny: request.path.contains("..")
    timeout:
      requestTimeout: 10s
      backendRequestTimeout: ${(i % 5) + 1}s
    retry:
      attempts: 2
      codes: [502, 503]
    requestHeaderModifier:
      set:
        x-route: route-${i}
  backends:
  - host: 10.0.${Math.floor(i / 250) % 250}.${(i % 250) + 1}:8080
    weight: 90
  - host: 10.1.${Math.floor(i / 250) % 250}.${(i % 250) + 1}:8080
    weight: 10
`
    .replace(/^/gm, ' '.repeat(indent))
    .trimEnd()

function file(routes) {
  const list = Array.from({ length: routes }, (_, i) => route(i, 4)).join('\n')
  return `binds:\n- port: 8080\n  listeners:\n  - name: main\n    routes:\n${list}\n`
}

const SERVICES = 20

/** Five routes, three policies and two backends in ten; one Gateway and some Services for all of them. */
function resource(i) {
  if (i === 0) return gateway()
  if (i <= SERVICES) return service(i - 1)
  return [httpRoute, policy, httpRoute, backend, policy, httpRoute, httpRoute, policy, httpRoute, backend][i % 10](i)
}

const head = (group, kind, name) => `apiVersion: ${group}
kind: ${kind}
metadata:
  name: ${name}
  namespace: team
  labels:
    app.kubernetes.io/name: ${name}
    app.kubernetes.io/part-of: shop
`

const gateway = () => `${head('gateway.networking.k8s.io/v1', 'Gateway', 'main')}spec:
  gatewayClassName: proxy
  listeners:
  - name: http
    port: 8080
    protocol: HTTP
    allowedRoutes:
      namespaces:
        from: Same
`

const service = i => `${head('v1', 'Service', `service-${i}`)}spec:
  selector:
    app: service-${i}
  ports:
  - name: http
    port: 80
    targetPort: 8080
`

const httpRoute = i => `${head('gateway.networking.k8s.io/v1', 'HTTPRoute', `route-${i}`)}spec:
  parentRefs:
  - name: main
    sectionName: http
  hostnames:
  - host-${i % 50}.example.com
  rules:
  - name: api
    matches:
    - path:
        type: PathPrefix
        value: /api/${i}
      method: GET
      headers:
      - name: x-tenant
        value: tenant-${i}
    filters:
    - type: RequestHeaderModifier
      requestHeaderModifier:
        set:
        - name: x-route
          value: route-${i}
    timeouts:
      request: 10s
      backendRequest: ${(i % 5) + 1}s
    backendRefs:
    - name: service-${i % SERVICES}
      port: 80
      weight: 90
    - name: service-${(i + 1) % SERVICES}
      port: 80
      weight: 10
${i % 10 === 2 || i % 10 === 8 ? toolsRule(i + 1) : ''}`

const toolsRule = backend => `  - name: tools
    matches:
    - path:
        type: PathPrefix
        value: /tools/${backend}
    backendRefs:
    - group: agentgateway.dev
      kind: ProxyBackend
      name: backend-${backend}
`

/** Of the route of the file before it. */
const policy = i => `${head('agentgateway.dev/v1alpha1', 'ProxyPolicy', `policy-${i}`)}spec:
  targetRefs:
  - group: gateway.networking.k8s.io
    kind: HTTPRoute
    name: route-${i === SERVICES + 1 ? i + 1 : i - (i % 10 === 7 || i % 10 === 1 ? 1 : 2)}
  traffic:
    jwtAuthentication:
      mode: Strict
      providers:
      - issuer: https://login.example.com
        audiences:
        - api-${i}
        jwks:
          remote:
            url: https://login.example.com/keys.json
            cacheDuration: 10m
    authorization:
      action: Allow
      policy:
        matchExpressions:
        - jwt.email.endsWith("@example.com")
        - jwt.groups.exists(g, g == "team-${i}")
    transformation:
      request:
        set:
        - name: x-subject
          value: jwt.sub
        - name: x-policy
          value: '"policy-${i}"'
`

const backend = i => `${head('agentgateway.dev/v1alpha1', 'ProxyBackend', `backend-${i}`)}spec:
  mcp:
    sessionRouting: Stateful
    targets:
    - name: search
      static:
        host: search-${i}.example.com
        port: 443
        path: /mcp
        protocol: StreamableHTTP
    - name: files
      static:
        host: files-${i}.example.com
        port: 443
        path: /mcp
        protocol: StreamableHTTP
  policies:
    tls:
      sni: tools.example.com
    mcp:
      authorization:
        action: Allow
        policy:
          matchExpressions:
          - mcp.tool.name.startsWith("find-")
          - mcp.tool.name == "tool-${i}"
`

/** Both processes are asked on their way out: the main thread is what one waits for, the rest is compiling and collecting. */
const ASK = `process.on('exit', () => {
  const ms = ({ user, system }) => (user + system) / 1000
  const usage = { main: ms(process.threadCpuUsage()), all: ms(process.cpuUsage()), mib: process.resourceUsage().maxRSS / 1024 }
  process.getBuiltinModule('node:fs').writeSync(3, JSON.stringify(usage))
})`

async function parseOnly(folder) {
  const { parseDocument } = await import('yaml')
  for (const name of readdirSync(folder)) parseDocument(readFileSync(join(folder, name), 'utf8')).toJS()
}

function measure(ask, args) {
  const { status, output } = spawnSync(process.execPath, ['--require', ask, ...args], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit', 'pipe'],
  })
  if (status !== 0) throw new Error(`${args.join(' ')} ended with ${status}: ${output[1]}`)
  return JSON.parse(output[3])
}

const median = numbers => numbers.toSorted((a, b) => a - b)[numbers.length >> 1]

function compare(ask, folder) {
  const own = () => measure(ask, [fileURLToPath(new URL('../bin/run.js', import.meta.url)), 'validate', folder])
  const yaml = () => measure(ask, [fileURLToPath(import.meta.url), 'parse-only', folder])
  // The first runs fill the compile cache.
  for (let run = 0; run < 3; run++) own()
  const rounds = Array.from({ length: ROUNDS }, () => ({ yaml: yaml(), own: own() }))
  const of = (side, key) => Math.round(median(rounds.map(round => round[side][key])))
  const ratio = key => median(rounds.map(({ own, yaml }) => own[key] / yaml[key])).toFixed(2)
  for (const [key, what] of [
    ['main', 'main thread'],
    ['all', 'all threads'],
  ]) {
    console.log(`  ${what}: ${of('own', key)} ms, the YAML library alone ${of('yaml', key)} ms, ratio ${ratio(key)}`)
  }
  console.log(`  memory: ${of('own', 'mib')} MiB, the YAML library alone ${of('yaml', 'mib')} MiB`)
}

function main() {
  const place = mkdtempSync(join(tmpdir(), 'gwctl-bench-'))
  try {
    const ask = join(place, 'ask.cjs')
    writeFileSync(ask, ASK)
    const perRoute = route(0, 0).split('\n').length
    const [large, small] = [file(Math.ceil(LARGE_LINES / perRoute)), file(1)]
    const cases = [
      ['a large file', 1, () => large],
      ['small files', SMALL_FILES, () => small],
      ['Kubernetes resources', SMALL_FILES, resource],
    ]
    for (const [what, files, text] of cases.filter(([what]) => what.includes(process.argv[2] ?? ''))) {
      const folder = join(place, what.replaceAll(' ', '-'))
      mkdirSync(folder)
      let lines = 0
      for (let i = 0; i < files; i++) {
        writeFileSync(join(folder, `gateway-${i}.yaml`), text(i))
        lines += text(i).split('\n').length - 1
      }
      console.log(`${what}: ${lines} lines in ${files}`)
      compare(ask, folder)
    }
  } finally {
    rmSync(place, { recursive: true })
  }
}

if (process.argv[2] === 'parse-only') await parseOnly(process.argv[3])
else main()
