// npm run bench:trace: what being able to trace costs. Processor time of the gateway per proxied request, as ratios of
// rounds side by side:
//   nobody     nobody traces, over the same gateway built without the calls that trace
//   no match   a client traces with a filter that matches nothing, over nobody, in the same process
//   slow       a client traces every request and never reads, over nobody, in the same process
// The first is too small for that: what it costs is measured without the sockets too (bench/trace-pipeline.mjs), and
// held against what a request costs with them. bench/trace-instructions.mjs counts instead of timing.
//
//   node bench/trace.mjs [--rounds 12] [--requests 6000] [--processes 5]
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { bundle, median } from './trace-bundles.mjs'
import { load, SERVER, start, traced, upstream } from './trace-gateway.mjs'
import { pipelineCosts } from './trace-pipeline.mjs'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '12' },
    requests: { type: 'string', default: '6000' },
    processes: { type: 'string', default: '5' },
    instances: { type: 'string', default: '2' },
  },
})
const ROUNDS = Number(values.rounds)
const REQUESTS = Number(values.requests)
const INSTANCES = Number(values.instances)

const scratch = mkdtempSync(join(tmpdir(), 'gwctl-bench-trace-'))
const backend = await upstream()

async function perRequest({ port, cpu }) {
  const before = await cpu()
  await load(port, REQUESTS)
  return ((await cpu()) - before) / REQUESTS
}

const files = {
  plain: await bundle(scratch, 'plain', SERVER, false),
  bare: await bundle(scratch, 'bare', SERVER, true),
}
const plain = []
const bare = []
for (let i = 0; i < INSTANCES; i++) {
  plain.push(await start(files.plain, backend.address))
  bare.push(await start(files.bare, backend.address))
}
const all = [...plain, ...bare]
/** µs of a request over sockets. */
let whole = 0
try {
  for (const each of all) for (let i = 0; i < 3; i++) await load(each.port, REQUESTS)
  const ratios = { nobody: [], 'no match': [], slow: [] }
  const costs = { bare: [], nobody: [], 'no match': [], slow: [] }
  for (let round = 0; round < ROUNDS; round++) {
    const on = plain[round % INSTANCES]
    const off = bare[round % INSTANCES]
    // Both orders, so that a drift of the machine cancels out.
    const measured = {}
    for (const [name, target] of round % 2 === 0
      ? [
          ['bare', off],
          ['nobody', on],
        ]
      : [
          ['nobody', on],
          ['bare', off],
        ])
      measured[name] = await perRequest(target)
    const stop = await traced(on, `&expression=${encodeURIComponent('request.path == "/none"')}`, true)
    measured['no match'] = await perRequest(on)
    stop()
    // A watch of 1,000 requests: armed anew as often as the round needs, each time by a client that never reads.
    measured.slow = await slowly(on)
    for (const [name, cost] of Object.entries(measured)) costs[name].push(cost)
    ratios.nobody.push(measured.nobody / measured.bare)
    ratios['no match'].push(measured['no match'] / measured.nobody)
    ratios.slow.push(measured.slow / measured.nobody)
    process.stderr.write('.')
  }
  process.stderr.write('\n')
  whole = median(costs.nobody)
  for (const [name, list] of Object.entries(costs))
    console.log(`${name.padEnd(9)} ${median(list).toFixed(1)} µs a request`)
  for (const [name, list] of Object.entries(ratios))
    console.log(
      `${name.padEnd(9)} ratio ${median(list).toFixed(3)} (${Math.min(...list).toFixed(3)} to ${Math.max(...list).toFixed(3)})`,
    )
} finally {
  for (const { child } of all) child.send('stop')
  backend.close()
  rmSync(scratch, { recursive: true })
}

const spread = list => `${median(list).toFixed(0)} (${Math.min(...list).toFixed(0)} to ${Math.max(...list).toFixed(0)})`
if (Number(values.processes) > 0) {
  const { pipeline, ...added } = await pipelineCosts(Number(values.processes))
  console.log(`without sockets: ${spread(pipeline)} ns a request`)
  for (const [name, list] of Object.entries(added)) {
    const of = cost => (1 + cost / 1000 / whole).toFixed(4)
    const ratio = `${of(median(list))} (${of(Math.min(...list))} to ${of(Math.max(...list))})`
    console.log(`${name.padEnd(9)} adds ${spread(list)} ns, with sockets a ratio of ${ratio}`)
  }
}

async function slowly(target) {
  const before = await target.cpu()
  for (let done = 0; done < REQUESTS; done += 1000) {
    const stop = await traced(target, '', false)
    await load(target.port, Math.min(1000, REQUESTS - done))
    stop()
  }
  return ((await target.cpu()) - before) / REQUESTS
}
