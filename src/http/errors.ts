/** Why a response was produced, as reported in access log and metrics. */
export type Reason =
  | 'Upstream'
  | 'DirectResponse'
  | 'NotFound'
  | 'NoHealthyBackend'
  | 'Internal'
  | 'InvalidRequest'
  | 'JwtAuth'
  | 'Oidc'
  | 'BasicAuth'
  | 'APIKeyAuth'
  | 'ExtAuth'
  | 'Authorization'
  | 'Timeout'
  | 'ExtProc'
  | 'RateLimit'
  | 'Guardrail'
  | 'MCP'
  | 'UpstreamFailure'

interface ErrorEntry {
  readonly status: number
  readonly reason: Reason
  /** The response text; a detail, if any, follows after `: `. */
  readonly message: string
  /** The gRPC status to send where the HTTP status alone would map to a different one. */
  readonly grpcStatus?: number
}

const entry = (status: number, reason: Reason, message: string, grpcStatus?: number): ErrorEntry =>
  grpcStatus === undefined ? { status, reason, message } : { status, reason, message, grpcStatus }

/** Every error response that the gateway generates itself. Only `engine/respond.ts` renders them. */
export const ERRORS = {
  bindNotFound: entry(404, 'NotFound', 'bind not found'),
  listenerNotFound: entry(404, 'NotFound', 'listener not found'),
  routeNotFound: entry(404, 'NotFound', 'route not found'),
  misdirected: entry(421, 'NotFound', 'misdirected request'),
  noBackend: entry(500, 'NoHealthyBackend', 'no valid backends', 14),
  backendMissing: entry(500, 'NoHealthyBackend', 'backend does not exist'),
  serviceNotFound: entry(500, 'NotFound', 'service not found'),
  noHealthyBackend: entry(503, 'NoHealthyBackend', 'no healthy backends'),
  dnsFailed: entry(503, 'NoHealthyBackend', 'backends required DNS resolution which failed'),
  destinationRefused: entry(403, 'Authorization', 'destination not allowed'),
  upstreamFailed: entry(503, 'UpstreamFailure', 'upstream call failed'),
  upstreamTimeout: entry(504, 'Timeout', 'upstream call timeout'),
  requestTimeout: entry(504, 'Timeout', 'request timeout'),
  loopDetected: entry(508, 'Internal', 'request loops through the gateway'),
  delegationCycle: entry(500, 'Internal', 'route delegation cycle detected'),
  filterFailed: entry(500, 'Internal', 'failed to apply filters'),
  processingFailed: entry(503, 'Internal', 'processing failed'),
  internal: entry(500, 'Internal', 'internal error'),
  bodyUnreadable: entry(503, 'Internal', 'parsing body'),
  bodyTimeout: entry(408, 'Timeout', 'request body timeout'),
  bodyMemory: entry(503, 'Internal', 'too many bodies in memory'),
  bodyTooLarge: entry(413, 'InvalidRequest', 'request body too large'),
  responseTooLarge: entry(502, 'UpstreamFailure', 'response body too large'),
  headersTooLarge: entry(431, 'InvalidRequest', 'request header fields too large'),
  invalidRequest: entry(400, 'InvalidRequest', 'invalid request'),
  methodNotAllowed: entry(405, 'Internal', 'method not allowed'),
  upgradeFailed: entry(502, 'Internal', 'request upgrade failed'),
  shuttingDown: entry(503, 'Internal', 'shutting down'),
  jwt: entry(401, 'JwtAuth', 'authentication failure'),
  oidc: entry(401, 'Oidc', 'oidc failure'),
  apiKey: entry(401, 'APIKeyAuth', 'api key authentication failure'),
  basicAuth: entry(401, 'BasicAuth', 'basic authentication failure'),
  extAuthz: entry(403, 'ExtAuth', 'external authorization failed'),
  authorization: entry(403, 'Authorization', 'authorization failed'),
  undecided: entry(403, 'Authorization', 'a condition cannot be evaluated'),
  csrf: entry(403, 'Authorization', 'CSRF validation failed'),
  rateLimitFailed: entry(500, 'RateLimit', 'rate limit failed'),
  extProc: entry(500, 'ExtProc', 'ext_proc failed'),
  rateLimited: entry(429, 'RateLimit', 'rate limit exceeded'),
  backendAuth: entry(500, 'UpstreamFailure', 'backend authentication failed'),
  llmRequest: entry(400, 'InvalidRequest', 'failed to process LLM request'),
  llmResponse: entry(502, 'UpstreamFailure', 'failed to process LLM response'),
  guard: entry(503, 'Guardrail', 'prompt guard failed'),
  rejected: entry(403, 'Guardrail', 'rejected by a prompt guard'),
  mcp: entry(500, 'MCP', 'mcp'),
} as const satisfies Record<string, ErrorEntry>

export type ErrorCode = keyof typeof ERRORS

export interface ErrorDetails {
  /** Follows the message after `: `. Never holds a secret or client data beyond what the client itself sent. */
  readonly detail?: string
  /** Overrides the code's status where the cause decides it (a provider's status, an MCP transport error). */
  readonly status?: number
  readonly headers?: readonly string[]
  /** The whole body, with its content type, where a protocol prescribes its own form. */
  readonly body?: { readonly type: string; readonly text: string }
  readonly cause?: unknown
  /** Whether a retry may succeed. */
  readonly retryable?: boolean
}

/** A failure with a registered response. Anything else thrown on the request path is a bug and yields a 500. */
export class GatewayError extends Error {
  readonly code: ErrorCode
  readonly details: ErrorDetails

  constructor(code: ErrorCode, details: ErrorDetails = {}) {
    super(details.detail === undefined ? ERRORS[code].message : `${ERRORS[code].message}: ${details.detail}`, {
      cause: details.cause,
    })
    this.name = 'GatewayError'
    this.code = code
    this.details = details
  }

  get status(): number {
    return this.details.status ?? ERRORS[this.code].status
  }
  get reason(): Reason {
    return ERRORS[this.code].reason
  }
  get grpcStatus(): number | undefined {
    return ERRORS[this.code].grpcStatus
  }
}

/** In seconds. Short, as buffered bodies are freed with their requests. */
const RETRY_AFTER = '1'

/** The limit on buffered bodies across all requests is reached. */
export function bodyMemoryExhausted(): GatewayError {
  return new GatewayError('bodyMemory', { headers: ['retry-after', RETRY_AFTER] })
}
