import type { Socket } from 'node:net'
import type { Clock, Timer } from '../../http/runtime.ts'

/** What a look at the first bytes has shown; `more`: nothing yet. Consumed bytes are gone for whoever looks next. */
export type Look<T> = 'more' | { readonly value: T; readonly consumed: number }

/** Reads the first bytes of a connection before it is known who will serve it. */
export class Prelude {
  readonly #socket: Socket
  readonly #clock: Clock
  #held: Buffer = EMPTY

  constructor(socket: Socket, clock: Clock) {
    this.#socket = socket
    this.#clock = clock
    socket.pause()
  }

  /**
   * Asks `parse` again with each new byte until it knows. Undefined when the client has gone, or has not said enough
   * within `limit` ms (0: any time).
   */
  look<T>(parse: (bytes: Buffer) => Look<T>, limit: number): Promise<T | undefined> {
    return new Promise(resolve => {
      const socket = this.#socket
      let timer: Timer | undefined
      const settle = (value: T | undefined): void => {
        timer?.cancel()
        socket.off('data', onData).off('end', onGone).off('close', onGone)
        socket.pause()
        resolve(value)
      }
      const decide = (): boolean => {
        const look = parse(this.#held)
        if (look === 'more') return false
        this.#held = this.#held.subarray(look.consumed)
        settle(look.value)
        return true
      }
      const onData = (chunk: Buffer): void => {
        this.#held = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk])
        decide()
      }
      const onGone = (): void => settle(undefined)
      if (socket.destroyed || (this.#held.length > 0 && decide())) {
        if (socket.destroyed) resolve(undefined)
        return
      }
      if (limit > 0) timer = this.#clock.after(limit, () => settle(undefined))
      socket.on('data', onData).on('end', onGone).on('close', onGone)
      socket.resume()
    })
  }

  /** Puts what was not consumed back in front; the next reader finds the socket paused. */
  release(): void {
    if (this.#held.length > 0) this.#socket.unshift(this.#held)
    this.#held = EMPTY
  }
}

const EMPTY = Buffer.alloc(0)
