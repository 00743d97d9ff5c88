import type { CredentialPlace } from '../auth/credential-places.ts'
import type { Callee } from '../calls/outcall.ts'
import type { MomentHooks, ResponseBuffering } from '../calls/step.ts'
import type { Expression } from '../cel/expression.ts'
import type { Finding, Origin, Path } from '../diagnostics/diagnostic.ts'
import type { BodyLimits } from '../http/body-memory.ts'
import type { McpGuard, McpRules } from '../http/exchange.ts'
import type { PathNormalizer } from '../http/path-normalization.ts'
import type { TlsVersion } from '../http/tls-parameters.ts'
import type { KeepAlive, Target, TlsOptions, Tunnel } from '../http/transport.ts'
import type { GuardSet } from '../llm/guards/guard.ts'
import type { LlmPolicy } from '../llm/llm-policy.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Schema } from '../schema/builder.ts'
import type { HttpAddress } from '../schema/scalars.ts'
import type { Fields } from '../schema/untyped.ts'
import type { LogRules, SpanRules } from './frontend/telemetry.ts'
import type { ClusterForm } from './parts/cluster-form.ts'

/** Where a policy may stand in the file. */
export type Attachment =
  /** `listeners[].policies`, `gateways.*`: runs before a route is chosen. */
  | 'listener'
  | 'route'
  /** On a backend, or on a route's reference to one: runs for each upstream call. */
  | 'backend'
  /** On a policy target, an MCP target: the simple subset. */
  | 'target'
  /** On one provider of an AI backend, besides that subset. */
  | 'provider'
  | 'frontend'

/** What holds for everything in the file. */
export interface Limits {
  /** For paths that expressions write. */
  readonly paths: PathNormalizer
  /** bytes: what is buffered where a policy sets no limit of its own. */
  readonly maxBuffer: number
}

/** What a policy's or backend's `compile` gets besides its spec. */
export interface CompileContext {
  /** Of the process. */
  readonly env: Readonly<Record<string, string | undefined>>
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
  /**
   * The service that the policy calls; undefined after a finding. `at`: where it is written, relative to the spec.
   * `policies`: what stands on it, where that is not a member of the spec.
   */
  callee?(spec: CalleeSpec, at: Path, policies?: CalleePolicies): Callee | undefined
  /** Requests carry a credential there: neither logs nor traces show it. */
  hides(place: CredentialPlace): void
  /** State of this object under a name of its own; a changed spec gets fresh state. */
  state<T extends object>(name: string, make: () => T): T
  /** The same for numbers that hold for the whole replica, whichever of its workers counts: zeros at first. */
  memory(name: string, bytes: number): ArrayBufferLike
  /**
   * What only requests need: loaded and made once, after everything has compiled and before the first request. A file
   * that is merely checked does without, so `make` reports nothing.
   */
  serving<M, T>(load: () => Promise<M>, make: (module: M) => T): Serving<T>
}

/** Not before the configuration has been loaded. */
export interface Serving<T> {
  readonly part: T
}

export interface CalleePolicies {
  readonly specs: Readonly<Record<string, unknown>>
  /** Relative to the spec. */
  readonly at: Path
}

/** How to reach a backend; policies of kind `backend` and `target` contribute, the most precise one wins per member. */
export interface UpstreamSettings {
  readonly tls?: TlsOptions
  /** ms. */
  readonly connectTimeout?: number
  /** ms until the response head, per call. */
  readonly requestTimeout?: number
  readonly version?: '1.1' | '2'
  /** False: no probes. */
  readonly keepAlive?: KeepAlive | false
  readonly tunnel?: Tunnel
  /** Undefined: nothing, though a wider place may say so. */
  readonly sign?: Target['sign'] | undefined
  /** The file says how to authenticate: nothing else puts a credential on calls. */
  readonly authenticated?: boolean
  readonly health?: HealthRules
  /** The ports that the same configuration opens. */
  readonly ownPorts?: ReadonlySet<number>
  /** Requests for which it gives equal texts go to the same endpoint. */
  readonly affinity?: Expression
  /** What an LLM backend does to each request. */
  readonly llm?: LlmPolicy
  /** What looks at the requests and replies of an LLM backend, in order. */
  readonly guards?: readonly GuardSet[]
}

/** When an endpoint counts as unhealthy, and what follows. */
export interface HealthRules {
  /** On a response; unset: 5xx and failed gRPC calls. A call without a response is always unhealthy. */
  readonly unhealthy?: Expression
  /** Unset: left out only for a time that the response or the retry policy gives. */
  readonly eviction?: {
    /** ms. */
    readonly duration?: number
    /** 0 to 1, as are thresholds. */
    readonly restoreHealth?: number
    readonly consecutiveFailures?: number
    readonly healthThreshold?: number
  }
}

