import type { Collector } from '../../policies/policy.ts'
import { type ExportSource, exportRequest } from '../../protobuf/otlp.ts'
import type { Clock, Logger, Timer } from '../../runtime/runtime.ts'
import type { Counter } from '../metrics/registry.ts'
import { type Delivery, exportOnce, type Signal } from './otlp-call.ts'

/** ms that a record waits for others. */
const GATHER = 1000
/** Records of one export, and their bytes: collectors refuse messages above 4 MiB. */
const BATCH = 512
const BATCH_BYTES = 2 * 1024 * 1024
/** Records that wait at most, and their bytes; the oldest give way. */
const QUEUE = 4096
const QUEUE_BYTES = 8 * 1024 * 1024
/** How often an export is made again, after 1, 2, 4, … s. */
const RETRIES = 5
const LONGEST_PAUSE = 30_000
/** ms that the end of the process waits for the last exports. */
const FAREWELL = 2000

export interface ExporterInit {
  readonly signal: Signal
  readonly collector: Collector
  readonly source: ExportSource
  readonly clock: Clock
  readonly random: () => number
  readonly log: Logger
  /** Records that no collector has got. */
  readonly lost: Counter
}

/**
 * Takes encoded records and brings them to a collector in batches, beside the requests: a slow or dead collector costs
 * a bounded amount of memory, and its records, which are counted.
 */
export class Exporter {
  readonly #init: ExporterInit
  #collector: Collector
  #source: ExportSource
  #queue: Uint8Array[] = []
  #bytes = 0
  #timer: Timer | undefined
  /** Set while records are on their way or waiting to be sent again. */
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

  /** A reload: what waits goes to where the new configuration says. */
  retarget(collector: Collector, source: ExportSource): void {
    this.#collector = collector
    this.#source = source
  }

  /** Sends what waits, once; what cannot be sent soon is lost. */
  async close(): Promise<void> {
    this.#closing = true
    this.#wake?.()
    if (this.#working === undefined && this.#queue.length > 0) this.#work()
    this.#timer?.cancel()
    if (this.#working === undefined) return
    let limit: Timer | undefined
    const tooLong = new Promise<void>(resolve => {
      limit = this.#init.clock.after(FAREWELL, resolve)
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
      // What came while the last batch was on its way has waited as long as any.
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

  /** Ends early when the process does. Many gateways must not come back to a collector at the same moment. */
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

  /** Once when it begins to fail and once when it is over, not for each export. */
  #report(delivery: Delivery): void {
    if (delivery.ok === !this.#failing) return
    const { log, signal } = this.#init
    const collector = this.#collector.to.name
    this.#failing = !delivery.ok
    if (delivery.ok) log.log('info', 'telemetry is exported again', { signal, collector })
    else log.log('warn', 'telemetry cannot be exported', { signal, collector, error: delivery.error })
  }
}
