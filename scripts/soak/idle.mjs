// node scripts/soak/idle.mjs [--connections 10000] [--slow 1000]: what does a connection cost on which nothing happens,
// and what do clients achieve that send their heads byte by byte? Exits with 1 when a connection is lost or costs too
// much, when an ordinary request fails meanwhile, or when a slow client keeps its place.
import { once } from 'node:events'
import http from 'node:http'
import { connect as connectHttp2 } from 'node:http2'
import { connect } from 'node:net'
import { parseArgs } from 'node:util'
import { freePort, mb, startGatewayProcess } from './gateway-process.mjs'

const { values } = parseArgs({
  options: { connections: { type: 'string', default: '10000' }, slow: { type: 'string', default: '1000' } },
})
const [connections, slow] = [values.connections, values.slow].map(Number)
/** KB of resident memory for each connection. */
const LIMITS = { 'HTTP/1.1': 10, 'HTTP/2': 40 }
const BATCH = 200

function fail(reason) {
  console.log(`FAILED: ${reason}`)
  process.exitCode = 1
}

const pause = ms => new Promise(resolve => setTimeout(resolve, ms))

async function inBatches(count, open) {
  const all = []
  while (all.length < count) {
    const batch = Array.from({ length: Math.min(BATCH, count - all.length) }, open)
    all.push(...(await Promise.all(batch)))
  }
  return all
}

/** One that has had a reply and waits. */
async function kept(port) {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  await once(socket, 'data')
  return socket
}

async function keptHttp2(port) {
  const session = connectHttp2(`http://127.0.0.1:${port}`)
  session.on('error', () => {})
  const stream = session.request({ ':path': '/' })
  await once(stream.resume(), 'close')
  return session
}

function ask(port) {
  return new Promise((resolve, reject) => {
    const started = performance.now()
    const req = http.get({ port, host: '127.0.0.1', agent: false }, res => {
      res.resume().on('end', () => resolve({ status: res.statusCode, ms: performance.now() - started }))
    })
    req.on('error', reject)
  })
}

async function memoryOf(gateway) {
  // Two collections later.
  await pause(4500)
  return (await gateway.memory()).process
}

async function measure(kind, gateway, count, open) {
  const before = await memoryOf(gateway)
  const sockets = await inBatches(count, open)
  const after = await memoryOf(gateway)
  const held = sockets.filter(socket => !socket.destroyed).length
  const each = name => ((after[name] - before[name]) / count / 1024).toFixed(1)
  console.log(
    `${count} idle connections of ${kind}: ${each('rss')} KB resident, ${each('heapUsed')} KB heap each; ${held} open`,
  )
  const reply = await ask(gateway.port)
  if (held !== count) fail('connections were closed')
  if ((after.rss - before.rss) / count / 1024 > LIMITS[kind]) fail(`more than ${LIMITS[kind]} KB for each`)
  if (reply.status !== 200) fail(`a request was answered with ${reply.status}`)
  for (const socket of sockets) socket.destroy()
  // One more may be where the memory was asked for.
  const allowed = gateway.idleSockets + 1
  for (let i = 0; i < 100 && gateway.sockets() > allowed; i++) await pause(100)
  if (gateway.sockets() > allowed) fail(`${gateway.sockets()} sockets are left of ${allowed}`)
  console.log(`  after they have gone: resident ${mb((await memoryOf(gateway)).rss)}`)
}

/** Heads that come byte by byte: all of them are answered with 408 and closed, and nobody else waits. */
async function slowloris(gateway) {
  const started = performance.now()
  const ends = { 408: 0, other: 0 }
  const sockets = await inBatches(slow, async () => {
    const socket = connect(gateway.port, '127.0.0.1')
    socket.on('error', () => {})
    await once(socket, 'connect')
    let text = ''
    socket.on('data', chunk => {
      text += chunk
    })
    socket.on('close', () => {
      ends[text.startsWith('HTTP/1.1 408 ') ? 408 : 'other']++
    })
    socket.write('GET / HTTP/1.1\r\nX: ')
    return socket
  })
  const drip = setInterval(() => {
    for (const socket of sockets) if (socket.writable) socket.write('x')
  }, 1000)
  const times = []
  while (sockets.some(socket => !socket.destroyed) && performance.now() - started < 60_000) {
    const { status, ms } = await ask(gateway.port)
    if (status !== 200) fail(`a request was answered with ${status}`)
    times.push(ms)
    await pause(50)
  }
  clearInterval(drip)
  const seconds = ((performance.now() - started) / 1000).toFixed(0)
  const worst = times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)]
  console.log(
    `${slow} heads byte by byte: ${ends[408]} answered with 408, ${ends.other} otherwise, the last after ${seconds} s; ${times.length} other requests meanwhile, 99 % within ${worst?.toFixed(0)} ms`,
  )
  if (ends[408] !== slow) fail('a slow client was served otherwise')
}

async function main() {
  const port = await freePort()
  const direct = `binds: [{port: ${port}, listeners: [{routes: [{policies: {directResponse: {status: 200, body: ok}}}]}]}]`
  await using started = await startGatewayProcess(direct)
  const gateway = { ...started, port, idleSockets: 0 }
  await ask(port)
  gateway.idleSockets = gateway.sockets()
  await measure('HTTP/1.1', gateway, connections, () => kept(port))
  await measure('HTTP/2', gateway, Math.floor(connections / 5), () => keptHttp2(port))
  await slowloris(gateway)
}

await main()
