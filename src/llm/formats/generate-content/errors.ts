import type { ErrorKind, LlmError } from '../../chat/chat.ts'
import type { ErrorCodec } from '../../chat/codec.ts'
import { defined, isObject, type JsonObject, textOf } from '../../chat/json.ts'

const STATUSES: Readonly<Record<ErrorKind, readonly [number, string]>> = {
  invalid: [400, 'INVALID_ARGUMENT'],
  authentication: [401, 'UNAUTHENTICATED'],
  permission: [403, 'PERMISSION_DENIED'],
  notFound: [404, 'NOT_FOUND'],
  tooLarge: [413, 'INVALID_ARGUMENT'],
  rateLimit: [429, 'RESOURCE_EXHAUSTED'],
  overloaded: [503, 'UNAVAILABLE'],
  timeout: [504, 'DEADLINE_EXCEEDED'],
  filter: [400, 'FAILED_PRECONDITION'],
  server: [500, 'INTERNAL'],
}
const KINDS = new Map<string, ErrorKind>([
  ['INVALID_ARGUMENT', 'invalid'],
  ['FAILED_PRECONDITION', 'invalid'],
  ['OUT_OF_RANGE', 'invalid'],
  ['UNAUTHENTICATED', 'authentication'],
  ['PERMISSION_DENIED', 'permission'],
  ['NOT_FOUND', 'notFound'],
  ['RESOURCE_EXHAUSTED', 'rateLimit'],
  ['UNAVAILABLE', 'overloaded'],
  ['DEADLINE_EXCEEDED', 'timeout'],
  ['INTERNAL', 'server'],
])

/** Google's error, plain or as the only element of a list. Undefined for anything else. */
export function decodeError(value: unknown): Partial<LlmError> | undefined {
  const given = Array.isArray(value) ? value[0] : value
  if (!isObject(given) || !isObject(given.error)) return undefined
  const status = textOf(given.error.status)
  return defined({ kind: KINDS.get(status ?? ''), message: textOf(given.error.message), code: status })
}

function encodeError({ kind, message }: LlmError): JsonObject {
  const [code, status] = STATUSES[kind]
  return { error: { code, message, status } }
}

export const googleErrors: ErrorCodec = {
  decode: decodeError,
  encode: encodeError,
  event: error => `data: ${JSON.stringify(encodeError(error))}\n\n`,
}
