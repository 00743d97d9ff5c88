import type { WorkerPlace } from '../../runtime/runtime.ts'
import type { SharedSeries } from '../metrics/registry.ts'
import type { SessionRelay } from './session-relay.ts'

/** What one of several workers shares with the others. */
export interface Share {
  readonly place: WorkerPlace
  /** Memory shared under this key. Throws if the leader has not compiled this configuration. */
  allocate(key: string, bytes: number): ArrayBufferLike
  /** An id for a request or connection, unique across workers. */
  nextId(): number
  readonly relay: SessionRelay
  /** Bytes of bodies held by each worker. */
  readonly bodies: BigInt64Array
  /** The key of session tickets: each worker accepts those of the others. */
  readonly tickets: Uint8Array
  /** Tells the leading thread where this worker's counter lives. */
  announce(series: SharedSeries): void
}

const BLOCK = 1024

/** Allocates numbers in blocks to minimize contention. `blocks` counts the blocks taken. */
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
