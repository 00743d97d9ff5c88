import type { CelCompiler, Expression } from '../cel/expression.ts'
import type { Origin } from '../diagnostics/diagnostic.ts'
import type { Exchange } from '../http/exchange.ts'
import type { Clock } from '../runtime/runtime.ts'
import type { Problem } from '../schema/builder.ts'
import type { CallStart, TracedCall, TraceEvent, TraceMessage, TraceScope } from '../trace/trace-event.ts'
import type { HeadSnapshots } from './head-snapshot.ts'
import { TimedFilter } from './trace/timed-filter.ts'
import { TraceWatch, type UnnumberedEvent } from './trace-watch.ts'

export interface WatchOptions {
  /** CEL on the request as received; it is watched if the result is true. */
  readonly expression?: string
  /** Number of requests to watch, each to its end. */
  readonly requests: number
  /** Requests left to claim, shared between workers. */
  readonly claims?: Int32Array
}

/** A problem if the expression is invalid; undefined if there are too many watchers. */
export type Watched = TraceWatch | { readonly problem: Problem } | undefined

/** Watches the requests of one process, or of all workers of a replica as one. */
export interface TraceSource {
  readonly clock: Clock
  watch(options: WatchOptions): Watched | Promise<Watched>
}

/** Each watcher adds cost to each request, so there are few. */
export const MAX_WATCHERS = 16

/** Routes per event. Evaluating each takes time from live requests. */
const MAX_ROUTES = 100

export interface TraceHubInit {
  readonly clock: Clock
  readonly cel: CelCompiler
  readonly worker: number
  /** Maximum routes listed in one event; 100 if unset. */
  readonly mostRoutes?: number
}

/**
 * The watchers of this process's requests. An idle hub costs a request one boolean; a watched request costs building
 * its events and never blocks on a consumer: events that do not fit are counted in a `dropped` event. Every watcher
 * whose filter matches sees a request, independent of the others.
 */
export class TraceHub implements TraceSource {
  readonly clock: Clock
  readonly #cel: CelCompiler
  readonly #worker: number
  readonly #mostRoutes: number
  readonly #watches = new Set<TraceWatch>()
  #watching = false

  constructor(init: TraceHubInit) {
    this.clock = init.clock
    this.#cel = init.cel
    this.#worker = init.worker
    this.#mostRoutes = init.mostRoutes ?? MAX_ROUTES
  }

  /**
   * Creates `x.trace` once the request's head has been read. The hub emits `requestStarted`, the engine everything
   * else.
   */
  start(x: Exchange, heads: HeadSnapshots): TraceScope | undefined {
    return this.#watching ? this.#record(x, heads) : undefined
  }

  watch(options: WatchOptions): Watched {
    let filter: TimedFilter | undefined
    if (options.expression !== undefined) {
      const compiled = this.#cel.compile(options.expression, 'request', 'bool')
      if ('problem' in compiled) return { problem: compiled.problem }
      const late = notYetKnown(compiled)
      if (late !== undefined) return { problem: { message: late } }
      filter = new TimedFilter(compiled, this.clock)
    }
    if (this.#watches.size >= MAX_WATCHERS) return undefined
    const watch = new TraceWatch(options.requests, filter, () => this.#changed(), options.claims)
    this.#watches.add(watch)
    this.#changed()
    return watch
  }

  /** Closes every watch: the process is stopping. */
  close(): void {
    for (const watch of this.#watches) watch.close()
  }

  #record(x: Exchange, heads: HeadSnapshots): TraceScope | undefined {
    let matching: TraceWatch[] | undefined
    for (const watch of this.#watches) {
      if (watch.claim(x)) {
        if (matching) matching.push(watch)
        else matching = [watch]
      }
    }
    // Other workers may have claimed what this one was waiting for.
    this.#changed()
    if (matching === undefined) return undefined
    const scope = new Recorder(
      {
        watches: matching,
        exchange: x,
        heads,
        clock: this.clock,
        worker: this.#worker,
        mostRoutes: this.#mostRoutes,
        origins: [],
        body: undefined,
        calls: new Set(),
        over: false,
      },
      [],
      x,
      { json: '' },
    )
    scope.emit({
      type: 'requestStarted',
      method: x.received.method,
      url: `${x.received.scheme}://${x.received.authority}${x.received.path}`,
      source: `${x.connection.address}:${x.connection.port}`,
      time: new Date(x.startedAt).toISOString(),
    })
    return scope
  }

  #changed(): void {
    let watching = false
    for (const watch of this.#watches) {
      if (watch.closed) this.#watches.delete(watch)
      else if (watch.wanted > 0) watching = true
    }
    this.#watching = watching
  }
}

interface Recording {
  readonly watches: readonly TraceWatch[]
  readonly exchange: Exchange
  readonly heads: HeadSnapshots
  readonly clock: Clock
  readonly worker: number
  readonly mostRoutes: number
  origins: readonly Origin[]
  /** The last body. */
  body: Buffer | undefined
  /** Calls in flight. */
  readonly calls: Set<OpenCall>
  /** The request has ended; work that continues for others, such as a shared token fetch, is no longer part of it. */
  over: boolean
}

/** Bytes of a body included in a trace. */
const MAX_BODY = 64 * 1024

class Recorder implements TraceScope {
  readonly #recording: Recording
  readonly #scope: readonly string[]
  /** The exchange that snapshots show. */
  readonly #exchange: Exchange
  /** The last snapshot. */
  readonly #last: { json: string }

