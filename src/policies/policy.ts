import type { CredentialPlace } from '../auth/credential-places.ts'
import type { Callee } from '../calls/outcall.ts'
import type { MomentHooks, ResponseBuffering } from '../calls/step.ts'
import type { Expression } from '../cel/expression.ts'
import type { Finding, Origin, Path } from '../diagnostics/diagnostic.ts'
import type { BodyLimits } from '../http/body-memory.ts'
import type { Exchange, McpGuard, McpRules } from '../http/exchange.ts'
import type { PinnedSession } from '../http/facts/pinned-session.ts'
import type { PathNormalizer } from '../http/path-normalization.ts'
import type { TlsVersion } from '../http/tls-parameters.ts'
import type { KeepAlive, Target, TlsOptions, Tunnel } from '../http/transport.ts'
import type { GuardSet } from '../llm/guards/guard.ts'
import type { LlmPolicy } from '../llm/llm-policy.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Schema } from '../schema/builder.ts'
import type { HttpAddress } from '../schema/scalars.ts'
import type { Fields } from '../schema/untyped.ts'
import type { ComputedField, LogRules, SpanRules } from './frontend/telemetry.ts'
import type { ClusterForm } from './parts/cluster-form.ts'

/** Where a policy may be attached. */
export type Attachment =
  /** `listeners[].policies`, `gateways.*`: runs before routing. */
  | 'listener'
  | 'route'
  /** On a backend, or a route's reference to one: runs for each upstream call. */
  | 'backend'
  /** On a policy's target or an MCP target: the basic subset. */
  | 'target'
  /** On one provider of an AI backend, in addition to that subset. */
  | 'provider'
  | 'frontend'

/** Global settings of the configuration. */
export interface Limits {
  /** For paths computed by expressions. */
  readonly paths: PathNormalizer
  /** Maximum bytes to buffer if a policy sets no limit of its own. */
  readonly maxBuffer: number
}

/** The context for compiling a policy or backend, besides its spec. */
export interface CompileContext {
  /** The environment of the process. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** Identifies the object that contains this spec, stable across reloads: the key of its state. */
  readonly identity: string
  readonly origin: Origin
  readonly runtime: Runtime
  readonly limits: Limits
  /** `path` is relative to the spec. */
  report(finding: Omit<Finding, 'path'> & { readonly path: Path }): void
  /** The source location of part of the spec; `path` is relative to the spec. */
  originOf(path: Path): Origin
  /**
   * A file referenced by the configuration, relative to the configuration's directory. Undefined if it cannot be read,
   * which is then reported (a warning in tier `offline`, an error in tier `env` and for `run`).
   */
  readFile(file: string, at: Path): Buffer | undefined
  /**
   * The service that the policy calls; undefined after a finding. `at`: its path relative to the spec. `policies`: the
   * policies on it, if they are not a member of the spec.
   */
  callee?(spec: CalleeSpec, at: Path, policies?: CalleePolicies): Callee | undefined
  /** Requests carry a credential there: it is redacted in logs and traces. */
  hides(place: CredentialPlace): void
  /** State of this object under its own name; a changed spec gets fresh state. */
  state<T extends object>(name: string, make: () => T): T
  /** Like `state`, for numbers shared by all workers of the replica; initially zero. */
  memory(name: string, bytes: number): ArrayBufferLike
  /**
   * What only serving needs: loaded and created once, after everything has compiled and before the first request. Plain
   * validation skips it, so `make` must not report findings.
   */
  serving<M, T>(load: () => Promise<M>, make: (module: M) => T): Serving<T>
}

/** Available only once the configuration has been loaded. */
export interface Serving<T> {
  readonly part: T
}

export interface CalleePolicies {
  readonly specs: Readonly<Record<string, unknown>>
  /** Relative to the spec. */
  readonly at: Path
}

/**
 * How to reach a backend; contributed by policies of kind `backend` and `target`. Per member, the most specific one
 * wins.
 */
