import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { load } from './load.ts'
import { answering, busiestShare, busySeconds, freePort, Pinned, spent } from './process.ts'
import { type Record, table } from './table.ts'
import { type Target, targetNamed } from './targets.ts'
import { writeCertificate, writeUpstream } from './upstream.ts'
import { WORKLOADS, type Workload } from './workloads.ts'

const HELP = `node bench/proxy/run.ts [options]

Measures proxies side by side: every target stays up, each round runs all of them back to back, and what counts is the
processor time per request relative to another target in the same round. Needs wrk, nginx, taskset and openssl;
streams and uploads need libnginx-mod-http-echo, HTTP/2 needs h2load. Targets run on core 0, wrk and the upstream on core 1; for the workload workers all share both.

  --rounds N           rounds, at least 3 for a claim (default 4)
  --seconds N          seconds per target and round (default 2)
  --warm N             seconds of load before the first round: 8 until V8 has settled, 2 for a fresh process (default 2)
  --cold               also measures the first seconds of each workload, as workloads of their own
  --workloads a,b      of ${Object.keys(WORKLOADS).join(', ')} (default all)
  --targets a,b        of nginx, prototype, static, own, gwctl, gwctl-1, gwctl-2, and the names given with
                       --target (default nginx,prototype,gwctl)
  --target name=cmd    another proxy; {port}, {upstream} and {config} (a standalone file) are replaced
  --oracle path        adds the target oracle: the binary of the public system
  --portkey path       adds the target portkey: build/start-server.js of @portkey-ai/gateway, installed elsewhere
  --litellm path       adds the target litellm: its command, installed elsewhere with litellm[proxy]
  --quiet N            rounds with more foreign load than this many cores are left out of the table (default 0.25)
  --json path          writes every record
`

interface Running extends Target {
  readonly child: Pinned
}

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '4' },
    seconds: { type: 'string', default: '2' },
    warm: { type: 'string', default: '2' },
    cold: { type: 'boolean', default: false },
    workloads: { type: 'string', default: Object.keys(WORKLOADS).join() },
    targets: { type: 'string', default: 'nginx,prototype,gwctl' },
    target: { type: 'string', multiple: true, default: [] },
    oracle: { type: 'string' },
    portkey: { type: 'string' },
    litellm: { type: 'string' },
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
    const [upstream, upstream2, decider, echo] = [
      await freePort(),
      await freePort(),
      await freePort(),
      await freePort(),
    ]
    const serves = ['nginx', '-c', await writeUpstream(folder, upstream, upstream2)]
    const server = new Pinned(serves, '1', join(folder, 'upstream.out'))
    running.push(server)
    await answering(upstream, 'upstream')
    const targets = new Map<string, Running>()
    const { oracle, portkey, litellm, target: given } = values
    const decides = [process.execPath, join(import.meta.dirname, 'decider.ts'), String(decider), String(echo)]
    running.push(new Pinned(decides, '1', join(folder, 'decider.out')))
    await writeCertificate(folder)
    for (const name of names()) {
      const servers = { upstream, upstream2, decider, echo }
      const target = await targetNamed(name, { folder, ...servers, oracle, portkey, litellm, given })
      const cores = name.startsWith('gwctl-') ? '0,1' : '0'
      const child = new Pinned(target.command, cores, join(folder, `${name}.out`), target.env)
      running.push(child)
      targets.set(name, { ...target, child })
      await answering(target.port, name)
    }
    await new Promise(done => setTimeout(done, 1000))
    const idle = [...targets].map(([name, { child }]) => `${name} ${child.rss()}`)
    const records = await measure(targets, server, folder)
    const quiet = records.filter(({ foreign }) => foreign <= Number(values.quiet))
    process.stdout.write(
      `MB before any load: ${idle.join(', ')}\n${values.rounds} rounds; medians over those that were quiet enough (n): processor time per request, ratios\n` +
        table(quiet),
    )
    if (values.json !== undefined)
      await writeFile(values.json, records.map(record => `${JSON.stringify(record)}\n`).join(''))
  } finally {
    for (const child of running) child.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

function names(): string[] {
  const asked = values.targets.split(',')
  const given = values.target.map(text => text.slice(0, text.indexOf('=')))
  const optional = [values.oracle && 'oracle', values.portkey && 'portkey', values.litellm && 'litellm', ...workers()]
  return [...new Set([...asked, ...given, ...optional.filter(name => name !== undefined && name !== '')])] as string[]
}

function workers(): readonly string[] {
  const wanted = values.workloads.split(',').includes('workers') && values.targets.split(',').includes('gwctl')
  return wanted ? (WORKLOADS.workers?.only ?? []) : []
}

async function measure(targets: ReadonlyMap<string, Running>, server: Pinned, folder: string): Promise<Record[]> {
  const records: Record[] = []
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const workload of values.workloads.split(',')) {
      const shape = WORKLOADS[workload]
      if (shape === undefined) throw new Error(`unknown workload ${workload}: ${Object.keys(WORKLOADS).join(', ')}`)
      const order = [...targets].filter(([name]) => takesPart(name, workload, shape))
      if (round % 2 === 1) order.reverse()
      for (const [name, target] of order) {
        const once = async (title: string): Promise<void> => {
          const measured = await measureOnce(shape, target, server, folder)
          const record = { target: name, workload: title, round, ...measured }
          // Whoever answers nothing in all that time has no cost per request.
          if (record.requests > 0) records.push(record)
          process.stderr.write(lineOf(record))
        }
        if (round === 0 && values.cold) await once(`${workload} cold`)
        if (round < 2) await load(folder, shape, target, round === 0 ? Number(values.warm) : 1)
        await once(workload)
      }
    }
  }
  return records
}

