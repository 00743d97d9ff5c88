import type { Downstream } from '../../engine/downstream.ts'
import type { ChunkSink } from '../../http/transport.ts'

export interface MemoryDownstream extends Downstream {
  /** Bytes of the body. */
  readonly bytes: number
  readonly ended: Promise<void>
}

/** A client's end that takes all it is sent and keeps its size. */
export function memoryDownstream(): MemoryDownstream {
  const { promise, resolve } = Promise.withResolvers<void>()
  let state: Downstream['state'] = 'waiting'
  let bytes = 0
  const end = () => {
    state = 'ended'
    resolve()
  }
  const sink: ChunkSink = {
    write: chunk => {
      bytes += chunk.length
      return true
    },
    end,
    fail: end,
    onDrain: () => {},
  }
  return {
    get state() {
      return state
    },
    get bytes() {
      return bytes
    },
    ended: promise,
    reply(_status, _headers, body) {
      bytes += body === undefined ? 0 : Buffer.byteLength(body)
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
    cut: end,
  }
}
