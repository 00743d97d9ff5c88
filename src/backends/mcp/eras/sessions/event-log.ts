import { decodePosition, encodePosition, type Signing, type StreamPosition } from '../../../../mcp/event-id.ts'
import type { RequestId } from '../../../../mcp/message.ts'
import { fingerprint } from '../../../../mcp/session-id.ts'
import type { Clock, Timer } from '../../../../runtime/runtime.ts'
import type { Answer, EventKeeper } from '../../answer.ts'

/** Bytes of events that a session keeps for reconnecting clients. */
const MAX_BYTES = 512 * 1024
/** Resumable streams per session. */
const MAX_LOGS = 64
/** ms that a call continues after its client disconnected. */
const PATIENCE = 5 * 60_000

/** Distinguishes the event ids of this process from those of others: six characters at their beginning. */
export function eventNonce(uuid: string): string {
  return fingerprint(uuid)
    .replace(/[^0-9A-Za-z]/g, '')
    .slice(0, 6)
    .toLowerCase()
}

/** Stream, event, and position. */
const EVENT_ID = /^([0-9a-z]+)-(\d{1,9})(?:\.([\w.-]+))?$/

export interface EventLogsOptions {
  readonly clock: Clock
  /** Distinguishes the streams of this process from those of others. */
  readonly nonce: string
  signing(): Signing
}

interface KeptEvent {
  readonly number: number
  readonly frame: Buffer
}

/** The events of a session's streams, by ids unique in the session: `Last-Event-ID` resumes a stream where it broke. */
export class EventLogs {
  readonly #options: EventLogsOptions
  /** Those with an event that a client may resume after. */
  readonly #logs = new Map<string, EventLog>()
  #bytes = 0
  #serial = 0

  constructor(options: EventLogsOptions) {
    this.#options = options
  }

  /** `position`: where it begins. `primes`: the client accepts events without data. */
  begin(position: StreamPosition, primes: boolean): EventLog {
    const name = `${this.#options.nonce}${(this.#serial++).toString(36)}`
    return new EventLog(name, position, primes, this.#options, (log, bytes) => this.#changed(log, bytes))
  }

  /** The stream of an event id, if all later events are still kept. */
  find(id: string): { readonly log: EventLog; readonly after: number } | undefined {
    const [, name = '', number] = EVENT_ID.exec(id) ?? []
    const log = this.#logs.get(name)
    const after = Number(number)
    return log?.holdsAfter(after) ? { log, after } : undefined
  }

  /** The position in the id of a stream that is not kept here and has no live client. */
  positionOf(id: string): StreamPosition | undefined {
    const [, name = '', , position] = EVENT_ID.exec(id) ?? []
    return position === undefined || this.#logs.get(name)?.live !== undefined
      ? undefined
      : decodePosition(position, this.#options.signing())
  }

  close(): void {
    for (const log of this.#logs.values()) log.drop()
    this.#logs.clear()
  }

  #changed(log: EventLog, bytes: number): void {
    this.#bytes += bytes
    if (bytes < 0) return
    this.#logs.set(log.name, log)
    this.#trim()
  }

  /** Drops finished streams first, then the oldest. One that a client may resume is kept, without its events. */
  #trim(): void {
    if (!this.#isFull) return
    const oldest = [...this.#logs.values()]
    for (const log of [...oldest.filter(({ over }) => over), ...oldest.filter(({ over }) => !over)]) {
      if (!this.#isFull) return
      log.forget()
      if (log.over || !log.left) this.#logs.delete(log.name)
    }
  }

  get #isFull(): boolean {
    return this.#bytes > MAX_BYTES || this.#logs.size > MAX_LOGS
  }
}

/** One stream: the events sent on it, and its current reader. */
class EventLog implements EventKeeper {
  readonly name: string
  readonly request: RequestId | undefined
  /** The last event of each target's own stream. */
  targets: ReadonlyMap<string, string>
  readonly prime: (() => Buffer) | undefined
  live: Answer | undefined
  over = false
  readonly #options: EventLogsOptions
  readonly #changed: (log: EventLog, bytes: number) => void
  #position: string | undefined
  #events: KeptEvent[] = []
  #bytes = 0
  #next = 1
  #timer: Timer | undefined
  #given: (() => void)[] = []

  constructor(
    name: string,
    position: StreamPosition,
    primes: boolean,
    options: EventLogsOptions,
    changed: (log: EventLog, bytes: number) => void,
  ) {
    this.name = name
    this.request = position.request
    this.targets = position.targets
    this.prime = primes ? () => this.#keep(Buffer.from(`retry: ${RETRY}\ndata: `), EMPTY) : undefined
    this.#options = options
    this.#changed = changed
  }

  at(target: string, event: string): void {
    this.targets = new Map(this.targets).set(target, event)
    this.#position = undefined
  }

  /** The client has an id of this stream, so it can resume. */
  get begun(): boolean {
    return this.#next > 1
  }

  get left(): boolean {
    return this.#timer !== undefined
  }

  frame(data: Buffer, last: boolean): Buffer {
    return this.#keep(START, data, last)
  }

  #keep(start: Buffer, data: Buffer, last = false): Buffer {
    const number = this.#next++
    // The final event needs no position: nothing follows it.
    if (!last) this.#position ??= encodePosition(this, this.#options.signing()) ?? ''
    const position = last || this.#position === '' ? '' : `.${this.#position}`
    const frame = Buffer.concat([Buffer.from(`id: ${this.name}-${number}${position}\n`), start, data, END])
    // A client that has missed the only event has no id to ask for it.
    if (last && number === 1) return frame
    this.#events.push({ number, frame })
    this.#bytes += frame.length
    this.#changed(this, frame.length)
    return frame
  }

  holdsAfter(number: number): boolean {
    return number < this.#next && this.#events.length >= this.#next - 1 - number
  }

  /** Sends `answer` the events after `number`, and those still to come. */
  resume(answer: Answer, number: number): void {
    this.#timer?.cancel()
    this.#timer = undefined
    const before = this.live
    answer.open()
    for (const event of this.#events) if (event.number > number) answer.raw(event.frame)
    if (this.over) answer.end()
    else answer.keep(this)
    // The disconnect has not been noticed yet.
    before?.handOver()
  }

  leave(): void {
    this.live = undefined
    this.#timer ??= this.#options.clock.after(PATIENCE, () => this.drop())
  }

  onGivenUp(then: () => void): void {
    this.#given.push(then)
  }

  end(): void {
    this.over = true
    this.#given = []
    this.#timer?.cancel()
    this.#timer = undefined
  }

  drop(): void {
    const given = this.#given
    this.end()
    this.forget()
    for (const then of given) then()
  }

  forget(): void {
    const bytes = this.#bytes
    this.#events = []
    this.#bytes = 0
    if (bytes > 0) this.#changed(this, -bytes)
  }
}

const START = Buffer.from('event: message\ndata: ')
const END = Buffer.from('\n\n')
const EMPTY = Buffer.alloc(0)
/** ms that a client waits before it reconnects. */
const RETRY = 500
