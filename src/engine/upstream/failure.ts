import { GatewayError } from '../../http/errors.ts'

/** Maps a connection failure to its response: standalone timeouts and failures, spec section "Error replies". */
export function connectFailure(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error
  const code = codeOf(error)
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN' || code === 'ENODATA' || syscallOf(error) === 'getaddrinfo') {
    return new GatewayError('dnsFailed', { cause: error, retryable: true })
  }
  if (code === 'ETIMEDOUT') return connectTimedOut(error)
  return new GatewayError('upstreamFailed', { detail: describe(code, error), cause: error, retryable: true })
}

export function connectTimedOut(cause?: unknown): GatewayError {
  return new GatewayError('upstreamTimeout', { cause, retryable: true })
}

export function connectionClosed(): GatewayError {
  return new GatewayError('upstreamFailed', { detail: 'connection closed', retryable: true })
}

/** The connection was established, and the call ended before its response was complete. */
export function callFailure(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error
  const code = codeOf(error)
  return new GatewayError('upstreamFailed', { detail: describe(code, error), cause: error, retryable: true })
}

/** The response violated HTTP. A retry may reach a healthy server. */
export function protocolFailure(rule: string): GatewayError {
  return new GatewayError('upstreamFailed', { detail: `invalid response: ${rule}`, retryable: true })
}

/** The request cannot be serialized. */
export function requestFailure(detail: string): GatewayError {
  return new GatewayError('upstreamFailed', { detail, retryable: false })
}

/** The body ended prematurely. A policy's error, if any, becomes the response. */
export function bodyFailure(error: Error | undefined): GatewayError {
  return error instanceof GatewayError ? error : requestFailure('request body ended early')
}

/** Whether the peer just disconnected, as it does on an idle connection that it has closed. */
export function isDisconnect(error: unknown): boolean {
  const code = codeOf(error)
  return code === 'ECONNRESET' || code === 'EPIPE' || code === 'ECONNABORTED'
}

/** RFC 9110 9.2.2: safe to retry automatically. */
export function isIdempotent(method: string): boolean {
  switch (method) {
    case 'GET':
    case 'HEAD':
    case 'OPTIONS':
    case 'TRACE':
    case 'PUT':
    case 'DELETE':
    case 'QUERY':
      return true
    default:
      return false
  }
}

const TEXTS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  EPIPE: 'connection closed',
  ENOENT: 'no such socket',
  EACCES: 'permission denied',
  EHOSTUNREACH: 'host unreachable',
  ENETUNREACH: 'network unreachable',
  ERR_TLS_CERT_ALTNAME_INVALID: 'certificate does not match the host name',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'self-signed certificate',
  SELF_SIGNED_CERT_IN_CHAIN: 'self-signed certificate in certificate chain',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'certificate is not trusted',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'certificate is not trusted',
  CERT_HAS_EXPIRED: 'certificate has expired',
}

/** Sent to clients: no address, no path, only what happened. */
function describe(code: string | undefined, error: unknown): string {
  if (code === undefined) return 'connection failed'
  const known = TEXTS[code]
  if (known !== undefined) return known
  if (code.startsWith('ERR_SSL') || code === 'EPROTO') return 'TLS handshake failed'
  return error instanceof Error ? code : 'connection failed'
}

function codeOf(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : undefined
}

function syscallOf(error: unknown): unknown {
  return error instanceof Error && 'syscall' in error ? error.syscall : undefined
}
