// npm run interop:mcp-chaos [-- --record]: what is lost when things break? One gateway in front of targets of both eras
// over HTTP, HTTP+SSE and stdio; while numbered calls with progress run on each of them, the gateway is stopped, killed
// and reloaded, and the connections of both sides are reset. A call runs once, whatever happens; a client hears one
// reply and every event before it, in order; nobody begins a session again. Where a protocol has nothing to go on with,
// that one reply is an error. Before, after, and while
// files are reloaded and clients reset, the conformance suite has to find everything through the same gateway.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../soak/gateway-process.mjs'
import { replaceSection } from '../section.mjs'
import { Client, statelessCall } from './chaos-client.mjs'
import { startShim } from './prefix-shim.mjs'
import { conformance, ERAS, install } from './suite.mjs'
import { gatewayOf, httpTarget, sseTarget, startFixture, stdioTarget } from './targets.mjs'

const bin = fileURLToPath(new URL('../../../bin/run.js', import.meta.url))
const TARGETS = ['http', 'newer', 'sse', 'stdio']
/** Calls per target and fault, each with so many events, so many ms apart. */
const CALLS = 8
const LENGTH = { steps: 20, ms: 100 }
const ROUNDS = 2
const KEY = '2b7e151628aed2a6abf7158809cf4f3c2b7e151628aed2a6abf7158809cf4f3c'

/** Which targets cannot go on with a call: 2026-07-28 and HTTP+SSE take nothing up, a program ends with its gateway. */
const FAULTS = [
  { name: 'the gateway is stopped', strike: lab => lab.restart('SIGTERM'), ends: [], stateless: true },
  { name: 'the gateway is killed', strike: lab => lab.restart('SIGKILL'), ends: ['newer', 'sse', 'stdio'] },
  { name: 'the file is reloaded', strike: lab => lab.reload(), ends: [], stateless: true },
  { name: 'clients’ connections are reset', strike: lab => lab.front.reset(), ends: [] },
  { name: 'targets’ connections are reset', strike: lab => lab.resetTargets(), ends: ['newer', 'sse'] },
]

const rows = []
const suites = []
let bad = false

async function main() {
  const packages = process.argv.includes('--no-suite') ? undefined : await install()
  const lab = await openLab()
  try {
    await suite(packages, lab, 'before the faults')
    const client = new Client(lab.front.port)
    await client.begin()
    let n = 0
    for (let round = 1; round <= ROUNDS; round++) {
      for (const fault of FAULTS) {
        const calls = []
        const add = (target, how, call) => calls.push({ target, how, n, call })
        for (const target of TARGETS) {
          for (let i = 0; i < CALLS; i++) add(target, 'session', client.numbered(target, ++n, LENGTH))
          if (fault.stateless) add(target, 'stateless', statelessCall(lab.front.port, target, ++n, LENGTH))
        }
        await Promise.all(calls.map(({ call }) => call.begun))
        await fault.strike(lab)
        await judge(lab, fault, calls)
        say(`round ${round}: ${fault.name}`)
      }
    }
    check(client.refused === 0, `the session was refused ${client.refused} times`)
    await whileReloading(lab, client, () => suite(packages, lab, 'while files are reloaded and clients reset'))
    client.close()
    await suite(packages, lab, 'after the faults')
  } finally {
    await lab.close()
  }
  for (const { name, calls, completed, refused, takenUp } of rows)
    say(
      `${name.padEnd(34)} ${calls} calls: ${completed} completed, ${refused} told that they are lost; ${takenUp} taken up`,
    )
  if (process.argv.includes('--record')) {
    const file = fileURLToPath(new URL('../../../docs/interop.md', import.meta.url))
    await replaceSection(file, 'mcp-chaos', 'npm run interop:mcp-chaos -- --record', section())
  }
  if (bad) process.exitCode = 1
}

/** Each era is asked of the target that speaks it. Past the proxy: the suite does not come back after a reset. */
async function suite(packages, lab, when) {
  if (packages === undefined) return
  for (const [era, target] of [
    [ERAS[0], 'http'],
    [ERAS[1], 'newer'],
  ]) {
    const shim = await startShim(lab.port, target)
    const { passed, total, failed } = await conformance(packages, era, ['--url', `http://localhost:${shim.port}/mcp`])
    say(`the suite ${when}: ${era} ${passed}/${total}`)
    check(passed === total, `the suite ${when}, ${era}: ${failed.join(', ')}`)
    suites.push(`${passed}/${total} (${era}) ${when}`)
    shim.close()
  }
}

async function whileReloading(lab, client, work) {
  let over = false
  const working = work().finally(() => {
    over = true
  })
  const fault = { name: 'both, beside the suite', ends: [] }
  for (let n = 10_000; !over; ) {
    const calls = TARGETS.map(target => ({ target, how: 'session', n: ++n, call: client.numbered(target, n, LENGTH) }))
    await Promise.all(calls.map(({ call }) => call.begun))
    await lab.reload()
    lab.front.reset()
    await judge(lab, fault, calls)
  }
  await working
}

async function judge(lab, fault, calls) {
  const row = rows.find(({ name }) => name === fault.name) ?? newRow(fault.name)
  for (const { target, how, n, call } of calls) {
    const { replies, progress, reply, takenUp } = await call.done
    const executed = lab.executed(target, n)
    const about = `${fault.name}: call ${n} on ${target} (${how})`
    row.calls++
    row.takenUp += takenUp
    check(executed === 1, `${about} was executed ${executed} times`)
    check(replies.length === 1, `${about} was answered ${replies.length} times`)
    const inOrder = progress.every((step, i) => step === i + 1)
    if (reply.result !== undefined) {
      row.completed++
      check(reply.result.content?.[0]?.text === `${target} ${n}`, `${about}: another call's reply`)
      check(inOrder && progress.length === LENGTH.steps, `${about}: events ${progress.join(' ')}`)
    } else {
      row.refused++
      check(fault.ends.includes(target), `${about}: ${JSON.stringify(reply)}`)
      check(inOrder, `${about}: events ${progress.join(' ')}`)
    }
  }
}

