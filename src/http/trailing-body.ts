import { Readable } from 'node:stream'

/** A request body that is sent with these trailers: name, value, name, value. */
export class TrailingBody extends Readable {
  trailers: readonly string[] = []
}
