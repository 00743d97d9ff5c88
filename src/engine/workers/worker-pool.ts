import { Worker } from 'node:worker_threads'
import type { Clock, Timer } from '../../runtime/runtime.ts'
import { Heartbeats } from './heartbeats.ts'
import type { OrderMessage, OrderName, Orders, Report, WorkerFailure, WorkerStart } from './protocol.ts'

export interface PoolInit {
  readonly clock: Clock
  readonly count: number
  /** The module that a worker runs. */
  readonly entry: URL
  start(index: number): WorkerStart
  /** Brings a new worker up to date. It receives orders to all workers from the beginning. */
  welcome(worker: PoolWorker): Promise<void>
  report(worker: PoolWorker, report: Report): void
  /** A worker ended unexpectedly; another one replaces it. */
  lost(worker: PoolWorker, reason: string): void
  /** A replacement failed to start; it is retried. */
  failed(index: number, error: Error): void
  /** Its event loop is blocked; it is terminated unless it recovers in time. */
  silent(worker: PoolWorker): void
  back(worker: PoolWorker, silentFor: number): void
}

/** ms until a lost worker is replaced: the first at once, short-lived ones with growing delays. */
const PAUSE = { first: 0, second: 250, most: 10_000, settled: 30_000 }

/** Threads that are replaced when they end. */
export class WorkerPool {
  readonly #init: PoolInit
  readonly #workers: (PoolWorker | undefined)[]
  readonly #pauses: number[]
  readonly #timers = new Set<Timer>()
  readonly #heartbeats: Heartbeats<PoolWorker>
  #closed = false

  constructor(init: PoolInit) {
    this.#init = init
    this.#workers = Array.from({ length: init.count })
    this.#pauses = Array.from({ length: init.count }, () => PAUSE.first)
    const { clock, count, silent, back } = init
    const lost = (worker: PoolWorker) => void worker.end(`it hung for ${worker.silentFor / 1000}s`)
    this.#heartbeats = new Heartbeats({ clock, count, workers: () => this.workers, silent, back, lost })
  }

  /** Starts all workers; on failure ends all of them and rejects with the first error. */
  async open(): Promise<void> {
    const started = await Promise.allSettled(this.#workers.map((_, index) => this.#start(index)))
    const failed = started.find(result => result.status === 'rejected')
    if (failed === undefined) {
      this.#heartbeats.start()
      return
    }
    await this.close()
    throw failed.reason
  }

  get workers(): readonly PoolWorker[] {
    return this.#workers.filter(worker => worker !== undefined)
  }

  /** The workers' heartbeat counters (Int32). */
  get beats(): SharedArrayBuffer {
    return this.#heartbeats.memory
  }

  /** Terminates them at once. */
  async close(): Promise<void> {
    this.#closed = true
    this.#heartbeats.stop()
    for (const timer of this.#timers) timer.cancel()
    await Promise.all(this.workers.map(worker => worker.end()))
  }

  /** Stops replacing workers. */
  retire(): void {
    this.#closed = true
  }

  async #start(index: number): Promise<void> {
    const { clock, entry, start, welcome, report, lost } = this.#init
    const startedAt = clock.mono()
    const worker = new PoolWorker(index, new Worker(entry, { workerData: start(index) }), report)
    this.#workers[index] = worker
    try {
      await worker.ready
      await welcome(worker)
      worker.welcomed = true
      if (worker.over) throw new Error('the worker has ended')
    } catch (error) {
      this.#workers[index] = undefined
      await worker.end()
      throw error
    }
    void worker.ended.then(reason => {
      this.#workers[index] = undefined
      if (this.#closed) return
      if (clock.mono() - startedAt > PAUSE.settled) this.#pauses[index] = PAUSE.first
      lost(worker, reason)
      this.#replace(index)
    })
  }

  #replace(index: number): void {
    const pause = this.#pauses[index] ?? PAUSE.first
    this.#pauses[index] = Math.min(PAUSE.most, Math.max(PAUSE.second, pause * 2))
    const timer = this.#init.clock.after(pause, () => {
      this.#timers.delete(timer)
      if (this.#closed) return
      this.#start(index).catch((error: unknown) => {
        if (this.#closed) return
        this.#init.failed(index, error as Error)
        this.#replace(index)
      })
    })
    this.#timers.add(timer)
  }
}

interface Waiting {
  readonly order: OrderName
  readonly resolve: (value: unknown) => void
  readonly reject: (error: Error) => void
}

/** A worker as its leader sees it. */
export class PoolWorker {
  readonly index: number
  /** Resolves when it can take orders. */
  readonly ready: Promise<void>
  /** Resolves with the reason why it has ended. */
  readonly ended: Promise<string>
  over = false
  /** It serves the same configuration as the others. */
  welcomed = false
  /** ms for which its event loop has not turned. */
  silentFor = 0
  readonly #worker: Worker
  readonly #waiting = new Map<number, Waiting>()
  #lastId = 0
  #reason = ''

  constructor(index: number, worker: Worker, report: PoolInit['report']) {
    this.index = index
    this.#worker = worker
    let becomeReady: () => void = () => {}
    let neverReady: (error: Error) => void = () => {}
    this.ready = new Promise((resolve, reject) => {
      becomeReady = resolve
      neverReady = reject
    })
    this.ready.catch(() => {})
    worker.on('message', (message: Report) => {
      this.silentFor = 0
      if (message.type === 'ready') becomeReady()
      else if (message.type === 'answer') this.#settle(message.id)?.resolve(message.value)
      else if (message.type === 'failure') this.#settle(message.id)?.reject(toError(message.error))
      else report(this, message)
    })
    worker.on('error', (error: unknown) => {
      this.#reason = error instanceof Error ? (error.stack ?? error.message) : String(error)
    })
    this.ended = new Promise(resolve => {
      worker.on('exit', code => {
        this.over = true
        const why = this.#reason || `exit code ${code}`
        const error = new Error(`the worker has ended: ${why.split('\n', 1)[0]}`)
        neverReady(error)
        for (const waiting of this.#waiting.values()) waiting.reject(error)
        this.#waiting.clear()
        resolve(why)
      })
    })
  }

  /** Rejects if the worker ends before it answers, or answers with a failure. */
  ask<N extends OrderName>(order: N, argument: Orders[N][0]): Promise<Orders[N][1]> {
    if (this.over) return Promise.reject(new Error('the worker has ended'))
    this.#lastId++
    const id = this.#lastId
    const message: OrderMessage = { id, order, argument }
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { order, resolve: resolve as (value: unknown) => void, reject })
      this.#worker.postMessage(message)
    })
  }

  /** It is compiling a configuration, which may take long. */
  get compiling(): boolean {
    return [...this.#waiting.values()].some(({ order }) => order === 'prepare')
  }

  /** `reason`: why it was ended, if only the caller knows. */
  async end(reason = ''): Promise<void> {
    this.#reason ||= reason
    await this.#worker.terminate()
  }

  #settle(id: number): Waiting | undefined {
    const waiting = this.#waiting.get(id)
    this.#waiting.delete(id)
    return waiting
  }
}

function toError({ message, ...details }: WorkerFailure): Error {
  return Object.assign(new Error(message), details)
}
