// node scripts/soak/reload.mjs [--workers N] [--reloads 100] [--seconds 60]: what does a reload cost those who are being
// served? Each one brings a new route, another backend, other certificates, and a port that comes or goes, while clients
// that keep their connections, clients that do not, HTTP/2 over TLS and streams go on. Exits with 1 when a request fails,
// a socket stays, or the heap has grown.
import { once } from 'node:events'
import http from 'node:http'
import http2 from 'node:http2'
import https from 'node:https'
import { parseArgs } from 'node:util'
import { createAuthority, createCertificate } from '../../test/helpers/certificates.ts'
import { freePort, mb, startGatewayProcess, watchHeap } from './gateway-process.mjs'

const { values } = parseArgs({
  options: {
    workers: { type: 'string', default: '1' },
    reloads: { type: 'string', default: '100' },
    seconds: { type: 'string', default: '60' },
  },
})
const [workers, reloads, seconds] = [values.workers, values.reloads, values.seconds].map(Number)
/** MB that the floor of the heap may rise, and sockets that may be left more than there were. */
const SLACK = { heap: 8, sockets: 0 }
const STREAM = { chunks: 20, pause: 100 }

const authority = createAuthority('soak')
const certificates = [0, 1].map(() => createCertificate(authority, ['localhost']))
const [plain, secure, extra] = [await freePort(), await freePort(), await freePort()]

function startBackend(name) {
  const server = http.createServer({ keepAliveTimeout: 60_000 }, (req, res) => {
    if (!req.url.startsWith('/stream')) {
      req.resume().on('end', () => res.end(name))
      return
    }
    let left = STREAM.chunks
    const timer = setInterval(() => {
      res.write(`${left}\n`)
      left--
      if (left > 0) return
      clearInterval(timer)
      res.end('end')
    }, STREAM.pause)
    res.on('close', () => clearInterval(timer))
  })
  server.listen(0, '127.0.0.1')
  return server
}

function configOf(round, hosts) {
  const backend = host => `backends: [{host: '${host}'}]`
  const routes = `
    - {name: round-${round}, matches: [{path: {exact: /round-${round}}}], policies: {directResponse: {status: 200, body: 'round ${round}'}}}
    - {name: rest, policies: {responseHeaderModifier: {set: {x-round: '${round}'}}}, ${backend(hosts[round % 2])}}`
  const tls = `protocol: HTTPS, tls: {cert: cert-${round % 2}.pem, key: key-${round % 2}.pem}`
  return `binds:
- port: ${plain}
  listeners: 
  - routes:${routes}
- port: ${secure}
  listeners:
  - ${`{${tls}, routes: [{${backend(hosts[round % 2])}}]}`}
${round % 2 === 1 ? `- {port: ${extra}, listeners: [{routes: [{${backend(hosts[0])}}]}]}` : ''}
`
}

const counts = {}
const failures = []
function count(kind, failure) {
  counts[kind] = (counts[kind] ?? 0) + 1
  if (failure !== undefined) failures.push(`${kind}: ${failure}`)
}

/** The status, and the body if it came whole. */
function ask(options, client = http) {
  return new Promise((resolve, reject) => {
    const req = client.request({ host: '127.0.0.1', ...options }, res => {
      let body = ''
      res.setEncoding('utf8').on('data', text => {
        body += text
      })
      res.on('end', () => (res.complete ? resolve({ status: res.statusCode, body }) : reject(new Error('cut'))))
      res.on('error', reject)
    })
    req.on('error', reject)
    req.end(options.body)
  })
}

async function expectAnswer(kind, answer, wanted) {
  try {
    const { status, body } = await answer
    const right = status === 200 && wanted.test(body)
    count(kind, right ? undefined : `${status} ${body.slice(0, 100)}`)
  } catch (error) {
    count(kind, error.code ?? error.message)
  }
}

const pause = ms => new Promise(resolve => setTimeout(resolve, ms))
let running = true
async function loop(work, every) {
  while (running) {
    await work()
    if (every > 0) await pause(every)
  }
}

function overHttp2(session) {
  return new Promise((resolve, reject) => {
    const stream = session.request({ ':path': '/' })
    let status
    let body = ''
    stream.on('response', fields => {
      status = fields[':status']
    })
    stream.setEncoding('utf8').on('data', text => {
      body += text
    })
    stream.on('end', () => resolve({ status, body })).on('error', reject)
    stream.end()
  })
}

