import type { WorkerPlace } from '../../http/runtime.ts'
import type { SessionRelay } from './session-relay.ts'

/** What one of several workers has in common with the others. */
export interface Share {
  readonly place: WorkerPlace
  /** Memory that all of them see under this key. Throws when the one that leads them has not compiled this configuration. */
  allocate(key: string, bytes: number): ArrayBufferLike
  /** Of a request or a connection: no other worker gives the same one. */
  nextId(): number
  readonly relay: SessionRelay
}

const BLOCK = 1024

/** Numbers in blocks, so that the workers rarely meet. `blocks` counts those that were taken. */
export function blockwiseIds(blocks: Int32Array): () => number {
  let next = 0
  let end = 0
  return () => {
    if (next === end) {
      next = (Atomics.add(blocks, 0, 1) >>> 0) * BLOCK
      end = next + BLOCK
    }
    next++
    return next
  }
}
