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

/** A compiled policy at its place, with what it settles and what dumps show of it. */
export interface Step extends PolicyStep {
  readonly hooks: Hooks
  /** The policy as it was written, redacted: for dumps. */
  readonly spec: unknown
  /** Where wider levels have written the same policy, without effect here. */
  readonly overridden?: readonly Origin[]
  /** Who wrote what, where several levels have written the policy. */
  readonly fields?: readonly PolicyField[]
}

export interface IdleObject {
  /** `namespace/name`. */
  readonly name: string
  readonly origin: Origin
}

/** A field of a policy that several levels have written. */
export interface PolicyField {
  readonly name: string
  /** Empty: the policy that holds it was replaced as a whole. Several: what they write adds up. */
  readonly wonBy: readonly Origin[]
  readonly overridden: readonly Origin[]
}

/** The policies of one phase by moment, each list in the order it runs. */
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
  /** Bytes of request body to read before the first `attempt`; 0: none. Steps of `request` read for themselves. */
  readonly buffersRequest: number
  /** Set: the response is read whole before `response` runs. */
  readonly buffersResponse: Hooks['buffersResponse']
  readonly timeout: { readonly request?: number; readonly backend?: number }
  readonly retry: NonNullable<Hooks['retry']> | undefined
  readonly mcpRules: readonly NonNullable<Hooks['mcpAuthorization']>[]
  readonly mcpGuards: NonNullable<Hooks['mcpGuards']>
  readonly upstream: UpstreamSettings
}

export interface WeightedBackend {
  readonly weight: number
  readonly backend: Backend
  /** Runs for each call to this backend. */
  readonly pipeline: Pipeline
  /** The route's and the backend's response policies, in the order they run. */
  readonly response: readonly Step[]
  readonly responseBody: readonly Step[]
  /** Set: the route is chosen among these, and the rest of this object says nothing. */
  readonly delegates?: RouteGroup
  /** Set: the response is read whole before its policies run. */
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
}

/** Routes that another route delegates to, with the policies of that one. */
export interface RouteGroup {
  readonly name: string
  readonly routes: readonly Route[]
}

/** Which connections go where. */
export interface TcpRoute extends RouteFacts {
  /** By server name; every connection when empty. */
  readonly hostnames: readonly string[]
  /** Each has a `target`. */
  readonly backends: readonly WeightedBackend[]
  readonly totalWeight: number
}

/** PEM. */
export interface TlsFiles extends TlsParameters {
  readonly cert: Buffer
  readonly key: Buffer
  /** Set: clients must present a certificate that chains to it. */
  readonly ca?: Buffer
  /** Clients are let in without one too. */
  readonly caOptional?: boolean
}

export interface Listener extends ObjectFacts {
  readonly gateway: string
  /** Exact, `*.suffix`, `*`, or empty for every host. */
  readonly hostname: string
  readonly protocol: 'HTTP' | 'HTTPS' | 'TLS' | 'TCP' | 'UDP' | 'HBONE'
  readonly tls?: TlsFiles
  /** As it was written, redacted: for dumps. */
  readonly tlsSpec?: unknown
  /** TLS is not ended here: connections are chosen by server name and passed on as they are. */
  readonly passthrough: boolean
  readonly pipeline: Pipeline
  readonly routes: readonly Route[]
  readonly tcpRoutes: readonly TcpRoute[]
}

export interface Bind {
  readonly key: string
  readonly port: number
  /** Every address of the machine when unset. */
  readonly address?: string
  readonly listeners: readonly Listener[]
  /** What the first bytes of a connection are; `udp`: there are datagrams and no connections. */
  readonly protocol: 'http' | 'tls' | 'tcp' | 'udp'
  readonly frontend: FrontendSettings
  /** Policies over connections, before any HTTP. */
  readonly connection: readonly Step[]
  readonly origin: Origin
}

/** What bodies that are read whole may take of memory. */
export interface HeldBodies {
  readonly limits: BodyLimits
  /** bytes of the longest body that something in the file reads whole; 0: nothing does. */
  readonly largest: number
}

/** One configuration, checked and compiled: what the engine serves and `/config_dump` shows. Never changed. */
export interface Snapshot {
  readonly file: string
  readonly settings: Settings
  readonly binds: readonly Bind[]
  readonly bodies: HeldBodies
  readonly telemetry: Telemetry
  /** Named backends, by reference (`/name`). */
  readonly backends: ReadonlyMap<string, WeightedBackend>
  /** Policies with a target that no object has met. */
  readonly idlePolicies?: readonly IdleObject[]
  /** Groups of routes that no route delegates to. */
  readonly idleGroups: readonly IdleObject[]
  /** Of the `llm` section: its models, then its virtual models. */
  readonly modelOrigins: readonly Origin[]
  readonly credentials: CredentialPlaces
  /** The file's content as it was read, redacted by declaration. */
  readonly redacted: unknown
}
