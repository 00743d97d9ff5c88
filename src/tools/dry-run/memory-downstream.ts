import type { Downstream } from '../../engine/downstream.ts'
import type { ChunkSink } from '../../http/transport.ts'

export interface MemoryDownstream extends Downstream {
  readonly ended: Promise<void>
  /** What came of the body. */
  readonly body: Buffer
  /** The response broke off. */
  readonly incomplete: boolean
}

/** A client's end that takes all it is sent and keeps it. */
export function memoryDownstream(): MemoryDownstream {
  const { promise, resolve } = Promise.withResolvers<void>()
  const chunks: Buffer[] = []
  let state: Downstream['state'] = 'waiting'
  let incomplete = false
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
      chunks.push(Buffer.from(chunk))
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
    get incomplete() {
      return incomplete
    },
    ended: promise,
    reply(_status, _headers, body) {
      if (body !== undefined) chunks.push(Buffer.from(body))
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
