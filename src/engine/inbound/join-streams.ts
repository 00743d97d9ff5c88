import { constants, type Http2Stream } from 'node:http2'
import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { TLSSocket } from 'node:tls'
import { resetStream } from '../../http/http2-reset.ts'

/**
 * Pipes bytes both ways, with back-pressure. Each direction ends on its own; if one side is aborted the other is too,
 * and after a regular end pending data is still delivered.
 */
export function joinStreams(a: Duplex, b: Duplex): void {
  a.allowHalfOpen = true
  b.allowHalfOpen = true
  follow(a, b)
  follow(b, a)
  a.pipe(b)
  b.pipe(a)
}

/** Ends a connection so that the peer does not take it for a regular end. */
export function breakOff(stream: Duplex): void {
  if (stream.destroyed) return
  if (stream instanceof Socket && !(stream instanceof TLSSocket) && stream.remotePort !== undefined)
    stream.resetAndDestroy()
  else if (isHttp2Stream(stream)) resetStream(stream, constants.NGHTTP2_CANCEL)
  else stream.destroy()
}

function isHttp2Stream(stream: Duplex): stream is Http2Stream {
  return 'rstCode' in stream
}

function follow(from: Duplex, to: Duplex): void {
  from.on('error', () => breakOff(to))
  from.once('close', () => {
    if (!from.readableEnded) breakOff(to)
    else if (to.writableFinished) to.destroy()
    else to.once('finish', () => to.destroy()).end()
  })
}
