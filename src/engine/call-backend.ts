import type { Duplex } from 'node:stream'
import { PRIMARY, startSpan } from '../calls/call-record.ts'
import { wrapRequestBody } from '../calls/request-transforms.ts'
import { requestBodyHooks, runAttempt } from '../calls/run-policies.ts'
import { KEPT_FOR_RETRY } from '../config/held-bodies.ts'
import type { Route, WeightedBackend } from '../config/snapshot.ts'
import { GatewayError } from '../http/errors.ts'
import type { Attempt, Exchange, Reply } from '../http/exchange.ts'
import type { HeaderList } from '../http/headers.ts'
import { type ChunkSink, discard, type ResponseHandler } from '../http/transport.ts'
import type { Clock, Runtime } from '../runtime/runtime.ts'
import type { CallSpan } from '../trace/span.ts'
import type { TracedCall } from '../trace/trace-event.ts'
import { type Call, commitResponse, commitUpgrade } from './commit-response.ts'
import { forwardedHeaders } from './forwarded-head.ts'
import { subtypeOf } from './observe/metrics.ts'
import type { Passage } from './passage.ts'
import { traceAttempt, traceBackend } from './trace/stages.ts'

interface Weighted {
  readonly backends: readonly WeightedBackend[]
  readonly totalWeight: number
}

/** The backend that the client's session stays with, whatever its weight is now, or another. */
export function pickForSession(route: Route, x: Exchange, runtime: Runtime): WeightedBackend | undefined {
  const session = route.pipeline.session?.(x)
  if (!session) return pickBackend(route, runtime)
  const { tags = [] } = route
  const kept = tags.indexOf(session.wants('backend') ?? '')
  const chosen = kept < 0 ? pickBackend(route, runtime) : route.backends[kept]
  if (chosen) session.goesTo('backend', tags[route.backends.indexOf(chosen)] ?? '')
  return chosen
}

/** Weighted random choice; undefined if the route has no backend or all weights are 0. */
export function pickBackend(route: Weighted, runtime: Runtime): WeightedBackend | undefined {
  if (route.totalWeight === 0) return undefined
  if (route.backends.length === 1) return route.backends[0]
  let at = runtime.random() * route.totalWeight
  for (const candidate of route.backends) {
    at -= candidate.weight
    if (at < 0) return candidate
  }
  return route.backends.at(-1)
}

/**
 * Calls the backend, with retries as the policy allows, and forwards its response. Returns a reply if one is generated
 * here.
 */
export async function callBackend(call: Call): Promise<Reply | undefined> {
  const { x, chosen, passage, runtime } = call
  prepare(call)
  const retry = passage.route?.retry && (await retryFor(x, chosen, passage))
  const kept = retry && { ...x.request, headers: x.request.headers.copy() }
  for (let index = 0; ; index++) {
    const last = !retry || index >= retry.attempts
    const attempt = newAttempt(x, chosen, passage, index, runtime)
    if (kept && index > 0) Object.assign(x.request, kept, { headers: kept.headers.copy() })
    if (index > 0) x.request.headers.set('x-retry-attempt', String(index))
    let reply = runAttempt(chosen.pipeline.attempt, x, attempt)
    if (reply instanceof Promise) reply = await reply
    if (reply || x.aborted) return reply
    const outcome = await send(call, attempt, last)
    if (outcome === 'answered') return undefined
    if (outcome !== 'again' && (last || !isRetryable(outcome))) throw outcome
    if (x.aborted) return undefined
    if (retry && retry.backoff > 0) await pause(retry.backoff, runtime.clock)
    if (x.aborted) return undefined
  }
}

function pause(ms: number, clock: Clock): Promise<void> {
  return new Promise(resolve => clock.after(ms, resolve, 'held'))
}

function prepare({ x, chosen, passage }: Call): void {
  x.request.headers = forwardedHeaders(x.request.headers, x.received.headers)
  x.mcpRules = chosen.pipeline.mcpRules
  x.mcpGuards = chosen.pipeline.mcpGuards
  if (passage.route && passage.route.requestBody.length > 0) {
    wrapRequestBody(x, requestBodyHooks(passage.route.requestBody, x))
  }
  if (x.trace) traceBackend(x, chosen)
}

