/** The form in which a client expects errors. */
export type ErrorDialect = 'openai' | 'anthropic'

const OPENAI_TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  429: 'rate_limit_error',
}
const ANTHROPIC_TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  504: 'timeout_error',
  529: 'overloaded_error',
}

/** An error as the client's SDK reads it, with its content type. */
export function errorBody(
  dialect: ErrorDialect,
  status: number,
  message: string,
  code: string | null = null,
): { readonly type: string; readonly text: string } {
  const value =
    dialect === 'anthropic'
      ? {
          type: 'error',
          error: { type: ANTHROPIC_TYPES[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error'), message },
        }
      : {
          error: {
            message,
            type: OPENAI_TYPES[status] ?? (status < 500 ? 'invalid_request_error' : 'server_error'),
            param: null,
            code,
          },
        }
  return { type: 'application/json', text: JSON.stringify(value) }
}

/** Whether an upstream's error body is already what clients of the dialect read. */
export function speaksDialect(dialect: ErrorDialect, value: unknown): boolean {
  if (typeof value !== 'object' || value === null || !('error' in value)) return false
  const error = value.error
  if (dialect === 'anthropic')
    return typeof error === 'object' && error !== null && 'message' in error && 'type' in error
  return typeof error === 'string' || (typeof error === 'object' && error !== null && 'message' in error)
}
