import { Readable } from 'node:stream'

/** The body of a request that does not come at once: filled by its connection, no faster than it is read. */
export class IncomingBody extends Readable {
  readonly #more: () => void

  /** `more` asks for further bytes. */
  constructor(more: () => void) {
    super({ highWaterMark: 64 * 1024 })
    this.#more = more
    // Whoever reads listens too; an error that comes when nobody does must not end the process.
    this.on('error', () => {})
  }

  override _read(): void {
    this.#more()
  }
}
