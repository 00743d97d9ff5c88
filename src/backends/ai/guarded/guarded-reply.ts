// Guards on what goes back to the client, in the client's format, whether it was converted or not.
import { GatewayError } from '../../../http/errors.ts'
import type { HeaderList } from '../../../http/headers.ts'
import { keepChunk } from '../../../http/keep-chunk.ts'
import { type ChunkSink, handlerAround, type ResponseHandler } from '../../../http/transport.ts'
import { guardReply } from '../../../llm/guards/guard-body.ts'
import { guardFailure, refusalError } from '../../../llm/guards/run-guards.ts'
import { parseExact } from '../../../mcp/exact-json.ts'
import { isStream } from '../reply.ts'
import { errorInDialect } from '../reply-context.ts'
import { BODY_DIGESTS, GUARDED_LIMIT, type GuardedReplyContext, GuardedStream } from './guarded-stream.ts'

/** `on`, behind the guards. What the provider says of an error of its own passes. */
export function guardedReply(ctx: GuardedReplyContext, on: ResponseHandler): ResponseHandler {
  return handlerAround(on, {
    head(status, headers) {
      if (status >= 300) return on.head(status, headers)
      if (!isStream(headers, ctx.streaming)) {
        return ctx.whole.length === 0 ? on.head(status, headers) : new GuardedWhole(ctx, on, status, headers)
      }
      return ctx.streamed.length === 0 ? on.head(status, headers) : new GuardedStream(ctx, on, status, headers)
    },
  })
}

/** Holds a reply until the guards have seen all of it. */
class GuardedWhole implements ChunkSink {
  readonly #ctx: GuardedReplyContext
  readonly #on: ResponseHandler
  readonly #status: number
  readonly #headers: HeaderList
  #chunks: Buffer[] = []
  #size = 0
  #over = false

  constructor(ctx: GuardedReplyContext, on: ResponseHandler, status: number, headers: HeaderList) {
    this.#ctx = ctx
    this.#on = on
    this.#status = status
    this.#headers = headers
  }

  write(chunk: Buffer): boolean {
    if (this.#over) return true
    keepChunk(this.#chunks, chunk)
    this.#size += chunk.length
    if (this.#size > GUARDED_LIMIT) {
      this.#ctx.cancel()
      const detail = `more than ${GUARDED_LIMIT} bytes cannot be looked at`
      this.fail(new GatewayError('responseTooLarge', { detail }))
    }
    return true
  }

  end(): void {
    if (this.#over) return
    this.#over = true
    const bytes = Buffer.concat(this.#chunks, this.#size)
    this.#chunks = []
    try {
      const value = parseExact(bytes.toString('utf8'))
      const looked = guardReply(this.#ctx.whole, value, this.#ctx.texts, this.#ctx.call)
      const send = ({ refusal, changed }: Awaited<typeof looked>): void => {
        if (refusal) this.#on.fail(refusalError(refusal))
        else this.#send(changed ? Buffer.from(JSON.stringify(value)) : bytes)
      }
      if (looked instanceof Promise) looked.then(send).catch((error: Error) => this.#refuse(error))
      else send(looked)
    } catch (error) {
      this.#refuse(error as Error)
    }
  }

  fail(error: Error): void {
    if (this.#over && this.#chunks.length === 0) return
    this.#over = true
    this.#chunks = []
    this.#on.fail(errorInDialect(this.#ctx.errors, error))
  }

  onDrain(): void {
    // Held in memory, so never full.
  }

  #refuse(error: Error): void {
    this.#on.fail(errorInDialect(this.#ctx.errors, error instanceof GatewayError ? error : guardFailure(error)))
  }

  #send(bytes: Buffer): void {
    for (const name of BODY_DIGESTS) this.#headers.delete(name)
    this.#headers.set('content-length', String(bytes.length))
    const client = this.#on.head(this.#status, this.#headers)
    client.write(bytes)
    client.end()
  }
}
