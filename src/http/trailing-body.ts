import { Readable } from 'node:stream'

/** A request body that goes out with the fields that stand here at its end: name, value, name, value. */
export class TrailingBody extends Readable {
  trailers: readonly string[] = []
}