export interface UpstreamSettings {
  readonly tls?: TlsOptions
  /** ms. */
  readonly connectTimeout?: number
  /** Deadline in ms for the response head, per call. */
  readonly requestTimeout?: number
  readonly version?: '1.1' | '2'
  /** False disables probes. */
  readonly keepAlive?: KeepAlive | false
  readonly tunnel?: Tunnel
  /** Explicitly undefined: none, even if a wider place sets one. */
  readonly sign?: Target['sign'] | undefined
  /** Authentication is configured: nothing else adds a credential to calls. */
  readonly authenticated?: boolean
  readonly health?: HealthRules
  /** The ports opened by the same configuration. */
  readonly ownPorts?: ReadonlySet<number>
  /** Requests with equal results go to the same endpoint. */
  readonly affinity?: Expression
  /** An endpoint picker has named the endpoints of a request, in order; `anywhere`: also those that are unknown here. */
  readonly picked?: { destinations(x: Exchange): readonly string[]; readonly anywhere: boolean }
  /** How an LLM backend modifies each request. */
  readonly llm?: LlmPolicy
  /** Guards on the requests and responses of an LLM backend, in order. */
  readonly guards?: readonly GuardSet[]
}

/** When an endpoint counts as unhealthy, and the consequences. */
export interface HealthRules {
  /** Evaluated on a response; if unset, 5xx and failed gRPC calls. A call without a response is always unhealthy. */
  readonly unhealthy?: Expression
  /** If unset, endpoints are evicted only for a time set by the response or the retry policy. */
  readonly eviction?: {
    /** ms. */
    readonly duration?: number
    /** 0 to 1, like thresholds. */
    readonly restoreHealth?: number
    readonly consecutiveFailures?: number
    readonly healthThreshold?: number
  }
}

/** A service that a policy calls, as configured: one of the three. */
export interface CalleeSpec {
  readonly host?: HttpAddress
  readonly service?: { readonly name: string; readonly port: number }
  readonly backend?: string
  readonly policies?: CalleePolicies['specs']
}

/** How client connections are served; each frontend policy contributes its part, and defaults fill the rest. */
export interface FrontendSettings {
  /** Applied to every request before anything else sees its path. */
  readonly paths: PathNormalizer
  /** Maximum bytes to buffer if a policy sets no limit of its own. */
  readonly maxBuffer: number
  readonly bodies: BodyLimits
  readonly http1: {
    /** Header fields per request. */
    readonly maxHeaders: number
    /** ms. */
    readonly idleTimeout: number
    /** Field names keep the client's spelling instead of being lower-cased. */
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
    /** ms to wait for each acknowledgement. */
    readonly keepaliveTimeout: number
  }
  /** ms; 0: no limit. */
  readonly maxConnectionDuration: number
  /** CONNECT requests are routed and become tunnels; rejected otherwise. */
  readonly tunnels: boolean
  readonly tls: {
    /** ms. */
    readonly handshakeTimeout: number
    /** For listeners that set none of their own. */
    readonly defaults: TlsParameters
  }
  /** False disables probes. */
  readonly keepAlive: KeepAlive | false
  readonly proxyProtocol: ProxyProtocolSettings | undefined
}
/** OpenSSL names. */
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
  /** Connections without the header are accepted too. */
  readonly optional: boolean
}

/** An OTLP collector. */
export interface Collector {
  readonly to: Callee
  readonly protocol: 'grpc' | 'http'
  /** For HTTP. */
  readonly path: string
  /** Header fields from the environment, flat. */
  readonly fields: readonly string[]
}

/** ms; no limit if unset. */
export interface Timeouts {
  /** From the start of the request to the response head, including delays, retries and backoff. */
  readonly request?: number
  /** Each upstream call. */
  readonly backend?: number
}

