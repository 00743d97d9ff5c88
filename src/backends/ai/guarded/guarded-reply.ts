// Guards on responses, in the client's format, whether converted or native.
import { GatewayError } from '../../../http/errors.ts'
import type { HeaderList } from '../../../http/headers.ts'
import { handlerAround, type ResponseHandler } from '../../../http/transport.ts'
import { guardReply } from '../../../llm/guards/guard-body.ts'
import { guardFailure, refusalError } from '../../../llm/guards/run-guards.ts'
import { parseExact } from '../../../mcp/exact-json.ts'
import { HeldReply } from '../held-reply.ts'
import { isStream } from '../reply.ts'
import { errorInDialect } from '../reply-context.ts'
import { BODY_DIGESTS, GUARDED_LIMIT, type GuardedReplyContext, GuardedStream } from './guarded-stream.ts'

/** `on`, behind the guards. Provider errors pass unguarded. */
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

/** Holds a response until the guards have seen all of it. */
class GuardedWhole extends HeldReply {
  readonly #ctx: GuardedReplyContext
  protected readonly most = { bytes: GUARDED_LIMIT, else: 'looked at' }

  constructor(ctx: GuardedReplyContext, on: ResponseHandler, status: number, headers: HeaderList) {
    super(on, status, headers)
    this.#ctx = ctx
  }

  protected cancel(): void {
    this.#ctx.cancel()
  }

  protected complete(bytes: Buffer): void {
    try {
      const value = parseExact(bytes.toString('utf8'))
      const looked = guardReply(this.#ctx.whole, value, this.#ctx.texts, this.#ctx.call)
      const send = ({ refusal, changed }: Awaited<typeof looked>): void => {
        if (refusal) this.on.fail(refusalError(refusal))
        else this.#pass(changed ? Buffer.from(JSON.stringify(value)) : bytes)
      }
      if (looked instanceof Promise) looked.then(send).catch((error: Error) => this.#refuse(error))
      else send(looked)
    } catch (error) {
      this.#refuse(error as Error)
    }
  }

  protected failed(error: Error): void {
    this.on.fail(errorInDialect(this.#ctx.format.errors, error))
  }

  #refuse(error: Error): void {
    this.failed(error instanceof GatewayError ? error : guardFailure(error))
  }

  #pass(bytes: Buffer): void {
    for (const name of BODY_DIGESTS) this.headers.delete(name)
    this.send(bytes)
  }
}
