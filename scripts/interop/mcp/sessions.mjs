// npm run interop:mcp-sessions [-- --record]: 1,000 sessions while their targets crash, hang, answer garbage and are
// started anew. No call gets another one's reply, none waits longer than the route allows, no program is left when the
// sessions have ended, and the memory in use is back to what the first round left. Needs a build, and `sh`.
import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openArena } from '../../attack/arena.mjs'
import { replaceSection } from '../section.mjs'

const SESSIONS = Number(process.env.SESSIONS ?? 1000)
const CALLS = 4
const ROUNDS = Number(process.env.ROUNDS ?? 5)
/** Sessions that call at a time. */
const AT_A_TIME = 30
/** ms that the route gives a call, and that it may take at most on a busy machine. */
const TIMEOUT = 5000
const LIMIT = 20_000
const FAULTS = ['crash', 'hang', 'garbage', 'foreign']
const INIT = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'sessions', version: '1' } }
const SERVER = { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } }

/** A server in a shell: a thousand of them fit into the memory. */
const PROGRAM = `
while read -r line; do
  id=\${line#*'"id":'}; id=\${id%%[,\\}]*}; arg=\${line#*'"n":'}; arg=\${arg%%\\}*}
  case $line in
    *'"initialize"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":${JSON.stringify(SERVER)}}' ;;
    *'"crash"'*) exit 3 ;;
    *'"hang"'*) ;;
    *'"garbage"'*) echo '<html>500</html>'; echo '{"jsonrpc":"2.0","id":'$id',"result":' ;;
    *'"foreign"'*) echo '{"jsonrpc":"2.0","id":999999,"result":{"content":[]}}' ;;
    *'"tools/call"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"content":[{"type":"text","text":"stdio '$arg'"}]}}' ;;
  esac
done`

/** Makes the gateway collect its garbage and say what is left in use. */
const COLLECT = `data:text/javascript,${encodeURIComponent(`
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc')
process.on('SIGUSR2', () => {
  collect()
  const { heapUsed, external } = process.memoryUsage()
  process.stderr.write('in use: ' + (heapUsed + external) + '\\n')
})`)}`

const counted = { answered: 0, refused: 0, lost: 0, longest: 0 }
let bad = false

async function main() {
  const arena = openArena()
  const web = await startWeb()
  const targets = [
    { name: 'web', mcp: { host: `http://127.0.0.1:${web.port}/mcp` } },
    { name: 'stdio', stdio: { cmd: 'sh', args: [join(arena.folder({ 'server.sh': PROGRAM }), 'server.sh')] } },
  ]
  const route = {
    policies: { timeout: { requestTimeout: `${TIMEOUT}ms` } },
    backends: [{ mcp: { targets, failureMode: 'failOpen' } }],
  }
  const gateway = await arena.start(port => `binds: ${JSON.stringify([{ port, listeners: [{ routes: [route] }] }])}`, {
    env: { NODE_OPTIONS: `--import=${COLLECT}` },
  })
  const memory = []
  const inUse = []
  try {
    for (let round = 1; round <= ROUNDS; round++) {
      const sessions = await inTurn(Array.from({ length: SESSIONS }), () => begin(gateway.port))
      const restarts = setInterval(() => web.forget(), 1500)
      await inTurn(sessions, session => use(gateway.port, session))
      clearInterval(restarts)
      say(`round ${round}: ${programsOf(gateway.pid)} programs run`)
      await inTurn(sessions, session => ask(gateway.port, 'DELETE', session))
      await settled(() => programsOf(gateway.pid) === 0)
      check(programsOf(gateway.pid) === 0, `${programsOf(gateway.pid)} programs are left`)
      memory.push(gateway.memory())
      process.kill(gateway.pid, 'SIGUSR2')
      const said = () => [...gateway.said().matchAll(/^in use: (\d+)$/gm)].map(([, bytes]) => Number(bytes))
      await settled(() => said().length === round)
      inUse.push(said().at(-1))
    }
    check(gateway.alive(), 'the gateway has died')
    check(inUse.at(-1) <= inUse[0] * 1.1, `the memory has grown: ${inUse.map(mb).join(', ')}`)
  } finally {
    web.close()
    await arena.close()
  }
  say(
    `${JSON.stringify(counted)}; in use after each round: ${inUse.map(mb).join(', ')}; resident: ${memory.map(mb).join(', ')}`,
  )
  if (process.argv.includes('--record')) {
    const file = fileURLToPath(new URL('../../../docs/interop.md', import.meta.url))
    await replaceSection(file, 'mcp-sessions', 'npm run interop:mcp-sessions -- --record', section(inUse, memory))
  }
  if (bad) process.exitCode = 1
}

