import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'

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
export function encodeSpan(span: SpanRecord): Uint8Array {
  const w = new BinaryWriter()
  writeHex(w, 1, span.traceId)
  writeHex(w, 2, span.spanId)
  if (span.state !== undefined) writeText(w, 3, span.state)
  if (span.parentId !== undefined) writeHex(w, 4, span.parentId)
  writeText(w, 5, span.name)
  w.tag(6, WireType.Varint).uint32(KIND[span.kind])
  writeTime(w, 7, span.start)
  writeTime(w, 8, span.start + span.duration)
  writeAttributes(w, 9, span.attributes)
  if (span.error !== undefined) {
    begin(w, 15)
    if (span.error !== '') writeText(w, 2, span.error)
    w.tag(3, WireType.Varint).uint32(ERROR).join()
  }
  const remote = span.remoteParent && span.parentId !== undefined
  w.tag(16, WireType.Bit32).fixed32(SAMPLED | ORIGIN_KNOWN | (remote ? REMOTE_PARENT : 0))
  return w.finish()
}

/** One `LogRecord`, for `exportRequest`. */
export function encodeLog(log: LogRecord): Uint8Array {
  const w = new BinaryWriter()
  writeTime(w, 1, log.time)
  w.tag(2, WireType.Varint).uint32(INFO)
  writeText(w, 3, 'INFO')
  writeAttributes(w, 6, log.attributes)
  if (log.trace) {
    w.tag(8, WireType.Bit32).fixed32(SAMPLED)
    writeHex(w, 9, log.trace.traceId)
    writeHex(w, 10, log.trace.spanId)
  }
  writeTime(w, 11, log.observed)
  return w.finish()
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
export function exportRequest({ resource, scope }: ExportSource, records: readonly Uint8Array[]): Uint8Array {
  const w = begin(new BinaryWriter(), 1)
  begin(w, 1)
  writeAttributes(w, 1, resource)
  w.join()
  begin(w, 2)
  begin(w, 1)
  writeText(w, 1, scope.name)
  writeText(w, 2, scope.version)
  w.join()
  for (const record of records) w.tag(2, WireType.LengthDelimited).bytes(record)
  return w.join().join().finish()
}

/** A message in a field: what is written until `join` belongs to it. */
function begin(w: BinaryWriter, field: number): BinaryWriter {
  return w.tag(field, WireType.LengthDelimited).fork()
}

function writeText(w: BinaryWriter, field: number, text: string): void {
  w.tag(field, WireType.LengthDelimited).string(text)
}

function writeHex(w: BinaryWriter, field: number, hex: string): void {
  w.tag(field, WireType.LengthDelimited).bytes(Buffer.from(hex, 'hex'))
}

function writeTime(w: BinaryWriter, field: number, ms: number): void {
  w.tag(field, WireType.Bit64).fixed64(nanoseconds(ms))
}

function writeAttributes(w: BinaryWriter, field: number, attributes: Attributes): void {
  for (const [name, value] of attributes) writeKeyValue(w, field, name, value)
}

function writeKeyValue(w: BinaryWriter, field: number, name: string, value: unknown): void {
  begin(w, field)
  writeText(w, 1, name)
  begin(w, 2)
  writeAny(w, value)
  w.join().join()
}

const MAX_INT64 = 2n ** 63n - 1n

/** The content of an `AnyValue`; nothing for null. */
function writeAny(w: BinaryWriter, value: unknown): void {
  if (typeof value === 'string') writeText(w, 1, value.toWellFormed())
  else if (typeof value === 'boolean') w.tag(2, WireType.Varint).bool(value)
  else if (typeof value === 'number') writeNumber(w, value)
  else if (typeof value === 'bigint') writeInteger(w, value)
  else if (typeof value === 'object' && value !== null) writeComposite(w, value)
}

function writeNumber(w: BinaryWriter, value: number): void {
  if (Number.isSafeInteger(value)) w.tag(3, WireType.Varint).int64(value)
  else w.tag(4, WireType.Bit64).double(value)
}

function writeInteger(w: BinaryWriter, value: bigint): void {
  if (value > MAX_INT64 || value < -MAX_INT64 - 1n) writeText(w, 1, value.toString())
  else w.tag(3, WireType.Varint).int64(value)
}

function writeComposite(w: BinaryWriter, value: object): void {
  if (value instanceof Uint8Array) w.tag(7, WireType.LengthDelimited).bytes(value)
  else if (value instanceof Date) writeText(w, 1, value.toISOString())
  else if (Array.isArray(value)) writeArray(w, value)
  else {
    begin(w, 6)
    for (const [key, item] of Object.entries(value)) writeKeyValue(w, 1, key, item)
    w.join()
  }
}

function writeArray(w: BinaryWriter, items: readonly unknown[]): void {
  begin(w, 5)
  for (const item of items) {
    begin(w, 1)
    writeAny(w, item)
    w.join()
  }
  w.join()
}

/** Fractions of a millisecond are kept: a double holds today's milliseconds to a quarter of a microsecond. */
function nanoseconds(ms: number): bigint {
  const whole = Math.floor(ms)
  return BigInt(whole) * 1_000_000n + BigInt(Math.round((ms - whole) * 1_000_000))
}
