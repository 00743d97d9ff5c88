import type { Expression } from '../cel/expression.ts'
import type { Finding, Origin, Path } from '../diagnostics/diagnostic.ts'
import type { Attempt, ConnectionFacts, Exchange, McpRules, Reply } from '../http/exchange.ts'
import type { Runtime } from '../http/runtime.ts'
import type { TlsOptions } from '../http/transport.ts'
import type { Schema } from '../schema/builder.ts'

/** Where a policy may stand in the file. */
export type Attachment =
  /** `listeners[].policies`, `gateways.*`: runs before a route is chosen. */
  | 'listener'
  | 'route'
  /** On a backend, or on a route's reference to one: runs for each upstream call. */
  | 'backend'
  /** On a policy target, an MCP target: the simple subset. */
  | 'target'
  | 'frontend'

/** What a policy's or backend's `compile` gets besides its spec. */
export interface CompileContext {
  /** Names the object that holds this spec, the same after a reload: the key of its state. */
  readonly identity: string
  readonly origin: Origin
  readonly runtime: Runtime
  /** `path` is relative to the spec. */
  report(finding: Omit<Finding, 'path'> & { readonly path: Path }): void
  /** Where a part of the spec was written; `path` is relative to the spec. */
  originOf(path: Path): Origin
  /**
   * A file that the configuration names, relative to the configuration's folder. Undefined when it cannot be read; that
   * has been reported then (a warning in tier `offline`, an error in tier `env` and for `run`).
   */
  readFile(file: string, at: Path): Buffer | undefined
  /** State of this object under a name of its own; a changed spec gets fresh state. */
  state<T extends object>(name: string, make: () => T): T
}

export type Verdict = Reply | undefined
/** A transform of a body that may hold chunks back; returning undefined passes nothing on for now. */
export interface BodyHook {
  chunk(data: Buffer): Buffer | undefined
  /** What was held back, when the body is complete. */
  end(): Buffer | undefined
}

/** How to reach a backend; policies of kind `backend` and `target` contribute, the most precise one wins per member. */
export interface UpstreamSettings {
  readonly tls?: TlsOptions
  /** ms. */
  readonly connectTimeout?: number
  /** ms until the response head, per call. */
  readonly requestTimeout?: number
  readonly version?: '1.1' | '2'
  /** Idle ms before TCP keepalive probes; false: none. */
  readonly keepAlive?: number | false
}

/** ms; unset: none. */
export interface Timeouts {
  /** From the start of the request to the response head, with delays, retries and their pauses. */
  readonly request?: number
  /** Each upstream call. */
  readonly backend?: number
}

/** When a call is made again. */
export interface RetryRules {
  /** How many more calls may follow the first one. */
  readonly attempts: number
  /** ms between two calls. */
  readonly backoff: number
  readonly codes: ReadonlySet<number>
  /** On the request: anything but true means a single call. */
  readonly precondition?: Expression
  /** On each response: true asks for another call. */
  readonly condition?: Expression
}

/** bytes; a longer body fails with `responseTooLarge`, or streams on when `failOpen`. */
export interface ResponseBuffering {
  readonly limit: number
  readonly failOpen: boolean
}

/**
 * What a compiled policy does, by moment. A hook returns a promise only when it must wait; a request or attempt hook
 * that returns a reply ends the way there. Response and done hooks also see replies made locally.
 */
export interface Hooks {
  /** False closes the connection without an answer. */
  connection?(connection: ConnectionFacts): boolean | Promise<boolean>
  request?(x: Exchange): Verdict | Promise<Verdict>
  /** Each upstream call, after the request's own policies. */
  attempt?(x: Exchange, attempt: Attempt): Verdict | Promise<Verdict>
  response?(x: Exchange): void | Promise<void>
  requestBody?(x: Exchange): BodyHook | undefined
  responseBody?(x: Exchange): BodyHook | undefined
  /** After the last byte or the abort. */
  done?(x: Exchange): void
  /** How the backend that this policy stands on is reached. */
  readonly upstream?: UpstreamSettings
  /** Put on the exchange before the backend is asked. */
  readonly mcpAuthorization?: McpRules
  /** The request body is read whole, up to so many bytes, before `request` runs. */
  readonly buffersRequest?: number
  /** The response body is read whole into `x.response.body` before `response` runs. */
  readonly buffersResponse?: ResponseBuffering
  readonly timeout?: Timeouts
  readonly retry?: RetryRules
}

export interface Policy<N extends string, S> {
  readonly name: N
  readonly doc: string
  readonly spec?: string
  readonly attach: readonly Attachment[]
  readonly schema: Schema<S>
  /** Present: the policy is valid but this engine does not serve it (GW601). */
  readonly unserved?: string
  /** On a route it stands for every backend of that route: it runs per call, not per request. */
  readonly perBackend?: true
  /** Rules that accumulate over the levels instead of the narrowest one winning. */
  merge?(wide: S, narrow: S): S
  compile(spec: S, ctx: CompileContext): Hooks
}

export function definePolicy<const N extends string, S>(policy: Policy<N, S>): Policy<N, S> {
  return policy
}