  constructor(recording: Recording, scope: readonly string[], exchange: Exchange, last: { json: string }) {
    this.#recording = recording
    this.#scope = scope
    this.#exchange = exchange
    this.#last = last
  }

  get mostRoutes(): number {
    return this.#recording.mostRoutes
  }

  emit(message: TraceMessage, about: Parameters<TraceScope['emit']>[1] = {}): void {
    const { watches, exchange, worker, calls } = this.#recording
    if (this.#recording.over || watches.every(watch => watch.closed)) return
    if (message.type === 'requestFinished') for (const call of calls) call.end({ error: 'the request was over first' })
    const event: UnnumberedEvent = {
      at: this.now(),
      ...(about.from === undefined ? {} : { from: about.from }),
      severity: about.severity ?? severityOf(message),
      request: exchange.id,
      worker,
      scope: this.#scope,
      origins: about.origins ?? this.#recording.origins,
      message,
    }
    if (message.type === 'snapshot') this.#last.json = JSON.stringify(message.state)
    for (const watch of watches) watch.push(event)
    if (message.type === 'requestFinished') this.#recording.over = true
  }

  snapshot(stage: string): void {
    const { heads } = this.#recording
    const exchange = this.#exchange
    const state = exchange.response ? heads.response(exchange.response) : heads.request(exchange.request, exchange.auth)
    if (JSON.stringify(state) !== this.#last.json) this.emit({ type: 'snapshot', stage, state })
  }

  body(stage: string, bytes: Buffer): void {
    if (this.#recording.body?.equals(bytes)) return
    this.#recording.body = bytes
    const truncated = bytes.length > MAX_BODY
    const base64 = bytes.subarray(0, MAX_BODY).toString('base64')
    this.emit({ type: 'body', stage, bytes: bytes.length, base64, truncated })
  }

  enter(origins: readonly Origin[]): number {
    this.#recording.origins = origins
    return this.now()
  }

  leave(): void {
    this.#recording.origins = []
  }

  now(): number {
    return Math.max(0, Math.round((this.#recording.clock.mono() - this.#recording.exchange.startedMono) * 1000))
  }

  call(start: CallStart): TracedCall {
    const { target, purpose, reason, origins = this.#recording.origins } = start
    this.emit({ type: 'callStart', target, purpose, ...(reason === undefined ? {} : { reason }) }, { origins })
    return new OpenCall(this, { ...start, origins }, this.#recording.calls)
  }

  child(name: string, x = this.#exchange): TraceScope {
    const last = x === this.#exchange ? this.#last : { ...this.#last }
    return new Recorder(this.#recording, [...this.#scope, name], x, last)
  }
}

class OpenCall implements TracedCall {
  readonly #trace: TraceScope
  readonly #start: CallStart
  readonly #from: number
  readonly #open: Set<OpenCall>

  constructor(trace: TraceScope, start: CallStart, open: Set<OpenCall>) {
    this.#trace = trace
    this.#start = start
    this.#from = trace.now()
    this.#open = open
    open.add(this)
  }

  end({ target = this.#start.target, status, error }: Partial<Parameters<TracedCall['end']>[0]>): void {
    if (!this.#open.delete(this)) return
    const { origins, beside } = this.#start
    const failed = error !== undefined || (status !== undefined && status >= 400)
    this.#trace.emit(
      {
        type: 'callEnd',
        target,
        ...(status === undefined ? {} : { status }),
        ...(error === undefined ? {} : { error }),
      },
      { from: this.#from, ...(origins && { origins }), ...(beside && failed && { severity: 'warn' }) },
    )
  }
}

/** Variables that have a value as soon as the request's head has been read. */
const KNOWN_AT_START: ReadonlySet<string> = new Set(['request', 'source', 'destination', 'env'])

function notYetKnown(filter: Expression): string | undefined {
  const known = [...KNOWN_AT_START].join(', ')
  const late = [...filter.roots].find(root => !KNOWN_AT_START.has(root))
  if (late !== undefined) return `${late} is not available when requests are selected; use ${known}`
  if (filter.readsRequestBody) return 'request.body is not available when requests are selected; match on the head'
  return undefined
}

function severityOf(message: TraceMessage): TraceEvent['severity'] {
  switch (message.type) {
    case 'requestFinished':
      return severityOfReply(message.status ?? undefined, message.error)
    case 'callEnd':
      // A program reached over stdio has no status.
      return severityOfReply(message.status ?? 200, message.error)
    case 'authorization':
      return message.result === 'deny' ? 'error' : 'success'
    case 'policy':
      return POLICY_SEVERITY[message.result]
    case 'cel':
      return message.error === undefined ? 'info' : 'warn'
    case 'route':
      return message.selected === null ? 'error' : 'success'
    default:
      return 'info'
  }
}

const POLICY_SEVERITY = { applied: 'success', skipped: 'info', replied: 'warn', failed: 'error' } as const

function severityOfReply(status: number | undefined, error: string | undefined): TraceEvent['severity'] {
  if (error !== undefined || status === undefined || status >= 500) return 'error'
  return status >= 400 ? 'warn' : 'success'
}
