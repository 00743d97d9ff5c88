// npm run fuzz:wire [-- COUNT [SEED]] [--only requests|replies|http2]: sends so many mutated requests, replies and
// HTTP/2 streams (a third each) through the built gateway, on loopback, while it runs with two workers and is reloaded
// all the time. Exits with 1 when it dies or logs an internal error, when a byte reaches the backend or the client that
// is not HTTP, or when its memory grows. Linux.
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { openArena } from './attack/arena.mjs'
import { type Dice, diceOf, mutated } from './fuzz/mutate.ts'
import { CONNECTIONS, REPLIES, REQUESTS } from './fuzz/seeds.ts'
import { StrictReader } from './fuzz/strict-reader.ts'

const KINDS = ['requests', 'replies', 'http2'] as const
const { values, positionals } = parseArgs({ allowPositionals: true, options: { only: { type: 'string' } } })
const COUNT = Number(positionals[0] ?? 30_000)
const SEED = Number(positionals[1] ?? 1)
/** Connections at a time. */
const WIDTH = 48
/** ms after which an exchange is given up: a gateway may wait for what a mutation has cut off. */
const PATIENCE = 3000
/** ms after which a client that has heard nothing ends its side. */
const QUIET = 250
/** ms between two reloads. */
const RELOAD = 1500
/** bytes that memory may grow from the first half to the end. */
const SLACK = 96 * 2 ** 20

const problems: string[] = []
const counts = { reached: 0, answered: 0, silent: 0, reloads: 0 }
/** What the backend answers next; undefined: well. */
let nextReply: (() => string) | undefined

function report(what: string, bytes: string): void {
  problems.push(what)
  process.stderr.write(`${what}\n  ${JSON.stringify(bytes.slice(0, 2000))}\n`)
}

function configFor(port: number, upstream: string, round: number): string {
  const to = `backends: [{host: '${upstream}', policies: {http: {version: HTTP/1.1}}}]`
  return `binds:
- port: ${port}
  listeners:
  - routes:
    - {name: key, matches: [{path: {pathPrefix: /key}}], policies: {apiKey: {mode: strict, keys: [{key: secret}]}}, ${to}}
    - {name: json, matches: [{path: {pathPrefix: /json}}], policies: {transformations: {request: {set: {x-length: 'string(size(request.body))'}}, response: {set: {x-length: 'string(size(response.body))'}}}}, ${to}}
    - {name: rest, policies: {responseHeaderModifier: {set: {x-round: '${round}'}}, requestHeaderModifier: {set: {x-route: rest}, remove: [x-gone]}}, ${to}}
`
}

async function main(): Promise<void> {
  const arena = openArena()
  const backend = createServer({ noDelay: true }, serveBackend).listen(0, '127.0.0.1')
  await once(backend, 'listening')
  const upstream = `127.0.0.1:${(backend.address() as { port: number }).port}`
  const started = performance.now()
  try {
    const gateway = await arena.start(port => configFor(port, upstream, 0), {
      workers: 2,
      settings: "logging: {level: 'info,request=off'}",
    })
    let running = true
    const reloading = (async () => {
      while (running) {
        await pause(RELOAD)
        await gateway.reload(port => configFor(port, upstream, ++counts.reloads))
      }
    })()
    const memory: number[] = []
    const kinds = KINDS.filter(kind => values.only === undefined || kind === values.only)
    for (const kind of kinds) {
      const share = Math.ceil(COUNT / kinds.length)
      const sent = await sendAll(kind, share, gateway, memory)
      process.stdout.write(`${sent} mutated ${kind === 'http2' ? 'HTTP/2 streams' : kind}\n`)
    }
    running = false
    await reloading
    check(gateway, memory)
    const seconds = Math.round((performance.now() - started) / 1000)
    const { reached, answered, silent, reloads } = counts
    process.stdout.write(
      `seed ${SEED}, ${seconds} s: ${reached} requests reached the backend, ${answered} answers, ${silent} given up; ${reloads} reloads, two workers; ${problems.length} problems\n`,
    )
  } finally {
    backend.close()
    await arena.close()
  }
  if (problems.length > 0) process.exitCode = 1
}

type Gateway = Awaited<ReturnType<ReturnType<typeof openArena>['start']>>

async function sendAll(
  kind: (typeof KINDS)[number],
  count: number,
  gateway: Gateway,
  memory: number[],
): Promise<number> {
  let sent = 0
  const work = async (lane: number): Promise<void> => {
    const dice = diceOf(SEED * 1000 + lane + 1)
    while (sent < count && problems.length < 10) {
      if (!gateway.alive()) throw new Error(`the gateway has died:\n${gateway.said().slice(-4000)}`)
      if (sent % 2000 < WIDTH) memory.push(gateway.memory())
      // What another lane has sent meanwhile counts too.
      const own = await SENDERS[kind](gateway.port, dice)
      sent += own
    }
  }
  await Promise.all(Array.from({ length: WIDTH }, (_, lane) => work(lane)))
  nextReply = undefined
  return sent
}

