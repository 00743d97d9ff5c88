import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { answering, busySeconds, freePort, Pinned, spent } from './process.ts'
import { chatRequest, hasStreams, writeNginxProxy, writeUpstream } from './upstream.ts'

const HELP = `node bench/proxy/run.ts [options]

Measures proxies side by side: every target stays up, each round runs all of them back to back, and what counts is the
processor time per request relative to nginx in the same round. Needs wrk, nginx and taskset; streams need
libnginx-mod-http-echo. Targets run on core 0, wrk and the upstream on core 1.

  --rounds N           rounds, at least 3 for a claim (default 4)
  --seconds N          seconds per target and round (default 2)
  --workloads a,b      of get, chat, paced, burst, big (default all that this machine can run)
  --targets a,b        of nginx, static, own, undici, gwctl, and the names given with --target (default nginx,own,undici)
  --target name=cmd    another proxy; {port}, {upstream} and {config} (a standalone file) are replaced
  --oracle path        adds the target oracle: the binary of the public system
  --quiet N            rounds with more foreign load than this many cores are left out of the table (default 0.25)
  --json path          writes every record
`

interface Workload {
  readonly path: string
  readonly connections: number
  readonly body?: string
}
interface Record {
  readonly target: string
  readonly workload: string
  readonly round: number
  /** µs of processor time per request. */
  readonly cpu: number
  readonly requests: number
  readonly errors: number
  readonly perSecond: number
  readonly p50: number
  readonly p99: number
  readonly rss: number
  /** Cores that others kept busy meanwhile. */
  readonly foreign: number
}
interface WrkReply {
  readonly requests: number
  readonly duration: number
  readonly errors: number
  readonly p50: number
  readonly p99: number
}

const WORKLOADS: Readonly<{ [name: string]: Workload }> = {
  get: { path: '/small', connections: 64 },
  chat: { path: '/v1/chat/completions', connections: 64, body: chatRequest(false) },
  big: { path: '/big', connections: 16 },
  ...(hasStreams
    ? {
        paced: { path: '/paced/v1/chat/completions', connections: 64, body: chatRequest(true) },
        burst: { path: '/burst/v1/chat/completions', connections: 64, body: chatRequest(true) },
      }
    : {}),
}

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '4' },
    seconds: { type: 'string', default: '2' },
    workloads: { type: 'string', default: Object.keys(WORKLOADS).join() },
    targets: { type: 'string', default: 'nginx,own,undici' },
    target: { type: 'string', multiple: true, default: [] },
    oracle: { type: 'string' },
    quiet: { type: 'string', default: '0.25' },
    json: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) process.stdout.write(HELP)
else await main()

async function main(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'proxy-bench-'))
  const running: Pinned[] = []
  try {
    const upstream = await freePort()
    const server = new Pinned(['nginx', '-c', await writeUpstream(folder, upstream)], 1, join(folder, 'upstream.out'))
    running.push(server)
    await answering(upstream, 'upstream')
    const targets = new Map<string, { port: number; child: Pinned }>()
    for (const name of names()) {
      const port = await freePort()
      const { command, env } = await commandOf(name, folder, port, upstream)
      const child = new Pinned(command, 0, join(folder, `${name}.out`), {
        PORT: String(port),
        UPSTREAM: String(upstream),
        ...env,
      })
      running.push(child)
      targets.set(name, { port, child })
      await answering(port, name)
    }
    const records = await measure(targets, server, folder)
    table(records)
    if (values.json !== undefined)
      await writeFile(values.json, records.map(record => `${JSON.stringify(record)}\n`).join(''))
  } finally {
    for (const child of running) child.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

function names(): string[] {
  const given = values.target.map(text => text.slice(0, text.indexOf('=')))
  return [...new Set([...values.targets.split(','), ...given, ...(values.oracle === undefined ? [] : ['oracle'])])]
}

async function commandOf(
  name: string,
  folder: string,
  port: number,
  upstream: number,
): Promise<{ command: string[]; env?: { readonly [name: string]: string } }> {
  const node = (script: string): string[] => [process.execPath, join(import.meta.dirname, script)]
  const given = values.target.find(text => text.startsWith(`${name}=`))?.slice(name.length + 1)
  if (given !== undefined) {
    const config = given.includes('{config}') ? await standalone(folder, name, port, upstream) : ''
    const filled = given.replaceAll('{port}', String(port)).replaceAll('{upstream}', String(upstream))
    return { command: filled.replaceAll('{config}', config).split(' ') }
  }
  switch (name) {
    case 'nginx':
      return { command: ['nginx', '-c', await writeNginxProxy(folder, port, upstream)] }
    case 'static':
      return { command: node('static.ts') }
    case 'own':
    case 'undici':
      return { command: node('front.ts'), env: { CLIENT: name } }
    case 'gwctl':
      return { command: [...node('../../bin/run.js'), 'run', '-f', await standalone(folder, name, port, upstream)] }
    case 'oracle':
      return { command: [values.oracle ?? '', '-f', await standalone(folder, name, port, upstream)] }
    default:
      throw new Error(`unknown target ${name}: give its command with --target ${name}=...`)
  }
}

/** One route to the upstream, one worker, no access log. */
async function standalone(folder: string, name: string, port: number, upstream: number): Promise<string> {
  const path = join(folder, `${name}.yaml`)
  const [admin, stats, readiness] = [await freePort(), await freePort(), await freePort()]
  await writeFile(
    path,
    `config:
  adminAddr: 127.0.0.1:${admin}
  statsAddr: 127.0.0.1:${stats}
  readinessAddr: 127.0.0.1:${readiness}
  workerThreads: 1
  logging:
    level: warn
frontendPolicies:
  accessLog:
    filter: "false"
binds:
- port: ${port}
  listeners:
  - routes:
    - backends:
      - host: 127.0.0.1:${upstream}
`,
  )
  return path
}

async function measure(
  targets: ReadonlyMap<string, { port: number; child: Pinned }>,
  server: Pinned,
  folder: string,
): Promise<Record[]> {
  const records: Record[] = []
  const seconds = Number(values.seconds)
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const workload of values.workloads.split(',')) {
      const shape = WORKLOADS[workload]
      if (shape === undefined) throw new Error(`unknown workload ${workload}: ${Object.keys(WORKLOADS).join(', ')}`)
      const order = round % 2 === 0 ? [...targets] : [...targets].reverse()
      for (const [target, { port, child }] of order) {
        if (round < 2) await wrk(folder, shape, port, 2 - round)
        const [cpu, other, busy, start] = [child.cpu(), server.cpu(), busySeconds(), performance.now()]
        const { reply, cpu: load } = await wrk(folder, shape, port, seconds)
        const used = spent(cpu, child.cpu())
        const took = (performance.now() - start) / 1000
        const record: Record = {
          target,
          workload,
          round,
          cpu: (used / reply.requests) * 1e6,
          requests: reply.requests,
          errors: reply.errors,
          perSecond: reply.requests / (reply.duration / 1e6),
          p50: reply.p50,
          p99: reply.p99,
          rss: child.rss(),
          foreign: Math.max(0, (busySeconds() - busy - used - spent(other, server.cpu()) - load) / took),
        }
        records.push(record)
        process.stderr.write(
          `${round} ${workload.padEnd(6)} ${target.padEnd(8)} ${record.cpu.toFixed(1).padStart(8)} µs ` +
            `${record.perSecond.toFixed(0).padStart(7)}/s p50 ${record.p50} p99 ${record.p99} µs ${record.rss} MB ` +
            `foreign ${record.foreign.toFixed(2)}${record.errors > 0 ? ` ERRORS ${record.errors}` : ''}\n`,
        )
      }
    }
  }
  return records
}

