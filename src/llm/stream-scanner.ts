import { eventData, eventEnd, firstEventEnd, lastEventEnd, opensObject } from './event-stream.ts'
import type { ReplyReader } from './formats/format.ts'
import type { UsageRecorder } from './usage.ts'

/** A longer event is passed on but not parsed. */
const MAX_EVENT = 1024 * 1024
/** Events that are parsed to find the model's name. */
const MODEL_TRIES = 4

/**
 * Observes an SSE stream and records its usage and model. It searches each chunk for one word and parses JSON only
 * where that word starts an object; between chunks it keeps at most one incomplete event.
 */
export class StreamScanner {
  readonly #format: ReplyReader
  readonly #needle: Buffer
  readonly #recorder: UsageRecorder
  #carry: Buffer = Buffer.alloc(0)
  #carried = 0
  #skipping = false
  #modelTries = MODEL_TRIES

  constructor(format: ReplyReader, recorder: UsageRecorder) {
    this.#format = format
    this.#needle = Buffer.from(`"${format.usageKey ?? 'usage'}"`)
    this.#recorder = recorder
  }

  push(chunk: Buffer): void {
    if (this.#carried === 0 && !this.#skipping) {
      const end = lastEventEnd(chunk, 0)
      if (end > 0) this.#scan(chunk, end)
      if (end < chunk.length) this.#keep(chunk.subarray(end))
      return
    }
    const before = this.#carried
    const overlap = Math.min(before, 3)
    if (!this.#keep(chunk)) {
      this.#skip(chunk)
      return
    }
    const end = lastEventEnd(this.#carry.subarray(0, this.#carried), before - overlap)
    if (end > 0) {
      this.#scan(this.#carry, end)
      this.#carry.copyWithin(0, end, this.#carried)
      this.#carried -= end
    }
  }

  /** A last event without its blank line also counts. */
  end(): void {
    if (this.#carried > 0 && !this.#skipping) this.#scan(this.#carry, this.#carried)
    this.#carried = 0
  }

  /** False if the event is too large to keep. */
  #keep(part: Buffer): boolean {
    const size = this.#carried + part.length
    if (this.#skipping || size > MAX_EVENT) {
      this.#skipping = true
      return false
    }
    if (size > this.#carry.length) {
      const grown = Buffer.allocUnsafe(Math.max(1024, size, Math.min(this.#carry.length * 2, MAX_EVENT)))
      this.#carry.copy(grown, 0, 0, this.#carried)
      this.#carry = grown
    }
    part.copy(this.#carry, this.#carried)
    this.#carried = size
    return true
  }

  /** Skips an oversized event; scanning resumes after its end. */
  #skip(chunk: Buffer): void {
    const last = this.#carry.subarray(Math.max(0, this.#carried - 3), this.#carried)
    const seam = firstEventEnd(Buffer.concat([last, chunk.subarray(0, 3)]), 0)
    const end = seam >= 0 ? Math.max(0, seam - last.length) : firstEventEnd(chunk, 0)
    if (end < 0) {
      const tail = chunk.length >= 3 ? chunk.subarray(chunk.length - 3) : Buffer.concat([last, chunk]).subarray(-3)
      this.#carry = Buffer.from(tail)
      this.#carried = tail.length
      return
    }
    this.#skipping = false
    this.#carry = Buffer.alloc(0)
    this.#carried = 0
    this.push(chunk.subarray(end))
  }

  /** `events[0..end)` are complete events. */
  #scan(events: Buffer, end: number): void {
    const region = events.length === end ? events : events.subarray(0, end)
    for (let from = 0; this.#modelTries > 0 && from < end; ) {
      this.#modelTries--
      const stop = eventEnd(region, from)
      if (this.#read(region, from, stop)) this.#modelTries = 0
      from = stop
    }
    for (let at = region.indexOf(this.#needle); at >= 0; ) {
      if (!opensObject(region, at + this.#needle.length)) {
        at = region.indexOf(this.#needle, at + this.#needle.length)
        continue
      }
      const start = Math.max(0, lastEventEnd(region.subarray(0, at), 0))
      const stop = eventEnd(region, at)
      this.#read(region, start, stop)
      at = region.indexOf(this.#needle, stop)
    }
  }

  /** Reads one event. True if it names the model. */
  #read(region: Buffer, start: number, end: number): boolean {
    const data = eventData(region.toString('utf8', start, end))
    if (data === undefined) return false
    let value: unknown
    try {
      value = JSON.parse(data)
    } catch {
      return false
    }
    const usage = this.#format.usage(value)
    if (usage) this.#recorder.add(usage)
    const model = this.#format.model(value)
    if (model !== undefined) this.#recorder.model(model)
    return model !== undefined
  }
}
