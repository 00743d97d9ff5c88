import type { CredentialPlaces } from '../auth/credential-places.ts'
import type { Backend } from '../backends/backend.ts'
import type { PolicyStep } from '../calls/step.ts'
import type { Origin } from '../diagnostics/diagnostic.ts'
import type { BodyLimits } from '../http/body-memory.ts'
import type { ObjectFacts, RouteFacts } from '../http/exchange.ts'
import type { FrontendSettings, Hooks, TlsParameters, UpstreamSettings } from '../policies/policy.ts'
import type { Telemetry } from './compile-telemetry.ts'
import type { Settings } from './settings.ts'
import type { RouteMatch } from './standalone/route-section.ts'

/** A compiled policy at its place, with its effects and its form for dumps. */
export interface Step extends PolicyStep {
  readonly hooks: Hooks
  /** The policy as written, redacted: for dumps. */
  readonly spec: unknown
  /** The wider levels whose policy of the same kind is overridden here. */
  readonly overridden?: readonly Origin[]
  /** The source of each field, where several levels declare the policy. */
  readonly fields?: readonly PolicyField[]
}

export interface IdleObject {
  /** `namespace/name`. */
  readonly name: string
  readonly origin: Origin
}

/** A policy field that several levels declare. */
export interface PolicyField {
  readonly name: string
  /** Empty: the policy that holds it was replaced as a whole. Several: their values accumulate. */
  readonly wonBy: readonly Origin[]
  readonly overridden: readonly Origin[]
}

/** The policies of one phase by hook, each list in execution order. */
export interface Pipeline {
  readonly steps: readonly Step[]
  readonly request: readonly Step[]
  readonly attempt: readonly Step[]
  readonly response: readonly Step[]
  readonly requestBody: readonly Step[]
  readonly responseBody: readonly Step[]
  readonly done: readonly Step[]
  /** Where in `request` the clock of `timeout.request` starts: after authentication and rate limits. */
  readonly deadlineFrom: number
  /**
   * Bytes of request body to buffer before the first `attempt`; 0 for none. Steps of `request` do their own reading.
   */
  readonly buffersRequest: number
  /** When set, the response is buffered before `response` runs. */
  readonly buffersResponse: Hooks['buffersResponse']
  readonly timeout: { readonly request?: number; readonly backend?: number }
  readonly retry: NonNullable<Hooks['retry']> | undefined
  readonly session: Hooks['session']
  readonly mcpRules: readonly NonNullable<Hooks['mcpAuthorization']>[]
  readonly mcpGuards: NonNullable<Hooks['mcpGuards']>
  readonly upstream: UpstreamSettings
}

export interface WeightedBackend {
  readonly weight: number
  readonly backend: Backend
  /** Runs for each call to this backend. */
  readonly pipeline: Pipeline
  /** The response policies of the route and the backend, in execution order. */
  readonly response: readonly Step[]
  readonly responseBody: readonly Step[]
  /** When set, the route is chosen among these, and the other fields are unused. */
  readonly delegates?: RouteGroup
  /** When set, the response is buffered before its policies run. */
  readonly buffersResponse: Hooks['buffersResponse']
  /** As written, redacted. */
  readonly spec: unknown
  readonly origin: Origin
}

export interface Route extends RouteFacts {
  readonly hostnames: readonly string[]
  readonly matches: readonly RouteMatch[]
  /** As written, redacted. */
  readonly shownMatches: unknown
  readonly pipeline: Pipeline
  readonly backends: readonly WeightedBackend[]
  readonly totalWeight: number
  /** Of its backends, in their order, if it has sessions. */
  readonly tags?: readonly string[]
}

/** Routes that another route delegates to, with the policies inherited from it. */
export interface RouteGroup {
  readonly name: string
  readonly routes: readonly Route[]
}

/** A route for connections, selected by server name. */
export interface TcpRoute extends RouteFacts {
  /** Server names; empty for every connection. */
  readonly hostnames: readonly string[]
  /** Each has a `target`. */
  readonly backends: readonly WeightedBackend[]
  readonly totalWeight: number
}

/** PEM. */
export interface TlsFiles extends TlsParameters {
  readonly cert: Buffer
  readonly key: Buffer
  /** They are an authority's, which issues a certificate for each server name. */
  readonly issues?: boolean
  /** When set, clients must present a certificate that chains to it. */
  readonly ca?: Buffer
  /** The client certificate is optional. */
  readonly caOptional?: boolean
}

export interface Listener extends ObjectFacts {
  readonly gateway: string
  /** Exact, `*.suffix`, `*`, or empty for every host. */
  readonly hostname: string
  readonly protocol: 'HTTP' | 'HTTPS' | 'TLS' | 'TCP' | 'UDP' | 'HBONE'
  readonly tls?: TlsFiles
  /** As written, redacted: for dumps. */
  readonly tlsSpec?: unknown
  /** TLS is not terminated here: connections are routed by server name and forwarded as they are. */
  readonly passthrough: boolean
  readonly pipeline: Pipeline
  readonly routes: readonly Route[]
  readonly tcpRoutes: readonly TcpRoute[]
}

export interface Bind {
  readonly key: string
  readonly port: number
  /** All addresses when unset. */
  readonly address?: string
  readonly listeners: readonly Listener[]
  /** The one that serves a host name: exact name, then the longest wildcard, then the catch-all. */
  readonly listenerFor: (host: string) => Listener | undefined
  /** The protocol that a connection begins with; `udp` for datagrams, without connections. */
  readonly protocol: 'http' | 'tls' | 'tcp' | 'udp'
  readonly frontend: FrontendSettings
  /** Connection policies, applied before any HTTP. */
  readonly connection: readonly Step[]
  readonly origin: Origin
}

/** Memory limits for buffered bodies. */
export interface HeldBodies {
  readonly limits: BodyLimits
  /** The longest body in bytes that anything in the file buffers; 0 for none. */
  readonly largest: number
}

/** One configuration, checked and compiled: what the engine serves and `/config_dump` shows. Immutable. */
export interface Snapshot {
  readonly file: string
  readonly settings: Settings
  readonly binds: readonly Bind[]
  readonly bodies: HeldBodies
  readonly telemetry: Telemetry
  /** Named backends, by reference (`/name`). */
  readonly backends: ReadonlyMap<string, WeightedBackend>
  /** Policies whose target matched no object. */
  readonly idlePolicies?: readonly IdleObject[]
  /** Groups of routes that no route delegates to. */
  readonly idleGroups: readonly IdleObject[]
  /** Of the `llm` section: its models, then its virtual models. */
  readonly modelOrigins: readonly Origin[]
  readonly credentials: CredentialPlaces
  /** The file's content, redacted by declaration. */
  readonly redacted: unknown
}
