import type { Settings } from '../../config/settings.ts'
import type { TraceEvent } from '../../trace/trace-event.ts'
import type { ThreadMemory } from '../admin/memory.ts'
import type { StackProfile } from '../admin/pprof.ts'
import type { ProfileWanted } from '../admin/profile.ts'
import type { ThreadTasks } from '../admin/tasks.ts'
import type { MetricFamily } from '../metrics/families.ts'
import type { SharedSeries } from '../metrics/registry.ts'

/** What the leading thread asks of a worker: the argument and the answer of each order. */
export interface Orders {
  /** Compiles without serving. False: refused, which the leader, who has compiled the same before, did not expect. */
  prepare: [Prepared, boolean]
  /** Serves what was prepared. */
  commit: [ReservedPorts, undefined]
  abandon: [undefined, undefined]
  filterLog: [string, undefined]
  /** What it shows beside its counters: values that are read when somebody asks. */
  readings: [undefined, readonly MetricFamily[]]
  memory: [undefined, readonly ThreadMemory[]]
  tasks: [undefined, readonly ThreadTasks[]]
  profile: [ProfileWanted, StackProfile | undefined]
  endProfile: [undefined, undefined]
  watch: [WatchOrder, WatchAnswer]
  unwatch: [number, undefined]
  stop: [{ readonly min: number; readonly max: number }, undefined]
}
export type OrderName = keyof Orders

/** One configuration with everything that it is made of, so that all workers make the same of it. */
export interface Prepared {
  readonly inputs: readonly { readonly file: string; readonly text: string }[]
  /** What its references were found to be; undefined: not there. */
  readonly files: ReadonlyMap<string, Uint8Array | undefined>
  /** What its objects share, by the key of their state. */
  readonly memory: ReadonlyMap<string, SharedArrayBuffer>
}

/** The port to open for a configured one; undefined: it cannot be had. */
export type ReservedPorts = ReadonlyMap<number, number | undefined>

export interface WatchOrder {
  readonly id: number
  readonly expression: string | undefined
  readonly requests: number
  readonly claims: SharedArrayBuffer
}
export type WatchAnswer =
  | 'watching'
  | 'full'
  | { readonly problem: { readonly message: string; readonly help?: string } }

export interface OrderMessage {
  readonly id: number
  readonly order: OrderName
  readonly argument: unknown
}

/** From a worker. */
export type Report =
  | { readonly type: 'ready' }
  | { readonly type: 'answer'; readonly id: number; readonly value: unknown }
  | { readonly type: 'failure'; readonly id: number; readonly error: WorkerFailure }
  | { readonly type: 'log'; readonly text: string }
  | { readonly type: 'series'; readonly series: SharedSeries }
  | { readonly type: 'trace'; readonly watch: number; readonly events: readonly TraceEvent[] }

export interface WorkerFailure {
  readonly message: string
  /** Of a system call that failed, such as `listen`. */
  readonly code?: string
  readonly port?: number
  readonly address?: string
}

/** What a worker is started with. */
export interface WorkerStart {
  readonly index: number
  readonly count: number
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  readonly version: string
  readonly settings: Settings
  /** Counts blocks of ids (Int32). */
  readonly ids: SharedArrayBuffer
  /** Bytes of bodies that each worker holds (BigInt64). */
  readonly bodies: SharedArrayBuffer
  /** The secret behind TLS session tickets. */
  readonly tickets: Uint8Array
  /** Bytes of log lines that the leader has not taken from this worker (Int32). */
  readonly backlog: SharedArrayBuffer
  /** Counted up while the event loop turns (Int32, by index). */
  readonly beats: SharedArrayBuffer
  /** Where the workers' own sockets are. */
  readonly folder: string
  readonly host: string | undefined
}
