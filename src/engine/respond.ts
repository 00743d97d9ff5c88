import { GatewayError } from '../http/errors.ts'
import type { Exchange, Reply } from '../http/exchange.ts'
import { applyChange } from '../http/field-change.ts'
import { HeaderList } from '../http/headers.ts'

/** gRPC status by HTTP status; anything else is 2 (unknown). */
const GRPC_STATUS: Readonly<Record<number, number>> = {
  400: 13,
  401: 16,
  403: 7,
  404: 12,
  407: 16,
  429: 14,
  502: 14,
  503: 14,
  504: 14,
}

/**
 * The only place where a failure becomes a response. Anything but a GatewayError is a bug, and its details are
 * withheld.
 */
export function replyFor(error: unknown): Reply {
  const known = error instanceof GatewayError ? error : new GatewayError('internal', { cause: error })
  const { details } = known
  const body = details.body ?? { type: 'text/plain', text: known.message }
  return {
    status: known.status,
    headers: [...(body.type === '' ? [] : ['content-type', body.type]), ...(details.headers ?? [])],
    body: body.text,
    reason: known.reason,
    error: known.message,
    grpcStatus: known.grpcStatus,
  }
}

/** gRPC clients read the status from trailers or headers, never the HTTP status. */
export function replyInDialect(reply: Reply, x: Exchange): Reply {
  const type = x.received.headers.get('content-type')
  if (type === undefined || !type.startsWith('application/grpc') || reply.status < 400) return reply
  const code = reply.grpcStatus ?? GRPC_STATUS[reply.status] ?? 2
  const message = encodeURIComponent(reply.error ?? '').replaceAll('%3A', ':')
  const kept = withoutField(reply.headers, 'content-type')
  return {
    ...reply,
    status: 200,
    headers: ['content-type', 'application/grpc', 'grpc-status', String(code), 'grpc-message', message, ...kept],
    body: undefined,
  }
}

/** Applies the queued fields (CORS, rate limits, external services) to the response. */
export function mergeQueued(headers: HeaderList, { queuedHeaders, queuedChanges }: Exchange): void {
  for (let i = 0; i < queuedHeaders.length; i += 2) headers.set(queuedHeaders[i]!, queuedHeaders[i + 1]!)
  for (const change of queuedChanges) applyChange(headers, change)
}

export function headOf(reply: Reply): { status: number; headers: HeaderList } {
  return { status: reply.status, headers: new HeaderList(reply.headers) }
}

function withoutField(headers: readonly string[], name: string): string[] {
  const out: string[] = []
  for (let i = 0; i < headers.length; i += 2)
    if (headers[i]!.toLowerCase() !== name) out.push(headers[i]!, headers[i + 1]!)
  return out
}
