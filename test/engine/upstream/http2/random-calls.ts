// Random calls through the HTTP/2 client to the platform's own server, cut into pieces on the way: what one side sent is
// what the other has to see.
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import http2 from 'node:http2'
import net from 'node:net'
import type { Readable } from 'node:stream'
import { type Dice, diceOf } from '../../../../scripts/fuzz/mutate.ts'
import { systemClock } from '../../../../src/engine/clock.ts'
import { createTransport } from '../../../../src/engine/upstream/transport.ts'
import { HeaderList } from '../../../../src/http/headers.ts'
import { IncomingBody } from '../../../../src/http/incoming-body.ts'
import { TrailingBody } from '../../../../src/http/trailing-body.ts'
import type { ChunkSink, ResponseHandler } from '../../../../src/http/transport.ts'

interface Message {
  readonly fields: readonly string[]
  readonly chunks: readonly Buffer[]
}

interface Plan {
  readonly method: string
  readonly path: string
  readonly request: Message
  /** As a stream, or in one. */
  readonly streamed: boolean
  /** Behind the request's body. */
  readonly closing: readonly string[]
  readonly status: number
  readonly response: Message
  readonly trailers: readonly string[]
  readonly interim: boolean
  /** How it ends otherwise: cut off by the server, or left by the client. */
  readonly ends: 'well' | 'reset' | 'goodbye' | 'canceled'
  /** One of so many chunks finds the receiver full. */
  readonly slow: number
}

const VALUE = 'abcdefghijklmnopqrstuvwxyz0123456789 !#$%&\'()*+,-./:;<=>?@[]^_`{|}~"\\\t\x80\xff'
const NAMES = [
  'x-a',
  'x-b',
  'accept',
  'accept-language',
  'user-agent',
  'authorization',
  'x-request-id',
  'cache-control',
]

function textOf(dice: Dice): string {
  const length = dice(4) === 0 ? dice(400) : dice(30)
  let value = ''
  for (let i = 0; i < length; i++) value += VALUE[dice(VALUE.length)]
  return value.trim()
}

function fieldsOf(dice: Dice, names: readonly string[]): string[] {
  const fields: string[] = []
  for (let left = dice(7); left > 0; left--) {
    const name = dice(3) === 0 ? `x-${dice(1000)}` : names[dice(names.length)]!
    fields.push(name, dice(3) === 0 ? 'the same each time' : textOf(dice))
  }
  return fields
}

function chunksOf(dice: Dice): Buffer[] {
  const chunks: Buffer[] = []
  for (let left = dice(5); left > 0; left--) {
    chunks.push(Buffer.alloc(dice(20) === 0 ? dice(300_000) : dice(3) === 0 ? dice(20_000) : dice(200), dice(256)))
  }
  return chunks
}

function planOf(dice: Dice): Plan {
  const method = ['GET', 'POST', 'PUT', 'HEAD'][dice(4)]!
  const bare = method === 'GET' || method === 'HEAD'
  const none = method === 'HEAD'
  return {
    method,
    path: `/${dice(3) === 0 ? `p?q=${dice(1e6)}` : 'same'}`,
    request: { fields: fieldsOf(dice, NAMES), chunks: bare ? [] : chunksOf(dice) },
    streamed: !bare && dice(2) === 0,
    closing: dice(3) === 0 ? ['x-after', textOf(dice), 'x-last', 'z'] : [],
    status: [200, 201, 404, 500][dice(4)]!,
    response: { fields: fieldsOf(dice, ['x-a', 'server', 'x-c']), chunks: none ? [] : chunksOf(dice) },
    trailers: none || dice(2) === 0 ? [] : ['grpc-status', String(dice(17)), 'x-t', textOf(dice)],
    interim: dice(8) === 0,
    ends: (['reset', 'goodbye', 'canceled'] as const)[dice(200)] ?? 'well',
    slow: dice(3) === 0 ? 1 + dice(4) : 0,
  }
}

/** As connections make them: whoever has sent a chunk frees its memory. */
function bodyOf({ request: { chunks }, closing }: Plan): Readable {
  const left = chunks.map(chunk => {
    const own = Buffer.allocUnsafeSlow(chunk.length)
    chunk.copy(own)
    return own
  })
  if (closing.length === 0) {
    const body: IncomingBody = new IncomingBody(() => setImmediate(() => body.push(left.shift() ?? null)))
    return body
  }
  const body = new TrailingBody({
    read() {
      body.push(left.shift() ?? null)
    },
  })
  body.trailers = closing
  return body
}

