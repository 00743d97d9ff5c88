import type { Origin } from '../diagnostics/diagnostic.ts'
import type { Attempt, Exchange } from '../http/exchange.ts'
import type { ResponseHandler } from '../http/transport.ts'
import type { CompileContext, UpstreamSettings } from '../policies/policy.ts'
import type { Schema } from '../schema/builder.ts'

/** A compiled destination. `send` answers one attempt: by calling upstream, or by itself. */
export interface Backend {
  readonly key: string
  readonly name: string
  readonly kind: string
  readonly protocol: 'http' | 'tcp' | 'a2a' | 'mcp' | 'llm'
  readonly origin: Origin
  /** Exactly one of `on.head` and `on.fail` follows, at once or later. The attempt ends early through `x.onAbort`. */
  send(x: Exchange, attempt: Attempt, on: ResponseHandler): void
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
}

export function defineBackend<const K extends string, S>(definition: BackendDefinition<K, S>): BackendDefinition<K, S> {
  return definition
}
