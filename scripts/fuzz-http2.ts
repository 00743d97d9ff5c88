// npm run fuzz:http2 [-- COUNT [SEED]]: so many random calls through the HTTP/2 client to the platform's own server: see
// test/engine/upstream/http2/random-calls.ts.
import { randomCalls } from '../test/engine/upstream/http2/random-calls.ts'

const COUNT = Number(process.argv[2] ?? 20_000)
const SEED = Number(process.argv[3] ?? 1)
/** Calls to one server, before another one with other settings. */
const ROUND = 500

const started = performance.now()
let faults = 0
for (let made = 0; made < COUNT && faults === 0; made += ROUND) {
  const calls = await randomCalls(SEED * 1000 + made)
  for (const problem of await calls.run(Math.min(ROUND, COUNT - made))) {
    faults++
    process.stderr.write(`${problem.slice(0, 2000)}\n`)
  }
  await calls.close()
}
const memory = Math.round(process.memoryUsage().rss / 2 ** 20)
const seconds = Math.round((performance.now() - started) / 1000)
process.stdout.write(`${COUNT} calls of seed ${SEED}, ${faults} faults; ${seconds} s, ${memory} MiB at the end\n`)
process.exitCode = faults > 0 ? 1 : 0
