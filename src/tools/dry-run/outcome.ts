import type { A2aFacts, LlmFacts, McpFacts } from '../../http/exchange.ts'
import type { HeadSnapshot, TraceEvent } from '../../trace/trace-event.ts'

/** A call that would have been made. */
export interface DryCall {
  /** `backend`: for the request; `service`: by a policy, for a key set, a credential or a mirror. */
  readonly purpose: 'backend' | 'service'
  /** The names of the called part, most specific first: an MCP target, provider or model; the backend; its address. */
  readonly names: readonly string[]
  readonly method: string
  /** Absolute. */
  readonly url: string
  readonly authority: string
  /** Includes the query. */
  readonly path: string
  /** As sent, with credentials: not for display. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** The same call without credential values. */
  readonly shown: HeadSnapshot
  readonly body: Buffer
  /** The name of the stub that answered. Undefined for the minimal default answer. */
  readonly stub: string | undefined
  /** The status of the stub's answer. Undefined without an answer. */
  readonly status: number | undefined
}

/** The outcome of one request. */
export interface DryOutcome {
  /** From `requestStarted` to `requestFinished`, complete. */
  readonly events: readonly TraceEvent[]
  /** Undefined if it ended without a response. */
  readonly status: number | undefined
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** The response without credential values. */
  readonly shown: HeadSnapshot | undefined
  readonly body: Buffer
  /** In the order in which they began. */
  readonly upstream: readonly DryCall[]
  /** Keys, as in dumps and traces. */
  readonly bind: string | undefined
  readonly listener: string | undefined
  readonly route: string | undefined
  /** The selected backend, by the names of its called parts and its own, most specific first. */
  readonly backend: string | undefined
  readonly backends: readonly string[]
  readonly error: string | undefined
  /**
   * What determined the response, as in logs: `Upstream`, `Authorization` …; `Connection`: a policy closed the
   * connection first.
   */
  readonly reason: string
  readonly llm: Readonly<LlmFacts> | undefined
  readonly mcp: Readonly<McpFacts> | undefined
  readonly a2a: Readonly<A2aFacts> | undefined
  /** ms of the dry clock. */
  readonly duration: number
}
