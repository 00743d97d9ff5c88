// Endpoint health of a backend, and the eviction of failing endpoints (specification, "Backend health").
import { GatewayError } from '../http/errors.ts'
import type { Attempt, Exchange } from '../http/exchange.ts'
import type { HeaderList } from '../http/headers.ts'
import { type ChunkSink, discard, handlerAround, type ResponseHandler } from '../http/transport.ts'
import type { CompileContext, HealthRules } from '../policies/policy.ts'
import type { Clock } from '../runtime/runtime.ts'

/** Weight of the newest sample in a moving average. */
const ALPHA = 0.3
/** Default eviction time in ms. */
const DEFAULT_EVICTION = 3000
/** Upper bound of the eviction multiplier: an endpoint that keeps failing is still retried occasionally. */
const MAX_MULTIPLIER = 20

/** For dumps. */
export interface HealthFacts {
  readonly endpoint: string
  readonly state: 'healthy' | 'evicted'
  /** 0 to 1. */
  readonly health: number
  /** ms, moving average. */
  readonly latency: number
  readonly pending: number
  readonly consecutiveFailures: number
  readonly timesEvicted: number
  /** ms since the epoch. */
  readonly evictedUntil?: number
}

/**
 * The index of each number. Numbers are stored relative to those of an unknown endpoint, since fresh memory is all
 * zeros.
 */
const FAILURE_RATE = 0
/** Seconds. */
const LATENCY = 1
const FAILURES = 2
const EVICTIONS = 3
const EVICTED_UNTIL = 4
/** The illness after the eviction, if `RESTORES` is 1. */
const RESTORED_FAILURE_RATE = 5
const RESTORES = 6
const HEALTH_BYTES = 7 * 8

/**
 * Moving averages of one endpoint, and its eviction, shared by all workers of the replica: an eviction by one applies
 * to all. Concurrent writes may lose a sample. Times are monotonic.
 */
export class EndpointHealth {
  readonly #cells: Float64Array
  /** Calls in flight in this worker. */
  #pending = 0

  constructor(memory: ArrayBufferLike = new ArrayBuffer(HEALTH_BYTES)) {
    this.#cells = new Float64Array(memory)
  }

  /** Larger is better. */
  get score(): number {
    return this.#health / (1 + this.#get(LATENCY) * (1 + 0.1 * this.#pending))
  }

