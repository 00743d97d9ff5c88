import { GatewayError } from '../../http/errors.ts'
import type { HeaderList } from '../../http/headers.ts'
import { type SseEvent, SseReader } from '../../http/sse.ts'
import type { ChunkSink, ResponseHandler } from '../../http/transport.ts'
import { type Message, readMessage } from '../../mcp/message.ts'
import type { Clock, Timer } from '../../runtime/runtime.ts'
import { type Cancel, type Flow, MAX_MESSAGE, type TargetFailure } from './connection.ts'

export interface StreamOptions {
  readonly clock: Clock
  readonly flow: Flow
  read(message: Message): void
  position(event: string, silent: boolean): void
  /** The target has answered with the stream. */
  opened?(): void
  /** It has ended, or broken off, and is not to be had again. Runs once. */
  over(failure?: TargetFailure): void
  /** Asks the target for what follows event `after`; undefined: what it says from now on. */
  readonly again: ((after: string | undefined, on: ResponseHandler) => Cancel) | undefined
  /** One that has broken off is asked for again where its events have no ids, too. */
  readonly endless: boolean
  /** Reads a refusal, for `done`. */
  refusal(status: number, headers: HeaderList, cancel: Cancel, done: (failure: TargetFailure) => void): ChunkSink
}

/** ms until a stream is asked for again, unless the target names another time; doubles from try to try. */
const FIRST_RETRY = 500
const MAX_RETRY = 30_000
/** Tries in a row that bring nothing. */
const MAX_TRIES = 6

/** An event stream of a target; one that breaks off is taken up where it was (MCP transports, "Resumability"). */
export class TargetStream {
  readonly #options: StreamOptions
  #last: string | undefined
  #retry = FIRST_RETRY
  #tries = 0
  /** It has been there. */
  #begun = false
  #over = false
  #ended: (() => void) | undefined
  #timer: Timer | undefined
  #cancel: Cancel = () => {}

  /** `last`: the event that is known already. */
  constructor(options: StreamOptions, last?: string) {
    this.#options = options
    this.#last = last
  }

  /** For one response of the target; `cancel` ends that. */
  sink(cancel: Cancel): ChunkSink {
    const { flow, opened } = this.#options
    this.#cancel = cancel
    this.#begun = true
    opened?.()
    let resume = (): void => {}
    const reader = new SseReader(MAX_MESSAGE, event => this.#event(event))
    return {
      write: chunk => {
        try {
          reader.push(chunk)
          this.#known(reader)
        } catch (error) {
          cancel()
          this.#finish({ message: (error as Error).message, down: false })
        }
        if (!flow.full) return true
        flow.onRoom(() => resume())
        return false
      },
      end: () => this.#broken(),
      fail: error => this.#broken(error),
      onDrain: then => {
        resume = then
      },
    }
  }

  /** Asks the target for the stream. */
  take(): void {
    const { again, refusal } = this.#options
    const cancel = again?.(this.#last, {
      head: (status, headers) => {
        const stream = headers.get('content-type')?.toLowerCase().startsWith('text/event-stream')
        if (status >= 200 && status < 300 && stream) return this.sink(() => cancel?.())
        return refusal(
          status,
          headers,
          () => cancel?.(),
          failure => {
            if (status >= 500 && this.#begun) this.#broken(new GatewayError('upstreamFailed'))
            else this.#finish(failure)
          },
        )
      },
      fail: error => this.#broken(error),
    })
    if (cancel && !this.#over) this.#cancel = cancel
  }

  /** Nothing more is wanted of it; `ended` runs when what is under way has come to its end. */
  finish(ended?: () => void): void {
    this.#over = true
    this.#ended = ended
    this.#timer?.cancel()
  }

  stop(): void {
    this.finish(this.#ended)
    this.#cancel()
  }

  #event({ event, data, id }: SseEvent): void {
    if (this.#over) return
    this.#tries = 0
    if (id !== undefined && id !== this.#last) this.#at(id, data.length === 0)
    if (data.length === 0 || event !== 'message') return
    const message = readMessage(data)
    if (message.kind !== 'unreadable') this.#options.read(message)
  }

  /** An event without data says where the stream stands all the same. */
  #known({ lastId, retry }: SseReader): void {
    if (retry !== undefined) this.#retry = retry
    if (lastId !== undefined && lastId !== this.#last) this.#at(lastId, true)
  }

  #at(id: string, silent: boolean): void {
    this.#last = id
    if (!this.#over) this.#options.position(id, silent)
  }

  #broken(error?: Error): void {
    if (this.#over) {
      this.#ended?.()
      return
    }
    const { again, endless, clock } = this.#options
    const known = this.#last !== undefined || (endless && this.#begun && error !== undefined)
    if (!again || !known || this.#tries >= MAX_TRIES) {
      this.#finish(error ? { message: error.message, down: false } : undefined)
      return
    }
    const wait = Math.min(this.#retry * 2 ** this.#tries++, MAX_RETRY)
    this.#timer = clock.after(wait, () => this.take())
  }

  #finish(failure?: TargetFailure): void {
    if (this.#over) return
    this.#over = true
    this.#options.over(failure)
  }
}
