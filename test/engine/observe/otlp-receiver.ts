import { createServer as createHttp1, type Server } from 'node:http'
import {
  createServer as createHttp2,
  type Http2Server,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2'
import type { AddressInfo } from 'node:net'
import protobuf from 'protobufjs'
import { OTLP_PROTO } from '../../protobuf/otlp-messages.ts'

export interface ReceivedSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string
  readonly traceState: string
  readonly name: string
  readonly kind: number
  readonly flags: number
  readonly start: bigint
  readonly end: bigint
  readonly status: { readonly code: number; readonly message: string }
  readonly attributes: Readonly<Record<string, unknown>>
}

export interface ReceivedLog {
  readonly time: bigint
  readonly severity: string
  readonly traceId: string
  readonly spanId: string
  readonly attributes: Readonly<Record<string, unknown>>
}

/** What a collector may answer one export with; gRPC takes it as the status of the call. */
export type Answer = { readonly status?: number; readonly grpcStatus?: number; readonly retryAfter?: string }

export interface OtlpReceiver extends AsyncDisposable {
  /** `127.0.0.1:port`. */
  readonly host: string
  readonly spans: ReceivedSpan[]
  readonly logs: ReceivedLog[]
  readonly resources: Readonly<Record<string, unknown>>[]
  /** Path and headers of each export, in their order. */
  readonly calls: { readonly path: string; readonly headers: Readonly<Record<string, unknown>> }[]
  /** Answers for the next exports; after them every export succeeds. Refused records are not kept. */
  readonly answers: Answer[]
}

const messages = protobuf.parse(OTLP_PROTO).root

/** An OTLP endpoint that decodes with somebody else's protobuf, and refuses what OTLP does not allow. */
export async function startReceiver(protocol: 'grpc' | 'http', port = 0): Promise<OtlpReceiver> {
  const receiver: Omit<OtlpReceiver, 'host' | typeof Symbol.asyncDispose> = {
    spans: [],
    logs: [],
    resources: [],
    calls: [],
    answers: [],
  }
  const sessions = new Set<ServerHttp2Session>()
  const server = protocol === 'grpc' ? grpcServer(receiver, sessions) : httpServer(receiver)
  await new Promise<void>(resolve => server.listen(port, '127.0.0.1', resolve))
  return {
    ...receiver,
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: () =>
      new Promise<void>(resolve => {
        for (const session of sessions) session.destroy()
        server.close(() => resolve())
        if ('closeAllConnections' in server) server.closeAllConnections()
      }),
  }
}

type Store = Pick<OtlpReceiver, 'spans' | 'logs' | 'resources' | 'calls' | 'answers'>

function httpServer(store: Store): Server {
  return createHttp1((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const path = request.url ?? ''
      store.calls.push({ path, headers: request.headers })
      const { status = 200, retryAfter } = store.answers.shift() ?? {}
      const right = request.method === 'POST' && request.headers['content-type'] === 'application/x-protobuf'
      if (right && status === 200) keep(store, path.endsWith('logs') ? 'logs' : 'traces', Buffer.concat(chunks))
      response.writeHead(right ? status : 415, {
        'content-type': 'application/x-protobuf',
        ...(retryAfter === undefined ? {} : { 'retry-after': retryAfter }),
      })
      response.end()
    })
  })
}

const METHODS: Readonly<Record<string, 'traces' | 'logs'>> = {
  '/opentelemetry.proto.collector.trace.v1.TraceService/Export': 'traces',
  '/opentelemetry.proto.collector.logs.v1.LogsService/Export': 'logs',
}

function grpcServer(store: Store, sessions: Set<ServerHttp2Session>): Http2Server {
  const server = createHttp2()
  server.on('session', session => sessions.add(session))
  server.on('stream', (stream: ServerHttp2Stream, headers) => {
    const chunks: Buffer[] = []
    stream.on('error', () => {})
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    stream.on('end', () => {
      const path = String(headers[':path'])
      store.calls.push({ path, headers })
      const frame = Buffer.concat(chunks)
      const signal = METHODS[path]
      const whole = frame.length >= 5 && frame[0] === 0 && frame.readUInt32BE(1) === frame.length - 5
      const right =
        headers['content-type'] === 'application/grpc' && headers[':method'] === 'POST' && headers.te === 'trailers'
      const { status = 200, grpcStatus = signal === undefined ? 12 : whole && right ? 0 : 3 } =
        store.answers.shift() ?? {}
      if (grpcStatus === 0 && status === 200 && signal) keep(store, signal, frame.subarray(5))
      if (status !== 200) {
        stream.respond({ ':status': status }, { endStream: true })
        return
      }
      if (grpcStatus !== 0) {
        // "Trailers-Only": a refusal has no message.
        stream.respond(
          { ':status': 200, 'content-type': 'application/grpc', 'grpc-status': grpcStatus },
          { endStream: true },
        )
        return
      }
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true })
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
      stream.end(Buffer.from([0, 0, 0, 0, 0]))
    })
  })
  return server
}

type Plain = Readonly<Record<string, unknown>>

function keep(store: Store, signal: 'traces' | 'logs', bytes: Buffer): void {
  const type = messages.lookupType(
    signal === 'traces' ? 'otlp.ExportTraceServiceRequest' : 'otlp.ExportLogsServiceRequest',
  )
  const message = type.toObject(type.decode(bytes), { longs: String, bytes: String, defaults: true }) as Plain
  for (const group of list(message, signal === 'traces' ? 'resourceSpans' : 'resourceLogs')) {
    store.resources.push(attributes(group.resource as Plain))
    for (const scope of list(group, signal === 'traces' ? 'scopeSpans' : 'scopeLogs')) {
      for (const span of list(scope, 'spans')) store.spans.push(spanOf(span))
      for (const log of list(scope, 'logRecords')) store.logs.push(logOf(log))
    }
  }
}

function spanOf(span: Plain): ReceivedSpan {
  const status = (span.status ?? {}) as Plain
  return {
    traceId: hex(span.traceId),
    spanId: hex(span.spanId),
    parentSpanId: hex(span.parentSpanId),
    traceState: String(span.traceState),
    name: String(span.name),
    kind: Number(span.kind),
    flags: Number(span.flags),
    start: BigInt(String(span.startTimeUnixNano)),
    end: BigInt(String(span.endTimeUnixNano)),
    status: { code: Number(status.code ?? 0), message: String(status.message ?? '') },
    attributes: attributes(span),
  }
}

function logOf(log: Plain): ReceivedLog {
  return {
    time: BigInt(String(log.timeUnixNano)),
    severity: `${log.severityNumber} ${log.severityText}`,
    traceId: hex(log.traceId),
    spanId: hex(log.spanId),
    attributes: attributes(log),
  }
}

function list(message: Plain, field: string): Plain[] {
  return (message[field] ?? []) as Plain[]
}

function attributes(message: Plain): Record<string, unknown> {
  return Object.fromEntries(list(message, 'attributes').map(pair => [String(pair.key), anyValue(pair.value as Plain)]))
}

/** Integers stay apart from doubles: `int:` says which it was. */
function anyValue(value: Plain): unknown {
  if ('intValue' in value) return `int:${String(value.intValue)}`
  if ('arrayValue' in value) return list(value.arrayValue as Plain, 'values').map(anyValue)
  if ('kvlistValue' in value) {
    return Object.fromEntries(
      list(value.kvlistValue as Plain, 'values').map(pair => [String(pair.key), anyValue(pair.value as Plain)]),
    )
  }
  return Object.values(value)[0]
}

function hex(base64: unknown): string {
  return Buffer.from(String(base64), 'base64').toString('hex')
}
