import { Optional } from '@marcbachmann/cel-js'
import { Duration } from '@marcbachmann/cel-js/evaluator'
import type { CelResult } from '../schema/builder.ts'
import type { Outcome } from './expression.ts'
import { CelFailure } from './failure.ts'
import { parseDuration } from './functions/conversions.ts'
import { Secret } from './json-view.ts'
import type { StaticType } from './syntax-tree.ts'
import { toJsonText, toPlain } from './values.ts'
import { variableAt } from './variables.ts'

const TIMESTAMP = 'google.protobuf.Timestamp'
const DURATION = 'google.protobuf.Duration'

/** Static types accepted for each expected result, and the expectation in words. */
const ACCEPTED: Readonly<Record<Exclude<CelResult, 'any' | 'body'>, readonly [readonly string[], string]>> = {
  bool: [['bool'], 'a boolean'],
  string: [['string', 'bytes', 'null'], 'a string'],
  number: [['int', 'uint', 'double'], 'a number'],
  duration: [[DURATION, TIMESTAMP, 'string', 'int', 'uint', 'double'], 'a duration'],
  expiry: [[DURATION, TIMESTAMP, 'string', 'int', 'uint', 'double'], 'a duration or a time'],
  map: [['map'], 'a map'],
  sampling: [['bool', 'int', 'uint', 'double'], 'a boolean or a number from 0 to 1'],
}

/** Undefined if an expression of this type is acceptable, otherwise what is expected. */
export function acceptsStatically(result: CelResult, type: StaticType | undefined): string | undefined {
  if (
    result === 'any' ||
    result === 'body' ||
    !type ||
    type.kind === 'dyn' ||
    type.kind === 'param' ||
    type.kind === 'optional'
  )
    return undefined
  const [types, words] = ACCEPTED[result]
  if (types.includes(type.name) || types.includes(type.kind)) return undefined
  if (result === 'map' && variableAt(type.name)) return undefined
  return words
}

/**
 * The value for the caller: plain data of the expected kind. Durations are in milliseconds where a duration is
 * expected, and text such as `1.5s` elsewhere; bytes become text where text is expected.
 */
export function convertResult(result: CelResult, raw: unknown): Outcome {
  if (result === 'duration') return { ok: true, value: toMilliseconds(raw) }
  if (result === 'expiry') return { ok: true, value: toExpiry(raw) }
  if (result === 'body') return { ok: true, value: toBody(raw) }
  if (result !== 'any' && raw instanceof Optional && !raw.hasValue()) return NOTHING
  const value = toPlain(raw)
  switch (result) {
    case 'any':
      return { ok: true, value }
    case 'bool':
      return typeof value === 'boolean' ? { ok: true, value } : WRONG
    case 'string':
      if (Buffer.isBuffer(value)) return { ok: true, value: value.toString('utf8') }
      return typeof value === 'string' ? { ok: true, value } : WRONG
    case 'number':
      return typeof value === 'number' || typeof value === 'bigint' ? { ok: true, value } : WRONG
    case 'sampling':
      return typeof value === 'boolean' || typeof value === 'number' ? { ok: true, value } : WRONG
    case 'map':
      return isPlainObject(value) ? { ok: true, value } : WRONG
  }
}

/** Text and bytes unchanged, anything else as JSON. */
function toBody(raw: unknown): string | Buffer {
  if (typeof raw === 'string') return raw
  if (raw instanceof Uint8Array || raw instanceof Secret) return toPlain(raw) as string | Buffer
  return toJsonText(raw)
}

const WRONG: Outcome = { ok: false, error: 'the result has the wrong type', kind: 'mismatch' }
const NOTHING: Outcome = { ok: false, error: 'the optional has no value', kind: 'absent' }

function isPlainObject(value: unknown): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    !Buffer.isBuffer(value) &&
    !(value instanceof Date)
  )
}

/** Numbers are seconds since the epoch. */
function toExpiry(raw: unknown): number | Date {
  const number = raw instanceof Duration || raw instanceof Date ? undefined : toPlain(raw)
  return typeof number === 'number' ? new Date(number * 1000) : toMilliseconds(raw)
}

/** A timestamp is kept: the caller knows what it is relative to. */
function toMilliseconds(raw: unknown): number | Date {
  const value = typeof raw === 'string' ? parseDuration(raw) : raw
  if (value instanceof Date) return value
  if (value instanceof Duration) return Number(value.seconds) * 1000 + value.nanos / 1e6
  const number = toPlain(value)
  if (typeof number === 'number' && Number.isFinite(number)) return number
  throw new CelFailure('wrong_result')
}
