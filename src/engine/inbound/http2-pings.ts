import type { Http2Session } from 'node:http2'
import type { Socket } from 'node:net'
import type { Clock, Timer } from '../../runtime/runtime.ts'

export interface PingTimes {
  /** ms from an acknowledgement to the next ping. */
  readonly interval: number
  /** ms that the peer has to acknowledge. */
  readonly timeout: number
}

/** For a connection that is closing. */
export const CLOSING: PingTimes = { interval: 10_000, timeout: 20_000 }

/**
 * Pings the peer and ends the session if no acknowledgement arrives. A closing session needs this: if frames that
 * violate the protocol follow a GOAWAY, nghttp2 stops reading and writing, Node gets no event, not even the end of the
 * socket, and open streams would keep it alive forever.
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
    // The session then closes by itself.
    session.once('goaway', () => this.start())
    session.once('close', () => this.#timer?.cancel())
  }

  /** Ends it with its last stream, as `session.close` does, or when a ping is not acknowledged. */
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
    // Node sends no ping on a closing session. Settings must be acknowledged too (RFC 9113 section 6.5.3).
    if (this.#session.closed) this.#session.settings({}, answered)
    else this.#session.ping(answered)
  }

  /** For a closing session, Node only ends the writing half. */
  #cut(): void {
    this.#session.destroy()
    this.#socket.destroy()
  }
}
