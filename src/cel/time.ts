import { Duration } from '@marcbachmann/cel-js/evaluator'
import { CelFailure } from './failure.ts'

/** A timestamp. The library requires a Date, which has millisecond precision: `nanos` is the rest, 0 to 999,999. */
export interface Instant extends Date {
  readonly nanos?: number
}

const SECOND = 1_000_000_000n
const MILLISECOND = 1_000_000n
const MAX_INT = 2n ** 63n - 1n
/** The range of timestamps, years 0001 to 9999, in ns since the epoch. */
const FIRST = -62_135_596_800n * SECOND
const LAST = 253_402_300_800n * SECOND - 1n

/** ns since the epoch. */
function nanosOf(value: Instant): bigint {
  return BigInt(value.getTime()) * MILLISECOND + BigInt(value.nanos ?? 0)
}

/** From ns since the epoch. */
export function instantOf(nanos: bigint): Instant {
  if (nanos < FIRST || nanos > LAST) throw new CelFailure('timestamp_range')
  const beyond = ((nanos % MILLISECOND) + MILLISECOND) % MILLISECOND
  const date = new Date(Number((nanos - beyond) / MILLISECOND))
  return beyond === 0n ? date : Object.assign(date, { nanos: Number(beyond) })
}

/** ns. */
function lengthOf(value: Duration): bigint {
  return value.seconds * SECOND + BigInt(value.nanos)
}

/** From ns, which must fit in 64 bits. */
export function durationOf(nanos: bigint): Duration {
  if (nanos > MAX_INT || nanos < -MAX_INT) throw new CelFailure('numeric_overflow')
  return new Duration(nanos / SECOND, Number(nanos % SECOND))
}

/** `a + b` where one of them is a time or a duration; undefined if the types do not fit. */
export function addTimes(a: unknown, b: unknown): unknown {
  if (a instanceof Duration) {
    if (b instanceof Duration) return durationOf(lengthOf(a) + lengthOf(b))
    return b instanceof Date ? instantOf(nanosOf(b) + lengthOf(a)) : undefined
  }
  return a instanceof Date && b instanceof Duration ? instantOf(nanosOf(a) + lengthOf(b)) : undefined
}

/** `a - b`, likewise. */
export function subtractTimes(a: unknown, b: unknown): unknown {
  if (a instanceof Duration) return b instanceof Duration ? durationOf(lengthOf(a) - lengthOf(b)) : undefined
  if (!(a instanceof Date)) return undefined
  if (b instanceof Duration) return instantOf(nanosOf(a) - lengthOf(b))
  return b instanceof Date ? durationOf(nanosOf(a) - nanosOf(b)) : undefined
}

/** Below, at or above zero; undefined unless both are times or both are durations. */
export function compareTimes(a: unknown, b: unknown): number | undefined {
  const [x, y] =
    a instanceof Duration && b instanceof Duration
      ? [lengthOf(a), lengthOf(b)]
      : a instanceof Date && b instanceof Date
        ? [nanosOf(a), nanosOf(b)]
        : []
  if (x === undefined || y === undefined) return undefined
  return x < y ? -1 : x > y ? 1 : 0
}
