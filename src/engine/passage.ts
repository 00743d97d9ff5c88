import type { Pipeline, Snapshot, WeightedBackend } from '../config/snapshot.ts'
import type { Timer } from '../runtime/runtime.ts'
import type { HeadSnapshots } from './head-snapshot.ts'
import type { RouteTables } from './route-table.ts'

/** A compiled configuration with the indexes needed to serve it. */
export interface Serving {
  readonly snapshot: Snapshot
  readonly tables: RouteTables
  readonly heads: HeadSnapshots
}

/** How far an exchange has progressed: only the response and done hooks of these take part. */
export interface Passage {
  listener: Pipeline | undefined
  route: Pipeline | undefined
  backend: WeightedBackend | undefined
  deadline: Timer | undefined
  heads: HeadSnapshots | undefined
}

export function newPassage(): Passage {
  return { listener: undefined, route: undefined, backend: undefined, deadline: undefined, heads: undefined }
}
