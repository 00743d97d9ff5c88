import { BrokenConnection, FRAME_HEAD, FRAME_SIZE, FRAME_SIZE_ERROR } from './frames.ts'

/** Receives one frame. The payload is in `bytes` from `from` to `to`, and only valid during the call. */
export type FrameReceiver = (
  type: number,
  flags: number,
  stream: number,
  bytes: Buffer,
  from: number,
  to: number,
) => void

/** Splits the bytes from a socket into frames. */
export class FrameReader {
  readonly #receive: FrameReceiver
  /** An incomplete frame, and how much of it has arrived. */
  readonly #part = Buffer.allocUnsafeSlow(FRAME_HEAD + FRAME_SIZE)
  #size = 0

  constructor(receive: FrameReceiver) {
    this.#receive = receive
  }

  /** Throws BrokenConnection for a frame above the maximum size. */
  push(bytes: Buffer, length: number): void {
    let at = this.#size > 0 ? this.#complete(bytes, length) : 0
    while (length - at >= FRAME_HEAD) {
      const end = at + FRAME_HEAD + lengthAt(bytes, at)
      if (end > length) break
      this.#give(bytes, at, end)
      at = end
    }
    if (at < length) this.#size = bytes.copy(this.#part, 0, at, length)
  }

  /** Completes the incomplete frame from `bytes`; returns the offset of the next one. */
  #complete(bytes: Buffer, length: number): number {
    const part = this.#part
    let at = 0
    if (this.#size < FRAME_HEAD) {
      at = bytes.copy(part, this.#size, 0, Math.min(length, FRAME_HEAD - this.#size))
      this.#size += at
      if (this.#size < FRAME_HEAD) return at
    }
    const end = FRAME_HEAD + lengthAt(part, 0)
    const taken = bytes.copy(part, this.#size, at, Math.min(length, at + end - this.#size))
    this.#size += taken
    at += taken
    if (this.#size === end) {
      this.#size = 0
      this.#give(part, 0, end)
    }
    return at
  }

  #give(bytes: Buffer, at: number, end: number): void {
    const stream = bytes.readUInt32BE(at + 5) & 0x7fffffff
    this.#receive(bytes[at + 3] as number, bytes[at + 4] as number, stream, bytes, at + FRAME_HEAD, end)
  }
}

function lengthAt(bytes: Buffer, at: number): number {
  const length = ((bytes[at] as number) << 16) | ((bytes[at + 1] as number) << 8) | (bytes[at + 2] as number)
  if (length > FRAME_SIZE) throw new BrokenConnection(FRAME_SIZE_ERROR, `a frame of ${length} bytes`)
  return length
}
