import { GatewayError } from '../../http/errors.ts'
import { type Attempt, bodyOf, Exchange } from '../../http/exchange.ts'
import { HeaderList } from '../../http/headers.ts'
import type { Clock } from '../../http/runtime.ts'
import type { ChunkSink, ResponseHandler, Target } from '../../http/transport.ts'
import type { Collector } from '../../policies/policy.ts'

/** ms for one export, from the call to the end of the answer. */
const TIMEOUT = 10_000

export type Signal = 'traces' | 'logs'

/** How an export ended; `after`: ms that the collector asks to wait before the next. */
export type Delivery =
  | { readonly ok: true }
  | { readonly ok: false; readonly retry: boolean; readonly after?: number; readonly error: string }

const GRPC_METHOD = {
  traces: '/opentelemetry.proto.collector.trace.v1.TraceService/Export',
  logs: '/opentelemetry.proto.collector.logs.v1.LogsService/Export',
} as const

/** Makes one export (OTLP 1.x, over gRPC or HTTP, both in protobuf). Never rejects. */
export async function exportOnce(
  { to, protocol, path, fields }: Collector,
  signal: Signal,
  message: Buffer,
  clock: Clock,
): Promise<Delivery> {
  try {
    const target = authorityOf(to.target())
    return await (protocol === 'grpc'
      ? call(to, exchangeFor(clock, target, GRPC_METHOD[signal], GRPC, fields, framed(message)), grpcAnswer, clock)
      : call(to, exchangeFor(clock, target, path, PROTOBUF, fields, message), httpAnswer, clock))
  } catch (error) {
    return failed(error)
  }
}

interface Form {
  readonly httpVersion: string
  readonly fields: readonly string[]
}
const GRPC: Form = { httpVersion: '2.0', fields: ['content-type', 'application/grpc', 'te', 'trailers'] }
const PROTOBUF: Form = { httpVersion: '1.1', fields: ['content-type', 'application/x-protobuf'] }

function exchangeFor(
  clock: Clock,
  authority: string,
  path: string,
  form: Form,
  more: readonly string[],
  body: Buffer,
): Exchange {
  const fields = ['user-agent', 'gwctl', ...form.fields, ...more, 'content-length', String(body.length)]
  return new Exchange({
    id: 'telemetry',
    connection: { id: 0, address: '', port: 0, localPort: 0 },
    startedAt: clock.now(),
    startedMono: clock.mono(),
    httpVersion: form.httpVersion,
    request: { method: 'POST', scheme: 'http', authority, path, headers: new HeaderList(fields, true) },
    body: bodyOf(body),
  })
}

function authorityOf({ host, port, unixPath }: Target): string {
  if (unixPath !== undefined) return 'localhost'
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}

function call(
  to: Collector['to'],
  x: Exchange,
  answer: (settle: (delivery: Delivery) => void) => ResponseHandler,
  clock: Clock,
): Promise<Delivery> {
  const attempt: Attempt = { index: 0, target: to.name, startedAt: x.startedMono, timeout: TIMEOUT }
  x.attempts.push(attempt)
  return new Promise(resolve => {
    const timer = clock.after(TIMEOUT, () => {
      resolve({ ok: false, retry: true, error: `no answer within ${TIMEOUT} ms` })
      x.abort()
    })
    const settle = (delivery: Delivery): void => {
      timer.cancel()
      resolve(delivery)
    }
    to.send(x, attempt, answer(settle)).catch((error: unknown) => settle(failed(error)))
  })
}

/** gRPC's length-prefixed message, uncompressed. */
function framed(message: Buffer): Buffer {
  const frame = Buffer.allocUnsafe(message.length + 5)
  frame[0] = 0
  frame.writeUInt32BE(message.length, 1)
  message.copy(frame, 5)
  return frame
}

function httpAnswer(settle: (delivery: Delivery) => void): ResponseHandler {
  return {
    head(status, headers) {
      if (status >= 200 && status < 300) return untilEnd(() => settle({ ok: true }), settle)
      const retry = status === 429 || status === 502 || status === 503 || status === 504
      const after = retryAfter(headers)
      const delivery = {
        ok: false,
        retry,
        error: `status ${status}`,
        ...(after === undefined ? {} : { after }),
      } as const
      return untilEnd(() => settle(delivery), settle)
    },
    fail: error => settle(failed(error)),
  }
}

/** CANCELLED, DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED, ABORTED, OUT_OF_RANGE, UNAVAILABLE, DATA_LOSS. */
const GRPC_RETRYABLE: ReadonlySet<string> = new Set(['1', '4', '8', '10', '11', '14', '15'])

function grpcAnswer(settle: (delivery: Delivery) => void): ResponseHandler {
  return {
    head(status, headers) {
      return untilEnd(trailers => {
        const ends = new HeaderList(trailers ?? [])
        const code = ends.get('grpc-status') ?? headers.get('grpc-status')
        const message = ends.get('grpc-message') ?? headers.get('grpc-message') ?? ''
        settle(code === undefined ? withoutGrpcStatus(status) : grpcDelivery(code, message))
      }, settle)
    },
    fail: error => settle(failed(error)),
  }
}

function grpcDelivery(code: string, message: string): Delivery {
  if (code === '0') return { ok: true }
  return { ok: false, retry: GRPC_RETRYABLE.has(code), error: `gRPC status ${code} ${message}`.trim() }
}

/** From something between here and the collector. */
function withoutGrpcStatus(status: number): Delivery {
  if (status === 200) return { ok: false, retry: false, error: 'no gRPC status' }
  return { ok: false, retry: isBusy(status), error: `status ${status}` }
}

function isBusy(status: number): boolean {
  return status === 429 || status === 502 || status === 503 || status === 504
}

/** The answer itself says nothing that matters. */
function untilEnd(end: (trailers?: readonly string[]) => void, settle: (delivery: Delivery) => void): ChunkSink {
  return { write: () => true, end, fail: error => settle(failed(error)), onDrain: () => {} }
}

/** The call did not come about, or broke off: the collector may be back soon. */
function failed(error: unknown): Delivery {
  const message = error instanceof Error ? error.message : String(error)
  return { ok: false, retry: true, error: error instanceof GatewayError ? (error.details.detail ?? message) : message }
}

function retryAfter(headers: HeaderList): number | undefined {
  const text = headers.get('retry-after')
  return text !== undefined && /^\d{1,5}$/.test(text) ? Number(text) * 1000 : undefined
}