function newRow(name) {
  const row = { name, calls: 0, completed: 0, refused: 0, takenUp: 0 }
  rows.push(row)
  return row
}

function check(holds, problem) {
  if (holds) return
  bad = true
  say(`FAILED: ${problem}`)
}

// ---- the place ----

async function openLab() {
  const folder = mkdtempSync(join(tmpdir(), 'gwctl-chaos-'))
  const journal = join(folder, 'journal')
  writeFileSync(journal, '')
  const env = name => ({ NAME: name, JOURNAL: journal })
  const fixtures = [
    await startFixture('http', 'legacy', env('http')),
    await startFixture('http', 'modern', env('newer')),
    await startFixture('sse', 'legacy', env('sse')),
  ]
  const proxies = await Promise.all(fixtures.map(({ port }) => startProxy(() => port)))
  const [http, newer, sse] = proxies.map(({ port }) => port)
  const targets = [
    httpTarget('http', http),
    httpTarget('newer', newer),
    sseTarget('sse', sse),
    stdioTarget('stdio', 'both', { JOURNAL: journal }),
  ]
  const port = await freePort()
  let edition = 0
  const write = () => {
    const config = { adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off', connectionTerminationDeadline: '60s' }
    const text = gatewayOf(targets, { failureMode: 'failOpen' })(port)
    writeFileSync(join(folder, 'gateway.yaml'), `# ${++edition}\nconfig: ${JSON.stringify(config)}\n${text}\n`)
  }
  write()
  let gateway = await startGateway(folder, port)
  const front = await startProxy(() => port)
  return {
    port,
    front,
    executed: (target, n) => count(readFileSync(journal, 'utf8'), `${target} ${n}\n`),
    async restart(signal) {
      const exit = once(gateway, 'close')
      gateway.kill(signal)
      await exit
      gateway = await startGateway(folder, port)
    },
    async reload() {
      const said = gateway.waitFor(/configuration (?:not )?reloaded/)
      write()
      await said
    },
    resetTargets() {
      for (const proxy of proxies) proxy.reset()
    },
    async close() {
      gateway.kill('SIGKILL')
      for (const proxy of [front, ...proxies]) proxy.close()
      for (const { stop } of fixtures) stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function count(text, line) {
  return `\n${text}`.split(`\n${line.trimEnd()}\n`).length - 1
}

async function startGateway(cwd, port) {
  const env = { ...process.env, NO_COLOR: '1', SESSION_KEY: KEY }
  const child = spawn(process.execPath, [bin, 'run', '-f', 'gateway.yaml'], {
    cwd,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  const waiting = new Set()
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', text => {
      said += text
      for (const look of waiting) look(text)
    })
  }
  child.waitFor = pattern =>
    new Promise(resolve => {
      const look = text => {
        if (!pattern.test(text)) return
        waiting.delete(look)
        resolve()
      }
      waiting.add(look)
    })
  for (let tries = 0; !(await accepts(port)); tries++) {
    if (child.exitCode !== null || tries > 600) throw new Error(`the gateway has not started:\n${said}`)
    await new Promise(resolve => setTimeout(resolve, 50))
  }
  return child
}

function accepts(port) {
  return new Promise(resolve => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy()
      resolve(true)
    })
    socket.on('error', () => resolve(false))
  })
}

/** Passes bytes on until it resets every connection that it has. */
async function startProxy(to) {
  const pairs = new Set()
  const server = createServer({ allowHalfOpen: true }, near => {
    const far = connect({ port: to(), host: '127.0.0.1', allowHalfOpen: true })
    const pair = [near, far]
    pairs.add(pair)
    near.pipe(far)
    far.pipe(near)
    const over = () => {
      pairs.delete(pair)
      for (const socket of pair) if (!socket.destroyed) socket.destroy()
    }
    for (const socket of pair) socket.on('error', () => reset(pair)).on('close', over)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: server.address().port,
    reset() {
      for (const pair of [...pairs]) reset(pair)
    },
    close() {
      server.close()
      for (const pair of [...pairs]) reset(pair)
    },
  }
}

function reset(pair) {
  for (const socket of pair) if (!socket.destroyed) socket.resetAndDestroy()
}

function section() {
  const head =
    '| while calls run | calls | completed | told that they are lost | streams taken up |\n|---|---|---|---|---|\n'
  const body = rows
    .map(
      ({ name, calls, completed, refused, takenUp }) =>
        `| ${name} | ${calls} | ${completed} | ${refused} | ${takenUp} |\n`,
    )
    .join('')
  return `## MCP while things break

\`npm run interop:mcp-chaos\`: one gateway (\`failOpen\`, with a \`SESSION_KEY\`), one client session for the whole run, and targets over Streamable HTTP (one of 2025-11-25, one of 2026-07-28), HTTP+SSE and stdio, ${CALLS} calls with ${LENGTH.steps} events each on each of them at a time; clients of 2026-07-28 as well where the gateway goes on. Each call was executed once and answered once, with every event in order, and no session was begun again. A call is lost, and its client told so, where nothing can be taken up: a target of 2026-07-28 gives a call up with its connection, an HTTP+SSE session is its connection, and a program ends with its gateway. The conformance suite, through the same gateway: ${suites.join(', ')}.

${head}${body}`
}

function say(line) {
  process.stdout.write(`${line}\n`)
}

await main()
// Programs and sockets that a broken run has left would keep it waiting.
process.exit()
