import type { ErrorKind, LlmError } from '../../chat/chat.ts'
import { defined, isObject, type JsonObject, textOf } from '../../chat/json.ts'

const KINDS: Readonly<Record<string, ErrorKind>> = {
  ValidationException: 'invalid',
  AccessDeniedException: 'permission',
  UnrecognizedClientException: 'authentication',
  ExpiredTokenException: 'authentication',
  InvalidSignatureException: 'authentication',
  ResourceNotFoundException: 'notFound',
  ThrottlingException: 'rateLimit',
  ServiceQuotaExceededException: 'rateLimit',
  ModelTimeoutException: 'timeout',
  ModelNotReadyException: 'overloaded',
  ServiceUnavailableException: 'overloaded',
  InternalServerException: 'server',
  ModelErrorException: 'server',
  ModelStreamErrorException: 'server',
}
const EXCEPTIONS = new Map<ErrorKind, string>(
  Object.entries(KINDS)
    .map(([name, kind]) => [kind, name] as const)
    .reverse(),
)

/** `type`: the exception type from a header or frame, if there is one. */
export function decodeError(value: unknown, type?: string): Partial<LlmError> | undefined {
  if (!isObject(value)) return undefined
  const message = textOf(value.message) ?? textOf(value.Message)
  const named = (type ?? textOf(value.__type))?.replace(/^.*#/, '').replace(/:.*$/, '')
  const name = named === undefined ? undefined : named.charAt(0).toUpperCase() + named.slice(1)
  if (message === undefined && name === undefined) return undefined
  const kind = name !== undefined && Object.hasOwn(KINDS, name) ? KINDS[name] : undefined
  return defined({ kind, message, code: name })
}

export function encodeError({ kind, message }: LlmError): JsonObject {
  return { __type: EXCEPTIONS.get(kind) ?? 'ValidationException', message }
}
