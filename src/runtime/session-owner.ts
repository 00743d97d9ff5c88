import type { WorkerPlace } from './runtime.ts'

/**
 * The worker that keeps the session of this id. It follows from the id alone, so that no worker has to ask another one,
 * also after a restart and for ids of another replica.
 */
export function ownerOf(id: string, count: number): number {
  // FNV-1a; clients that choose their ids can at most choose a worker.
  let hash = 0x811c9dc5
  for (let i = 0; i < id.length; i++) hash = Math.imul(hash ^ id.charCodeAt(i), 0x01000193)
  return (hash >>> 0) % count
}

/** An id that belongs to this worker: `make` gives another one each time. */
export function ownId({ index, count }: WorkerPlace, make: () => string): string {
  for (;;) {
    const id = make()
    if (ownerOf(id, count) === index) return id
  }
}
