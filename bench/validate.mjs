// Time and memory of checking: a file of 30,000 lines, and 1,000 small files, next to what the YAML library alone takes.
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { parseDocument } from 'yaml'

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

async function measure(mode, size) {
  const { load } = await import('../src/config/load.ts')
  const { Engines } = await import('../src/config/engines.ts')
  const { offlineRuntime } = await import('../src/config/offline-runtime.ts')
  const texts =
    size === 'large'
      ? [file(Math.ceil(LARGE_LINES / route(0, 0).split('\n').length))]
      : Array.from({ length: SMALL_FILES }, () => file(1))
  const engines = new Engines()
  const check = async text => {
    const options = { env: {}, tier: 'offline', runtime: offlineRuntime(), readReferenced: () => undefined, engines }
    const { diagnostics } = await load('config.yaml', text, options)
    if (diagnostics.length > 0) throw new Error(`unexpected: ${diagnostics[0].code} ${diagnostics[0].message}`)
  }
  // A first small file loads the engines of expressions and patterns, which a process does once.
  await check(file(1))
  parseDocument(file(1)).toJS()
  const started = performance.now()
  for (const text of texts) {
    if (mode === 'yaml') parseDocument(text).toJS()
    else await check(text)
  }
  const ms = performance.now() - started
  const lines = texts.reduce((sum, text) => sum + text.split('\n').length - 1, 0)
  return { ms, lines, mib: process.resourceUsage().maxRSS / 1024 }
}

if (process.argv[2] === 'measure') {
  console.log(JSON.stringify(await measure(process.argv[3], process.argv[4])))
} else {
  const run = (mode, size) =>
    JSON.parse(
      execFileSync(process.execPath, [fileURLToPath(import.meta.url), 'measure', mode, size], {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'inherit'],
      }),
    )
  const median = numbers => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)]
  for (const size of ['large', 'small']) {
    const rounds = Array.from({ length: ROUNDS }, () => ({ yaml: run('yaml', size), own: run('own', size) }))
    const of = (mode, key) => Math.round(median(rounds.map(round => round[mode][key])))
    const ratio = median(rounds.map(round => round.own.ms / round.yaml.ms)).toFixed(2)
    const what = size === 'large' ? '1 file' : `${SMALL_FILES} files`
    console.log(
      `${what}, ${rounds[0].own.lines} lines: ${of('own', 'ms')} ms, ${of('own', 'mib')} MiB; the YAML library alone ${of('yaml', 'ms')} ms, ${of('yaml', 'mib')} MiB; ratio ${ratio}`,
    )
  }
}
