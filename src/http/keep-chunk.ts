/** Chunks below this many bytes count as small; this many of them accumulate before they are joined. */
const SMALL = 4096
const FEW = 64

/**
 * Appends a chunk to a buffered body. A Buffer has an overhead of a hundred bytes or more, so a body sent byte by byte
 * would take a hundred times the memory that is accounted for: small chunks are joined.
 */
export function keepChunk(chunks: Buffer[], chunk: Buffer): void {
  chunks.push(chunk)
  if (chunk.length >= SMALL || chunks.length < FEW || chunks[chunks.length - FEW]!.length >= SMALL) return
  chunks.push(Buffer.concat(chunks.splice(-FEW)))
}
