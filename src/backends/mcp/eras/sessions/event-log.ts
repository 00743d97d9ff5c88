import type { Clock, Timer } from '../../../../runtime/runtime.ts'
import type { Answer, EventKeeper } from '../../answer.ts'

/** bytes of events that one session keeps for clients that come back. */
const MAX_BYTES = 256 * 1024
/** Streams of one session that can be taken up again. */
const MAX_LOGS = 16
/** ms that a call goes on for a client that may come back. */
const PATIENCE = 5 * 60_000

interface KeptEvent {
  readonly number: number
  readonly frame: Buffer
}

/** The events of a session's streams, by ids that are unique in it: `Last-Event-ID` takes a stream up where it broke. */
export class EventLogs {
  readonly #clock: Clock
  readonly #logs = new Map<string, EventLog>()
  #serial = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** `server`: the stream for what no call asked for. */
  begin(server = false): EventLog {
    const log = new EventLog((this.#serial++).toString(36), server, this.#clock, () => this.#trim())
    this.#logs.set(log.name, log)
    this.#trim()
    return log
  }

  /** The stream that an event id is of, when all that followed is still there. */
  find(id: string): { readonly log: EventLog; readonly after: number } | undefined {
    const [, name = '', number] = /^([0-9a-z]+)-(\d{1,9})$/.exec(id) ?? []
    const log = this.#logs.get(name)
    const after = Number(number)
    return log?.holdsAfter(after) ? { log, after } : undefined
  }

  close(): void {
    for (const log of this.#logs.values()) log.drop()
    this.#logs.clear()
  }

  /** The oldest go first; one that a call still writes to stays, without its events. */
  #trim(): void {
    let bytes = 0
    for (const log of this.#logs.values()) bytes += log.bytes
    for (const [name, log] of this.#logs) {
      if (bytes <= MAX_BYTES && this.#logs.size <= MAX_LOGS) return
      bytes -= log.bytes
      log.forget()
      if (log.over || !log.left) this.#logs.delete(name)
    }
  }
}

/** One stream: what was sent on it, and who takes what comes next. */
class EventLog implements EventKeeper {
  readonly name: string
  readonly server: boolean
  live: Answer | undefined
  bytes = 0
  over = false
  readonly #clock: Clock
  readonly #grown: () => void
  #events: KeptEvent[] = []
  #next = 1
  #timer: Timer | undefined
  #given: (() => void)[] = []

  constructor(name: string, server: boolean, clock: Clock, grown: () => void) {
    this.name = name
    this.server = server
    this.#clock = clock
    this.#grown = grown
  }

  /** The client knows an id of this stream, so it can come back. */
  get begun(): boolean {
    return this.#next > 1
  }

  get left(): boolean {
    return this.#timer !== undefined
  }

  frame(data: Buffer): Buffer {
    const number = this.#next++
    const frame = Buffer.concat([Buffer.from(`id: ${this.name}-${number}\nevent: message\ndata: `), data, END])
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
    this.live?.handOver()
    answer.open()
    for (const event of this.#events) if (event.number > number) answer.raw(event.frame)
    if (this.over) answer.end()
    else answer.keep(this)
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

const END = Buffer.from('\n\n')
