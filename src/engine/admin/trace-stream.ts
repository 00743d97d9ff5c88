import type { Writable } from 'node:stream'
import type { Timer } from '../../runtime/runtime.ts'
import { MAX_WATCHERS, type TraceSource } from '../trace-hub.ts'
import type { TraceWatch } from '../trace-watch.ts'
import { numberOf } from './parameters.ts'
import { type AdminReply, type AdminRequest, text } from './table.ts'

/** Watching adds cost to requests, so every stream is bounded. */
const LIMITS = { requests: 1000, seconds: 3600, defaultSeconds: 600 }
const KEEPALIVE_MS = 1000
/** Events written per turn; requests are served in between. */
const BATCH = 64

/**
 * `/debug/trace`: Server-Sent Events, one TraceEvent each, of the next request that matches `expression` (CEL), then
 * ends. `follow=N` watches N requests for at most `seconds`; its last event is named `end` and gives the reason. One
 * reason is an expression that takes too much of the requests' time.
 */
export async function traceStream(hub: TraceSource, { query }: AdminRequest): Promise<AdminReply> {
  const follow = numberOf(query, 'follow', LIMITS.requests)
  const seconds = numberOf(query, 'seconds', LIMITS.seconds)
  const expression = query.get('expression')
  const watch = await hub.watch({ requests: follow ?? 1, ...(expression === null ? {} : { expression }) })
  if (watch === undefined) return text(`${MAX_WATCHERS} traces are running already; end one of them first\n`, 429)
  if ('problem' in watch) return text(invalidExpression(watch.problem), 400)
  const limit = seconds ?? (follow === undefined ? undefined : LIMITS.defaultSeconds)
  return {
    status: 200,
    type: 'text/event-stream',
    stream: out => new TraceWriter(hub, watch, out, { says: follow !== undefined, seconds: limit }).start(),
    cancel: () => watch.close(),
  }
}

/** Moves events from a watch to a client, with back-pressure. */
class TraceWriter {
  readonly #hub: TraceSource
  readonly #watch: TraceWatch
  readonly #out: Writable
  readonly #says: boolean
  readonly #seconds: number | undefined
  #scheduled = false
  #blocked = false
  #silent = true
  #timeIsUp = false
  #keepalive: Timer | undefined
  #deadline: Timer | undefined

  /** `says`: the last event gives the reason for the end. Clients of the public system do not know such an event. */
  constructor(hub: TraceSource, watch: TraceWatch, out: Writable, end: { says: boolean; seconds: number | undefined }) {
    this.#hub = hub
    this.#watch = watch
    this.#out = out
    this.#says = end.says
    this.#seconds = end.seconds
  }

  start(): void {
    this.#out.on('close', () => this.#release())
    this.#out.on('drain', () => {
      this.#blocked = false
      this.#schedule()
    })
    this.#watch.onEvent = () => this.#schedule()
    this.#out.write(': ready\n\n')
    this.#keepalive = this.#hub.clock.after(KEEPALIVE_MS, () => this.#keepAlive())
    if (this.#seconds !== undefined) {
      this.#deadline = this.#hub.clock.after(this.#seconds * 1000, () => {
        this.#timeIsUp = true
        this.#watch.close()
      })
    }
    this.#schedule()
  }

  #schedule(): void {
    if (this.#scheduled || this.#blocked) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      this.#write()
    })
  }

  #write(): void {
    for (let written = 0; written < BATCH && !this.#blocked; written++) {
      const event = this.#watch.next()
      if (event === undefined) {
        if (this.#watch.finished) this.#end('requests')
        else if (this.#watch.closed) this.#end(this.#watch.costly ? 'filter' : this.#timeIsUp ? 'time' : 'shutdown')
        return
      }
      this.#silent = false
      this.#blocked = !this.#out.write(`data: ${JSON.stringify(event)}\n\n`)
    }
    this.#schedule()
  }

  #keepAlive(): void {
    // Workers cannot close what is open here.
    if (this.#watch.costly) this.#watch.close()
    if (this.#silent && !this.#blocked) this.#out.write(': keepalive\n\n')
    this.#silent = true
    this.#keepalive = this.#hub.clock.after(KEEPALIVE_MS, () => this.#keepAlive())
  }

  #end(reason: 'requests' | 'time' | 'shutdown' | 'filter'): void {
    if (this.#out.writableEnded) return
    this.#release()
    this.#out.end(this.#says || reason === 'filter' ? `event: end\ndata: ${JSON.stringify({ reason })}\n\n` : undefined)
  }

  #release(): void {
    this.#keepalive?.cancel()
    this.#deadline?.cancel()
    this.#watch.onEvent = () => {}
    this.#watch.close()
  }
}

function invalidExpression(problem: { readonly message: string; readonly help?: string }): string {
  return `invalid expression: ${problem.message}\n${problem.help === undefined ? '' : `${problem.help}\n`}`
}