function traffic() {
  const agents = Array.from({ length: 8 }, () => new http.Agent({ keepAlive: true, maxSockets: 1 }))
  const session = http2.connect(`https://localhost:${secure}`, { ca: authority.cert })
  session.on('error', error => failures.push(`session: ${error.message}`))
  const secured = { port: secure, ca: authority.cert, servername: 'localhost', agent: false }
  const body = 'x'.repeat(2000)
  const loops = [
    ...agents.map(agent =>
      loop(() => expectAnswer('keep-alive', ask({ port: plain, agent, method: 'POST', body }), /^[ab]$/), 5),
    ),
    ...[1, 2].map(() => loop(() => expectAnswer('new connection', ask({ port: plain, agent: false }), /^[ab]$/), 10)),
    loop(() => expectAnswer('new TLS connection', ask(secured, https), /^[ab]$/), 20),
    loop(() => expectAnswer('HTTP/2', overHttp2(session), /^[ab]$/), 10),
    ...Array.from({ length: 4 }, () =>
      loop(() => expectAnswer('stream', ask({ port: plain, path: '/stream', agent: false }), /end$/), 0),
    ),
  ]
  return async () => {
    running = false
    await Promise.all(loops)
    for (const agent of agents) agent.destroy()
    session.close()
    await once(session, 'close')
  }
}

/** Sockets once what was let go of is gone. */
async function settled(gateway, wanted) {
  for (let i = 0; i < 100 && gateway.sockets() > wanted; i++) await pause(100)
  return gateway.sockets()
}

async function main() {
  const backends = ['a', 'b'].map(startBackend)
  await Promise.all(backends.map(server => once(server, 'listening')))
  const hosts = backends.map(server => `127.0.0.1:${server.address().port}`)
  const files = {}
  for (const [i, { cert, key }] of certificates.entries())
    Object.assign(files, { [`cert-${i}.pem`]: cert, [`key-${i}.pem`]: key })
  await using gateway = await startGatewayProcess(configOf(0, hosts), { workers, files })
  // What the gateway keeps towards its backends counts from the beginning.
  await ask({ port: plain, agent: false })
  const before = gateway.sockets()
  const stopTraffic = traffic()
  const heap = watchHeap(gateway)
  const started = performance.now()
  for (let round = 1; round <= reloads; round++) {
    gateway.write('gateway.yaml', configOf(round, hosts))
    await gateway.says('configuration reloaded', round)
    await expectAnswer(
      'new route',
      ask({ port: plain, path: `/round-${round}`, agent: false }),
      new RegExp(`^round ${round}$`),
    )
    if (round % 2 === 1) {
      await expectAnswer('new port', ask({ port: extra, agent: false }), /^a$/)
      // Begins on a port that the next reload takes away.
      void expectAnswer('stream on a port that goes', ask({ port: extra, path: '/stream', agent: false }), /end$/)
    }
    const left = started + (round * seconds * 1000) / reloads - performance.now()
    if (left > 0) await pause(left)
  }
  const took = (performance.now() - started) / 1000
  const floors = await heap.stop()
  await stopTraffic()
  await pause(STREAM.chunks * STREAM.pause + 500)
  for (const server of backends) server.closeAllConnections()
  const after = await settled(gateway, before)
  for (const server of backends) server.close()
  console.log(`${reloads} reloads in ${took.toFixed(0)} s, ${workers} worker(s), node ${process.version}`)
  console.log(
    `requests: ${Object.entries(counts)
      .map(([kind, n]) => `${n} ${kind}`)
      .join(', ')}; failed: ${failures.length}`,
  )
  for (const failure of failures.slice(0, 20)) console.log(`  ${failure}`)
  console.log(`sockets: ${before} before, ${after} after`)
  console.log(
    `floor of the heap: ${mb(floors.early)} in the second third, ${mb(floors.late)} in the last (${floors.samples} samples)`,
  )
  const grown = (floors.late - floors.early) / 2 ** 20
  if (failures.length > 0 || after - before > SLACK.sockets || grown > SLACK.heap) process.exitCode = 1
}

await main()
