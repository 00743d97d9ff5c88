import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AdminReply, TextReply } from './table.ts'

/** ms without read progress before a client is disconnected. */
const READ_TIMEOUT = 30_000

const ALWAYS = { 'cache-control': 'no-cache, no-store', 'x-content-type-options': 'nosniff' }

/** Resolves when the response is written or the client disconnects. */
export async function sendReply(reply: AdminReply, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const isHead = request.method === 'HEAD'
  if ('stream' in reply && (response.destroyed || isHead)) reply.cancel()
  if (response.destroyed) return
  if ('stream' in reply) {
    response.writeHead(reply.status, { 'content-type': reply.type, ...ALWAYS })
    if (isHead) response.end()
    else reply.stream(response)
    return
  }
  response.setTimeout(READ_TIMEOUT, () => response.destroy())
  const headers = { 'content-type': fullType(reply), ...ALWAYS, ...reply.headers }
  const { body } = reply
  if (typeof body === 'string' || Buffer.isBuffer(body)) sendWhole(body)
  else {
    const { value: first = '', done } = body.next()
    if (done || isHead) sendWhole(first + [...body].join(''))
    else {
      response.writeHead(reply.status, headers)
      await sendPieces(first, body, response)
    }
  }

  function sendWhole(text: string | Buffer): void {
    response.writeHead(reply.status, { ...headers, 'content-length': Buffer.byteLength(text) })
    response.end(isHead ? undefined : text)
  }
}

/** Yields to requests between pieces, and waits for a slow client. */
async function sendPieces(first: string, others: Iterable<string>, response: ServerResponse): Promise<void> {
  let room = response.write(first)
  for (const piece of others) {
    if (!room) await untilRoom(response)
    // A write that the operating system accepts at once does not yield on its own.
    await new Promise(setImmediate)
    if (response.destroyed) return
    room = response.write(piece)
  }
  response.end()
}

function untilRoom(response: ServerResponse): Promise<void> {
  return new Promise(resolve => {
    const go = () => {
      response.off('drain', go).off('close', go)
      resolve()
    }
    response.on('drain', go).on('close', go)
  })
}

function fullType({ type }: TextReply): string {
  return type === 'text/plain' ? 'text/plain; charset=utf-8' : type
}
