import type { LogControl } from '../logging.ts'
import type { MetricFamily } from '../metrics/families.ts'
import type { TraceSource } from '../trace-hub.ts'
import type { Threads } from './threads.ts'

/** What the admin, readiness and stats servers can show of a running gateway and do to it. */
export interface AdminSource {
  /** The loaded runtime configuration as plain JSON data, redacted. */
  dump(): object
  /** Starts the graceful shutdown and returns at once. */
  quit(): void
  readonly trace: TraceSource
  readonly log: LogControl
  /** `pending` names what is not ready yet. */
  ready(): { readonly ok: boolean; readonly pending: readonly string[] }
  metrics(): readonly MetricFamily[] | Promise<readonly MetricFamily[]>
  readonly threads: Threads
}
