import type { Duplex } from 'node:stream'
import type { ChunkSink } from '../http/transport.ts'

/** The client side of an exchange: a socket in production, an array in a test or a dry run. */
export interface Downstream {
  /**
   * `streaming`: the head has been sent; the response can only be cut off. `ended`: complete, or the client disconnected.
   */
  readonly state: 'waiting' | 'streaming' | 'ended'
  /** `headers`: name, value, name, value. */
  reply(status: number, headers: readonly string[], body: Buffer | string | undefined): void
  start(status: number, headers: readonly string[]): ChunkSink
  /** Responds to a protocol switch and joins both sockets. */
  upgrade(status: number, headers: readonly string[], upstream: Duplex): void
  /** Aborts the connection so that the client sees the response as incomplete. */
  cut(): void
}
