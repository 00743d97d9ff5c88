import { ProtobufWriter } from './protobuf.ts'

// Field numbers of opentelemetry-proto 1.x (common, resource, trace, logs and the collector services).

export type Attributes = readonly (readonly [name: string, value: unknown])[]

export interface SpanRecord {
  /** Hexadecimal, as are the other ids. */
  readonly traceId: string
  readonly spanId: string
  readonly parentId: string | undefined
  /** The parent is somebody else's span. */
  readonly remoteParent: boolean
  /** `tracestate` as it came. */
  readonly state: string | undefined
  readonly name: string
  readonly kind: 'server' | 'client'
  /** ms since the epoch, with fractions. */
  readonly start: number
  /** ms. */
  readonly duration: number
  readonly attributes: Attributes
  /** The span counts as failed, for this reason (which may be empty). */
  readonly error: string | undefined
}

export interface LogRecord {
  /** ms since the epoch, with fractions. */
  readonly time: number
  readonly observed: number
  readonly trace: { readonly traceId: string; readonly spanId: string } | undefined
  readonly attributes: Attributes
}

const KIND = { server: 2, client: 3 } as const
const ERROR = 2
const INFO = 9
/** Span flags: sampled, and whether it is known where the parent lives. */
const SAMPLED = 0x001
const ORIGIN_KNOWN = 0x100
const REMOTE_PARENT = 0x200

/** One `Span`, for `exportRequest`. */
export function encodeSpan(span: SpanRecord): Buffer {
  const w = new ProtobufWriter()
  w.hex(1, span.traceId)
  w.hex(2, span.spanId)
  if (span.state !== undefined) w.string(3, span.state)
  if (span.parentId !== undefined) w.hex(4, span.parentId)
  w.string(5, span.name)
  w.uint(6, KIND[span.kind])
  w.fixed64(7, nanoseconds(span.start))
  w.fixed64(8, nanoseconds(span.start + span.duration))
  writeAttributes(w, 9, span.attributes)
  if (span.error !== undefined) {
    const status = w.begin(15)
    if (span.error !== '') w.string(2, span.error)
    w.uint(3, ERROR)
    w.end(status)
  }
  const remote = span.remoteParent && span.parentId !== undefined
  w.fixed32(16, SAMPLED | ORIGIN_KNOWN | (remote ? REMOTE_PARENT : 0))
  return w.take()
}

/** One `LogRecord`, for `exportRequest`. */
export function encodeLog(log: LogRecord): Buffer {
  const w = new ProtobufWriter()
  w.fixed64(1, nanoseconds(log.time))
  w.uint(2, INFO)
  w.string(3, 'INFO')
  writeAttributes(w, 6, log.attributes)
  if (log.trace) {
    w.fixed32(8, SAMPLED)
    w.hex(9, log.trace.traceId)
    w.hex(10, log.trace.spanId)
  }
  w.fixed64(11, nanoseconds(log.observed))
  return w.take()
}

export interface ExportSource {
  /** Of the process. */
  readonly resource: Attributes
  readonly scope: { readonly name: string; readonly version: string }
}

/**
 * The request of one export: `ExportTraceServiceRequest` and `ExportLogsServiceRequest` have the same numbers all the
 * way down to their records.
 */
export function exportRequest({ resource, scope }: ExportSource, records: readonly Buffer[]): Buffer {
  const w = new ProtobufWriter()
  const outer = w.begin(1)
  const attributes = w.begin(1)
  writeAttributes(w, 1, resource)
  w.end(attributes)
  const scoped = w.begin(2)
  const named = w.begin(1)
  w.string(1, scope.name)
  w.string(2, scope.version)
  w.end(named)
  for (const record of records) w.bytes(2, record)
  w.end(scoped)
  w.end(outer)
  return w.take()
}

function writeAttributes(w: ProtobufWriter, field: number, attributes: Attributes): void {
  for (const [name, value] of attributes) writeKeyValue(w, field, name, value)
}

function writeKeyValue(w: ProtobufWriter, field: number, name: string, value: unknown): void {
  const pair = w.begin(field)
  w.string(1, name)
  const any = w.begin(2)
  writeAny(w, value)
  w.end(any)
  w.end(pair)
}

const MAX_INT64 = 2n ** 63n - 1n

/** The content of an `AnyValue`; nothing for null. */
function writeAny(w: ProtobufWriter, value: unknown): void {
  if (typeof value === 'string') w.string(1, value.toWellFormed())
  else if (typeof value === 'boolean') w.bool(2, value)
  else if (typeof value === 'number') writeNumber(w, value)
  else if (typeof value === 'bigint') writeInteger(w, value)
  else if (typeof value === 'object' && value !== null) writeComposite(w, value)
}

function writeNumber(w: ProtobufWriter, value: number): void {
  if (Number.isSafeInteger(value)) w.int64(3, BigInt(value))
  else w.double(4, value)
}

function writeInteger(w: ProtobufWriter, value: bigint): void {
  if (value > MAX_INT64 || value < -MAX_INT64 - 1n) w.string(1, value.toString())
  else w.int64(3, value)
}

function writeComposite(w: ProtobufWriter, value: object): void {
  if (value instanceof Uint8Array) w.bytes(7, value)
  else if (value instanceof Date) w.string(1, value.toISOString())
  else if (Array.isArray(value)) writeArray(w, value)
  else {
    const map = w.begin(6)
    for (const [key, item] of Object.entries(value)) writeKeyValue(w, 1, key, item)
    w.end(map)
  }
}

function writeArray(w: ProtobufWriter, items: readonly unknown[]): void {
  const array = w.begin(5)
  for (const item of items) {
    const any = w.begin(1)
    writeAny(w, item)
    w.end(any)
  }
  w.end(array)
}

/** Fractions of a millisecond are kept: a double holds today's milliseconds to a quarter of a microsecond. */
function nanoseconds(ms: number): bigint {
  const whole = Math.floor(ms)
  return BigInt(whole) * 1_000_000n + BigInt(Math.round((ms - whole) * 1_000_000))
}
