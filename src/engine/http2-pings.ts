import type { Http2Session } from 'node:http2'
import type { Socket } from 'node:net'
import type { Clock, Timer } from '../runtime/runtime.ts'

export interface PingTimes {
  /** ms between an answer and the next ping. */
  readonly interval: number
  /** ms that the other side has for its answer. */
  readonly timeout: number
}

/** For a connection that is about to end. */
export const CLOSING: PingTimes = { interval: 10_000, timeout: 20_000 }

/**
 * Pings the other side, and ends the session when no answer comes. A session that is closing needs this: when frames that
 * break the protocol follow a GOAWAY, nghttp2 neither reads nor writes any more, Node hears of nothing, not even of the
 * end of the socket, and streams that were open would keep it for ever.
 */
export class Http2Pings {
  readonly #session: Http2Session
  readonly #clock: Clock
  readonly #times: PingTimes
  readonly #socket: Socket
  #timer: Timer | undefined

  constructor(session: Http2Session, socket: Socket, clock: Clock, times: PingTimes) {
    this.#session = session
    this.#socket = socket
    this.#clock = clock
    this.#times = times
    // The session closes by itself then.
    session.once('goaway', () => this.start())
    session.once('close', () => this.#timer?.cancel())
  }

  /** Ends it with its last stream, as `session.close` does, or without an answer to a ping. */
  closeSession(): void {
    this.#session.close()
    this.start()
  }

  start(): void {
    if (this.#timer === undefined && !this.#session.destroyed) this.#wait()
  }

  #wait(): void {
    this.#timer = this.#clock.after(this.#times.interval, () => this.#ping())
  }

  #ping(): void {
    if (this.#session.destroyed) return
    const deadline = this.#clock.after(this.#times.timeout, () => this.#cut())
    this.#timer = deadline
    const answered = (error: Error | null): void => {
      deadline.cancel()
      if (!error) this.#wait()
    }
    // Node sends no ping on a session that is closing. Settings have to be acknowledged too (RFC 9113 section 6.5.3).
    if (this.#session.closed) this.#session.settings({}, answered)
    else this.#session.ping(answered)
  }

  /** Of a session that is closing, Node only ends the writing half. */
  #cut(): void {
    this.#session.destroy()
    this.#socket.destroy()
  }
}
