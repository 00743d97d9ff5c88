import { ask } from '../../calls/ask.ts'
import { GrpcFailure, grpcUnary } from '../../calls/grpc.ts'
import { GatewayError } from '../../http/errors.ts'
import type { HeaderList } from '../../http/headers.ts'
import type { Collector } from '../../policies/policy.ts'
import type { Clock } from '../../runtime/runtime.ts'

/** ms for one export, including its response. */
const TIMEOUT = 10_000
/** Maximum bytes of a response, whose content does not matter. */
const MAX_ANSWER = 1024 * 1024

export type Signal = 'traces' | 'logs'

/** The outcome of an export; `after`: ms that the collector asks to wait before the next. */
export type Delivery =
  | { readonly ok: true }
  | { readonly ok: false; readonly retry: boolean; readonly after?: number; readonly error: string }

const GRPC_METHOD = {
  traces: '/opentelemetry.proto.collector.trace.v1.TraceService/Export',
  logs: '/opentelemetry.proto.collector.logs.v1.LogsService/Export',
} as const

/** CANCELLED, DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED, ABORTED, OUT_OF_RANGE, UNAVAILABLE, DATA_LOSS. */
const GRPC_RETRYABLE: ReadonlySet<number> = new Set([1, 4, 8, 10, 11, 14, 15])
const HTTP_RETRYABLE: ReadonlySet<number> = new Set([429, 502, 503, 504])

/** Performs one export (OTLP 1.x, over gRPC or HTTP, both in protobuf). Never rejects. */
export async function exportOnce(
  { to, protocol, path, fields }: Collector,
  signal: Signal,
  message: Uint8Array,
  clock: Clock,
): Promise<Delivery> {
  const call = { timeout: TIMEOUT, scope: 'telemetry', fields }
  try {
    if (protocol === 'grpc') {
      await grpcUnary(to, { ...call, path: GRPC_METHOD[signal] }, message, { clock })
      return { ok: true }
    }
    const request = { ...call, method: 'POST', path, fields: ['content-type', 'application/x-protobuf', ...fields] }
    const { status, headers } = await ask(
      to,
      request,
      Buffer.from(message.buffer, message.byteOffset, message.length),
      MAX_ANSWER,
      { clock },
    )
    return status >= 200 && status < 300 ? { ok: true } : refused(status, headers)
  } catch (error) {
    return failed(error)
  }
}

function refused(status: number, headers: HeaderList): Delivery {
  const after = retryAfter(headers)
  return {
    ok: false,
    retry: HTTP_RETRYABLE.has(status),
    error: `status ${status}`,
    ...(after === undefined ? {} : { after }),
  }
}

/** Failed connections and aborted calls are retryable. */
function failed(error: unknown): Delivery {
  if (error instanceof GrpcFailure) return { ok: false, retry: GRPC_RETRYABLE.has(error.status), error: error.message }
  return { ok: false, retry: true, error: reasonOf(error) }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof GatewayError)) return error instanceof Error ? error.message : String(error)
  return error.code === 'upstreamTimeout' ? `no answer within ${TIMEOUT} ms` : (error.details.detail ?? error.message)
}

function retryAfter(headers: HeaderList): number | undefined {
  const text = headers.get('retry-after')
  return text !== undefined && /^\d{1,5}$/.test(text) ? Number(text) * 1000 : undefined
}
