import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '../../http/runtime.ts'

/** bytes of a request body that are read after the reply, so that the connection can be used again. */
export const DRAIN_LIMIT = 256 * 1024
/** ms that this may take. */
const DRAIN_TIMEOUT = 10_000

/**
 * Runs when a reply has been sent: what is left of the request is read and thrown away, up to a limit, beyond which the
 * connection ends. Closing at once instead would reset it, and the client could lose the reply that it has not read yet.
 */
export function drainRequest(req: IncomingMessage, res: ServerResponse, clock: Clock): void {
  if (req.complete || req.socket.destroyed) return
  const { socket } = req
  let left = DRAIN_LIMIT
  const timer = clock.after(DRAIN_TIMEOUT, () => socket.destroy())
  const closes = !res.shouldKeepAlive
  req.on('data', (chunk: Buffer) => {
    left -= chunk.length
    if (left < 0) socket.destroy()
  })
  req.once('end', () => {
    timer.cancel()
    if (closes) socket.destroy()
  })
  socket.once('close', () => timer.cancel())
  req.resume()
  // Node would close for good as soon as the reply has gone: only the sending half may end yet.
  if (closes) socket.destroySoon = () => socket.end()
}
