// `npm run fuzz [-- COUNT [SEED]]` checks many random and damaged configurations: see test/acceptance/fuzz.test.ts.
import { FuzzedInputs, faultOf } from '../test/acceptance/fuzzed-inputs.ts'

const count = Number(process.argv[2] ?? 100_000)
const seed = Number(process.argv[3] ?? 1)
/** ms for a single input. */
const LONGEST = 5000
const MEMORY = 1024 * 1024 * 1024

const inputs = new FuzzedInputs(seed)
let slowest = 0
let faults = 0
for (let i = 0; i < count; i++) {
  const text = inputs.next()
  const started = performance.now()
  const fault = await faultOf(text)
  const took = performance.now() - started
  slowest = Math.max(slowest, took)
  const memory = process.memoryUsage().rss
  const why = fault ?? (took > LONGEST ? `took ${took} ms` : memory > MEMORY ? `holds ${memory} bytes` : undefined)
  if (why !== undefined) {
    faults++
    console.error(`input ${i} of seed ${seed}: ${why}\n${JSON.stringify(text)}`)
    if (faults === 5 || memory > MEMORY) break
  }
}
const memory = Math.round(process.memoryUsage().rss / 1024 / 1024)
console.log(`${count} inputs, ${faults} faults; slowest ${Math.round(slowest)} ms, ${memory} MiB at the end`)
process.exitCode = faults > 0 ? 1 : 0
