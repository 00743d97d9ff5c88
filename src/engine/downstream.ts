import type { Duplex } from 'node:stream'
import type { ChunkSink } from '../http/transport.ts'

/** The client's end of an exchange: a socket in production, an array in a test or a dry run. */
export interface Downstream {
  /** `streaming`: the head has gone, nothing can be answered any more, only cut. `ended`: complete, or the client is gone. */
  readonly state: 'waiting' | 'streaming' | 'ended'
  /** `headers`: name, value, name, value. */
  reply(status: number, headers: readonly string[], body: Buffer | string | undefined): void
  start(status: number, headers: readonly string[]): ChunkSink
  /** Answers a protocol switch and joins both sockets. */
  upgrade(status: number, headers: readonly string[], upstream: Duplex): void
  /** Ends the connection without completing the response, so that the client sees that it is incomplete. */
  cut(): void
}
