import http, { type ClientRequest, type IncomingMessage } from 'node:http'
import https from 'node:https'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { expect, test } from 'vitest'
import { createAuthority, createCertificate } from '../helpers/certificates.ts'
import { startGateway } from '../helpers/gateway.ts'
import { startReplica } from '../helpers/replica.ts'
import { echo, startUpstream, type Upstream } from '../helpers/upstream.ts'

const authority = createAuthority('test authority')
const certificates = [0, 1].map(i => createCertificate(authority, ['localhost', `round-${i}.test`]))
const files = Object.fromEntries(
  certificates.flatMap(({ cert, key }, i) => [
    [`cert-${i}.pem`, cert],
    [`key-${i}.pem`, key],
  ]),
)

/** Each round has a route of its own, the other backend, the other certificate, and a port that comes or goes. */
const configOf = (round: number, hosts: readonly string[], tls = true) => {
  const backend = `backends: [{host: '${hosts[round % 2]}'}]`
  const direct = `{matches: [{path: {exact: /round}}], policies: {directResponse: {status: 200, body: '${round}'}}}`
  const [cert, key] = [`cert-${round % 2}.pem`, `key-${round % 2}.pem`]
  return `binds:
- {port: 80, listeners: [{routes: [${direct}, {${backend}}]}]}
${tls ? `- {port: 443, listeners: [{protocol: HTTPS, tls: {cert: ${cert}, key: ${key}}, routes: [{${backend}}]}]}` : ''}
${round % 2 === 1 ? `- {port: 81, listeners: [{routes: [{${backend}}]}]}` : ''}
`
}

/** Answers with its name; on /stream with a part each time `tick` runs, until `finish` has run. */
async function startBackend(name: string) {
  const open = new Set<() => void>()
  let ending = false
  const upstream = await startUpstream((req, res) => {
    if (req.url !== '/stream') {
      req.resume().on('end', () => res.end(name))
      return
    }
    const tick = () => {
      if (ending) {
        open.delete(tick)
        res.end('end')
      } else res.write('part ')
    }
    open.add(tick)
    res.write('first ')
  })
  return {
    upstream,
    tick: () => {
      for (const each of open) each()
    },
    finish() {
      ending = true
      this.tick()
    },
  }
}

/** Rejects when the reply does not come whole. */
function whole(req: ClientRequest, onHead?: (res: IncomingMessage) => void): Promise<string> {
  return new Promise((resolve, reject) => {
    req.on('error', reject).on('response', res => {
      let text = ''
      onHead?.(res)
      res.setEncoding('utf8').on('data', chunk => {
        text += chunk
      })
      res.on('end', () => resolve(`${res.statusCode} ${text}`)).on('error', reject)
    })
    req.end('a body')
  })
}

const post = (port: number, path = '/', agent: http.Agent | false = false) =>
  http.request({ host: '127.0.0.1', port, path, method: 'POST', agent })

/** Resolves with the reply's end to come, once its first part is there. */
function startStream(port: number): Promise<{ readonly reply: Promise<string> }> {
  return new Promise((resolve, reject) => {
    const reply = whole(post(port, '/stream'), res => res.once('data', () => resolve({ reply })))
    reply.catch(reject)
  })
}

test('consecutive reloads fail no request: reused and new connections, TLS, streams, changing ports', async () => {
  const [a, b] = [await startBackend('a'), await startBackend('b')]
  await using _first: Upstream = a.upstream
  await using _second: Upstream = b.upstream
  const hosts = [a.upstream.host, b.upstream.host]
  // Streams at a port that goes last as long as this allows.
  const config = (round: number) => `config: {connectionTerminationDeadline: 10m}\n${configOf(round, hosts)}`
  await using gateway = await startGateway(config(0), { files })
  const port = (configured: number) => gateway.gateway.portOf(configured)!

  const outcomes = new Map<string, number>()
  let running = true
  const repeat = async (ask: () => Promise<string>): Promise<void> => {
    while (running) {
      const outcome = await ask().catch((error: Error) => error.message)
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
    }
  }
  const agents = [0, 1, 2, 3].map(() => new http.Agent({ keepAlive: true, maxSockets: 1 }))
  const kept = new Set<Socket>()
  const secure = new https.Agent({ keepAlive: true, maxSockets: 1, ca: authority.cert })
  const secured = (agent: https.Agent | false) =>
    https.request({ port: port(443), method: 'POST', agent, ca: authority.cert, servername: 'localhost' })
  const load = [
    ...agents.map(agent => repeat(() => whole(post(port(80), '/', agent).on('socket', socket => kept.add(socket))))),
    repeat(() => whole(post(port(80)))),
    repeat(() => whole(secured(secure))),
    repeat(() => whole(secured(false))),
  ]
  const streams = [await startStream(port(80))]
  for (let round = 1; round <= 20; round++) {
    expect(await gateway.reload(config(round))).toEqual([])
    expect(await whole(post(port(80), '/round'))).toBe(`200 ${round}`)
    let shown: string | undefined
    const fresh = secured(false).on('socket', socket =>
      socket.on('secureConnect', () => {
        shown = (socket as TLSSocket).getPeerX509Certificate()?.subjectAltName
      }),
    )
    expect(await whole(fresh)).toBe(`200 ${'ab'[round % 2]}`)
    expect(shown).toContain(`round-${round % 2}.test`)
    if (round % 2 === 1) streams.push(await startStream(port(81)))
    else expect(gateway.gateway.portOf(81)).toBe(undefined)
    if (round % 5 === 0) streams.push(await startStream(port(80)))
    a.tick()
    b.tick()
  }
  a.finish()
  b.finish()
  for (const { reply } of streams) expect(await reply).toMatch(/^200 first (part )*end$/)
  running = false
  await Promise.all(load)
  expect([...outcomes.keys()].toSorted()).toEqual(['200 a', '200 b'])
  // A reload closes no connection that is in use.
  expect(kept.size).toBe(agents.length)
  for (const agent of [...agents, secure]) agent.destroy()
  // What is left is what the gateway keeps towards its backends.
  const sockets = () => process.getActiveResourcesInfo().filter(name => name === 'TCPSocketWrap').length
  a.upstream.server.closeAllConnections()
  b.upstream.server.closeAllConnections()
  await expect.poll(sockets).toBe(0)
})

test('reloads fail no request with two workers either', async () => {
  await using backend = await startUpstream(echo)
  await using replica = await startReplica(configOf(0, [backend.host, backend.host], false), 2)
  const outcomes = new Set<string>()
  let running = true
  const agents = [0, 1, 2, 3].map(() => new http.Agent({ keepAlive: true, maxSockets: 1 }))
  const load = agents.map(async (agent, i) => {
    while (running) {
      const reply = whole(post(replica.port(80), '/', i < 3 ? agent : false))
      outcomes.add(await reply.then(text => text.slice(0, 4)).catch((error: Error) => error.message))
    }
  })
  for (let round = 1; round <= 8; round++) {
    replica.write(configOf(round, [backend.host, backend.host], false))
    expect(await replica.serving.reload()).toBe(true)
    const seen = await Promise.all([1, 2, 3, 4].map(() => whole(post(replica.port(80), '/round'))))
    expect(new Set(seen)).toEqual(new Set([`200 ${round}`]))
    if (round % 2 === 1) expect(await whole(post(replica.port(81)))).toMatch(/^200 /)
  }
  running = false
  await Promise.all(load)
  expect([...outcomes]).toEqual(['200 '])
  for (const agent of agents) agent.destroy()
})
