import { Readable } from 'node:stream'

/** bytes below which a frame is small. */
const SMALL = 1024
/** Small frames that may wait each by itself: few requests have more before somebody reads them. */
const FEW = 64
/** bytes of memory that small frames share. */
const PIECE = 4096

/**
 * Lets small frames that nobody reads yet wait together. Each by itself takes hundreds of bytes in a stream, so that
 * whoever sends single bytes would take a hundred times what the window allows.
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
    // Asking for none is how a stream has itself filled.
    if (wanted !== 0) {
      alone = 0
      flush()
    }
    return read.call(stream, wanted)
  }
}
