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
  /** The target answered with the stream. */
  opened?(): void
  /** The stream ended or broke, and cannot be resumed. Called once. */
  over(failure?: TargetFailure): void
  /** Requests the events after `after`, or new ones only if it is undefined. */
  readonly again: ((after: string | undefined, on: ResponseHandler) => Cancel) | undefined
  /** Reconnect after a break even if its events have no ids. */
  readonly endless: boolean
  /** Reads a refusal for `done`. */
  refusal(status: number, headers: HeaderList, cancel: Cancel, done: (failure: TargetFailure) => void): ChunkSink
}

/** ms before the first reconnect, unless the target sets the time; doubles with each attempt. */
const FIRST_RETRY = 500
const MAX_RETRY = 30_000
/** Consecutive attempts without an event. */
const MAX_TRIES = 6

/** An event stream of a target, resumed where it broke (MCP transports, "Resumability"). */
export class TargetStream {
  readonly #options: StreamOptions
  #last: string | undefined
  #retry = FIRST_RETRY
  #tries = 0
  /** The stream has been established before. */
  #begun = false
  #over = false
  #ended: (() => void) | undefined
  #timer: Timer | undefined
  #cancel: Cancel = () => {}

  /** `last`: the event to resume after. */
  constructor(options: StreamOptions, last?: string) {
    this.#options = options
    this.#last = last
  }

  /** For one response of the target; `cancel` cancels that. */
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

  /** Requests the stream. */
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

  /** No further events are wanted; `ended` runs once the current response has ended. */
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

  /** An event without data also carries the stream's position. */
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
