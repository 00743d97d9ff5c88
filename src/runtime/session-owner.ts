import type { WorkerPlace } from './runtime.ts'

/**
 * The worker that owns the session with this id. Derived from the id alone, so workers need not consult each other,
 * even after a restart or for another replica's ids.
 */
export function ownerOf(id: string, count: number): number {
  // FNV-1a. A client that picks its ids gains nothing but the choice of a worker.
  let hash = 0x811c9dc5
  for (let i = 0; i < id.length; i++) hash = Math.imul(hash ^ id.charCodeAt(i), 0x01000193)
  return (hash >>> 0) % count
}

/** An id that this worker owns; `make` returns a new candidate on each call. */
export function ownId({ index, count }: WorkerPlace, make: () => string): string {
  for (;;) {
    const id = make()
    if (ownerOf(id, count) === index) return id
  }
}

/** Begins the `requestState` of a call that a worker keeps for a client without a session. */
export const HELD_CALL = 'gwctl.'
