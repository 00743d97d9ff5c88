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
  /** ms, never goes back. */
  mono(): number
  /** `held`: a request waits for nothing but this; where time is made up, it passes at once. */
  after(ms: number, then: () => void, held?: 'held'): Timer
}

export type LogLevel = 'error' | 'warn' | 'info' | 'debug' | 'trace'
export interface Logger {
  log(level: LogLevel, message: string, fields?: Readonly<Record<string, string | number | boolean>>): void
  child(module: string): Logger
}

/**
 * State that outlives a configuration: buckets, health, sessions, key sets, child processes. It belongs to a policy or
 * backend object and is found by that object's identity, so a reload that does not change the object keeps it.
 */
export interface StateStore {
  /** `make` runs once per key. A value with a `close` method is closed when no loaded object asks for it any more; it may give a promise, which never rejects. */
  get<T extends object>(key: string, make: () => T): T
  /**
   * So many bytes that every worker of this replica shares, zeros at first. Only while a configuration is compiled:
   * all workers compile the same one, so they all ask for the same keys.
   */
  memory(key: string, bytes: number): ArrayBufferLike
}

/** What is left of a limit, for whoever watches the gateway. */
export interface Budget {
  /** `FILE:LINE` that set it. */
  readonly at: string
  /** The policy's object. */
  readonly limit: string
  readonly counts: 'requests' | 'tokens'
  readonly capacity: number
  readonly remaining: number
}

/** State that has a budget says so with a method of this name. */
export interface BudgetHolder {
  budget(): Budget
}

/** A session that clients may use at any time, for whoever looks into the gateway. Times in ms. */
export interface OpenSession {
  /** The beginning of its id: the whole would let a reader take part. */
  readonly session: string
  readonly backend: string
  readonly age: number
  readonly idle: number
  /** Requests and streams that are open, in the words of the protocol. */
  readonly calls: readonly string[]
  readonly streams: number
  readonly targets: readonly { readonly target: string; readonly state: string }[]
}

/** State that has sessions says so with a method of this name. */
export interface SessionHolder {
  openSessions(): readonly OpenSession[]
  /** The gateway finishes what is in flight: nothing else is worth waiting for. */
  stopping(): void
}

/** Which of the workers that share the ports of this replica this one is. */
export interface WorkerPlace {
  /** From 0. */
  readonly index: number
  readonly count: number
}

/** What takes the place of the outside world in a dry run, where the transport and the clock are not all there is. */
export interface StandIns {
  /** A JSON Web Key Set that this issuer has beside its own. */
  jwksFor(issuer: string): string
  /** Accepted in place of the API key with that SHA-256. */
  apiKeyFor(digest: string): string
  /** What a caller shows who has shown nothing in the request: a token of one of these issuers; undefined: nothing. */
  tokenOf(x: Exchange, issuers: readonly TokenIssuer[]): string | undefined
  /** The same for API keys; `keys`: metadata by SHA-256. */
  apiKeyOf(x: Exchange, keys: ReadonlyMap<string, Readonly<Record<string, unknown>>>): string | undefined
}

export interface TokenIssuer {
  readonly issuer: string
  /** Undefined: any. */
  readonly audiences: readonly string[] | undefined
}

/** What is left to chance; the same each time in a dry run. */
export interface Chance {
  /** [0, 1). */
  random(): number
  /** Nobody can guess it. */
  uuid(): string
}

/** Everything a compiled object may touch outside of its exchange. Tests and dry runs pass their own. */
export interface Runtime extends Chance {
  readonly clock: Clock
  readonly transport: Transport
  readonly state: StateStore
  readonly log: Logger
  readonly worker: WorkerPlace
  /** Where every body that is held as a whole is counted. */
  readonly bodies: BodyMemory
  /** Starts a thread for passwords; unset: they are checked where they are asked for. */
  readonly passwordThread?: () => PasswordThread
  /** A file is only checked: what serves requests is not loaded. */
  readonly checksOnly?: boolean
  /** Set: no program is started either, and every MCP server is spoken to over streamable HTTP. */
  readonly standIns?: StandIns
  /** Counts a call that a policy has made; `duration` in ms, from its start to the response head or the failure. */
  called?(purpose: CallPurpose, duration: number): void
}
