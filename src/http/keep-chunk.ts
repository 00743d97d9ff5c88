/** bytes below which a chunk is small, and how many chunks stand before small ones are joined. */
const SMALL = 4096
const FEW = 64

/**
 * Adds a chunk to those of a body that is kept. A Buffer costs a hundred bytes and more, so that whoever sends a body
 * byte by byte would take a hundred times what is counted: small ones are joined.
 */
export function keepChunk(chunks: Buffer[], chunk: Buffer): void {
  chunks.push(chunk)
  if (chunk.length >= SMALL || chunks.length < FEW || chunks[chunks.length - FEW]!.length >= SMALL) return
  chunks.push(Buffer.concat(chunks.splice(-FEW)))
}
