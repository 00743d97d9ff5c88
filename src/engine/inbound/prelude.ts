import type { Socket } from 'node:net'
import type { Clock, Timer } from '../../runtime/runtime.ts'

/**
 * The result of parsing the first bytes; `more`: undecided, and will stay so before there are `needs` bytes. Consumed
 * bytes are removed from the input.
 */
export type Look<T> = 'more' | { readonly needs: number } | { readonly value: T; readonly consumed: number }

/** Reads the first bytes of a connection before its protocol is known. */
export class Prelude {
  readonly #socket: Socket
  readonly #clock: Clock
  #memory: Buffer = EMPTY
  #size = 0

  constructor(socket: Socket, clock: Clock) {
    this.#socket = socket
    this.#clock = clock
    socket.pause()
  }

  /**
   * Calls `parse` for each new chunk until it decides. Undefined if the client disconnects, or does not send enough
   * within `limit` ms (0: no limit).
   */
  look<T>(parse: (bytes: Buffer) => Look<T>, limit: number): Promise<T | undefined> {
    return new Promise(resolve => {
      const socket = this.#socket
      let timer: Timer | undefined
      let needs = 1
      const settle = (value: T | undefined): void => {
        timer?.cancel()
        socket.off('data', onData).off('end', onGone).off('close', onGone)
        socket.pause()
        resolve(value)
      }
      const decide = (): boolean => {
        if (this.#size < needs) return false
        const look = parse(this.#memory.subarray(0, this.#size))
        if (look === 'more') return false
        if ('needs' in look) {
          needs = look.needs
          return false
        }
        this.#memory = this.#memory.subarray(look.consumed)
        this.#size -= look.consumed
        settle(look.value)
        return true
      }
      const onData = (chunk: Buffer): void => {
        this.#keep(chunk)
        decide()
      }
      const onGone = (): void => settle(undefined)
      if (socket.destroyed || decide()) {
        if (socket.destroyed) resolve(undefined)
        return
      }
      if (limit > 0) timer = this.#clock.after(limit, () => settle(undefined))
      socket.on('data', onData).on('end', onGone).on('close', onGone)
      socket.resume()
    })
  }

  /** Pushes back unconsumed bytes; the next reader finds the socket paused. */
  release(): void {
    if (this.#size > 0) this.#socket.unshift(this.#memory.subarray(0, this.#size))
    this.#memory = EMPTY
    this.#size = 0
  }

  /** Bytes may arrive one by one: each is copied twice at most, not once for each that follows. */
  #keep(chunk: Buffer): void {
    const size = this.#size + chunk.length
    if (this.#size === 0) this.#memory = chunk
    else {
      if (this.#memory.length < size) {
        const larger = Buffer.allocUnsafe(size * 2)
        this.#memory.copy(larger, 0, 0, this.#size)
        this.#memory = larger
      }
      chunk.copy(this.#memory, this.#size)
    }
    this.#size = size
  }
}

const EMPTY = Buffer.alloc(0)
