// node bench/mcp/mcp.mjs [--beside BINARY] [--rounds N] [--calls N]: processor time per `tools/call`, with 32 clients
// that each wait for an answer before they ask again. gwctl (a build of it), a byte proxy on `node:http`, and another
// gateway that takes the same configuration take turns; the ratios are of the same round. Linux only: it reads /proc.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const { values } = parseArgs({
  options: {
    beside: { type: 'string' },
    rounds: { type: 'string', default: '5' },
    calls: { type: 'string', default: '4000' },
    only: { type: 'string', default: '' },
  },
})
const [rounds, calls] = [Number(values.rounds), Number(values.calls)]
const CLIENTS = 32
const TICK = 10
const LEGACY = '2025-11-25'
const MODERN = '2026-07-28'
const at = name => fileURLToPath(new URL(name, import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'gwctl-bench-'))
const running = []

/** What is measured: targets of the configuration, the era that clients speak, and the name of the tool. */
async function workloads() {
  const http = async name => ({ name, mcp: { host: `http://127.0.0.1:${await startTarget()}/mcp` } })
  const one = [await http('one')]
  const three = [...one, await http('two'), await http('three')]
  const stdio = [{ name: 'one', stdio: { cmd: process.execPath, args: [at('target.mjs'), 'stdio'] } }]
  return [
    { name: 'one HTTP target', targets: one, tool: 'echo' },
    { name: 'three HTTP targets', targets: three, tool: 'two_echo' },
    { name: 'one stdio target', targets: stdio, tool: 'echo' },
  ].flatMap(each => [LEGACY, MODERN].map(era => ({ ...each, era })))
}

async function main() {
  for (const load of (await workloads()).filter(({ name, era }) => `${name} ${era}`.includes(values.only))) {
    const proxies = await proxiesFor(load)
    const costs = new Map(proxies.map(({ name }) => [name, []]))
    for (let round = 0; round <= rounds; round++) {
      for (const proxy of proxies) {
        const cost = await measure(proxy, load).catch(error => ({ error }))
        // The first round is for what compiles and connects.
        if (round > 0 || cost.error) costs.get(proxy.name).push(cost)
        if (cost.error) say(`${load.name}, ${load.era}: ${proxy.name} fails: ${cost.error.message}`)
      }
    }
    report(load, costs)
    for (const { child } of proxies) child.kill('SIGKILL')
  }
}

async function proxiesFor({ targets, era }) {
  const own = await startGateway('gwctl', targets, process.execPath, file => [
    at('../../bin/run.js'),
    'run',
    '-f',
    file,
    '--workers',
    '1',
  ])
  const floor =
    targets.length > 1 || !targets[0].mcp ? [] : [await startByteProxy(Number(new URL(targets[0].mcp.host).port))]
  // A gateway that starts a program for each request without a session would keep the machine busy with that.
  const alone = values.beside === undefined || (era === MODERN && targets[0].stdio)
  const beside = alone ? [] : [await startGateway('beside', targets, values.beside, file => ['-f', file])]
  return [own, ...beside, ...floor]
}

async function startGateway(name, targets, command, args) {
  const [port, ...others] = [await freePort(), await freePort(), await freePort(), await freePort()]
  const [adminAddr, statsAddr, readinessAddr] = others.map(each => `127.0.0.1:${each}`)
  const file = join(folder, `${name}-${port}.json`)
  const settings = { adminAddr, statsAddr, readinessAddr, ...(name === 'gwctl' ? {} : { workerThreads: 1 }) }
  const binds = [{ port, listeners: [{ routes: [{ backends: [{ mcp: { targets } }] }] }] }]
  const quiet = { accessLog: { filter: 'false' } }
  writeFileSync(file, JSON.stringify({ config: settings, frontendPolicies: quiet, binds }))
  return listening({ name, port, child: started(command, args(file)) })
}

async function startByteProxy(target) {
  const port = await freePort()
  return listening({ name: 'byte proxy', port, child: started(process.execPath, [at('byte-proxy.mjs'), port, target]) })
}

