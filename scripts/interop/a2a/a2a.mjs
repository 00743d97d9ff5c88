// npm run interop:a2a [-- --record]: the public SDK's clients of A2A 0.3 and 1.0, over JSON-RPC, HTTP+JSON and gRPC,
// first straight at an agent of the same SDK and then by way of the gateway. All get the same, every call of theirs has
// come through the gateway, and its metrics have counted it. Needs npm, once, and a build; A2A_LAB keeps the packages.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import { openArena } from '../../attack/arena.mjs'
import { replaceSection } from '../section.mjs'
import { loadClients } from './clients.mjs'
import { install, PACKAGES, PYTHON, pythonIn } from './lab.mjs'

/** What has to fail. */
const FAIL = /unknown|over/
const rows = []
let bad = false

async function main() {
  const lab = await install()
  const arena = openArena()
  const agent = spawn(process.execPath, [fileURLToPath(new URL('agent.mjs', import.meta.url)), lab], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  try {
    const [line] = await once(agent.stdout, 'data')
    const [http, grpc] = String(line).trim().split(' ').map(Number)
    const straight = `http://127.0.0.1:${http}`
    const gateway = await arena.start(gatewayOf(http, grpc))
    const through = `http://127.0.0.1:${gateway.port}`
    const seen = async () => (await fetch(`${straight}/seen`)).json()
    const idle = () =>
      until(async () => (await seen()).open === 0, 'the agent still serves a request that nobody reads')
    const results = async (run, base, ...ports) => {
      const given = await run(base, idle)
      // A signature is over what the agent wrote, which the gateway's clients do not get.
      if (base === through && given['the card'].signatures?.length > 0) bad = true
      delete given['the card'].signatures
      return JSON.parse(
        JSON.stringify(given).replace(new RegExp(`127\\.0\\.0\\.1:(${ports.join('|')})\\b`, 'g'), 'AGENT'),
      )
    }
    const python = await pythonIn(lab)
    if (python === undefined) say('skipped: the SDK in Python, which needs python3 and pip')
    const clients = await loadClients(lab, python)
    for (const { name, run } of clients) {
      const wanted = await results(run, straight, http, grpc)
      const unexpected = Object.keys(wanted).filter(task => wanted[task].error && !FAIL.test(task))
      if (unexpected.length > 0) throw new Error(`${name} fails without the gateway: ${unexpected}`)
      const [before, counted] = [await seen(), await countedBy(gateway)]
      const got = await results(run, through, gateway.port)
      const [after, countedAfter] = [await seen(), await countedBy(gateway)]
      compare(name, wanted, got, {
        calls: after.marked - before.marked,
        past: after.unmarked - before.unmarked,
        counted: countedAfter - counted,
      })
    }
    const blind = await arena.start(gatewayOf(http, grpc, {}))
    const before = await seen()
    await results(clients[0].run, `http://127.0.0.1:${blind.port}`, blind.port)
    const past = (await seen()).unmarked - before.unmarked
    say(`without the policy, ${past} calls of ${clients[0].name} go past the gateway`)
    if (past === 0) bad = true
    arena.survived()
  } finally {
    agent.kill('SIGKILL')
    await arena.close()
  }
  if (process.argv.includes('--record')) {
    const file = fileURLToPath(new URL('../../../docs/interop.md', import.meta.url))
    await replaceSection(file, 'a2a', 'npm run interop:a2a -- --record', section())
  }
  if (bad) process.exitCode = 1
}

/** The agent's HTTP server, and its gRPC server under the paths of its services; every call bears a mark. */
function gatewayOf(http, grpc, own = { a2a: {} }) {
  const policies = { ...own, requestHeaderModifier: { set: { 'x-through': 'gateway' } } }
  const services = ['/lf.a2a.v1.A2AService', '/a2a.v1.A2AService']
  const routes = [
    {
      name: 'grpc',
      matches: services.map(pathPrefix => ({ path: { pathPrefix } })),
      backends: [{ host: `127.0.0.1:${grpc}` }],
      policies,
    },
    { name: 'http', backends: [{ host: `127.0.0.1:${http}` }], policies },
  ]
  return port => `binds: ${JSON.stringify([{ port, listeners: [{ routes }] }])}`
}

/** How many calls of A2A the gateway has counted. */
async function countedBy({ stats }) {
  const text = await (await fetch(`${stats}/metrics`)).text()
  const lines = text.matchAll(/^agentgateway_a2a_requests_total\{.*\} (\d+)/gm)
  return [...lines].reduce((sum, [, count]) => sum + Number(count), 0)
}

function compare(name, wanted, got, { calls, past, counted }) {
  const tasks = Object.keys(wanted)
  const differ = tasks.filter(task => !isDeepStrictEqual(wanted[task], got[task]))
  if (differ.length + past > 0 || counted !== calls) bad = true
  rows.push({ name, same: `${tasks.length - differ.length}/${tasks.length}`, calls, past, counted })
  const about = `${tasks.length - differ.length}/${tasks.length} the same`
  say(`${name.padEnd(34)} ${about}, ${calls} calls through the gateway, ${past} past it, ${counted} counted`)
  for (const task of differ) {
    say(`  FAILED ${task}\n    straight ${JSON.stringify(wanted[task]).slice(0, 1200)}`)
    say(`    through  ${JSON.stringify(got[task]).slice(0, 1200)}`)
  }
}

function section() {
  const head =
    '| client | same as without the gateway | calls that the agent saw | past the gateway | counted |\n|---|---|---|---|---|\n'
  const body = rows.map(row => `| ${Object.values(row).join(' | ')} |\n`)
  const versions = Object.entries(PACKAGES).map(([name, version]) => `${name} ${version}`)
  return `## A2A

\`npm run interop:a2a\`: the clients of the public SDK against an agent of the same SDK, straight and through the gateway: cards, messages, streams, tasks read, cancelled and taken up again, push notifications, errors, and a client that leaves. Results have to be equal. Without the policy, clients go past the gateway.

${head}${body.join('')}
${[...versions, PYTHON].join(', ')}.
`
}

async function until(holds, what) {
  for (let i = 0; i < 100; i++) {
    if (await holds()) return
    await new Promise(done => setTimeout(done, 50))
  }
  throw new Error(what)
}

function say(line) {
  process.stdout.write(`${line}\n`)
}

await main()