/** What a message comes to: its fields in order, and its body. */
function told(fields: readonly string[], body: string, trailers: readonly string[] = []): string {
  return JSON.stringify([fields, body, trailers])
}

const digest = (chunks: readonly Buffer[]): string => createHash('sha1').update(Buffer.concat(chunks)).digest('hex')

/** Name, value, ...: without what the platform adds, and repeated names next to each other, as it sends them. */
function grouped(fields: readonly string[], without: readonly string[] = []): string[] {
  const names = fields.filter((_, i) => i % 2 === 0)
  const order = [...new Set(names)].filter(name => !without.includes(name) && !name.startsWith(':'))
  return order.flatMap(name =>
    fields.flatMap((value, i) => (i % 2 === 1 && fields[i - 1] === name ? [name, value] : [])),
  )
}

function asObject(fields: readonly string[]): Record<string, string[]> {
  const out: Record<string, string[]> = {}
  for (let i = 0; i < fields.length; i += 2) out[fields[i]!] = [...(out[fields[i]!] ?? []), fields[i + 1]!]
  return out
}

export interface RandomCalls {
  /** Makes so many calls, some at a time; what went wrong. */
  run(count: number): Promise<string[]>
  close(): Promise<void>
}

export async function randomCalls(seed: number): Promise<RandomCalls> {
  const dice = diceOf(seed)
  const plans = new Map<string, Plan>()
  const problems: string[] = []
  const sessions = new Set<http2.Http2Session>()
  const server = http2.createServer({ strictSingleValueFields: false } as http2.ServerOptions)
  server.on('session', session => {
    sessions.add(session.on('error', () => {}))
    session.settings({
      ...(dice(2) === 0 ? { initialWindowSize: dice(200_000) + 1 } : {}),
      ...(dice(2) === 0 ? { headerTableSize: dice(5000) } : {}),
      ...(dice(2) === 0 ? { maxConcurrentStreams: dice(20) + 1 } : {}),
      ...(dice(2) === 0 ? { maxFrameSize: 16_384 + dice(100_000) } : {}),
    })
    if (dice(4) === 0) session.once('stream', () => session.settings({ initialWindowSize: dice(100_000) + 10 }))
  })
  server.on('stream', (stream: http2.ServerHttp2Stream, _head, _flags, ...rest: unknown[]) => {
    void serve(stream, rest[0] as string[], plans, problems, dice)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const cutter = await cutting((server.address() as net.AddressInfo).port, dice)
  const transport = createTransport({ clock: systemClock })
  const target = { key: 'fuzz', host: '127.0.0.1', port: cutter.port, connectTimeout: 5000, named: false, version: '2' }

  let refused = 0
  async function one(id: string): Promise<void> {
    const plan = planOf(dice)
    plans.set(id, plan)
    const { chunks, fields } = plan.request
    const body = plan.streamed ? bodyOf(plan) : chunks.length > 0 ? Buffer.concat(chunks) : undefined
    const headers = new HeaderList(['x-plan', id, ...fields])
    const { method, path } = plan
    const request = { method, path, authority: 'fuzz.test', headers, body }
    const seen = await new Promise<string>(resolve => {
      const call = transport.dispatch(
        target as never,
        request,
        taking(plan, resolve, () => call.cancel(), dice),
      )
    })
    plans.delete(id)
    const whole = told(grouped(plan.response.fields), digest(plan.response.chunks), grouped(plan.trailers))
    if (seen === 'closed') refused++
    if (!fits(plan, seen, `${plan.status} ${whole}`)) problems.push(`${plan.ends}: got ${seen}, wanted ${whole}`)
  }

  let made = 0
  return {
    async run(count) {
      let left = count
      const worker = async (): Promise<void> => {
        while (left-- > 0) await one(String(made++))
      }
      await Promise.all(Array.from({ length: 40 }, worker))
      if (refused > made / 4) problems.push(`${refused} of ${made} calls were not answered`)
      return problems
    },
    async close() {
      await transport.close()
      for (const session of sessions) session.destroy()
      server.close()
      cutter.close()
    },
  }
}

/** Calls may be refused: by a server that has said goodbye, or has said too late how many it takes. */
function fits({ ends, method }: Plan, seen: string, whole: string): boolean {
  if (ends === 'canceled') return true
  if (ends === 'reset') return seen !== whole || method === 'HEAD'
  return seen === whole || seen === 'closed'
}

/** Answers as planned, after the request has been held against the plan. */
async function serve(
  stream: http2.ServerHttp2Stream,
  raw: string[],
  plans: ReadonlyMap<string, Plan>,
  problems: string[],
  dice: Dice,
): Promise<void> {
  stream.on('error', () => {})
  const id = raw[raw.indexOf('x-plan') + 1]!
  const plan = plans.get(id)
  if (plan === undefined) return
  const chunks: Buffer[] = []
  let closing: string[] = []
  stream.on('trailers', (_fields, _flags, ...rest: unknown[]) => {
    closing = rest[0] as string[]
  })
  stream.on('data', (chunk: Buffer) => chunks.push(chunk))
  if (plan.ends === 'reset' && dice(2) === 0) return stream.close(2)
  if (plan.ends === 'goodbye') stream.session?.close()
  await once(stream, 'end').catch(() => {})
  if (stream.destroyed) return
  await new Promise(resolve => setImmediate(resolve))
  const got = told(grouped(raw, ['x-plan', 'content-length']), digest(chunks), closing)
  const wanted = told(grouped(plan.request.fields), digest(plan.request.chunks), plan.streamed ? plan.closing : [])
  if (got !== wanted) problems.push(`request ${id}: got ${got}, wanted ${wanted}`)
  if (plan.interim) stream.additionalHeaders({ ':status': 103, link: '</a>' })
  const trailing = plan.trailers.length > 0
  const head = { ...asObject(plan.response.fields), ':status': plan.status }
  stream.respond(head as http2.OutgoingHttpHeaders, { waitForTrailers: trailing, endStream: plan.method === 'HEAD' })
  if (plan.method === 'HEAD') return
  stream.on('wantTrailers', () => stream.sendTrailers(asObject(plan.trailers)))
  for (const chunk of plan.response.chunks) stream.write(chunk)
  if (plan.ends === 'reset') stream.write('x', () => stream.close(8))
  else stream.end()
}

/** Takes a reply, at its own pace, and says what came: `closed` where nothing did. */
function taking(plan: Plan, done: (seen: string) => void, cancel: () => void, dice: Dice): ResponseHandler {
  return {
    head(status, headers) {
      const chunks: Buffer[] = []
      const fields = grouped(headers.raw, ['date'])
      if (plan.ends === 'canceled') {
        setImmediate(() => {
          cancel()
          done('canceled')
        })
      }
      let drained = (): void => {}
      const sink: ChunkSink = {
        write(chunk) {
          chunks.push(Buffer.from(chunk))
          if (plan.slow === 0 || dice(plan.slow) > 0) return true
          setImmediate(() => drained())
          return false
        },
        end: (trailers = []) => done(`${status} ${told(fields, digest(chunks), grouped(trailers))}`),
        fail: () => done('cut'),
        onDrain(then) {
          drained = then
        },
      }
      return sink
    },
    fail: () => done('closed'),
  }
}

/** A way to `port` on which bytes come in other pieces than they were sent in. */
async function cutting(port: number, dice: Dice): Promise<{ port: number; close(): void }> {
  const sockets = new Set<net.Socket>()
  const server = net.createServer({ noDelay: true }, from => {
    const to = net.connect({ port, host: '127.0.0.1', noDelay: true })
    for (const [one, other] of [
      [from, to],
      [to, from],
    ] as const) {
      sockets.add(one.on('error', () => other.destroy()).on('close', () => other.destroy()))
      one.on('data', (chunk: Buffer) => {
        const most = dice(3) === 0 ? 12 : 40_000
        for (let at = 0; at < chunk.length && at < 3000; ) {
          const end = at + 1 + dice(most)
          other.write(chunk.subarray(at, end))
          at = end
          if (at >= 3000 && at < chunk.length) other.write(chunk.subarray(at))
        }
      })
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as net.AddressInfo).port,
    close() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}