async function startTarget() {
  const child = started(process.execPath, [at('target.mjs'), 'http'], 'pipe')
  const [line] = await once(child.stdout, 'data')
  return Number(line)
}

function started(command, args, stdout = 'ignore') {
  const child = spawn(command, args, { stdio: ['ignore', stdout, 'ignore'] })
  running.push(child)
  return child
}

async function listening(proxy) {
  for (let i = 0; i < 200; i++) {
    const open = await new Promise(done => {
      const socket = connect(proxy.port, '127.0.0.1', () => done(true)).on('error', () => done(false))
      socket.unref()
      setTimeout(() => socket.destroy(), 50).unref()
    })
    if (open) return proxy
    await new Promise(done => setTimeout(done, 50))
  }
  throw new Error(`${proxy.name} does not listen`)
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  await new Promise(done => server.close(done))
  return port
}

/** µs of the proxy's process for each call; programs that it has started are not part of it. */
async function measure({ port, child }, { era, tool }) {
  const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS })
  const clients = await Promise.all(Array.from({ length: CLIENTS }, () => clientOf(agent, port, era, tool)))
  const before = ticksOf(child.pid)
  await Promise.all(
    clients.map(async call => {
      for (let i = 0; i < calls / CLIENTS; i++) await call(i)
    }),
  )
  const spent = ticksOf(child.pid) - before
  agent.destroy()
  return { cost: (spent * TICK * 1000) / calls }
}

/** What calls the tool once and throws for anything but its answer. */
async function clientOf(agent, port, era, tool) {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': MODERN,
    'io.modelcontextprotocol/clientCapabilities': {},
    'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1' },
  }
  const params = { name: tool, arguments: { text: 'the same again' }, ...(era === MODERN ? { _meta } : {}) }
  const headers = { 'mcp-protocol-version': era }
  if (era === MODERN) Object.assign(headers, { 'mcp-method': 'tools/call', 'mcp-name': tool })
  else {
    const hello = { protocolVersion: LEGACY, capabilities: {}, clientInfo: { name: 'bench', version: '1' } }
    const { id } = await post(agent, port, {}, { id: 0, method: 'initialize', params: hello })
    if (id) headers['mcp-session-id'] = id
    await post(agent, port, headers, { method: 'notifications/initialized' })
  }
  return async id => {
    const { text } = await post(agent, port, headers, { id: id + 1, method: 'tools/call', params })
    if (!text.includes('the same again')) throw new Error(`an answer without the text: ${text.slice(0, 200)}`)
  }
}

function post(agent, port, headers, message) {
  return new Promise((resolve, reject) => {
    const body = JSON.stringify({ jsonrpc: '2.0', ...message })
    const own = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'content-length': Buffer.byteLength(body),
    }
    const call = request(
      { agent, host: '127.0.0.1', port, path: '/mcp', method: 'POST', headers: { ...own, ...headers } },
      res => {
        let text = ''
        res.setEncoding('utf8').on('data', part => {
          text += part
        })
        res.on('end', () => resolve({ text, id: res.headers['mcp-session-id'] }))
        res.on('error', reject)
      },
    )
    call.on('error', reject)
    call.end(body)
  })
}

/** Of all its threads, in user and kernel mode. */
function ticksOf(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
  return Number(fields[11]) + Number(fields[12])
}

function report({ name, era }, costs) {
  const own = costs.get('gwctl')
  const parts = [...costs].map(([proxy, all]) => {
    if (all.some(({ error }) => error)) return `${proxy} fails`
    const ratio = proxy === 'gwctl' ? '' : ` (${median(all.map(({ cost }, i) => own[i].cost / cost)).toFixed(2)})`
    return `${proxy} ${median(all.map(({ cost }) => cost)).toFixed(0)} µs${ratio}`
  })
  say(`${`${name}, ${era}`.padEnd(34)} ${parts.join(', ')}`)
}

const median = list => list.toSorted((a, b) => a - b)[list.length >> 1]

function say(line) {
  process.stdout.write(`${line}\n`)
}

try {
  await main()
} finally {
  for (const child of running) child.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
}
