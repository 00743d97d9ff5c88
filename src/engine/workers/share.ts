import type { WorkerPlace } from '../../runtime/runtime.ts'
import type { SharedSeries } from '../metrics/registry.ts'
import type { SessionRelay } from './session-relay.ts'

/** What one of several workers has in common with the others. */
export interface Share {
  readonly place: WorkerPlace
  /** Memory that all of them see under this key. Throws when the one that leads them has not compiled this configuration. */
  allocate(key: string, bytes: number): ArrayBufferLike
  /** Of a request or a connection: no other worker gives the same one. */
  nextId(): number
  readonly relay: SessionRelay
  /** Bytes of bodies that each of them holds. */
  readonly bodies: BigInt64Array
  /** What session tickets are sealed with: each takes those of the others. */
  readonly tickets: Uint8Array
  /** The leading thread learns where this worker counts something. */
  announce(series: SharedSeries): void
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
