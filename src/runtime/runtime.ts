import type { BodyMemory } from '../http/body-memory.ts'
import type { Exchange } from '../http/exchange.ts'
import type { Transport } from '../http/transport.ts'
import type { CallPurpose } from '../trace/span.ts'
import type { PasswordThread } from './password-thread.ts'

export interface Timer {
  cancel(): void
}
export interface Clock {
  /** ms since the epoch. */
  now(): number
  /** Monotonic, in ms. */
  mono(): number
  /** `held`: a request is waiting only for this timer; with simulated time it fires at once. */
  after(ms: number, then: () => void, held?: 'held'): Timer
}

export type LogLevel = 'error' | 'warn' | 'info' | 'debug' | 'trace'
export interface Logger {
  log(level: LogLevel, message: string, fields?: Readonly<Record<string, string | number | boolean>>): void
  child(module: string): Logger
}

/**
 * State that outlives a configuration: buckets, health, sessions, key sets, child processes. It belongs to a policy or
 * backend object and is keyed by that object's identity, so a reload that leaves the object unchanged keeps it.
 */
export interface StateStore {
  /**
   * `make` runs once per key. A value with a `close` method is closed once no loaded object uses it; `close` may return
   * a promise that never rejects.
   */
  get<T extends object>(key: string, make: () => T): T
  /**
   * Memory shared by all workers of this replica, initially zero. Call only while compiling a configuration: all
   * workers compile the same one and so request the same keys.
   */
  memory(key: string, bytes: number): ArrayBufferLike
}

/** The remainder of a limit, for display. */
export interface Budget {
  /** `FILE:LINE` that set it. */
  readonly at: string
  /** The policy's object. */
  readonly limit: string
  readonly counts: 'requests' | 'tokens'
  readonly capacity: number
  readonly remaining: number
}

/** Implemented by state that has a budget. */
export interface BudgetHolder {
  budget(): Budget
}

/** An open session, for display. Times in ms. */
export interface OpenSession {
  /** The start of its id: the full id would let a reader join the session. */
  readonly session: string
  readonly backend: string
  readonly age: number
  readonly idle: number
  /** Open requests and streams, by protocol method. */
  readonly calls: readonly string[]
  readonly streams: number
  readonly targets: readonly { readonly target: string; readonly state: string }[]
}

/** Implemented by state that has sessions. */
export interface SessionHolder {
  openSessions(): readonly OpenSession[]
  /** The gateway is draining: only in-flight requests are worth waiting for. */
  stopping(): void
}

/** This worker's position among those that share the replica's ports. */
export interface WorkerPlace {
  /** From 0. */
  readonly index: number
  readonly count: number
}

/** Stand-ins for the outside world in a dry run, beyond transport and clock. */
export interface StandIns {
  /** A JSON Web Key Set that this issuer has in addition to its own. */
  jwksFor(issuer: string): string
  /** Accepted in place of the API key with that SHA-256. */
  apiKeyFor(digest: string): string
  /** A token from one of these issuers for a request without credentials; undefined for none. */
  tokenOf(x: Exchange, issuers: readonly TokenIssuer[]): string | undefined
  /** The same for API keys; `keys` maps SHA-256 to metadata. */
  apiKeyOf(x: Exchange, keys: ReadonlyMap<string, Readonly<Record<string, unknown>>>): string | undefined
}

export interface TokenIssuer {
  readonly issuer: string
  /** Undefined accepts any audience. */
  readonly audiences: readonly string[] | undefined
}

/** Sources of randomness; deterministic in a dry run. */
export interface Chance {
  /** [0, 1). */
  random(): number
  /** Unguessable. */
  uuid(): string
}

/** Everything a compiled object may access besides its exchange. Tests and dry runs supply their own. */
export interface Runtime extends Chance {
  readonly clock: Clock
  readonly transport: Transport
  readonly state: StateStore
  readonly log: Logger
  readonly worker: WorkerPlace
  /** Accounts for every fully buffered body. */
  readonly bodies: BodyMemory
  /** Starts a password thread; if unset, passwords are verified on the calling thread. */
  readonly passwordThread?: () => PasswordThread
  /** The configuration is only validated: code that serves requests is not loaded. */
  readonly checksOnly?: boolean
  /** If set, no program is started either, and every MCP server is reached over streamable HTTP. */
  readonly standIns?: StandIns
  /** Counts a call made by a policy; `duration` in ms, from its start to the response head or failure. */
  called?(purpose: CallPurpose, duration: number): void
}
