import { eventData, eventEnd, lastEventEnd, opensObject } from './event-stream.ts'

/** An incomplete event beyond this size is passed on: it is not a usage event. */
const MAX_HELD = 8 * 1024
const USAGE = Buffer.from('"usage"')
const NOTHING = Buffer.alloc(0)

/**
 * Removes usage events from an SSE stream for a client that did not request them. Complete events pass at once; only an
 * incomplete one is held.
 */
export class EventFilter {
  readonly #hide: (event: unknown) => boolean
  #held: Buffer = NOTHING
  /** In the middle of an event that is passed on. */
  #open = false

  constructor(hide: (event: unknown) => boolean) {
    this.#hide = hide
  }

  /** Returns what can be sent now. */
  push(chunk: Buffer): Buffer {
    const data = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk])
    const end = lastEventEnd(data, 0)
    const rest = data.subarray(end)
    if (this.#open && end === 0) return chunk
    this.#open = rest.length > MAX_HELD
    this.#held = this.#open ? NOTHING : Buffer.from(rest)
    const shown = end === 0 ? NOTHING : this.#without(data.subarray(0, end))
    return this.#open ? Buffer.concat([shown, rest]) : shown
  }

  end(): Buffer {
    return this.#without(this.#held)
  }

  /** Complete events, without the hidden ones. */
  #without(events: Buffer): Buffer {
    let at = nextUsage(events, 0)
    if (at < 0) return events
    const kept: Buffer[] = []
    let from = 0
    while (at >= 0) {
      const start = lastEventEnd(events.subarray(0, at), 0)
      const end = eventEnd(events, at)
      if (this.#hidden(events.toString('utf8', start, end))) {
        kept.push(events.subarray(from, start))
        from = end
      }
      at = nextUsage(events, end)
    }
    kept.push(events.subarray(from))
    return Buffer.concat(kept)
  }

  #hidden(event: string): boolean {
    try {
      return this.#hide(JSON.parse(eventData(event) ?? 'null'))
    } catch {
      return false
    }
  }
}

/** The next `"usage"` whose value is an object; -1 for none. */
function nextUsage(events: Buffer, from: number): number {
  let at = events.indexOf(USAGE, from)
  while (at >= 0 && !opensObject(events, at + USAGE.length)) at = events.indexOf(USAGE, at + USAGE.length)
  return at
}
