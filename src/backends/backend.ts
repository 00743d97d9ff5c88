import type { CallSteps } from '../calls/step.ts'
import type { Origin, Path } from '../diagnostics/diagnostic.ts'
import type { Attempt, CostCatalog, Exchange } from '../http/exchange.ts'
import type { ResponseHandler, Target } from '../http/transport.ts'
import type { Tools } from '../mcp/tool-lock.ts'
import type { CompileContext, UpstreamSettings } from '../policies/policy.ts'
import type { Schema } from '../schema/builder.ts'

/** A compiled destination. `send` answers one attempt: by calling upstream, or by itself. */
export interface Backend {
  readonly key: string
  readonly name: string
  readonly kind: string
  readonly protocol: 'http' | 'tcp' | 'a2a' | 'mcp' | 'llm'
  readonly origin: Origin
  /**
   * Where the next connection goes that is passed on as it is; undefined while no endpoint is there, absent where each
   * request chooses. Ask anew for each connection.
   */
  readonly target?: Target | undefined
  /** In place of `target`, where the server name that a client asks TLS for says so; undefined where it names nothing. */
  targetFor?(serverName: string | undefined): Target | undefined
  /** Exactly one of `on.head` and `on.fail` follows, at once or later. The attempt ends early through `x.owns`. */
  send(x: Exchange, attempt: Attempt, on: ResponseHandler): void
  /** How its endpoints do, for dumps: plain data. */
  health?(): unknown
  /** The file that says which tools were reviewed, and what those of its targets are now. Rejects with a Failure. */
  readonly toolLock?: { readonly file: string; read(): Promise<ReadonlyMap<string, Tools>> }
  /** bytes of the longest request body that it reads whole; unset: it reads none. */
  readonly holdsRequest?: number
  /** The attempts may be repeated on failure: the request body is still there. */
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
  /** The merged result of the policies that stand on this backend and on the reference to it. */
  readonly settings: UpstreamSettings
  /**
   * State that follows the object when it moves in the file: found by what is written, and among equals by their order.
   * For what clients hold on to, such as sessions.
   */
  movingState<T extends object>(name: string, make: () => T): T
  /** How MCP sessions are named and when they end; unset: ids that no other gateway knows, 30 minutes. */
  readonly sessions?: SessionSettings
  /** What the tokens of language models cost. */
  readonly prices?: CostCatalog | undefined
  /** A service and one of its ports; undefined after a finding. `at` is relative to the spec. */
  service?(reference: ServiceReference, at: Path): Service | undefined
  /**
   * Names of items of the list at `path` of the spec that were left out for findings of their own, undefined for one
   * whose name cannot be read: a reference to such an item is not another mistake.
   */
  leftOut?(path: Path): readonly (string | undefined)[]
  /**
   * The compiled policies that stand at `path` of the spec, or aim at `section`, and concern this part of the backend
   * only; undefined: there are none.
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
  /** Names that the certificates of its endpoints carry. */
  readonly subjectAltNames: readonly string[]
  /** Its healthy workloads. */
  readonly endpoints: readonly ServiceEndpoint[]
}

export interface ServiceEndpoint {
  /** `ip:port`. */
  readonly name: string
  readonly host: string
  readonly port: number
  /** Its share of the calls. */
  readonly capacity: number
}

export interface SessionSettings {
  /** 32 bytes: ids are AES-256-GCM. */
  readonly key?: Buffer
  /** ms without a request until a session ends. */
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
