import type { Http2Stream } from 'node:http2'

/**
 * Resets a stream whose message is not complete. Node ends a stream before it resets it, so that the other side could
 * take what it has for all of it; a write that is under way puts that end off.
 */
export function resetStream(stream: Http2Stream, code: number): void {
  if (stream.closed || stream.destroyed) return
  if (!stream.writableEnded && stream.sentHeaders !== undefined) stream.write(EMPTY)
  stream.close(code)
}

const EMPTY = Buffer.alloc(0)
