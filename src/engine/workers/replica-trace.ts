import type { Clock } from '../../runtime/runtime.ts'
import type { TraceEvent } from '../../trace/trace-event.ts'
import { MAX_WATCHERS, type TraceSource, type Watched, type WatchOptions } from '../trace-hub.ts'
import { newClaims, TraceWatch } from '../trace-watch.ts'
import type { AskAll } from './ask-all.ts'
import type { WatchOrder } from './protocol.ts'
import type { PoolWorker } from './worker-pool.ts'

interface Remote {
  readonly order: WatchOrder
  readonly watch: TraceWatch
  /** The first event of each unfinished request, by request id. */
  readonly open: Map<string, TraceEvent>
}

/** The requests of all workers in one stream. The shared claims decide which worker takes a request. */
export class ReplicaTrace implements TraceSource {
  readonly clock: Clock
  readonly #workers: () => readonly PoolWorker[]
  readonly #askAll: AskAll
  readonly #remotes = new Map<number, Remote>()
  #lastId = 0

  constructor(clock: Clock, workers: () => readonly PoolWorker[], askAll: AskAll) {
    this.clock = clock
    this.#workers = workers
    this.#askAll = askAll
  }

  async watch({ expression, requests }: WatchOptions): Promise<Watched> {
    if (this.#remotes.size >= MAX_WATCHERS) return undefined
    this.#lastId++
    const claims = newClaims(requests)
    const order: WatchOrder = { id: this.#lastId, expression, requests, claims: claims.buffer }
    const watch = new TraceWatch(requests, undefined, () => this.#end(order.id), claims)
    this.#remotes.set(order.id, { order, watch, open: new Map() })
    // A worker that ends meanwhile is replaced by one that gets the order on arrival.
    const answers = (await this.#askAll('watch', order)).map(([, answer]) => answer)
    if (answers.every(answer => answer === 'watching')) return watch
    watch.close()
    return answers.find(answer => typeof answer === 'object')
  }

  /** Tells a new worker what is being watched. */
  async welcome(worker: PoolWorker): Promise<void> {
    for (const { order } of this.#remotes.values()) await worker.ask('watch', order)
  }

  receive(id: number, events: readonly TraceEvent[]): void {
    const remote = this.#remotes.get(id)
    if (remote === undefined) return
    for (const event of events) {
      if (event.message.type === 'requestStarted') remote.open.set(event.request, event)
      if (event.message.type === 'requestFinished') remote.open.delete(event.request)
      const { seq: _, ...rest } = event
      remote.watch.push(rest)
    }
  }

  /** Ends the requests of a lost worker, or their watchers would wait forever. */
  lost(worker: number): void {
    for (const { open, watch } of this.#remotes.values()) {
      for (const [request, { seq: _, ...started }] of open) {
        if (started.worker !== worker) continue
        open.delete(request)
        const error = 'the worker that served it has ended'
        const message = { type: 'requestFinished', status: null, error, reason: 'Internal', bytes: 0 } as const
        watch.push({ ...started, severity: 'error', message })
      }
    }
  }

  close(): void {
    for (const { watch } of this.#remotes.values()) watch.close()
  }

  #end(id: number): void {
    if (!this.#remotes.delete(id)) return
    for (const worker of this.#workers()) worker.ask('unwatch', id).catch(() => {})
  }
}
