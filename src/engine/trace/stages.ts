import type { Bind, Listener, Pipeline, WeightedBackend } from '../../config/snapshot.ts'
import type { Origin } from '../../diagnostics/diagnostic.ts'
import type { Attempt, Exchange, ResponseHead } from '../../http/exchange.ts'
import type { TracedCall } from '../../trace/trace-event.ts'
import type { HeadSnapshots } from '../head-snapshot.ts'
import { type Matched, pathOf, type RouteTable } from '../route-table.ts'
import { routeMisses } from './route-misses.ts'

// The events of a watched request at each stage. Separate from the stages, which check `if (x.trace)` first: their code
// stays small enough for V8 to inline, so unwatched requests cost no more than without tracing.

export function traceArrival(x: Exchange, heads: HeadSnapshots): void {
  x.trace?.emit({ type: 'snapshot', stage: 'initial request', state: heads.request(x.request) })
}

export function tracePath(x: Exchange, heads: HeadSnapshots): void {
  x.trace?.emit({ type: 'snapshot', stage: 'normalized request', state: heads.request(x.request) })
}

export function traceListener(x: Exchange, bind: Bind, listener: Listener | undefined): void {
  x.trace?.emit(
    { type: 'listener', bind: bind.key, listener: listener?.key ?? null },
    { severity: listener ? 'success' : 'error', origins: [listener?.origin ?? bind.origin] },
  )
}

/** `origin`: of the object that holds the routes. */
export function traceRoute(x: Exchange, table: RouteTable, host: string, matched: Matched | undefined, origin: Origin) {
  if (!x.trace) return
  const near = table.nearest(pathOf(x.request.path), host, x.trace.mostRoutes)
  const tried = routeMisses(near, x.request, host, matched)
  const more = table.routes.length - tried.length - (matched ? 1 : 0)
  x.trace.emit(
    { type: 'route', selected: matched?.route.key ?? null, tried, ...(more > 0 ? { more } : {}) },
    { severity: matched ? 'success' : 'error', origins: [matched?.route.origin ?? origin] },
  )
}

export function tracePolicies(x: Exchange, { route }: Matched): void {
  x.trace?.emit(
    { type: 'policySelection', phase: 'route', policies: route.pipeline.steps.map(s => s.policy) },
    { origins: route.pipeline.steps.flatMap(s => s.origins) },
  )
}

export function traceBackend(x: Exchange, chosen: WeightedBackend): void {
  x.trace?.emit(
    { type: 'backend', backend: chosen.backend.name, kind: chosen.backend.kind },
    { origins: [chosen.origin] },
  )
  const { steps } = chosen.pipeline
  if (steps.length === 0) return
  x.trace?.emit(
    { type: 'policySelection', phase: 'backend', policies: steps.map(s => s.policy) },
    { origins: steps.flatMap(s => s.origins) },
  )
}

export function traceAttempt(
  x: Exchange,
  attempt: Attempt,
  chosen: WeightedBackend,
  heads: HeadSnapshots,
): TracedCall | undefined {
  if (!x.trace) return undefined
  x.trace.emit({ type: 'snapshot', stage: 'final request', state: heads.request(x.request, x.auth) })
  const purpose = attempt.index === 0 ? 'backend' : `backend, attempt ${attempt.index + 1}`
  return x.trace.call({
    target: attempt.target,
    purpose,
    reason: reasonOf(x.attempts[attempt.index - 1]),
    origins: [chosen.origin],
  })
}

/** Why there is another attempt. */
function reasonOf(before: Attempt | undefined): string | undefined {
  if (before === undefined) return undefined
  const { index, status, error } = before
  return `attempt ${index + 1} ${status === undefined ? `failed: ${error}` : `answered ${status}`}`
}

/** `limit`: milliseconds. */
export function traceDeadline(x: Exchange, route: Pipeline, limit: number): void {
  const timeout = route.steps.find(({ policy }) => policy === 'timeout')
  x.trace?.emit(
    { type: 'policy', policy: 'timeout', phase: 'route', result: 'failed', detail: `not done within ${limit} ms` },
    { severity: 'error', origins: timeout?.origins ?? [] },
  )
}

export function traceFinalResponse(x: Exchange, response: ResponseHead, heads: HeadSnapshots): void {
  x.trace?.emit({ type: 'snapshot', stage: 'final response', state: heads.response(response) })
}

/** Failures not reported by a step of their own are attributed to the route. */
export function traceFinished(x: Exchange): void {
  if (x.body.bytes?.length) x.trace?.body('final request', x.body.bytes)
  const status = x.response?.status ?? 500
  const isToldElsewhere = x.stoppedAt !== undefined || x.attempts.length > 0
  x.trace?.emit(
    {
      type: 'requestFinished',
      status: x.response?.status ?? null,
      ...(x.error === undefined ? {} : { error: x.error }),
      reason: x.reason,
      bytes: x.responseBytes,
    },
    {
      // A gRPC client gets errors with status 200, and a truncated response has already sent its status.
      severity: status >= 500 || (status < 400 && x.error !== undefined) ? 'error' : status >= 400 ? 'warn' : 'success',
      origins: x.error !== undefined && x.route && !isToldElsewhere ? [x.route.origin] : [],
    },
  )
}
