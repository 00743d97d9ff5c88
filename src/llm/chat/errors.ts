import type { ErrorKind, LlmError } from './chat.ts'

const BY_STATUS: Readonly<Record<number, ErrorKind>> = {
  401: 'authentication',
  403: 'permission',
  404: 'notFound',
  408: 'timeout',
  413: 'tooLarge',
  429: 'rateLimit',
  504: 'timeout',
  529: 'overloaded',
}

function errorKindOf(status: number): ErrorKind {
  return BY_STATUS[status] ?? (status < 500 ? 'invalid' : 'server')
}

/** Completes an error from its status. Undefined status: the error came within a stream. */
export function errorOf(status: number | undefined, said: Partial<LlmError> | undefined): LlmError {
  const kind = said?.kind ?? (status === undefined ? 'server' : errorKindOf(status))
  const fallback = status === undefined ? 'the provider reported an error' : `the provider answered ${status}`
  return { ...said, kind, message: said?.message || fallback }
}
