import type { Collector } from '../../policies/policy.ts'
import { type ExportSource, exportRequest } from '../../protobuf/otlp.ts'
import type { Clock, Logger, Timer } from '../../runtime/runtime.ts'
import type { Counter } from '../metrics/registry.ts'
import { type Delivery, exportOnce, type Signal } from './otlp-call.ts'

/** ms that a record waits for a batch to fill. */
const GATHER = 1000
/** Records per export, and their bytes: collectors reject messages above 4 MiB. */
const BATCH = 512
const BATCH_BYTES = 2 * 1024 * 1024
/** Queued records, and their bytes; the oldest are dropped. */
const QUEUE = 4096
const QUEUE_BYTES = 8 * 1024 * 1024
/** Retries of an export, after 1, 2, 4, … s. */
const RETRIES = 5
const LONGEST_PAUSE = 30_000
/** ms that shutdown waits for the last exports. */
const SHUTDOWN_TIMEOUT = 2000

export interface ExporterInit {
  readonly signal: Signal
  readonly collector: Collector
  readonly source: ExportSource
  readonly clock: Clock
  readonly random: () => number
  readonly log: Logger
  /** Records that were never delivered. */
  readonly lost: Counter
}

/**
 * Exports encoded records to a collector in batches, off the request path: a slow or dead collector costs a bounded
 * amount of memory and its records, which are counted as lost.
 */
export class Exporter {
  readonly #init: ExporterInit
  #collector: Collector
  #source: ExportSource
  #queue: Uint8Array[] = []
  #bytes = 0
  #timer: Timer | undefined
  /** Set while an export or its retry is pending. */
  #working: Promise<void> | undefined
  #wake: (() => void) | undefined
  #closing = false
  #failing = false

  constructor(init: ExporterInit) {
    this.#init = init
    this.#collector = init.collector
    this.#source = init.source
  }

  add(record: Uint8Array): void {
    if (this.#closing || record.length > BATCH_BYTES) {
      this.#init.lost.add(1)
      return
    }
    this.#queue.push(record)
    this.#bytes += record.length
    while (this.#queue.length > QUEUE || this.#bytes > QUEUE_BYTES) {
      this.#bytes -= (this.#queue.shift() as Uint8Array).length
      this.#init.lost.add(1)
    }
    if (this.#working !== undefined) return
    if (this.#queue.length >= BATCH || this.#bytes >= BATCH_BYTES) this.#work()
    else this.#timer ??= this.#init.clock.after(GATHER, () => this.#work())
  }

  /** On a reload, pending records go to the newly configured collector. */
  retarget(collector: Collector, source: ExportSource): void {
    this.#collector = collector
    this.#source = source
  }

  /** Exports what is pending, once; what cannot be sent soon is lost. */
  async close(): Promise<void> {
    this.#closing = true
    this.#wake?.()
    if (this.#working === undefined && this.#queue.length > 0) this.#work()
    this.#timer?.cancel()
    if (this.#working === undefined) return
    let limit: Timer | undefined
    const tooLong = new Promise<void>(resolve => {
      limit = this.#init.clock.after(SHUTDOWN_TIMEOUT, resolve)
    })
    await Promise.race([this.#working, tooLong])
    limit?.cancel()
    this.#init.lost.add(this.#queue.length)
    this.#queue = []
  }

  #work(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    this.#working = this.#sendAll().finally(() => {
      this.#working = undefined
      // Records queued meanwhile wait for a batch like any others.
      if (this.#queue.length > 0 && !this.#closing) this.#timer = this.#init.clock.after(GATHER, () => this.#work())
    })
  }

  async #sendAll(): Promise<void> {
    do await this.#deliver(this.#takeBatch())
    while (this.#queue.length >= BATCH || (this.#closing && this.#queue.length > 0))
  }

  #takeBatch(): Uint8Array[] {
    let bytes = 0
    let count = 0
    for (const record of this.#queue) {
      if (count === BATCH || (count > 0 && bytes + record.length > BATCH_BYTES)) break
      bytes += record.length
      count++
    }
    this.#bytes -= bytes
    return this.#queue.splice(0, count)
  }

  async #deliver(batch: readonly Uint8Array[]): Promise<void> {
    const { signal, clock, lost } = this.#init
    for (let retry = 0; ; retry++) {
      const delivery = await exportOnce(this.#collector, signal, exportRequest(this.#source, batch), clock)
      this.#report(delivery)
      if (delivery.ok) return
      if (!delivery.retry || retry === RETRIES || this.#closing) {
        lost.add(batch.length)
        return
      }
      await this.#pause(delivery.after ?? 1000 * 2 ** retry)
    }
  }

  /** Ends early on shutdown. Jittered, so that many gateways do not return to a collector at the same moment. */
  #pause(ms: number): Promise<void> {
    const { clock, random } = this.#init
    return new Promise(resolve => {
      const timer = clock.after(Math.min(LONGEST_PAUSE, ms) * (0.75 + random() / 2), resolve)
      this.#wake = () => {
        timer.cancel()
        resolve()
      }
    })
  }

  /** Logs when exports start to fail and when they recover, not for each. */
  #report(delivery: Delivery): void {
    if (delivery.ok === !this.#failing) return
    const { log, signal } = this.#init
    const collector = this.#collector.to.name
    this.#failing = !delivery.ok
    if (delivery.ok) log.log('info', 'telemetry export recovered', { signal, collector })
    else log.log('warn', 'telemetry cannot be exported', { signal, collector, error: delivery.error })
  }
}
