import type { HeaderList } from '../../http/headers.ts'

/** The trace that a request belongs to (W3C Trace Context, `traceparent`). */
export interface TraceParent {
  readonly traceId: string
  readonly spanId: string
  readonly sampled: boolean
}

const FORM = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/
const NO_TRACE = '0'.repeat(32)
const NO_SPAN = '0'.repeat(16)

/** Undefined if absent or untrustworthy: malformed, or repeated. */
export function readTraceParent(headers: HeaderList): TraceParent | undefined {
  const first = headers.get('traceparent')
  if (first === undefined) return undefined
  const match = FORM.exec(first.trim())
  if (!match || headers.getAll('traceparent').length > 1) return undefined
  const [, version, traceId = NO_TRACE, spanId = NO_SPAN, flags = '00', more] = match
  if (version === 'ff' || traceId === NO_TRACE || spanId === NO_SPAN) return undefined
  // Only later versions may append fields.
  if (version === '00' && more !== undefined) return undefined
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 }
}

export function traceParentText(traceId: string, spanId: string): string {
  return `00-${traceId}-${spanId}-01`
}

/** `bytes` random bytes in hexadecimal, not all zero; `random` gives [0, 1). */
export function randomId(bytes: 8 | 16, random: () => number): string {
  let id = ''
  for (let i = 0; i < bytes / 4; i++)
    id += Math.floor(random() * 0x1_0000_0000)
      .toString(16)
      .padStart(8, '0')
  return /[1-9a-f]/.test(id) ? id : `${id.slice(0, -1)}1`
}