type Outcome = 'answered' | 'again' | Error

/** One attempt. Resolves when its response is being forwarded, or when it has failed. */
function send(call: Call, attempt: Attempt, last: boolean): Promise<Outcome> {
  const { x, chosen } = call
  return new Promise(resolve => {
    const sending = new Sending(call, attempt, last, resolve)
    x.owns(sending)
    chosen.backend.send(x, attempt, sending)
  })
}

/** Handles the outcome of one attempt. */
class Sending implements ResponseHandler {
  readonly #call: Call
  readonly #attempt: Attempt
  readonly #last: boolean
  readonly #resolve: (outcome: Outcome) => void
  readonly #traced: TracedCall | undefined
  readonly #span: CallSpan | undefined
  #settled = false

  constructor(call: Call, attempt: Attempt, last: boolean, resolve: (outcome: Outcome) => void) {
    const { x, chosen } = call
    this.#call = call
    this.#attempt = attempt
    this.#last = last
    this.#resolve = resolve
    this.#traced = x.trace && traceAttempt(x, attempt, chosen, call.heads)
    // An MCP backend calls its targets one by one, each with its own span.
    this.#span =
      x.span && chosen.backend.protocol !== 'mcp' ? startSpan(x, x.span, PRIMARY[subtypeOf(chosen.backend)]) : undefined
  }

  head(status: number, headers: HeaderList): ChunkSink {
    const { x, passage } = this.#call
    this.#answered(status)
    if (!this.#last && wantsRetry(x, passage, status, headers)) {
      this.settle('again')
      return discard
    }
    return commitResponse(this.#call, status, headers, this)
  }

  fail(error: Error): void {
    this.#attempt.error = error.message
    this.#answered(undefined)
    this.settle(error)
  }

  upgrade(status: number, headers: HeaderList, socket: Duplex): void {
    this.#answered(status)
    commitUpgrade(this.#call, status, headers, socket, this)
  }

  /** The exchange is over: its client has disconnected, or its deadline has expired. */
  cancel(): void {
    if (this.#settled) return
    this.#attempt.error ??= 'canceled'
    this.#span?.end(this.#attempt)
    this.settle('answered')
  }

  settle(outcome: Outcome): void {
    if (this.#settled) return
    this.#settled = true
    this.#traced?.end(this.#attempt)
    this.#resolve(outcome)
  }

  #answered(status: number | undefined): void {
    const attempt = this.#attempt
    if (status !== undefined) attempt.status = status
    attempt.duration = this.#call.runtime.clock.mono() - attempt.startedAt
    this.#span?.end(attempt)
  }
}

function newAttempt(x: Exchange, chosen: WeightedBackend, passage: Passage, index: number, runtime: Runtime): Attempt {
  const attempt: Attempt = {
    index,
    target: chosen.backend.name,
    startedAt: runtime.clock.mono(),
    timeout: passage.route?.timeout.backend ?? 0,
    backoff: passage.route?.retry?.backoff ?? 0,
  }
  x.attempts.push(attempt)
  return attempt
}

/** The retry policy, if this exchange can be retried at all. */
async function retryFor(x: Exchange, chosen: WeightedBackend, passage: Passage) {
  const retry = passage.route?.retry
  if (!retry || !chosen.backend.replayable || x.upgrade !== undefined) return undefined
  if (retry.precondition) {
    const outcome = retry.precondition.evaluate(x)
    if (!outcome.ok || outcome.value !== true) return undefined
  }
  if (x.body.length === 0 || x.body.bytes) return retry
  try {
    await x.body.buffer(KEPT_FOR_RETRY)
    return retry
  } catch (error) {
    if (error instanceof GatewayError && error.code === 'bodyTooLarge') return undefined
    throw error
  }
}

function wantsRetry(x: Exchange, passage: Passage, status: number, headers: HeaderList): boolean {
  const retry = passage.route!.retry!
  if (retry.codes.has(status)) return true
  if (!retry.condition) return false
  const outcome = retry.condition.evaluate(x, { response: { status, headers } })
  return outcome.ok && outcome.value === true
}

function isRetryable(error: Error): boolean {
  return error instanceof GatewayError && error.details.retryable === true
}
