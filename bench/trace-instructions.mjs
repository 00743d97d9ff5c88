// npm run bench:trace-instructions: what being able to trace costs, counted in instructions of the gateway's process,
// which come out the same on a busy machine (within 0.1 %), where times differ by more than what is looked for. Counts
// what Node and the JIT-compiled code execute over real sockets, not what the kernel does for them; needs valgrind.
//   nobody     nobody traces, over the same gateway built without the calls that trace
//   no match   a client traces with a filter that matches nothing, over nobody
//
//   node bench/trace-instructions.mjs [--warm 20000] [--requests 40000]
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { bundle } from './trace-bundles.mjs'
import { load, SERVER, start, traced, upstream } from './trace-gateway.mjs'

const { values } = parseArgs({
  options: { warm: { type: 'string', default: '20000' }, requests: { type: 'string', default: '40000' } },
})
const WARM = Number(values.warm)
const REQUESTS = Number(values.requests)
/** Compiling and collecting garbage at the same places each time; large, so that the latter seldom happens. */
const STEADY = [
  '--single-threaded',
  '--predictable',
  '--random-seed=1',
  '--hash-seed=1',
  '--min-semi-space-size=256',
  '--max-semi-space-size=256',
]
const NO_MATCH = `&expression=${encodeURIComponent('request.path == "/none"')}`

const scratch = mkdtempSync(join(tmpdir(), 'gwctl-bench-trace-'))
const backend = await upstream()
try {
  const files = {
    plain: await bundle(scratch, 'plain', SERVER, false),
    bare: await bundle(scratch, 'bare', SERVER, true),
  }
  const bare = await perRequest('without', files.bare)
  const nobody = await perRequest('nobody', files.plain, bare)
  await perRequest('no match', files.plain, nobody, NO_MATCH)
} finally {
  backend.close()
  rmSync(scratch, { recursive: true })
}

/** What a longer run has over a shorter one. */
async function perRequest(name, file, base, query) {
  const short = await total(file, WARM, query)
  const long = await total(file, WARM + REQUESTS, query)
  const each = Math.round((long - short) / REQUESTS)
  const ratio = base === undefined ? '' : `, ratio ${(each / base).toFixed(4)}`
  console.log(`${name.padEnd(9)} ${each} instructions a request${ratio}`)
  return each
}

async function total(file, requests, query) {
  const out = join(scratch, 'callgrind.out')
  const gateway = await start(file, backend.address, {
    execPath: 'valgrind',
    execArgv: [
      '-q',
      '--tool=callgrind',
      `--callgrind-out-file=${out}`,
      '--smc-check=all-non-file',
      process.execPath,
      ...STEADY,
    ],
  })
  const stop = query === undefined ? () => {} : await traced(gateway, query, true)
  await load(gateway.port, requests)
  stop()
  gateway.child.send('stop')
  await once(gateway.child, 'exit')
  return Number(/^totals: (\d+)/m.exec(readFileSync(out, 'utf8'))[1])
}