async function measureOnce(
  shape: Workload,
  target: Running,
  server: Pinned,
  folder: string,
): Promise<Omit<Record, 'target' | 'workload' | 'round'>> {
  const { child } = target
  const [cpu, other, busy, start] = [child.cpu(), server.cpu(), busySeconds(), performance.now()]
  const { reply, cpu: own } = await load(folder, shape, target, Math.max(Number(values.seconds), shape.seconds ?? 0))
  const after = child.cpu()
  const used = spent(cpu, after)
  const took = (performance.now() - start) / 1000
  return {
    cpu: (used / reply.requests) * 1e6,
    busiest: busiestShare(cpu, after),
    requests: reply.requests,
    errors: reply.errors,
    perSecond: reply.requests / (reply.duration / 1e6),
    p50: reply.p50,
    p99: reply.p99,
    rss: child.rss(),
    foreign: Math.max(0, (busySeconds() - busy - used - spent(other, server.cpu()) - own) / took),
  }
}

function lineOf({ round, workload, target, cpu, perSecond, p50, p99, rss, foreign, errors }: Record): string {
  return (
    `${round} ${workload.padEnd(13)} ${target.padEnd(9)} ${cpu.toFixed(1).padStart(8)} µs ` +
    `${perSecond.toFixed(0).padStart(7)}/s p50 ${p50} p99 ${p99} µs ${rss} MB ` +
    `foreign ${foreign.toFixed(2)}${errors > 0 ? ` ERRORS ${errors}` : ''}\n`
  )
}

function plainOnly(name: string): boolean {
  return name === 'static' || name === 'own' || name === 'prototype'
}

/** An LLM gateway serves chats only; Portkey refuses most streams as it is installed. */
function takesPart(name: string, workload: string, { only, secure, llm, routed }: Workload): boolean {
  if (name === 'portkey' || name === 'litellm') return workload === 'chat' || workload === 'llm-chat'
  if ((secure || llm) && plainOnly(name)) return false
  if (routed && (name === 'nginx' || plainOnly(name))) return false
  if (llm && name === 'nginx') return workload === 'llm-chat' || workload === 'llm-stream'
  return only === undefined ? !name.startsWith('gwctl-') : only.includes(name)
}
