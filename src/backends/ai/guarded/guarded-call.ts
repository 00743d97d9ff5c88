import type { Exchange } from '../../../http/exchange.ts'
import type { ResponseHandler } from '../../../http/transport.ts'
import type { Format } from '../../../llm/formats/format.ts'
import { formatTexts } from '../../../llm/formats/texts.ts'
import type { Guards, Refusal } from '../../../llm/guards/guard.ts'
import { guardRequest } from '../../../llm/guards/guard-body.ts'
import { refusalError } from '../../../llm/guards/run-guards.ts'
import type { JsonBody } from '../../../llm/json-body.ts'
import type { Clock } from '../../../runtime/runtime.ts'
import { errorInDialect } from '../reply-context.ts'
import { guardedReply } from './guarded-reply.ts'

export interface GuardedCall {
  /** The exchange of the provider call, and the client's request behind it. */
  readonly x: Exchange
  readonly client: Exchange
  readonly clock: Clock
  readonly guards: Guards | undefined
  readonly format: Format
  /** The provider speaks the client's format. */
  readonly native: boolean
  /** Cancels the call to the provider. */
  cancel(): void
}

/**
 * Makes a call behind its guards: `send` runs once they have passed the request, with a handler that also guards the
 * response. A rejected request is not sent.
 */
export function guarded(
  { x, client, clock, guards, format, native, cancel }: GuardedCall,
  body: JsonBody,
  on: ResponseHandler,
  send: (on: ResponseHandler) => void,
): void {
  const texts = guards && formatTexts(format.name)
  if (guards === undefined || texts === undefined) {
    send(on)
    return
  }
  const call = { x: client, own: x, clock }
  const { whole, streamed } = guards
  const streaming = body.get('stream') === true
  const looked =
    whole.length === 0 && streamed.length === 0
      ? on
      : guardedReply({ whole, streamed, texts, format, call, streaming, cancel }, on)
  const go = (refusal: Refusal | undefined): void => {
    if (refusal) on.fail(refusalError(refusal))
    else send(looked)
  }
  const fail = (error: unknown): void => on.fail(errorInDialect(format.errors, error as Error))
  if (guards.request.length === 0) {
    go(undefined)
    return
  }
  try {
    const verdict = guardRequest(guards.request, body, texts, native, call)
    if (verdict instanceof Promise) verdict.then(go).catch(fail)
    else go(verdict)
  } catch (error) {
    fail(error)
  }
}
