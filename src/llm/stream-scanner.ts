import type { ReplyReader } from './formats/format.ts'
import type { UsageRecorder } from './usage.ts'

/** An event beyond this is passed on like any other, but not looked into. */
const MAX_EVENT = 1024 * 1024
/** Events that are parsed in search of the model's name. */
const MODEL_TRIES = 4
const NEEDLE = Buffer.from('"usage"')

/**
 * Watches an SSE stream go by and records its usage and model. It looks for one word per chunk and parses JSON only
 * where that word starts an object; between chunks it keeps at most the event that is not complete yet.
 */
export class StreamScanner {
  readonly #format: ReplyReader
  readonly #recorder: UsageRecorder
  #carry: Buffer = Buffer.alloc(0)
  #carried = 0
  #skipping = false
  #modelTries = MODEL_TRIES

  constructor(format: ReplyReader, recorder: UsageRecorder) {
    this.#format = format
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

  /** A last event without its blank line counts too. */
  end(): void {
    if (this.#carried > 0 && !this.#skipping) this.#scan(this.#carry, this.#carried)
    this.#carried = 0
  }

  /** False: the event is too large to be kept. */
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

  /** Drops a too large event; what follows its end is looked at again. */
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
    for (let at = region.indexOf(NEEDLE); at >= 0; ) {
      if (!opensObject(region, at + NEEDLE.length)) {
        at = region.indexOf(NEEDLE, at + NEEDLE.length)
        continue
      }
      const start = Math.max(0, lastEventEnd(region.subarray(0, at), 0))
      const stop = eventEnd(region, at)
      this.#read(region, start, stop)
      at = region.indexOf(NEEDLE, stop)
    }
  }

  /** Reads one event; true when it names the model. */
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

/** The joined `data` lines of one event; undefined when it has none. */
export function eventData(event: string): string | undefined {
  let data: string | undefined
  for (const line of event.split(/\r\n|\n|\r/)) {
    if (!line.startsWith('data:')) continue
    const part = line.charCodeAt(5) === 0x20 ? line.slice(6) : line.slice(5)
    data = data === undefined ? part : `${data}\n${part}`
  }
  return data
}

function eventEnd(region: Buffer, from: number): number {
  const end = firstEventEnd(region, from)
  return end < 0 ? region.length : end
}

/** Behind the last blank line that begins at or after `from`; 0 when there is none. */
function lastEventEnd(data: Buffer, from: number): number {
  const n = data.length
  if (n - from >= 2 && data[n - 1] === 0x0a) {
    if (data[n - 2] === 0x0a) return n
    if (data[n - 2] === 0x0d && n - from >= 3 && data[n - 3] === 0x0a) return n
  }
  const region = from === 0 ? data : data.subarray(from)
  const lf = region.lastIndexOf('\n\n')
  const crlf = region.lastIndexOf('\n\r\n')
  const cr = region.lastIndexOf('\r\r')
  const end = Math.max(lf < 0 ? 0 : lf + 2, crlf < 0 ? 0 : crlf + 3, cr < 0 ? 0 : cr + 2)
  return end === 0 ? 0 : from + end
}

/** Behind the first blank line at or after `from`; -1 when there is none. */
function firstEventEnd(data: Buffer, from: number): number {
  const lf = data.indexOf('\n\n', from)
  const crlf = data.indexOf('\n\r\n', from)
  const cr = data.indexOf('\r\r', from)
  const ends = [lf < 0 ? -1 : lf + 2, crlf < 0 ? -1 : crlf + 3, cr < 0 ? -1 : cr + 2].filter(end => end >= 0)
  return ends.length === 0 ? -1 : Math.min(...ends)
}

/** Whether `:` and `{` follow, as they do not behind `"usage": null`. */
export function opensObject(data: Buffer, at: number): boolean {
  const colon = skipSpace(data, at)
  return data[colon] === 0x3a && data[skipSpace(data, colon + 1)] === 0x7b
}

function skipSpace(data: Buffer, at: number): number {
  while (data[at] === 0x20 || data[at] === 0x09 || data[at] === 0x0a || data[at] === 0x0d) at++
  return at
}
