// npm run bench:trace: what being able to trace costs. Processor time of the gateway per proxied request, as ratios of
// rounds side by side:
//   nobody     nobody traces, over the same gateway built without the calls that trace
//   no match   a client traces with a filter that matches nothing, over nobody, in the same process
//   slow       a client traces every request and never reads, over nobody, in the same process
// The first is too small for that: what it costs is measured without the sockets too (bench/trace-pipeline.mjs), and
// held against what a request costs with them.
//
//   node bench/trace.mjs [--rounds 12] [--requests 6000] [--processes 5]
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, request } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { bundle, config, median } from './trace-bundles.mjs'
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
const CONNECTIONS = 16

const scratch = mkdtempSync(join(tmpdir(), 'gwctl-bench-trace-'))
const upstream = createServer((_, res) => res.end('{"ok":true}'))
upstream.keepAliveTimeout = 600_000
await new Promise(done => upstream.listen(0, '127.0.0.1', done))
const SERVER = `
import { Readable } from 'node:stream'
import { serve } from './src/tools/serve/serve.ts'
const log = { write: () => {}, writableLength: 0 }
const serving = await serve({ file: '-', cwd: '/', env: {}, stdin: Readable.from([process.env.BENCH_CONFIG]), log,
  version: '0', watch: false, portFor: () => 0, refused: report => { console.error(JSON.stringify(report)); process.exit(1) } })
process.on('message', message => {
  if (message === 'stop') process.exit(0)
  const { user, system } = process.cpuUsage()
  process.send({ cpu: user + system })
})
process.send({ port: [...serving.ports.values()][0], admin: serving.admin })
`

async function start(file) {
  const child = fork(file, [], {
    env: { ...process.env, BENCH_CONFIG: config(`127.0.0.1:${upstream.address().port}`) },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })

  const [{ port, admin }] = await once(child, 'message')
  const cpu = async () => {
    child.send('cpu')
    return (await once(child, 'message'))[0].cpu
  }
  return { child, port, admin, cpu }
}

const HEAD = 'GET /v1/chat HTTP/1.1\r\nhost: gw\r\naccept: */*\r\nuser-agent: bench\r\n\r\n'

/** So many requests over a few connections, one at a time on each. */
async function load(port, requests) {
  let left = requests
  await Promise.all(
    Array.from(
      { length: CONNECTIONS },
      () =>
        new Promise((done, fail) => {
          const socket = connect(port, '127.0.0.1')
          let open = 0
          const next = () => {
            if (left-- <= 0) {
              socket.end()
              done()
            } else socket.write(HEAD)
          }
          socket.on('connect', next)
          socket.on('error', fail)
          socket.on('data', chunk => {
            // A reply ends with its body; it never comes split here.
            if (chunk.includes('HTTP/1.1 5')) fail(new Error(chunk.toString()))
            open += chunk.toString('latin1').split('{"ok":true}').length - 1
            if (open > 0) {
              open--
              next()
            }
          })
        }),
    ),
  )
}

async function perRequest({ port, cpu }) {
  const before = await cpu()
  await load(port, REQUESTS)
  return ((await cpu()) - before) / REQUESTS
}

/** A trace client; `reads`: takes what comes. */
async function traced({ admin }, query, reads) {
  const sent = request(`http://${admin}/debug/trace?follow=1000${query}`, { method: 'POST' })
  sent.on('error', () => {})
  sent.end()
  const [reply] = await once(sent, 'response')
  if (reads) reply.resume()
  return () => sent.destroy()
}

const files = {
  plain: await bundle(scratch, 'plain', SERVER, false),
  bare: await bundle(scratch, 'bare', SERVER, true),
}
const plain = []
const bare = []
for (let i = 0; i < INSTANCES; i++) {
  plain.push(await start(files.plain))
  bare.push(await start(files.bare))
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
  upstream.close()
  upstream.closeAllConnections()
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
