import type { Downstream } from '../../engine/downstream.ts'
import { fieldKind } from '../../engine/upstream/hop-by-hop.ts'
import type { ResponseHead } from '../../http/exchange.ts'
import { HeaderList } from '../../http/headers.ts'
import type { ChunkSink } from '../../http/transport.ts'
import { isBodyless } from './stub-transport.ts'

export interface MemoryDownstream extends Downstream {
  readonly ended: Promise<void>
  /** As a client gets it, but for `date` and what concerns its connection; undefined: none came. */
  readonly head: ResponseHead | undefined
  /** What came of the body, and its bytes. */
  readonly body: Buffer
  readonly size: number
  /** The response broke off. */
  readonly incomplete: boolean
}

/** The end of a client that has sent a request with this method, takes all it is sent and keeps it. */
export function memoryDownstream(method: string): MemoryDownstream {
  const { promise, resolve } = Promise.withResolvers<void>()
  const chunks: Buffer[] = []
  let head: ResponseHead | undefined
  let state: Downstream['state'] = 'waiting'
  let incomplete = false
  let size = 0
  const add = (chunk: Buffer) => {
    if (isBodyless(method, head?.status)) return
    chunks.push(chunk)
    size += chunk.length
  }
  const end = () => {
    state = 'ended'
    resolve()
  }
  const cut = () => {
    if (state === 'ended') return
    incomplete = true
    end()
  }
  const sink: ChunkSink = {
    write: chunk => {
      // The sender may use its memory again.
      add(Buffer.from(chunk))
      return true
    },
    end,
    fail: cut,
    onDrain: () => {},
  }
  return {
    get state() {
      return state
    },
    get head() {
      return head
    },
    get body() {
      return Buffer.concat(chunks)
    },
    get size() {
      return size
    },
    get incomplete() {
      return incomplete
    },
    ended: promise,
    reply(status, headers, body) {
      const bytes = Buffer.from(body ?? '')
      head = { status, headers: sentHeaders(status, headers, bytes.length) }
      add(bytes)
      end()
    },
    start(status, headers) {
      head = { status, headers: sentHeaders(status, headers) }
      state = 'streaming'
      return sink
    },
    upgrade(status, headers, upstream) {
      head = { status, headers: sentHeaders(status, headers) }
      upstream.destroy()
      end()
    },
    cut,
  }
}

/** `length`: of the whole body, where it is known and no field says it. */
function sentHeaders(status: number, headers: readonly string[], length?: number): HeaderList {
  const sent = new HeaderList()
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = headers[i] as string
    const kind = fieldKind(name)
    // Space around a value is lost on the wire.
    if (!OF_THE_CONNECTION.has(kind)) sent.append(name, (headers[i + 1] as string).trim())
  }
  const bare = status === 204 || status === 304
  if (length !== undefined && !bare && !sent.has('content-length')) sent.append('content-length', String(length))
  return sent
}

const OF_THE_CONNECTION: ReadonlySet<string> = new Set(['hop', 'connection', 'transfer-encoding'])
