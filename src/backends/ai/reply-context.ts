import { GatewayError } from '../../http/errors.ts'
import type { LlmFacts } from '../../http/exchange.ts'
import type { ChatFormat } from '../../llm/chat/chat.ts'
import type { ErrorCodec } from '../../llm/chat/codec.ts'
import { errorBody } from '../../llm/error-body.ts'
import type { ReplyReader } from '../../llm/formats/format.ts'
import type { Clock } from '../../runtime/runtime.ts'

/** What passing a provider's reply on needs. */
export interface ReplyContext {
  readonly format: ReplyReader
  /** How the client reads errors. */
  readonly errors: ErrorCodec
  readonly facts: LlmFacts
  readonly clock: Clock
  /** Monotonic ms. */
  readonly startedAt: number
  /** The format of a conversation: its streams have an end that can be missed. */
  readonly chat?: ChatFormat | undefined
  /** A stream that has not said anything may still be answered by somebody else: nothing of it is sent before. */
  readonly patient?: boolean
  /** Events of a stream that the client is not to see. */
  readonly hide?: ((event: unknown) => boolean) | undefined
  /** Ends the upstream call. */
  cancel(): void
  /** After the last byte. */
  done(): void
}

/** The same failure with a body that the client's SDK can read. */
export function errorInDialect(dialect: ErrorCodec, error: Error): Error {
  if (!(error instanceof GatewayError) || error.details.body !== undefined) return error
  return new GatewayError(error.code, {
    ...error.details,
    cause: error,
    body: errorBody(dialect, error.status, error.message),
  })
}
