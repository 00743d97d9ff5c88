import type { Origin } from '../diagnostics/diagnostic.ts'
import type { Attempt, Exchange } from '../http/exchange.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { CallPurpose, CallSpan, RequestSpan } from '../trace/span.ts'
import type { TracedCall } from '../trace/trace-event.ts'

/** Calls that clients' requests are made for. */
export const PRIMARY = {
  Http: { kind: 'Primary', subtype: 'Http' },
  Llm: { kind: 'Primary', subtype: 'Llm' },
  Mcp: { kind: 'Primary', subtype: 'Mcp' },
} as const satisfies Record<string, CallPurpose>

/** What is told of a call besides where it goes. */
export interface CallFacts {
  /** Unset: for the gateway itself, which no metric counts. */
  readonly purpose?: CallPurpose | undefined
  /** What for, in the words of the trace: `backend`, `mirror`. Unset: whoever makes the call tells of it. */
  readonly what?: string
  /** Why this one is called, and why now; unset where there is no choice. */
  readonly reason?: string | undefined
  /** The config lines that made the callee. */
  readonly origins?: readonly Origin[]
}

/** The call goes out as part of the trace, in place of what the client sent. */
export function startSpan(x: Exchange, parent: RequestSpan, purpose: CallPurpose): CallSpan {
  const { method, path, headers } = x.request
  const span = parent.call({ ...purpose, method, path })
  headers.set('traceparent', span.traceparent)
  return span
}

/** What telling of calls needs. */
export type CallRuntime = Pick<Runtime, 'clock' | 'called'>

/** One call from its begin to its response head or failure: events, a span and a sample for the metrics. */
export class CallRecord {
  readonly #attempt: Attempt
  readonly #purpose: CallPurpose | undefined
  readonly #runtime: CallRuntime
  readonly #traced: TracedCall | undefined
  readonly #span: CallSpan | undefined

  constructor(x: Exchange, attempt: Attempt, facts: CallFacts, runtime: CallRuntime) {
    const { purpose } = facts
    this.#attempt = attempt
    this.#purpose = purpose
    this.#runtime = runtime
    this.#traced = traceCall(x, attempt, facts)
    this.#span = x.span && purpose && startSpan(x, x.span, purpose)
  }

  /** Once, when `attempt` holds how it went. */
  end(): void {
    const attempt = this.#attempt
    const { clock, called } = this.#runtime
    attempt.duration = clock.mono() - attempt.startedAt
    this.#traced?.end(attempt)
    this.#span?.end(attempt)
    if (this.#purpose && this.#purpose.kind !== 'Primary') called?.(this.#purpose, attempt.duration)
  }
}

function traceCall(
  { trace }: Exchange,
  { target }: Attempt,
  { what, reason, origins, purpose }: CallFacts,
): TracedCall | undefined {
  if (!trace || what === undefined) return undefined
  return trace.call({ target, purpose: what, reason, origins, beside: purpose?.kind === 'Mirror' })
}
