// Cold start of the built CLI as CPU time of the whole process, in multiples of `node -e 0`: ratios survive a busy
// machine, milliseconds do not. Exits with 1 when a median is over its budget. Usage: node bench/cold-start.mjs [RUNS]
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../', import.meta.url))
const runs = Number(process.argv[2] ?? 25)
const cases = [
  { args: ['--version'], budget: 1.3 },
  { args: ['validate', '--help'], budget: 3 },
  { args: ['version'], budget: 3 },
  { args: ['validate', 'examples/quickstart.yaml'], budget: 4 },
  // Resources are translated, and what comes of it is linted.
  { args: ['validate', 'fixtures/k8s/ok/cross-namespace.yaml'], budget: 4 },
].filter(({ args }) => ['--version', 'version'].includes(args[0]) || existsSync(`${root}commands/${args[0]}.ts`))

/** User and system seconds; the shell sees them, Node does not. */
function cpuSeconds(args) {
  const script = 'TIMEFORMAT="%U %S"; { time "$@" >/dev/null 2>&1; } 2>&1'
  const { stdout } = spawnSync('bash', ['-c', script, 'bash', process.execPath, ...args], {
    cwd: root,
    encoding: 'utf8',
  })
  const [user, system] = stdout.trim().split(' ').map(Number)
  return user + system
}

const median = numbers => numbers.toSorted((a, b) => a - b)[numbers.length >> 1]

const ratios = cases.map(() => [])
const empty = []
for (let run = 0; run <= runs; run++) {
  const base = cpuSeconds(['-e', '0'])
  const measured = cases.map(({ args }) => cpuSeconds(['bin/run.js', ...args]) / base)
  // The first round fills the compile cache.
  if (run === 0) continue
  empty.push(base)
  for (const [index, ratio] of measured.entries()) ratios[index].push(ratio)
}

console.log(`node -e 0: ${(median(empty) * 1000).toFixed(0)} ms CPU, ${process.version}, ${runs} runs`)
for (const [index, { args, budget }] of cases.entries()) {
  const ratio = median(ratios[index])
  const over = ratio > budget
  console.log(`${ratio.toFixed(2)} × (budget ${budget})  gwctl ${args.join(' ')}${over ? '  OVER BUDGET' : ''}`)
  if (over) process.exitCode = 1
}
