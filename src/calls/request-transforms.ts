import { type Readable, Transform } from 'node:stream'
import type { BodySource, Exchange } from '../http/exchange.ts'
import { flushChunks, passChunk } from './run-policies.ts'
import type { BodyHook } from './step.ts'

/** Inserts transforms between the client's body and the backend. */
export function wrapRequestBody(x: Exchange, hooks: readonly BodyHook[]): void {
  if (hooks.length === 0) return
  const inner = x.body
  x.request.headers.delete('content-length')
  if (inner.bytes) {
    const first = passChunk(hooks, inner.bytes)
    inner.replace(Buffer.concat([...(first ? [first] : []), ...flushChunks(hooks)]))
    return
  }
  const wrapped: BodySource = {
    length: undefined,
    get bytes() {
      return inner.bytes
    },
    buffer: limit => inner.buffer(limit),
    prefix: limit => inner.prefix(limit),
    replace: bytes => inner.replace(bytes),
    take: () => transformBody(inner.take(), hooks),
  }
  x.body = wrapped
}

function transformBody(body: Buffer | Readable | undefined, hooks: readonly BodyHook[]): Buffer | Readable | undefined {
  if (body === undefined) return undefined
  if (Buffer.isBuffer(body)) {
    const first = passChunk(hooks, body)
    return Buffer.concat([...(first ? [first] : []), ...flushChunks(hooks)])
  }
  const transform = new Transform({
    transform: (chunk: Buffer, _encoding, done) => done(null, passChunk(hooks, chunk)),
    flush(done) {
      for (const chunk of flushChunks(hooks)) this.push(chunk)
      done()
    },
  })
  body.on('error', error => transform.destroy(error))
  return body.pipe(transform)
}