/** Another service that a policy calls, as it is written there: one of the three. */
export interface CalleeSpec {
  readonly host?: HttpAddress
  readonly service?: { readonly name: string; readonly port: number }
  readonly backend?: string
  readonly policies?: CalleePolicies['specs']
}

/** How the connections of clients are served; each frontend policy contributes its part, defaults fill the rest. */
export interface FrontendSettings {
  /** Of every request, before anything else looks at its path. */
  readonly paths: PathNormalizer
  /** bytes: what is buffered where a policy sets no limit of its own. */
  readonly maxBuffer: number
  readonly bodies: BodyLimits
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
  /** CONNECT requests find a route and become a tunnel; refused otherwise. */
  readonly tunnels: boolean
  readonly tls: {
    /** ms. */
    readonly handshakeTimeout: number
    /** What every listener speaks that says nothing itself. */
    readonly defaults: TlsParameters
  }
  /** False: no probes. */
  readonly keepAlive: KeepAlive | false
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

/** A collector that takes OTLP. */
export interface Collector {
  readonly to: Callee
  readonly protocol: 'grpc' | 'http'
  /** Over HTTP. */
  readonly path: string
  /** Header fields that the environment asks for, flat. */
  readonly fields: readonly string[]
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

/** What a compiled policy does, by moment, and what it settles for good. */
export interface Hooks extends MomentHooks {
  /** How the backend that this policy stands on is reached. */
  readonly upstream?: UpstreamSettings
  /** What each request leaves in the log (`log`), and what of it is sent to a collector. */
  readonly accessLog?: { readonly log: LogRules; readonly sent?: LogRules & Collector }
  /** Which requests leave spans at a collector. */
  readonly tracing?: SpanRules & Collector
  /** How clients are served, from a frontend policy. */
  readonly frontend?: Partial<FrontendSettings>
  /** Put on the exchange before the backend is asked. */
  readonly mcpAuthorization?: McpRules
  /** Likewise, in their order. */
  readonly mcpGuards?: readonly McpGuard[]
  /** bytes of the longest request body that `request` itself reads whole. */
  readonly holdsRequest?: number
  /** The request body is read whole, up to so many bytes, right before `request` runs: policies before it have not seen it. */
  readonly buffersRequest?: number
  /** The response body is read whole into `x.response.body` before `response` runs. */
  readonly buffersResponse?: ResponseBuffering
  readonly timeout?: Timeouts
  readonly retry?: RetryRules
}

/** What a request needs so that a policy has something to say about it; `gwctl diff` sends such requests. */
export interface ProbeHints {
  /** Pages that ask from there, and from elsewhere. `*` stands for any text. */
  readonly origins?: readonly string[]
  /** One call more than that. */
  readonly calls?: readonly number[]
  /** ms: a backend that takes longer. */
  readonly delays?: readonly number[]
  /** bytes: a body that is longer. */
  readonly bodies?: readonly number[]
  /** What the backend answers. */
  readonly statuses?: readonly number[]
  /** The metadata of each key that it knows. */
  readonly keys?: readonly Fields[]
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
  /** What of the caller it looks at. */
  readonly asksFor?: 'token' | 'key' | 'password' | 'session' | 'anything'
  /** Of the spec as it is written: what requests it tells apart. */
  probe?(spec: unknown): ProbeHints
  /** Asked by the MCP backend for each item that a message is about, not by the pipeline for each request. */
  readonly perItem?: true
  /** Tells in `x-ratelimit-*` fields of the response what is left. */
  readonly showsBudget?: true
  /** The deadline of a request does not begin before this has passed. */
  readonly beforeDeadline?: true
  /** Unset: resources do not have it. */
  readonly cluster?: readonly ClusterForm[]
  /** Without it more would be allowed, or more be shown, than is written: true, or those of its fields that do so. */
  readonly guards?: true | readonly string[]
  /** Of several for one place all hold, not the oldest alone. */
  readonly accumulates?: true
  /** What stands on a whole backend holds on its parts, too: a part only says what is different there. */
  readonly reachesParts?: true
  /** Rules that accumulate over the levels instead of the narrowest one winning. */
  merge?(wide: S, narrow: S): S
  compile(spec: S, ctx: CompileContext): Hooks
}

export function definePolicy<const N extends string, S>(policy: Policy<N, S>): Policy<N, S> {
  return policy
}