  /** An expired eviction ends here, so no timer is needed. */
  evicted(now: number): boolean {
    const until = this.#get(EVICTED_UNTIL)
    if (until === 0) return false
    if (now < until) return true
    this.#set(EVICTED_UNTIL, 0)
    this.#set(FAILURES, 0)
    if (this.#get(RESTORES) === 1) this.#set(FAILURE_RATE, this.#get(RESTORED_FAILURE_RATE))
    return false
  }

  begin(): void {
    this.#pending++
  }

  /** The call ended without a result: the client left. */
  forget(): void {
    this.#pending--
  }

  /** `seconds`: time to the response head. */
  succeed(seconds: number): void {
    this.#pending--
    this.#set(FAILURE_RATE, this.#get(FAILURE_RATE) * (1 - ALPHA))
    this.#set(LATENCY, this.#get(LATENCY) + ALPHA * (seconds - this.#get(LATENCY)))
    this.#set(FAILURES, 0)
    if (this.#get(EVICTED_UNTIL) === 0) this.#set(EVICTIONS, 0)
  }

  /** `base`: ms of a first eviction. Undefined without a configured duration. True if the endpoint is now evicted. */
  fail(now: number, rules: HealthRules | undefined, base: number | undefined): boolean {
    this.#pending--
    this.#set(FAILURE_RATE, this.#get(FAILURE_RATE) + ALPHA * this.#health)
    this.#set(FAILURES, this.#get(FAILURES) + 1)
    if (rules === undefined || base === undefined || this.evicted(now)) return false
    const { consecutiveFailures, healthThreshold, restoreHealth } = rules.eviction ?? {}
    const due =
      (consecutiveFailures === undefined && healthThreshold === undefined) ||
      (consecutiveFailures !== undefined && this.#get(FAILURES) >= consecutiveFailures) ||
      (healthThreshold !== undefined && this.#health < healthThreshold)
    if (!due) return false
    const evictions = this.#get(EVICTIONS) + 1
    this.#set(EVICTIONS, evictions)
    this.#set(RESTORES, restoreHealth === undefined ? 0 : 1)
    this.#set(RESTORED_FAILURE_RATE, 1 - (restoreHealth ?? 1))
    this.#set(EVICTED_UNTIL, now + base * Math.min(evictions, MAX_MULTIPLIER))
    return true
  }

  facts(endpoint: string, clock: Clock): HealthFacts {
    const now = clock.mono()
    const evicted = this.evicted(now)
    return {
      endpoint,
      state: evicted ? 'evicted' : 'healthy',
      health: this.#health,
      latency: this.#get(LATENCY) * 1000,
      pending: this.#pending,
      consecutiveFailures: this.#get(FAILURES),
      timesEvicted: this.#get(EVICTIONS),
      ...(evicted ? { evictedUntil: clock.now() + this.#get(EVICTED_UNTIL) - now } : {}),
    }
  }

  get #health(): number {
    return 1 - this.#get(FAILURE_RATE)
  }

  #get(cell: number): number {
    return this.#cells[cell] as number
  }

  #set(cell: number, value: number): void {
    this.#cells[cell] = value
  }
}

/** The health of an endpoint of this backend. It survives reloads and is shared by all workers of the replica. */
export function endpointHealth(ctx: Pick<CompileContext, 'state' | 'memory'>, endpoint: string): EndpointHealth {
  // Each compilation must claim the memory, or it is freed.
  const memory = ctx.memory(`health ${endpoint}`, HEALTH_BYTES)
  return ctx.state(`endpoint ${endpoint}`, () => new EndpointHealth(memory))
}

export interface Watched {
  readonly endpoint: string
  readonly health: EndpointHealth
  readonly rules: HealthRules | undefined
  readonly clock: Clock
  /**
   * One of several LLM providers: 429 means that it is exhausted, and any failure that is not the client's counts
   * against it.
   */
  readonly provider?: true
}

/**
 * Records the outcome of a call to an endpoint, between its handler and the transport. `next`: takes over from a failed
 * endpoint before the client has received anything; gets a short reason.
 */
export function watchHealth(
  watched: Watched,
  x: Exchange,
  attempt: Attempt,
  on: ResponseHandler,
  next?: (why: string) => void,
): ResponseHandler {
  const { health, clock } = watched
  const started = clock.mono()
  let settled = false
  health.begin()
  const settle = (failed: boolean | undefined, hint?: number): void => {
    if (settled) return
    settled = true
    if (failed === undefined) health.forget()
    else if (!failed) health.succeed((clock.mono() - started) / 1000)
    else failOf(watched, x, attempt, hint)
  }
  x.onAbort(() => settle(undefined))
  return handlerAround(on, {
    head(status, headers) {
      const failed = isUnhealthy(watched, x, status, headers)
      if (failed || watched.rules?.unhealthy || !isGrpc(headers)) {
        settle(failed, status === 429 ? retryHint(headers, clock.now()) : undefined)
        if (!next || x.aborted || !(failed || isRefusal(status))) return on.head(status, headers)
        next(`answered ${status}`)
        return discard
      }
      return watchTrailers(on.head(status, headers), settle)
    },
    fail(error) {
      const failed = isEndpointsFault(error, watched)
      settle(failed ? true : undefined)
      if (failed && next && !x.aborted) next(`failed: ${error.message}`)
      else on.fail(error)
    },
    upgrade(status, headers, socket) {
      settle(false)
      on.upgrade?.(status, headers, socket)
    },
  })
}

/** ms of a first eviction. Undefined without a configured duration. `hint`: the delay that the response asks for. */
function evictionTime(rules: HealthRules | undefined, backoff = 0, hint?: number): number | undefined {
  const told = rules?.eviction?.duration ?? hint ?? (backoff === 0 ? undefined : backoff)
  return told ?? (rules?.eviction === undefined ? undefined : DEFAULT_EVICTION)
}

function failOf({ endpoint, health, rules, clock }: Watched, x: Exchange, attempt: Attempt, hint?: number): void {
  const base = evictionTime(rules, attempt.backoff, hint)
  if (health.fail(clock.mono(), rules, base) && x.trace) {
    x.trace.emit(
      { type: 'backend', backend: endpoint, kind: 'endpoint', reason: 'unhealthy: left out for a while' },
      { severity: 'warn' },
    )
  }
}

/** The retry delay in ms that a response asks for. `now`: ms since the epoch. */
function retryHint(headers: HeaderList, now: number): number | undefined {
  const ms = Number(headers.get('retry-after-ms') ?? Number.NaN)
  if (ms > 0) return ms
  const after = headers.get('retry-after')?.trim()
  if (after !== undefined) {
    const time = /^\d{1,9}$/.test(after) ? Number(after) * 1000 : Date.parse(after) - now
    if (time > 0) return time
  }
  for (const name of ['x-ratelimit-reset', 'x-ratelimit-reset-requests', 'x-ratelimit-reset-tokens']) {
    const time = resetTime(headers.get(name)?.trim(), now)
    if (time !== undefined && time > 0) return time
  }
  return undefined
}

/** Seconds, seconds since the epoch, or `1m2.5s`. */
function resetTime(text: string | undefined, now: number): number | undefined {
  if (text === undefined || text === '') return undefined
  if (/^\d{1,13}(\.\d+)?$/.test(text)) {
    const seconds = Number(text)
    return seconds > 1e9 ? seconds * 1000 - now : seconds * 1000
  }
  const parts = /^(?:(\d{1,6})h)?(?:(\d{1,6})m)?(?:(\d{1,6}(?:\.\d+)?)s)?(?:(\d{1,9})ms)?$/.exec(text)
  if (!parts) return undefined
  const [hours, minutes, seconds, rest] = parts.slice(1).map(part => Number(part ?? 0))
  return hours! * 3_600_000 + minutes! * 60_000 + seconds! * 1000 + rest!
}

function isRefusal(status: number): boolean {
  return status === 429 || status >= 500
}

function isUnhealthy({ rules, provider }: Watched, x: Exchange, status: number, headers: HeaderList): boolean {
  if (rules?.unhealthy) {
    const outcome = rules.unhealthy.evaluate(x, { response: { status, headers } })
    return outcome.ok && outcome.value === true
  }
  if (status >= 500 || (provider && isRefusal(status))) return true
  const grpc = headers.get('grpc-status')
  return grpc !== undefined && grpc !== '0'
}

function isGrpc(headers: HeaderList): boolean {
  return !headers.has('grpc-status') && headers.get('content-type')?.startsWith('application/grpc') === true
}

function watchTrailers(client: ChunkSink, settle: (failed: boolean) => void): ChunkSink {
  return {
    write: (chunk, release) => client.write(chunk, release),
    end(trailers) {
      const at = trailers?.findIndex((field, i) => i % 2 === 0 && field.toLowerCase() === 'grpc-status') ?? -1
      settle(at >= 0 && trailers?.[at + 1] !== '0')
      client.end(trailers)
    },
    fail(error) {
      settle(true)
      client.fail(error)
    },
    onDrain: then => client.onDrain(then),
  }
}

/** A request that could not be sent, or a forbidden destination, says nothing about the endpoint. */
function isEndpointsFault(error: Error, { provider }: Watched): boolean {
  if (!(error instanceof GatewayError)) return true
  // A guard's or limit's rejection is not an endpoint failure.
  if (error.reason === 'Guardrail' || error.reason === 'RateLimit') return false
  if (provider) return error.status >= 500
  const { code, details } = error
  if (code === 'upstreamFailed') return details.retryable !== false
  return code === 'upstreamTimeout' || code === 'dnsFailed'
}
