import type { Exchange } from '../http/exchange.ts'
import type { TraceEvent, TraceMessage } from '../trace/trace-event.ts'
import type { TimedFilter } from './trace/timed-filter.ts'

/** An event queued for its consumer, numbered on delivery so that consecutive numbers prove that none was lost. */
export type UnnumberedEvent = Omit<TraceEvent, 'seq'>

/**
 * Events that a consumer may lag behind. The start and end of a request always fit: they are as few as the requests.
 */
const RING_EVENTS = 1024
const RING_BODY_CHARS = 4 * 1024 * 1024

/** Indexes into the claims shared by a replica's workers: requests left to claim, and whether to give up. */
const LEFT = 0
const COSTLY = 1

export function newClaims(requests: number): Int32Array<SharedArrayBuffer> {
  const claims = new Int32Array(new SharedArrayBuffer(8))
  Atomics.store(claims, LEFT, requests)
  return claims
}

/** One consumer's view: a bounded queue of events, read with `next` whenever `onEvent` fires. */
export class TraceWatch {
  /** Called when the queue becomes non-empty and when the watch is closed. */
  onEvent: () => void = () => {}
  readonly #filter: TimedFilter | undefined
  readonly #changed: () => void
  /** See `newClaims`. */
  readonly #claims: Int32Array
  /** Requests that have not ended yet, claimed or not. */
  #open: number
  #closed = false
  #queue: UnnumberedEvent[] = []
  #head = 0
  #bodyChars = 0
  #seq = 0
  /** The last event of the queue, if it stands for dropped ones. */
  #gap: { type: 'dropped'; count: number } | undefined

  /** `changed` is called when the watch is closed. */
  constructor(
    requests: number,
    filter: TimedFilter | undefined,
    changed: () => void,
    claims: Int32Array = newClaims(requests),
  ) {
    this.#claims = claims
    this.#open = requests
    this.#filter = filter
    this.#changed = changed
  }

  /** Number of requests still to be claimed. */
  get wanted(): number {
    return this.#closed ? 0 : Math.max(0, Atomics.load(this.#claims, LEFT))
  }

  get closed(): boolean {
    return this.#closed
  }

  /** Every wanted request has ended and every event has been read. */
  get finished(): boolean {
    return this.#open === 0 && this.#head === this.#queue.length
  }

  /** Closed because its filter, in any worker, took too much of the requests' time. */
  get costly(): boolean {
    return Atomics.load(this.#claims, COSTLY) !== 0
  }

  /** Claims the request if more are wanted and the filter matches. */
  claim(x: Exchange): boolean {
    if (this.wanted === 0 || this.costly) return false
    if (this.#filter !== undefined) {
      const matches = this.#filter.matches(x)
      if (this.#filter.spent) this.#giveUp()
      if (!matches) return false
    }
    return Atomics.sub(this.#claims, LEFT, 1) > 0
  }

  push(event: UnnumberedEvent): void {
    if (this.#closed) return
    const { type } = event.message
    if (type === 'requestFinished') this.#open--
    if (type === 'requestStarted' || type === 'requestFinished' || this.#hasRoom(event.message)) {
      this.#gap = undefined
      this.#append(event)
    } else if (this.#gap) {
      this.#gap.count++
    } else {
      this.#gap = { type: 'dropped', count: 1 }
      this.#append({ ...event, severity: 'warn', origins: [], message: this.#gap })
    }
  }

  next(): TraceEvent | undefined {
    if (this.#head === this.#queue.length) return undefined
    const event = this.#queue[this.#head++] as UnnumberedEvent
    if (this.#head === this.#queue.length || this.#head >= RING_EVENTS) {
      this.#queue = this.#queue.slice(this.#head)
      this.#head = 0
    }
    if (event.message === this.#gap) this.#gap = undefined
    if (event.message.type === 'body') this.#bodyChars -= event.message.base64.length
    this.#seq++
    return { seq: this.#seq, ...event }
  }

  /** Accepts no more events; queued ones can still be read. */
  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#changed()
    this.onEvent()
  }

  #giveUp(): void {
    Atomics.store(this.#claims, COSTLY, 1)
    this.close()
  }

  #append(event: UnnumberedEvent): void {
    const wasEmpty = this.#head === this.#queue.length
    this.#queue.push(event)
    if (wasEmpty) this.onEvent()
  }

  #hasRoom(message: TraceMessage): boolean {
    if (this.#queue.length - this.#head >= RING_EVENTS) return false
    if (message.type !== 'body') return true
    if (this.#bodyChars + message.base64.length > RING_BODY_CHARS) return false
    this.#bodyChars += message.base64.length
    return true
  }
}
