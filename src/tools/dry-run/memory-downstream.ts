import type { Downstream } from '../../engine/downstream.ts'
import type { ChunkSink } from '../../http/transport.ts'

export interface MemoryDownstream extends Downstream {
  readonly ended: Promise<void>
  /** What came of the body, and its bytes. */
  readonly body: Buffer
  readonly size: number
  /** The response broke off. */
  readonly incomplete: boolean
}

/** A client's end that takes all it is sent and keeps it. */
export function memoryDownstream(): MemoryDownstream {
  const { promise, resolve } = Promise.withResolvers<void>()
  const chunks: Buffer[] = []
  let state: Downstream['state'] = 'waiting'
  let incomplete = false
  let size = 0
  const add = (chunk: Buffer) => {
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
    reply(_status, _headers, body) {
      if (body !== undefined) add(Buffer.from(body))
      end()
    },
    start() {
      state = 'streaming'
      return sink
    },
    upgrade(_status, _headers, upstream) {
      upstream.destroy()
      end()
    },
    cut,
  }
}
