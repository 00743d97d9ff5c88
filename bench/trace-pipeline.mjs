// Part of npm run bench:trace: what being able to trace costs the requests of one thread, without the sockets,
// whose cost hides it: requests run through what a file compiles to, their backend answers from memory. Each process
// holds the gateway twice, with and without the calls that trace, and takes turns.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { bundle, config, median } from './trace-bundles.mjs'

const PIPELINE = `
import { Readable } from 'node:stream'
import { createCelCompiler } from './src/cel/compiler.ts'
import { offlineRuntime } from './src/config/offline-runtime.ts'
import { systemClock } from './src/engine/clock.ts'
import { handle } from './src/engine/handle.ts'
import { HeadSnapshots } from './src/engine/head-snapshot.ts'
import { newPassage } from './src/engine/passage.ts'
import { routeTables } from './src/engine/route-table.ts'
import { RunningRequests } from './src/engine/running-requests.ts'
import { TraceHub } from './src/engine/trace-hub.ts'
import { bodyOf, Exchange } from './src/http/exchange.ts'
import { HeaderList } from './src/http/headers.ts'
import { loadInput } from './src/tools/check/check-documents.ts'
import { readInput } from './src/tools/input/input-files.ts'
import { memoryDownstream } from './src/tools/dry-run/memory-downstream.ts'
import { stubTransport } from './src/tools/dry-run/stub-transport.ts'

export async function open(config) {
  const reply = { status: 200, headers: [['content-type', 'application/json']], body: '{}' }
  const transport = stubTransport(systemClock, () => reply)
  const runtime = { ...offlineRuntime(), clock: systemClock, transport }
  const place = { cwd: '/', stdin: Readable.from([config]), env: {} }
  const { snapshot } = await loadInput(await readInput('-', place), { ...place, tier: 'env' }, runtime)
  const heads = new HeadSnapshots(snapshot.credentials, snapshot.settings.sensitiveHeaders)
  const serving = { snapshot, tables: routeTables(snapshot), heads }
  const bind = snapshot.binds[0]
  const hub = new TraceHub({ clock: systemClock, cel: createCelCompiler(), worker: 0 })
  const running = new RunningRequests()
  const connection = { id: 1, address: '127.0.0.1', port: 1, localPort: bind.port }
  let id = 0
  const one = async () => {
    const headers = new HeaderList()
    headers.append('host', 'gw')
    headers.append('accept', '*/*')
    headers.append('user-agent', 'bench')
    const request = { method: 'GET', scheme: 'http', authority: 'gw', path: '/v1/chat', headers }
    const x = new Exchange({ id: String(++id), connection, startedAt: systemClock.now(), startedMono: systemClock.mono(),
      httpVersion: '1.1', request, body: bodyOf(undefined) })
    if (!BARE) {
      running.add(x)
      x.trace = hub.start(x, heads)
    }
    const passage = newPassage()
    const out = memoryDownstream()
    await handle(x, bind, serving, out, passage, runtime)
    await out.ended
    passage.deadline?.cancel()
    if (x.response?.status !== 200) throw new Error('answered ' + x.response?.status)
    if (!BARE) {
      x.trace = undefined
      running.delete(x)
    }
  }
  return {
    watch: expression => hub.watch({ requests: 1000, expression }),
    async run(requests) {
      for (let i = 0; i < requests; i++) await one()
    },
  }
}
`

const ROUNDS = 24
const REQUESTS = 10_000

/** Nanoseconds of processor time per request, of every kind in every round. */
async function measure(files) {
  const plain = await (await import(files.plain)).open(config('127.0.0.1:1'))
  const bare = await (await import(files.bare)).open(config('127.0.0.1:1'))
  const again = await (await import(files.again)).open(config('127.0.0.1:1'))
  const cost = async gateway => {
    globalThis.gc()
    const before = process.cpuUsage()
    await gateway.run(REQUESTS)
    const { user, system } = process.cpuUsage(before)
    return ((user + system) * 1000) / REQUESTS
  }
  const watched = async () => {
    const watch = plain.watch('request.path == "/none"')
    const spent = await cost(plain)
    watch.close()
    return spent
  }
  const costs = { bare: [], again: [], nobody: [], before: [], 'no match': [] }
  const turns = async kinds => {
    for (let round = -4; round < ROUNDS; round++) {
      // Every kind comes at every place.
      for (let i = 0; i < kinds.length; i++) {
        const [kind, run] = kinds[(i + round + kinds.length * 4) % kinds.length]
        const spent = await run()
        if (round >= 0) costs[kind].push(spent)
      }
    }
  }
  await turns([
    ['bare', () => cost(bare)],
    ['nobody', () => cost(plain)],
    ['again', () => cost(again)],
  ])
  // Afterwards: what has run once is compiled for, so a watch would change what nobody costs.
  await turns([
    ['before', () => cost(plain)],
    ['no match', watched],
  ])
  return costs
}

/** Differences per request in ns, a number per process: the median of its rounds. `nothing`: of two that are the same. */
export async function pipelineCosts(processes) {
  const scratch = mkdtempSync(join(tmpdir(), 'gwctl-bench-trace-'))
  try {
    const files = {
      plain: pathToFileURL(await bundle(scratch, 'pipeline-plain', PIPELINE, false)).href,
      bare: pathToFileURL(await bundle(scratch, 'pipeline-bare', PIPELINE, true)).href,
      again: pathToFileURL(await bundle(scratch, 'pipeline-again', PIPELINE, true)).href,
    }
    const out = { pipeline: [], nothing: [], nobody: [], 'no match': [] }
    for (let i = 0; i < processes; i++) {
      const child = fork(fileURLToPath(import.meta.url), [], { execArgv: ['--expose-gc'], stdio: 'inherit' })
      child.send(files)
      const [costs] = await once(child, 'message')
      const over = (kind, base) => median(costs[kind].map((cost, round) => cost - costs[base][round]))
      out.pipeline.push(median(costs.bare))
      out.nothing.push(over('again', 'bare'))
      out.nobody.push(over('nobody', 'bare'))
      out['no match'].push(over('no match', 'before'))
      process.stderr.write('.')
    }
    process.stderr.write('\n')
    return out
  } finally {
    rmSync(scratch, { recursive: true })
  }
}

if (process.send && process.argv[1] === fileURLToPath(import.meta.url)) {
  process.once('message', async files => {
    process.send(await measure(files))
    process.disconnect()
  })
}
