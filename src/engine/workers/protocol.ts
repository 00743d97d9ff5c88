import type { Settings } from '../../config/settings.ts'
import type { TraceEvent } from '../../trace/trace-event.ts'
import type { ThreadMemory } from '../admin/memory.ts'
import type { StackProfile } from '../admin/pprof.ts'
import type { ProfileWanted } from '../admin/profile.ts'
import type { ThreadTasks } from '../admin/tasks.ts'
import type { MetricFamily } from '../metrics/families.ts'
import type { SharedSeries } from '../metrics/registry.ts'

/** The leading thread's orders to a worker, each with its argument and answer. */
export interface Orders {
  /** Compiles without serving. False: rejected, which the leader, having compiled it before, did not expect. */
  prepare: [Prepared, boolean]
  /** Serves what was prepared. */
  commit: [ReservedPorts, undefined]
  abandon: [undefined, undefined]
  filterLog: [string, undefined]
  /** Metrics besides its counters: values computed on collection. */
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

/** A configuration with all its inputs, so that all workers compile the same. */
export interface Prepared {
  readonly inputs: readonly { readonly file: string; readonly text: string }[]
  /** The content of referenced files; undefined if missing. */
  readonly files: ReadonlyMap<string, Uint8Array | undefined>
  /** Memory shared by its objects, by state key. */
  readonly memory: ReadonlyMap<string, SharedArrayBuffer>
}

/** The port to open for a configured one; undefined if unavailable. */
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
  /** The code of a failed system call, such as `listen`. */
  readonly code?: string
  readonly port?: number
  readonly address?: string
}

/** A worker's start parameters. */
export interface WorkerStart {
  readonly index: number
  readonly count: number
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  readonly version: string
  readonly settings: Settings
  /** Counts blocks of ids (Int32). */
  readonly ids: SharedArrayBuffer
  /** Bytes of bodies held by each worker (BigInt64). */
  readonly bodies: SharedArrayBuffer
  /** The secret behind TLS session tickets. */
  readonly tickets: Uint8Array
  /** Log bytes from this worker that the leader has not written yet (Int32). */
  readonly backlog: SharedArrayBuffer
  /** Incremented while the event loop turns (Int32, by index). */
  readonly beats: SharedArrayBuffer
  /** The directory of the workers' own sockets. */
  readonly folder: string
  readonly host: string | undefined
}
