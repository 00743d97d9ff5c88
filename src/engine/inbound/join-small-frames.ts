import { Readable } from 'node:stream'

/** Frames below this many bytes count as small. */
const SMALL = 1024
/** Small frames that may be queued individually: few requests have more before they are read. */
const FEW = 64
/** Bytes of memory shared by small frames. */
const PIECE = 4096

/**
 * Joins small frames that are queued unread. Each takes hundreds of bytes of overhead in a stream, so a peer that sends
 * single bytes would use a hundred times what the window allows.
 */
export function joinSmallFrames(stream: Readable): void {
  const { push, read } = Readable.prototype
  let piece: Buffer | undefined
  let size = 0
  let alone = 0
  const flush = (): void => {
    if (piece === undefined) return
    const joined = piece.subarray(0, size)
    piece = undefined
    size = 0
    push.call(stream, joined)
  }
  stream.push = (chunk: unknown) => {
    const small = Buffer.isBuffer(chunk) && chunk.length < SMALL && stream.readableFlowing !== true
    if (!small || ++alone <= FEW) {
      flush()
      return push.call(stream, chunk)
    }
    if (size + chunk.length > PIECE) flush()
    piece ??= Buffer.allocUnsafeSlow(PIECE)
    size += chunk.copy(piece, size)
    return stream.readableLength + size < stream.readableHighWaterMark
  }
  stream.read = (wanted?: number) => {
    // Reading zero bytes is how a stream refills itself.
    if (wanted !== 0) {
      alone = 0
      flush()
    }
    return read.call(stream, wanted)
  }
}
