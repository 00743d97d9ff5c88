import net from 'node:net'
import type { Duplex, Readable } from 'node:stream'
import { onTestFinished } from 'vitest'
import { HeaderList } from '../../../src/http/headers.ts'
import type { ChunkSink, ResponseHandler, Target, Transport, UpstreamRequest } from '../../../src/http/transport.ts'
import type { Clock } from '../../../src/runtime/runtime.ts'

/** A server made of bytes: it says what the test tells it to, however wrong. */
export interface Peer {
  readonly port: number
  /** Every connection that was ever accepted, in order. */
  readonly connections: PeerConnection[]
  nth(index: number): Promise<PeerConnection>
}

export class PeerConnection {
  readonly socket: net.Socket
  /** Everything received so far. */
  received = ''
  readonly closed: Promise<void>
  #waiting: { readonly count: number; readonly go: () => void }[] = []

  constructor(socket: net.Socket) {
    this.socket = socket
    this.closed = new Promise(resolve => socket.once('close', () => resolve()))
    socket.on('error', () => {})
    socket.setEncoding('latin1')
    socket.on('data', (text: string) => {
      this.received += text
      this.#waiting = this.#waiting.filter(({ count, go }) => {
        if (this.heads().length < count) return true
        go()
        return false
      })
    })
  }

  /** The request heads received, without their bodies. */
  heads(): string[] {
    return [
      ...this.received.matchAll(/(?:GET|HEAD|POST|PUT|DELETE|OPTIONS|PATCH) [^\r]* HTTP\/1\.1\r\n.*?\r\n\r\n/gs),
    ].map(match => match[0])
  }

  request(count = 1): Promise<void> {
    return new Promise(resolve => {
      if (this.heads().length >= count) resolve()
      else this.#waiting.push({ count, go: resolve })
    })
  }
}

/** `serve` runs per connection and once more per request head on it; without it the peer stays silent. */
export async function startPeer(
  serve?: (connection: PeerConnection, request: number, head: string) => void,
): Promise<Peer> {
  const connections: PeerConnection[] = []
  const waiting: (() => void)[] = []
  const server = net.createServer({ noDelay: true }, socket => {
    const connection = new PeerConnection(socket)
    connections.push(connection)
    for (const then of waiting.splice(0)) then()
    let answered = 0
    socket.on('data', () => {
      const heads = connection.heads()
      while (answered < heads.length) {
        answered++
        serve?.(connection, answered, heads[answered - 1] as string)
      }
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const { socket } of connections) socket.destroy()
    server.close()
  })
  return {
    port: (server.address() as net.AddressInfo).port,
    connections,
    async nth(index) {
      while (connections.length <= index) await new Promise<void>(resolve => waiting.push(resolve))
      return connections[index] as PeerConnection
    },
  }
}

export function targetOf(port: number, more: Partial<Target> = {}): Target {
  return { key: `test:${port}`, host: '127.0.0.1', port, connectTimeout: 5000, named: false, ...more }
}

export function requestOf(
  more: Partial<UpstreamRequest> & { readonly fields?: readonly string[] } = {},
): UpstreamRequest {
  const { fields, ...rest } = more
  return {
    method: 'GET',
    path: '/',
    authority: 'upstream.test',
    headers: new HeaderList(fields ?? []),
    body: undefined,
    ...rest,
  }
}

export interface Outcome {
  readonly status?: number
  readonly headers: readonly string[]
  readonly body: string
  readonly trailers?: readonly string[] | undefined
  /** From `fail`, of the handler or of the sink. */
  readonly error?: Error
  /** The failure came after the head. */
  readonly cut: boolean
  readonly socket?: Duplex
}

/** Sends and waits for whatever the end is. */
export function exchange(transport: Transport, target: Target, request: UpstreamRequest): Promise<Outcome> {
  return new Promise(resolve => transport.dispatch(target, request, recorder(resolve)))
}

/** A handler that takes everything and reports once. `onChunk` may refuse more by returning false. */
export function recorder(
  done: (outcome: Outcome) => void,
  seen: { head?: () => void; chunk?: (chunk: Buffer) => boolean; sink?: (resume: () => void) => void } = {},
): ResponseHandler {
  let status: number | undefined
  let headers: readonly string[] = []
  const chunks: Buffer[] = []
  const facts = (): Pick<Outcome, 'headers' | 'body'> & { status?: number } => ({
    ...(status === undefined ? {} : { status }),
    headers,
    body: Buffer.concat(chunks).toString('latin1'),
  })
  const sink: ChunkSink = {
    write(chunk) {
      if (seen.chunk !== undefined) return seen.chunk(chunk)
      chunks.push(Buffer.from(chunk))
      return true
    },
    end: trailers => done({ ...facts(), trailers, cut: false }),
    fail: error => done({ ...facts(), error, cut: true }),
    onDrain: then => seen.sink?.(then),
  }
  return {
    head(code, list) {
      status = code
      headers = [...list.raw]
      seen.head?.()
      return sink
    },
    fail: error => done({ ...facts(), error, cut: false }),
    upgrade: (code, list, socket) => done({ ...facts(), status: code, headers: [...list.raw], socket, cut: false }),
  }
}

/** Time that stands still until `advance`. */
export class StoppedClock implements Clock {
  #now = 0
  #timers: { readonly due: number; readonly go: () => void }[] = []

  now(): number {
    return this.#now
  }
  mono(): number {
    return this.#now
  }
  after(ms: number, then: () => void): { cancel(): void } {
    const timer = { due: this.#now + ms, go: then }
    this.#timers.push(timer)
    return { cancel: () => this.#timers.splice(this.#timers.indexOf(timer), 1) }
  }
  get pending(): number {
    return this.#timers.length
  }
  advance(ms: number): void {
    const end = this.#now + ms
    for (;;) {
      const next = this.#timers.filter(({ due }) => due <= end).sort((a, b) => a.due - b.due)[0]
      if (next === undefined) break
      this.#now = next.due
      this.#timers.splice(this.#timers.indexOf(next), 1)
      next.go()
    }
    this.#now = end
  }
}

export async function drain(stream: Readable): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk)
  return Buffer.concat(chunks).toString('latin1')
}
