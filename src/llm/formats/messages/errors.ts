import type { ErrorKind, LlmError } from '../../chat/chat.ts'
import type { ErrorCodec } from '../../chat/codec.ts'
import { defined, isObject, type JsonObject, textOf } from '../../chat/json.ts'

const TYPES: Readonly<Record<ErrorKind, string>> = {
  invalid: 'invalid_request_error',
  authentication: 'authentication_error',
  permission: 'permission_error',
  notFound: 'not_found_error',
  tooLarge: 'request_too_large',
  rateLimit: 'rate_limit_error',
  overloaded: 'overloaded_error',
  timeout: 'timeout_error',
  filter: 'invalid_request_error',
  server: 'api_error',
}
const KINDS = new Map<string, ErrorKind>(
  (Object.entries(TYPES) as [ErrorKind, string][])
    .filter(([kind]) => kind !== 'filter')
    .map(([kind, type]) => [type, kind]),
)
KINDS.set('billing_error', 'permission')

/** Undefined if it is not an error of this format. */
export function decodeError(value: unknown): Partial<LlmError> | undefined {
  if (!isObject(value) || !isObject(value.error) || typeof value.error.type !== 'string') return undefined
  return defined({ kind: KINDS.get(textOf(value.error.type) ?? ''), message: textOf(value.error.message) })
}

function encodeError({ kind, message }: LlmError): JsonObject {
  return { type: 'error', error: { type: TYPES[kind], message } }
}

export const anthropicErrors: ErrorCodec = {
  decode: decodeError,
  encode: encodeError,
  event: error => `event: error\ndata: ${JSON.stringify(encodeError(error))}\n\n`,
}
