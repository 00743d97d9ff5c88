import { GatewayError } from '../../http/errors.ts'
import type { LlmFacts } from '../../http/exchange.ts'
import type { ChatFormat } from '../../llm/chat/chat.ts'
import type { ErrorCodec } from '../../llm/chat/codec.ts'
import { errorBody } from '../../llm/error-body.ts'
import type { ReplyReader } from '../../llm/formats/format.ts'
import type { Clock } from '../../runtime/runtime.ts'

/** What forwarding a provider's response needs. */
export interface ReplyContext {
  readonly format: ReplyReader
  /** The client's error format. */
  readonly errors: ErrorCodec
  readonly facts: LlmFacts
  readonly clock: Clock
  /** Monotonic ms. */
  readonly startedAt: number
  /** The format of a conversation, whose streams have a final event. */
  readonly chat?: ChatFormat | undefined
  /** Another provider may still replace a stream without content, so nothing is sent before that. */
  readonly patient?: boolean
  /** Events of a stream that are withheld from the client. */
  readonly hide?: ((event: unknown) => boolean) | undefined
  /** Cancels the upstream call. */
  cancel(): void
  /** Called after the last byte. */
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
