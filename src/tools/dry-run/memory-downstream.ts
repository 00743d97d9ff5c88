import type { Duplex } from 'node:stream'
import type { Downstream } from '../../engine/downstream.ts'
import { fieldKind } from '../../engine/upstream/hop-by-hop.ts'
import type { ResponseHead } from '../../http/exchange.ts'
import { HeaderList } from '../../http/headers.ts'
import type { ChunkSink } from '../../http/transport.ts'
import { isBodyless } from './stub-transport.ts'

/** A client end that accepts and records everything. */
export class MemoryDownstream implements Downstream, ChunkSink {
  state: Downstream['state'] = 'waiting'
  /** As the client gets it, without `date` and connection headers. Undefined if there was none. */
  head: ResponseHead | undefined
  /** Bytes of the body. */
  size = 0
  readonly ended: Promise<void>
  readonly #end: () => void
  readonly #method: string
  readonly #chunks: Buffer[] = []

  /** `method`: of the request. */
  constructor(method: string) {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.ended = promise
    this.#end = resolve
    this.#method = method
  }

  /** The received body. */
  get body(): Buffer {
    return Buffer.concat(this.#chunks)
  }

  reply(status: number, headers: readonly string[], body: Buffer | string | undefined): void {
    const bytes = Buffer.from(body ?? '')
    this.head = { status, headers: sentHeaders(status, headers, bytes.length) }
    this.write(bytes)
    this.end()
  }

  start(status: number, headers: readonly string[]): ChunkSink {
    this.head = { status, headers: sentHeaders(status, headers) }
    this.state = 'streaming'
    return this
  }

  upgrade(status: number, headers: readonly string[], upstream: Duplex): void {
    this.head = { status, headers: sentHeaders(status, headers) }
    upstream.destroy()
    this.end()
  }

  write(chunk: Buffer): boolean {
    if (!isBodyless(this.#method, this.head?.status)) {
      // The sender may reuse its memory.
      this.#chunks.push(Buffer.from(chunk))
      this.size += chunk.length
    }
    return true
  }

  end(): void {
    this.state = 'ended'
    this.#end()
  }

  fail(): void {
    this.end()
  }

  cut(): void {
    this.end()
  }

  onDrain(): void {}
}

/** `length`: of the whole body, if it is known and not in the headers. */
function sentHeaders(status: number, headers: readonly string[], length?: number): HeaderList {
  const sent = new HeaderList()
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = headers[i] as string
    const kind = fieldKind(name)
    // White space around a value is lost on the wire.
    if (!OF_THE_CONNECTION.has(kind)) sent.append(name, (headers[i + 1] as string).trim())
  }
  const bare = status === 204 || status === 304
  if (length !== undefined && !bare && !sent.has('content-length')) sent.append('content-length', String(length))
  return sent
}

const OF_THE_CONNECTION: ReadonlySet<string> = new Set(['hop', 'connection', 'transfer-encoding'])