/** When to retry a call. */
export interface RetryRules {
  /** Maximum retries after the first call. */
  readonly attempts: number
  /** ms between two calls. */
  readonly backoff: number
  readonly codes: ReadonlySet<number>
  /** Evaluated on the request: unless true, the call is not retried. */
  readonly precondition?: Expression
  /** Evaluated on each response: true triggers a retry. */
  readonly condition?: Expression
}

/** A compiled policy: its hooks by stage, and its static settings. */
export interface Hooks extends MomentHooks {
  /** How to reach the backend that this policy is on. */
  readonly upstream?: UpstreamSettings
  /**
   * What each request writes to the log (`log`), what is exported to a collector, and what the request database stores
   * in addition.
   */
  readonly accessLog?: {
    readonly log: LogRules
    readonly sent?: LogRules & Collector
    readonly kept?: readonly ComputedField[]
  }
  /** Which requests are exported as spans. */
  readonly tracing?: SpanRules & Collector
  /** How clients are served; from a frontend policy. */
  readonly frontend?: Partial<FrontendSettings>
  /** Set on the exchange before the backend is called. */
  readonly mcpAuthorization?: McpRules
  /** Likewise, in order. */
  readonly mcpGuards?: readonly McpGuard[]
  /** Maximum bytes of a request body that `request` itself buffers. */
  readonly holdsRequest?: number
  /**
   * Buffers the request body, up to this many bytes, right before `request` runs: earlier policies have not seen it.
   */
  readonly buffersRequest?: number
  /** Buffers the response body into `x.response.body` before `response` runs. */
  readonly buffersResponse?: ResponseBuffering
  readonly timeout?: Timeouts
  readonly retry?: RetryRules
  /** Which backend and endpoint the client's session stays with. */
  readonly session?: (x: Exchange) => PinnedSession
}

/** The requests needed to exercise a policy; `gwctl diff` sends them. */
export interface ProbeHints {
  /** Cross-origin requests from these origins and from others. `*` matches any text. */
  readonly origins?: readonly string[]
  /** One more call than this. */
  readonly calls?: readonly number[]
  /** A backend that takes longer than this, in ms. */
  readonly delays?: readonly number[]
  /** A body longer than this, in bytes. */
  readonly bodies?: readonly number[]
  /** These backend statuses. */
  readonly statuses?: readonly number[]
  /** The metadata of each known key. */
  readonly keys?: readonly Fields[]
}

export interface Policy<N extends string, S> {
  readonly name: N
  readonly doc: string
  readonly spec?: string
  readonly attach: readonly Attachment[]
  readonly schema: Schema<S>
  /** If present, the policy is valid but not served by this engine (GW601). */
  readonly unserved?: string
  /** On a route it applies to each backend of that route: it runs per call, not per request. */
  readonly perBackend?: true
  /** The kind of client credential it evaluates. */
  readonly asksFor?: 'token' | 'key' | 'password' | 'session' | 'anything'
  /** From the configured spec: which requests it distinguishes. */
  probe?(spec: unknown): ProbeHints
  /** Evaluated by the MCP backend for each item of a message, not by the pipeline for each request. */
  readonly perItem?: true
  /** Reports the remainder in `x-ratelimit-*` response fields. */
  readonly showsBudget?: true
  /** A request's deadline starts only after this policy. */
  readonly beforeDeadline?: true
  /** If unset, not available in resources. */
  readonly cluster?: readonly ClusterForm[]
  /** Whether omitting it would permit or expose more than configured: true, or the fields that do so. */
  readonly guards?: true | readonly string[]
  /** If several are attached to one place, all apply, not just the oldest. */
  readonly accumulates?: true
  /** On a whole backend it applies to its parts too, which only override members. */
  readonly reachesParts?: true
  /** Merges rules that accumulate over the levels instead of the narrowest one winning. */
  merge?(wide: S, narrow: S): S
  compile(spec: S, ctx: CompileContext): Hooks
}

export function definePolicy<const N extends string, S>(policy: Policy<N, S>): Policy<N, S> {
  return policy
}