const SENDERS = { requests: sendRequest, replies: askForReply, http2: sendStreams }

async function sendRequest(port: number, dice: Dice): Promise<number> {
  const bytes = mutated(REQUESTS[dice(REQUESTS.length)] as string, dice)
  const reader = new StrictReader('responses', () => counts.answered++)
  // Which of several requests an answer is for cannot be told: a body may be left out where one was HEAD.
  const readable = !/HEAD/.test(bytes)
  await exchange(
    port,
    bytes,
    chunk => readable && reader.read(chunk),
    () => !readable || reader.resting,
  )
  if (reader.problem !== undefined) report(`the client got what is ${reader.problem}`, bytes)
  return 1
}

async function askForReply(port: number, dice: Dice): Promise<number> {
  nextReply = () => mutated(REPLIES[dice(REPLIES.length)] as string, dice)
  let answers = 0
  const reader = new StrictReader('responses', head => {
    if (!/^HTTP\/1\.1 1/.test(head)) answers++
    counts.answered++
  })
  const path = ['/a', '/json', '/b'][dice(3)]
  await exchange(
    port,
    `GET ${path} HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n`,
    chunk => reader.read(chunk),
    () => false,
  )
  if (reader.problem !== undefined) report(`the client got what is ${reader.problem}`, `to ${path}`)
  if (answers > 1) report(`${answers} answers to one request`, `to ${path}`)
  return 1
}

async function sendStreams(port: number, dice: Dice): Promise<number> {
  const { preface, streams, bytes } = CONNECTIONS[dice(CONNECTIONS.length)] as (typeof CONNECTIONS)[number]
  let pieces = 0
  await exchange(
    port,
    preface + mutated(bytes, dice),
    () => pieces++,
    // The settings and their acknowledgement come first.
    () => pieces > 2,
  )
  if (pieces > 0) counts.answered++
  return streams
}

/** Until the other side has closed; `isDone` is asked with each piece whether there is anything to wait for. */
function exchange(port: number, bytes: string, onData: (chunk: string) => void, isDone: () => boolean): Promise<void> {
  return new Promise(resolve => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    const timers = [
      // Nothing more will come of what a mutation has cut off: the gateway learns that this was all.
      setTimeout(() => socket.end(), QUIET),
      setTimeout(() => {
        counts.silent++
        socket.destroy()
      }, PATIENCE),
    ]
    socket.on('error', () => {})
    socket.on('data', chunk => {
      onData(chunk.toString('latin1'))
      if (isDone()) socket.end()
    })
    socket.on('end', () => socket.end())
    socket.once('close', () => {
      for (const timer of timers) clearTimeout(timer)
      resolve()
    })
    socket.write(bytes, 'latin1')
  })
}

/** Answers each request; what comes has to be HTTP to the byte. */
function serveBackend(socket: Socket): void {
  let text = ''
  const reader = new StrictReader('requests', head => {
    counts.reached++
    const bodiless = head.startsWith('HEAD ')
    const reply = nextReply?.() ?? (bodiless ? 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n' : OK)
    socket.write(reply, 'latin1')
    // What a mutation has made incomplete must come to an end.
    if (nextReply) socket.end()
  })
  socket.on('error', () => {})
  socket.on('data', chunk => {
    text = (text + chunk.toString('latin1')).slice(-4000)
    reader.read(chunk.toString('latin1'))
    if (reader.problem === undefined) return
    report(`the backend got what is ${reader.problem}`, text)
    socket.destroy()
  })
}

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'

function check(gateway: Gateway, memory: readonly number[]): void {
  if (!gateway.alive()) report('the gateway has died', gateway.said().slice(-4000))
  const internal = /^.*(?:internal error|worker has ended|does not respond).*$/m.exec(gateway.said())
  if (internal) report('the gateway has logged', internal[0])
  const middle = Math.max(...memory.slice(0, Math.ceil(memory.length / 2)))
  const last = memory.slice(-Math.max(1, Math.floor(memory.length / 10)))
  const grown = Math.min(...last) - middle
  const mb = (bytes: number) => Math.round(bytes / 2 ** 20)
  process.stdout.write(`resident: at most ${mb(middle)} MiB in the first half, ${mb(Math.min(...last))} at the end\n`)
  if (grown > SLACK) report(`memory has grown by ${mb(grown)} MiB`, '')
}

await main()
