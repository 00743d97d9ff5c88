import type { Origin } from '../diagnostics/diagnostic.ts'
import type { Attempt, Exchange } from '../http/exchange.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { CallPurpose, CallSpan, RequestSpan } from '../trace/span.ts'
import type { TracedCall } from '../trace/trace-event.ts'

/** Calls made to serve a client's request. */
export const PRIMARY = {
  Http: { kind: 'Primary', subtype: 'Http' },
  Llm: { kind: 'Primary', subtype: 'Llm' },
  Mcp: { kind: 'Primary', subtype: 'Mcp' },
} as const satisfies Record<string, CallPurpose>

/** What is recorded about a call besides its target. */
export interface CallFacts {
  /** Unset for the gateway's own calls, which no metric counts. */
  readonly purpose?: CallPurpose | undefined
  /** The purpose as the trace names it: `backend`, `mirror`. If unset, the caller emits its own events. */
  readonly what?: string
  /** Why this target was chosen, and why now; unset if there was no choice. */
  readonly reason?: string | undefined
  /** The config lines that defined the callee. */
  readonly origins?: readonly Origin[]
}

/** The call carries its own trace context instead of the client's. */
export function startSpan(x: Exchange, parent: RequestSpan, purpose: CallPurpose): CallSpan {
  const { method, path, headers } = x.request
  const span = parent.call({ ...purpose, method, path })
  headers.set('traceparent', span.traceparent)
  return span
}

/** Dependencies of recording calls. */
export type CallRuntime = Pick<Runtime, 'clock' | 'called'>

/** A call from its start to its response head or failure: trace events, a span and a metrics sample. */
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

  /** Called once, when `attempt` holds the outcome. */
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
