import { decodePosition, encodePosition, type Signing, type StreamPosition } from '../../../../mcp/event-id.ts'
import type { RequestId } from '../../../../mcp/message.ts'
import { fingerprint } from '../../../../mcp/session-id.ts'
import type { Clock, Timer } from '../../../../runtime/runtime.ts'
import type { Answer, EventKeeper } from '../../answer.ts'

/** bytes of events that one session keeps for clients that come back. */
const MAX_BYTES = 512 * 1024
/** Streams of one session that can be taken up again. */
const MAX_LOGS = 64
/** ms that a call goes on for a client that may come back. */
const PATIENCE = 5 * 60_000

/** Tells the event ids of one process from those of others: six of the characters that begin one. */
export function eventNonce(uuid: string): string {
  return fingerprint(uuid)
    .replace(/[^0-9A-Za-z]/g, '')
    .slice(0, 6)
    .toLowerCase()
}

/** Stream, event, and where the stream stands. */
const EVENT_ID = /^([0-9a-z]+)-(\d{1,9})(?:\.([\w.-]+))?$/

export interface EventLogsOptions {
  readonly clock: Clock
  /** Tells the streams of this process from those of another one. */
  readonly nonce: string
  signing(): Signing
}

interface KeptEvent {
  readonly number: number
  readonly frame: Buffer
}

/** The events of a session's streams, by ids that are unique in it: `Last-Event-ID` takes a stream up where it broke. */
export class EventLogs {
  readonly #options: EventLogsOptions
  readonly #logs = new Map<string, EventLog>()
  #serial = 0

  constructor(options: EventLogsOptions) {
    this.#options = options
  }

  /** `position`: where it begins. `primes`: the client takes events without data. */
  begin(position: StreamPosition, primes: boolean): EventLog {
    const { nonce, clock, signing } = this.#options
    const name = `${nonce}${(this.#serial++).toString(36)}`
    const log = new EventLog({ name, position, primes, clock, signing: signing(), grown: () => this.#trim() })
    this.#logs.set(log.name, log)
    this.#trim()
    return log
  }

  /** The stream that an event id is of, when all that followed is still there. */
  find(id: string): { readonly log: EventLog; readonly after: number } | undefined {
    const [, name = '', number] = EVENT_ID.exec(id) ?? []
    const log = this.#logs.get(name)
    const after = Number(number)
    return log?.holdsAfter(after) ? { log, after } : undefined
  }

  /** What the id of a stream says of it that nobody hears, and that is not kept here. */
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

  /** What is over goes first, then the oldest; one that a client may come back for stays, without its events. */
  #trim(): void {
    let bytes = 0
    for (const log of this.#logs.values()) bytes += log.bytes
    if (bytes <= MAX_BYTES && this.#logs.size <= MAX_LOGS) return
    const oldest = [...this.#logs.values()]
    for (const log of [...oldest.filter(({ over }) => over), ...oldest.filter(({ over }) => !over)]) {
      if (bytes <= MAX_BYTES && this.#logs.size <= MAX_LOGS) return
      bytes -= log.bytes
      log.forget()
      if (log.over || !log.left) this.#logs.delete(log.name)
    }
  }
}

/** One stream: what was sent on it, and who takes what comes next. */
class EventLog implements EventKeeper {
  readonly name: string
  readonly request: RequestId | undefined
  /** Of the targets' own streams: the events that came last. */
  readonly targets: Map<string, string>
  readonly prime: (() => Buffer) | undefined
  live: Answer | undefined
  bytes = 0
  over = false
  readonly #clock: Clock
  readonly #signing: Signing
  readonly #grown: () => void
  #position: string | undefined
  #events: KeptEvent[] = []
  #next = 1
  #timer: Timer | undefined
  #given: (() => void)[] = []

  constructor({ name, position, primes, clock, signing, grown }: EventLogOptions) {
    this.name = name
    this.request = position.request
    this.targets = new Map(position.targets)
    this.prime = primes ? () => this.#keep(Buffer.from(`retry: ${RETRY}\ndata: `), EMPTY) : undefined
    this.#clock = clock
    this.#signing = signing
    this.#grown = grown
  }

  at(target: string, event: string): void {
    this.targets.set(target, event)
    this.#position = undefined
  }

  /** The client knows an id of this stream, so it can come back. */
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
    // Nothing follows the last event.
    if (!last) this.#position ??= encodePosition(this, this.#signing) ?? ''
    const position = last || this.#position === '' ? '' : `.${this.#position}`
    const frame = Buffer.concat([Buffer.from(`id: ${this.name}-${number}${position}\n`), start, data, END])
    this.#events.push({ number, frame })
    this.bytes += frame.length
    this.#grown()
    return frame
  }

  holdsAfter(number: number): boolean {
    return number < this.#next && this.#events.length >= this.#next - 1 - number
  }

  /** Sends `answer` what came after event `number`, and what is still to come. */
  resume(answer: Answer, number: number): void {
    this.#timer?.cancel()
    this.#timer = undefined
    const before = this.live
    answer.open()
    for (const event of this.#events) if (event.number > number) answer.raw(event.frame)
    if (this.over) answer.end()
    else answer.keep(this)
    // The break was not noticed yet.
    before?.handOver()
  }

  leave(): void {
    this.live = undefined
    this.#timer ??= this.#clock.after(PATIENCE, () => this.drop())
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
    this.#events = []
    this.bytes = 0
  }
}

interface EventLogOptions {
  readonly name: string
  readonly position: StreamPosition
  readonly primes: boolean
  readonly clock: Clock
  readonly signing: Signing
  readonly grown: () => void
}

const START = Buffer.from('event: message\ndata: ')
const END = Buffer.from('\n\n')
const EMPTY = Buffer.alloc(0)
/** ms that a client waits until it comes back. */
const RETRY = 500