/** Streamable HTTP that does what it is asked for, and forgets its sessions now and then. */
async function startWeb() {
  let known = new Set()
  const server = createServer(async (req, res) => {
    const chunks = []
    for await (const chunk of req) chunks.push(chunk)
    const session = req.headers['mcp-session-id']
    if (session !== undefined && !known.has(session)) return res.writeHead(404).end()
    if (req.method !== 'POST') return res.writeHead(req.method === 'GET' ? 405 : 200).end()
    const { id, method, params } = JSON.parse(Buffer.concat(chunks).toString())
    const reply = (result, own = id) =>
      res
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ jsonrpc: '2.0', id: own, result }))
    if (id === undefined) return res.writeHead(202).end()
    if (method === 'initialize') {
      const fresh = randomUUID()
      known.add(fresh)
      res.setHeader('mcp-session-id', fresh)
      return reply(SERVER)
    }
    switch (params?.name) {
      case 'crash':
        return req.socket.resetAndDestroy()
      case 'hang':
        return undefined
      case 'garbage':
        return res.writeHead(200, { 'content-type': 'text/html' }).end('<html>500</html>')
      case 'foreign':
        return reply({ content: [] }, 999_999)
      default:
        return reply({ content: [{ type: 'text', text: `web ${params?.arguments?.n}` }] })
    }
  }).listen(0, '127.0.0.1')
  await new Promise(resolve => server.once('listening', resolve))
  return {
    port: server.address().port,
    forget() {
      known = new Set()
    },
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

/** On a machine that stalls, both targets may take too long. */
async function begin(port, tries = 3) {
  const { headers, status, text } = await ask(port, 'POST', undefined, { id: 0, method: 'initialize', params: INIT })
  const session = headers.get('mcp-session-id')
  if (session === null && tries > 1) return begin(port, tries - 1)
  check(session !== null, `a session has not begun: ${status} ${text.slice(0, 200)}`)
  await ask(port, 'POST', session, { method: 'notifications/initialized' })
  return session
}

let serial = 0

async function use(port, session) {
  for (let i = 1; i <= CALLS; i++) {
    const n = ++serial
    const target = n % 2 ? 'web' : 'stdio'
    const fault = Math.random() < 0.4 ? FAULTS[n % FAULTS.length] : undefined
    const params = { name: `${target}_${fault ?? 'echo'}`, arguments: { n } }
    const started = performance.now()
    const { status, text } = await ask(port, 'POST', session, { id: i, method: 'tools/call', params })
    const took = performance.now() - started
    counted.longest = Math.max(counted.longest, Math.round(took))
    check(took < LIMIT, `call ${n} (${params.name}) took ${Math.round(took)} ms`)
    const replies = [...text.matchAll(/^(?:data: )?(\{.*\})$/gm)].map(([, json]) => JSON.parse(json))
    const own = replies.filter(reply => reply.id === i)
    if (own[0]?.result === undefined) {
      check(own[0]?.error !== undefined || status >= 400, `call ${n} (${params.name}): ${status} ${text.slice(0, 200)}`)
      if (fault === undefined) counted.lost++
      else counted.refused++
    } else {
      check(own.length === 1 && fault === undefined, `call ${n} (${params.name}) was answered: ${text.slice(0, 200)}`)
      check(own[0].result.content[0]?.text === `${target} ${n}`, `call ${n}: another one's reply`)
      counted.answered++
    }
  }
}

async function ask(port, method, session, message) {
  const response = await fetch(`http://127.0.0.1:${port}/mcp`, {
    method,
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(session === undefined ? {} : { 'mcp-session-id': session }),
    },
    ...(message === undefined ? {} : { body: JSON.stringify({ jsonrpc: '2.0', ...message }) }),
    signal: AbortSignal.timeout(LIMIT * 2),
  })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

async function inTurn(items, work) {
  const results = []
  const waiting = items.entries()
  const one = async () => {
    for (const [i, item] of waiting) results[i] = await work(item)
  }
  await Promise.all(Array.from({ length: AT_A_TIME }, one))
  return results
}

function programsOf(pid) {
  const { stdout } = spawnSync('ps', ['-o', 'stat=', '--ppid', String(pid)], { encoding: 'utf8' })
  return stdout.split('\n').length - 1
}

async function settled(holds) {
  for (let tries = 0; tries < 100; tries++) {
    if (holds()) return
    await new Promise(resolve => setTimeout(resolve, 200))
  }
}

function check(holds, problem) {
  if (holds) return
  bad = true
  say(`FAILED: ${problem}`)
}

const mb = bytes => `${Math.round(bytes / 1_000_000)} MB`

function section(inUse, memory) {
  const { answered, refused, lost, longest } = counted
  return `## MCP sessions whose targets misbehave

\`npm run interop:mcp-sessions\`: ${ROUNDS} rounds of ${SESSIONS} sessions, open at once, each with a target over Streamable HTTP that forgets its sessions now and then and with a program of its own (\`failOpen\`, \`requestTimeout: ${TIMEOUT}ms\`). Of the calls, 40 % make a target crash, hang, answer garbage, or answer another call. ${answered} calls were answered with their own reply, ${refused} were to fail and did, ${lost} failed since their target was down; the longest took ${longest} ms. No program is left after a round. Memory in use after each round, once garbage has been collected: ${inUse.map(mb).join(', ')}; resident before that, since V8 collects when it needs to: ${memory.map(mb).join(', ')}.
`
}

function say(line) {
  process.stdout.write(`${line}\n`)
}

await main()
process.exit()
