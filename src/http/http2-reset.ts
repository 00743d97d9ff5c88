import type { Http2Stream } from 'node:http2'

/**
 * Resets a stream whose message is incomplete. Node ends a stream before resetting it, so the peer could take a partial
 * message for a complete one; a pending write delays that end.
 */
export function resetStream(stream: Http2Stream, code: number): void {
  if (stream.closed || stream.destroyed) return
  if (!stream.writableEnded && stream.sentHeaders !== undefined) stream.write(EMPTY)
  stream.close(code)
}

const EMPTY = Buffer.alloc(0)