/** `cpu`: seconds that wrk itself used. */
async function wrk(
  folder: string,
  shape: Workload,
  port: number,
  seconds: number,
): Promise<{ reply: WrkReply; cpu: number }> {
  const script = join(folder, 'wrk.lua')
  const request =
    shape.body === undefined
      ? ''
      : `wrk.method = "POST"
wrk.body = [=[${shape.body}]=]
wrk.headers["content-type"] = "application/json"
wrk.headers["accept"] = "application/json"
wrk.headers["authorization"] = "Bearer test-0123456789abcdef"
wrk.headers["user-agent"] = "OpenAI/JS 6.1.0"
wrk.headers["x-stainless-lang"] = "js"
wrk.headers["x-stainless-os"] = "Linux"
wrk.headers["x-stainless-runtime"] = "node"
`
  await writeFile(
    script,
    `${request}
done = function(s, l)
  io.write(string.format('RESULT {"requests":%d,"duration":%d,"errors":%d,"p50":%d,"p99":%d}\\n', s.requests, s.duration,
    s.errors.connect + s.errors.read + s.errors.write + s.errors.status + s.errors.timeout, l:percentile(50), l:percentile(99)))
end
`,
  )
  const { stdout } = await promisify(execFile)('taskset', [
    '-c',
    '1',
    'bash',
    '-c',
    'wrk "$@"; times',
    'wrk',
    '-t1',
    `-c${shape.connections}`,
    `-d${seconds}s`,
    '--timeout',
    '10s',
    '-s',
    script,
    `http://127.0.0.1:${port}${shape.path}`,
  ])
  const result = /RESULT (\{.*\})/.exec(stdout)?.[1]
  if (result === undefined) throw new Error(`wrk said: ${stdout}`)
  let cpu = 0
  for (const [, minutes, rest] of stdout
    .split('\n')
    .slice(-3)
    .join(' ')
    .matchAll(/(\d+)m([\d.]+)s/g)) {
    cpu += Number(minutes) * 60 + Number(rest)
  }
  return { reply: JSON.parse(result) as WrkReply, cpu }
}

function table(records: readonly Record[]): void {
  const quiet = records.filter(({ foreign }) => foreign <= Number(values.quiet))
  const out = [
    `median of ${values.rounds} rounds: µs of processor time per request, ratio to nginx, MB; n: rounds that were quiet enough\n`,
  ]
  for (const workload of values.workloads.split(',')) {
    for (const target of new Set(records.map(record => record.target))) {
      const mine = quiet.filter(record => record.target === target && record.workload === workload)
      const ratios: number[] = []
      for (const record of mine) {
        const base = quiet.find(
          one => one.target === 'nginx' && one.workload === workload && one.round === record.round,
        )
        if (base !== undefined) ratios.push(record.cpu / base.cpu)
      }
      const ratio = ratios.length === 0 ? '-' : `x${median(ratios).toFixed(2)}`
      const spread = ratios.length < 2 ? '' : ` (${Math.min(...ratios).toFixed(2)}-${Math.max(...ratios).toFixed(2)})`
      const name = `${workload.padEnd(6)} ${target.padEnd(8)}`
      if (mine.length === 0) {
        out.push(`${name}        - no round was quiet enough\n`)
        continue
      }
      const cpu = median(mine.map(record => record.cpu)).toFixed(1)
      const rss = median(mine.map(record => record.rss)).toFixed(0)
      out.push(`${name} ${cpu.padStart(8)} ${(ratio + spread).padEnd(20)} ${rss} MB  n=${mine.length}\n`)
    }
  }
  process.stdout.write(out.join(''))
}

function median(numbers: readonly number[]): number {
  const sorted = [...numbers].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1
    ? (sorted[middle] as number)
    : ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2
}
