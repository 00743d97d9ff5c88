import type { Expression } from '../cel/expression.ts'
import type { Finding, Origin, Path } from '../diagnostics/diagnostic.ts'
import type { Attempt, ConnectionFacts, Exchange, McpRules, Reply } from '../http/exchange.ts'
import type { Runtime } from '../http/runtime.ts'
import type { TlsVersion } from '../http/tls-parameters.ts'
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

/** What holds for everything in the file. */
export interface Limits {
  /** bytes: what is buffered where a policy sets no limit of its own. */
  readonly maxBuffer: number
}

/** What a policy's or backend's `compile` gets besides its spec. */
export interface CompileContext {
  /** Names the object that holds this spec, the same after a reload: the key of its state. */
  readonly identity: string
  readonly origin: Origin
  readonly runtime: Runtime
  readonly limits: Limits
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
  /** The same for numbers that hold for the whole replica, whichever of its workers counts: zeros at first. */
  memory(name: string, bytes: number): ArrayBufferLike
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

/** How the connections of clients are served; each frontend policy contributes its part, defaults fill the rest. */
export interface FrontendSettings {
  /** bytes: what is buffered where a policy sets no limit of its own. */
  readonly maxBuffer: number
  readonly http1: {
    /** Header fields of a request. */
    readonly maxHeaders: number
    /** ms. */
    readonly idleTimeout: number
    /** Names reach the policies and the backend as the client wrote them, instead of in lower case. */
    readonly preserveCase: boolean
  }
  readonly http2: {
    /** bytes, as are the next three. */
    readonly windowSize: number
    readonly connectionWindowSize: number
    readonly frameSize: number
    readonly maxHeaderSize: number
    /** ms between pings; 0: none. */
    readonly keepaliveInterval: number
    /** ms to wait for the answer to one. */
    readonly keepaliveTimeout: number
  }
  /** ms; 0: no limit. */
  readonly maxConnectionDuration: number
  readonly tls: {
    /** ms. */
    readonly handshakeTimeout: number
    /** What every listener speaks that says nothing itself. */
    readonly defaults: TlsParameters
  }
  /** Idle ms before TCP keepalive probes; false: none. */
  readonly keepAlive: number | false
  readonly proxyProtocol: ProxyProtocolSettings | undefined
}
/** In OpenSSL's words. */
export interface TlsParameters {
  readonly alpn?: readonly string[]
  readonly minVersion?: TlsVersion
  readonly maxVersion?: TlsVersion
  readonly ciphers?: readonly string[]
  readonly groups?: readonly string[]
}
export interface ProxyProtocolSettings {
  readonly v1: boolean
  readonly v2: boolean
  /** Connections without the header pass too. */
  readonly optional: boolean
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
  /** How clients are served, from a frontend policy. */
  readonly frontend?: Partial<FrontendSettings>
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
