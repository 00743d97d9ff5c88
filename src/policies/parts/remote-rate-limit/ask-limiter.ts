import { type GrpcCall, GrpcFailure, grpcUnary } from '../../../calls/grpc.ts'
import type { Callee } from '../../../calls/outcall.ts'
import { GatewayError } from '../../../http/errors.ts'
import type { Exchange, Reply } from '../../../http/exchange.ts'
import { applyChange, type FieldChange, fieldChange } from '../../../http/field-change.ts'
import {
  type DescriptorToWrite,
  RATE_LIMIT_CODE,
  type RateLimitResponse,
  rateLimitRequest,
  rateLimitResponse,
  SHOULD_RATE_LIMIT,
} from '../../../protobuf/rate-limit.ts'
import type { Runtime } from '../../../runtime/runtime.ts'
import { isUnanswered } from '../service-failure.ts'

/** A rate limit service and how to call it. */
export interface Limiter {
  readonly callee: Callee
  readonly domain: string
  /** ms. */
  readonly timeout: number
  readonly runtime: Runtime
}

const MAX_REPLY = 1024 * 1024

/** Throws GatewayError `rateLimitFailed` for an invalid response, anything else if there is none. */
export async function askLimiter(
  { callee, domain, timeout, runtime }: Limiter,
  descriptors: readonly DescriptorToWrite[],
  client: Exchange | undefined,
): Promise<RateLimitResponse> {
  const call: GrpcCall = {
    path: SHOULD_RATE_LIMIT,
    scope: 'remoteRateLimit',
    what: 'rate limit',
    purpose: { kind: 'Policy', subtype: 'RateLimit' },
    timeout,
    limit: MAX_REPLY,
  }
  try {
    const { message } = await grpcUnary(callee, call, rateLimitRequest.encode({ domain, descriptors }), runtime, client)
    return rateLimitResponse.decode(message)
  } catch (error) {
    if (isUnanswered(error)) throw error
    throw new GatewayError('rateLimitFailed', { cause: error instanceof GrpcFailure ? error.message : error })
  }
}

/** Applies the service's decision; returns a reply unless the request may pass. */
export function applyLimits(x: Exchange, response: RateLimitResponse): Reply | undefined {
  showBudget(x, response)
  x.queuedChanges.push(...changesIn(response.responseHeadersToAdd))
  if (response.overallCode === RATE_LIMIT_CODE.ok) {
    for (const change of changesIn(response.requestHeadersToAdd)) applyChange(x.request.headers, change)
    return undefined
  }
  const { rawBody } = response
  const said = rawBody !== undefined && rawBody.length > 0
  return {
    status: 429,
    headers: said ? [] : ['content-type', 'text/plain'],
    body: said ? Buffer.from(rawBody) : 'rate limit exceeded',
    reason: 'RateLimit',
    error: 'rate limit exceeded',
  }
}

/** Shows the limit closest to exhaustion. */
function showBudget({ queuedHeaders }: Exchange, { statuses }: RateLimitResponse): void {
  const limits = statuses.filter(status => status.currentLimit !== undefined)
  if (limits.length === 0) return
  const tightest = limits.reduce((a, b) => ((b.limitRemaining ?? 0) < (a.limitRemaining ?? 0) ? b : a))
  queuedHeaders.push('x-ratelimit-limit', String(tightest.currentLimit?.requestsPerUnit ?? 0))
  queuedHeaders.push('x-ratelimit-remaining', String(tightest.limitRemaining ?? 0))
  const reset = tightest.durationUntilReset?.seconds
  if (reset !== undefined) queuedHeaders.push('x-ratelimit-reset', String(Math.max(0, reset)))
}

function changesIn(headers: RateLimitResponse['responseHeadersToAdd']): FieldChange[] {
  return headers.flatMap(({ key = '', value, rawValue }) => {
    const text = value ?? Buffer.from(rawValue ?? []).toString('latin1')
    return fieldChange(key, text, key.toLowerCase() === 'set-cookie' ? 'append' : 'set') ?? []
  })
}
