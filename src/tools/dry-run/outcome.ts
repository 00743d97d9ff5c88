import type { A2aFacts, LlmFacts, McpFacts } from '../../http/exchange.ts'
import type { HeadSnapshot, TraceEvent } from '../../trace/trace-event.ts'

/** A call that would have gone out. */
export interface DryCall {
  /** `backend`: with the request; `service`: by a policy, for a key set, a credential or a mirror. */
  readonly purpose: 'backend' | 'service'
  /** What is called, the most precise name first: an MCP target, provider or model; the backend; its address. */
  readonly names: readonly string[]
  readonly method: string
  /** Absolute. */
  readonly url: string
  readonly authority: string
  /** With the query. */
  readonly path: string
  /** As they go out, credentials included: not to be shown. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** The same call without the values of credentials. */
  readonly shown: HeadSnapshot
  readonly body: Buffer
  /** The name of the stub that answers; undefined: none is for it, so it is the least that does. */
  readonly stub: string | undefined
  /** What the stub answers with; undefined where nothing answers. */
  readonly status: number | undefined
}

/** What came of one request. */
export interface DryOutcome {
  /** From `requestStarted` to `requestFinished`, without a gap. */
  readonly events: readonly TraceEvent[]
  /** Undefined: it ended without a response. */
  readonly status: number | undefined
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** The response without the values of credentials. */
  readonly shown: HeadSnapshot | undefined
  readonly body: Buffer
  /** In the order in which they began. */
  readonly upstream: readonly DryCall[]
  /** Keys, as in dumps and traces. */
  readonly bind: string | undefined
  readonly listener: string | undefined
  readonly route: string | undefined
  /** The backend that was chosen, by its name and by its parts that were called, the most precise one first. */
  readonly backend: string | undefined
  readonly backends: readonly string[]
  readonly error: string | undefined
  /** Who decided the answer, as in logs: `Upstream`, `Authorization` …; `Connection`: a policy has closed it before. */
  readonly reason: string
  readonly llm: Readonly<LlmFacts> | undefined
  readonly mcp: Readonly<McpFacts> | undefined
  readonly a2a: Readonly<A2aFacts> | undefined
  /** ms of the dry clock. */
  readonly duration: number
}
