import { keepChunk } from '../../../http/keep-chunk.ts'

const LF = 10

/**
 * Splits a byte stream into lines. A line of more than `limit` bytes is dropped, and `onOversize` gets its first bytes:
 * one oversized message must not end the connection for the others.
 */
export class LineReader {
  readonly #limit: number
  readonly #onLine: (line: Buffer) => void
  readonly #onOversize: (start: Buffer) => void
  #parts: Buffer[] = []
  #size = 0
  #dropping = false

  constructor(limit: number, onLine: (line: Buffer) => void, onOversize: (start: Buffer) => void) {
    this.#limit = limit
    this.#onLine = onLine
    this.#onOversize = onOversize
  }

  push(chunk: Buffer): void {
    let at = 0
    for (let end = chunk.indexOf(LF); end >= 0; end = chunk.indexOf(LF, at)) {
      this.#add(chunk.subarray(at, end))
      this.#flush()
      at = end + 1
    }
    if (at < chunk.length) this.#add(chunk.subarray(at))
  }

  #add(part: Buffer): void {
    if (this.#dropping) return
    keepChunk(this.#parts, part)
    this.#size += part.length
    if (this.#size <= this.#limit) return
    this.#dropping = true
    const start = Buffer.concat(this.#parts.slice(0, 8)).subarray(0, 4096)
    this.#parts = []
    this.#size = 0
    this.#onOversize(start)
  }

  #flush(): void {
    const parts = this.#parts
    const dropped = this.#dropping
    this.#parts = []
    this.#size = 0
    this.#dropping = false
    if (dropped) return
    const line = parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts)
    const end = line.at(-1) === 13 ? line.length - 1 : line.length
    if (end > 0) this.#onLine(line.subarray(0, end))
  }
}
