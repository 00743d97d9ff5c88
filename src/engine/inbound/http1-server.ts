import type { Socket } from 'node:net'
import { Deadlines } from '../upstream/deadlines.ts'
import type { Connection } from './connection.ts'
import { Http1Connection } from './http1-connection.ts'
import type { ListenerHost } from './serve-exchange.ts'

/** HTTP/1 on sockets accepted elsewhere, in plaintext or with TLS terminated. */
export class Http1Server {
  readonly host: ListenerHost
  readonly deadlines: Deadlines
  readonly #connections = new Set<Http1Connection>()
  #second = Number.NaN
  #date = ''

  constructor(host: ListenerHost) {
    this.host = host
    this.deadlines = new Deadlines(host.runtime.clock)
  }

  accept(socket: Socket, connection: Connection): void {
    this.#connections.add(new Http1Connection(this, socket, connection))
    socket.resume()
  }

  /** Lets requests in flight finish and closes idle connections. */
  stop(): void {
    for (const connection of this.#connections) connection.closeIfIdle()
  }

  destroy(): void {
    for (const connection of this.#connections) connection.socket.destroy()
    this.deadlines.close()
  }

  gone(connection: Http1Connection): void {
    this.#connections.delete(connection)
    this.deadlines.disarm(connection)
  }

  /** The value of a `date` field, computed once a second. */
  date(): string {
    const now = this.host.runtime.clock.now()
    const second = Math.floor(now / 1000)
    if (second !== this.#second) {
      this.#second = second
      this.#date = new Date(now).toUTCString()
    }
    return this.#date
  }
}
