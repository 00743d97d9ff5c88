import type { CallSteps } from '../calls/step.ts'
import type { Origin, Path } from '../diagnostics/diagnostic.ts'
import type { Attempt, CostCatalog, Exchange } from '../http/exchange.ts'
import type { ResponseHandler, Target } from '../http/transport.ts'
import type { Tools } from '../mcp/tool-lock.ts'
import type { CompileContext, UpstreamSettings } from '../policies/policy.ts'
import type { Schema } from '../schema/builder.ts'

/** A compiled destination. `send` serves one attempt, by calling upstream or by itself. */
export interface Backend {
  readonly key: string
  readonly name: string
  readonly kind: string
  readonly protocol: 'http' | 'tcp' | 'a2a' | 'mcp' | 'llm'
  readonly origin: Origin
  /**
   * The target of the next connection that is forwarded as it is. Undefined while there is no endpoint, absent where
   * each request chooses. Read it for each connection.
   */
  readonly target?: Target | undefined
  /** Replaces `target` where the TLS server name selects it. Undefined if the name selects nothing. */
  targetFor?(serverName: string | undefined): Target | undefined
  /** Calls exactly one of `on.head` and `on.fail`, at once or later. The attempt ends early through `x.owns`. */
  send(x: Exchange, attempt: Attempt, on: ResponseHandler): void
  /** The health of its endpoints, for dumps: plain data. */
  health?(): unknown
  /** The lock file of reviewed tools, and the current tools of its targets. Rejects with a Failure. */
  readonly toolLock?: { readonly file: string; read(): Promise<ReadonlyMap<string, Tools>> }
  /** Paths at which it serves pages to browsers, and nothing else. All others need a user (MCP, `signIn`). */
  readonly signInPaths?: readonly string[]
  /** The longest request body in bytes that it buffers; unset for none. */
  readonly holdsRequest?: number
  /** Failed attempts may be repeated: the request body is still available. */
  readonly replayable: boolean
}

export interface BackendDefinition<K extends string, S> {
  readonly kind: K
  readonly doc: string
  readonly spec?: string
  readonly schema: Schema<S>
  readonly unserved?: string
  compile(spec: S, ctx: BackendContext): Backend
}

export interface BackendContext extends CompileContext {
  readonly key: string
  readonly name: string
  /** The merged policies of this backend and of the reference to it. */
  readonly settings: UpstreamSettings
  /**
   * State that follows the object when it moves in the file, looked up by spec, and by order among equal specs. For
   * what clients hold on to, such as sessions.
   */
  movingState<T extends object>(name: string, make: () => T): T
  /** Naming and lifetime of MCP sessions; by default ids that only this gateway knows, and 30 minutes. */
  readonly sessions?: SessionSettings
  /** Prices of LLM tokens. */
  readonly prices?: CostCatalog | undefined
  /** A port of a service. Undefined after a finding. `at` is relative to the spec. */
  service?(reference: ServiceReference, at: Path): Service | undefined
  /**
   * Names of the items of the list at `path` of the spec that were dropped for findings of their own, undefined for an
   * unreadable name. A reference to such an item is not a further mistake.
   */
  leftOut?(path: Path): readonly (string | undefined)[]
  /**
   * The compiled policies at `path` of the spec, or with `section` as target, that concern only this part of the
   * backend. Undefined if there are none.
   */
  policiesAt(path: Path, section?: string): PartPolicies | undefined
}

export interface ServiceReference {
  /** `namespace/hostname`. */
  readonly name: string
  readonly port: number
}

/** One port of a service of the file. */
export interface Service {
  readonly hostname: string
  readonly protocol: 'Http11' | 'Http2' | 'Grpc' | 'Tls' | 'Tcp' | undefined
  /** Names expected in the certificates of its endpoints. */
  readonly subjectAltNames: readonly string[]
  /** Its healthy workloads. */
  readonly endpoints: readonly ServiceEndpoint[]
}

export interface ServiceEndpoint {
  /** `ip:port`. */
  readonly name: string
  readonly host: string
  readonly port: number
  /** Its share of the load. */
  readonly capacity: number
}

export interface SessionSettings {
  /** 32 bytes, for AES-256-GCM session ids. */
  readonly key?: Buffer
  /** Idle timeout of a session in ms. */
  readonly ttl?: number
}

/** Policies of an MCP target, an LLM provider or a model. */
export interface PartPolicies {
  readonly settings: UpstreamSettings
  /** Run around each call to it. */
  readonly steps: CallSteps
}

export function defineBackend<const K extends string, S>(definition: BackendDefinition<K, S>): BackendDefinition<K, S> {
  return definition
}
