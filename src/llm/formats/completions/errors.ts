import type { ErrorKind, LlmError } from '../../chat/chat.ts'
import type { ErrorCodec } from '../../chat/codec.ts'
import { defined, isObject, type JsonObject, labelOf, textOf } from '../../chat/json.ts'

const TYPES: Readonly<Record<ErrorKind, string>> = {
  invalid: 'invalid_request_error',
  authentication: 'authentication_error',
  permission: 'permission_error',
  notFound: 'invalid_request_error',
  tooLarge: 'invalid_request_error',
  rateLimit: 'rate_limit_error',
  overloaded: 'server_error',
  timeout: 'server_error',
  filter: 'invalid_request_error',
  server: 'server_error',
}
const KINDS: Readonly<Record<string, ErrorKind>> = {
  invalid_request_error: 'invalid',
  authentication_error: 'authentication',
  invalid_api_key: 'authentication',
  permission_error: 'permission',
  insufficient_permissions: 'permission',
  not_found_error: 'notFound',
  model_not_found: 'notFound',
  rate_limit_error: 'rateLimit',
  rate_limit_exceeded: 'rateLimit',
  insufficient_quota: 'rateLimit',
  tokens: 'rateLimit',
  requests: 'rateLimit',
  server_error: 'server',
  timeout_error: 'timeout',
  content_filter: 'filter',
  content_policy_violation: 'filter',
  guardrail_blocked: 'filter',
  guardrail_intervention: 'filter',
}

/** Undefined: not an error of this format. */
export function decodeError(value: unknown): Partial<LlmError> | undefined {
  if (!isObject(value)) return undefined
  const { error } = value
  if (typeof error === 'string') return { message: error }
  // Servers of one's own put the message at the top, or call it `detail`.
  if (!isObject(error)) {
    const message = textOf(value.message) ?? textOf(value.detail)
    return message === undefined ? undefined : defined({ message, param: textOf(value.param) })
  }
  const code = typeof error.code === 'number' ? labelOf(error.code) : textOf(error.code)
  const kind = KINDS[code ?? ''] ?? KINDS[textOf(error.type) ?? '']
  return defined({ kind, message: textOf(error.message), code, param: textOf(error.param) })
}

export function encodeError(error: LlmError): JsonObject {
  return {
    error: {
      message: error.message,
      type: TYPES[error.kind],
      param: error.param ?? null,
      code: error.code ?? (error.kind === 'filter' ? 'content_filter' : null),
    },
  }
}

export const openAiErrors: ErrorCodec = {
  decode: decodeError,
  encode: encodeError,
  event: error => `data: ${JSON.stringify(encodeError(error))}\n\n`,
}
