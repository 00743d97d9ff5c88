import { Duration, evaluate, UnsignedInt } from '@marcbachmann/cel-js/evaluator'
import type { Toolbox } from '../define.ts'
import { CelFailure } from '../failure.ts'
import { Cidr, IpAddress } from '../ip-address.ts'
import { REDACTED, Secret } from '../json-view.ts'
import type { SyntaxNode } from '../syntax-tree.ts'
import { durationOf, type Instant, instantOf } from '../time.ts'
import { formatDuration, formatTimestamp, typeNameOf } from '../values.ts'

const MIN_INT = -(2n ** 63n)
const MAX_INT = 2n ** 63n - 1n
const MAX_UINT = 2n ** 64n - 1n
const NANOS = { h: 3_600_000_000_000n, m: 60_000_000_000n, s: 1_000_000_000n, ms: 1_000_000n, us: 1000n, ns: 1n }

/** `int`, `string`, `timestamp` and the like, with every conversion that CEL defines. */
export function defineConversions({ define }: Toolbox): void {
  define('string(dyn): string', toText)
  define('int(dyn): int', toInt)
  define('uint(dyn): uint', (value: unknown) => new UnsignedInt(toUint(value)))
  define('double(dyn): double', toDouble)
  define('bool(dyn): bool', toBool)
  define('bytes(dyn): bytes', toBytes)
  define('duration(dyn): google.protobuf.Duration', toDuration)
  define('timestamp(dyn): google.protobuf.Timestamp', toTimestamp)

  let types: ReadonlyMap<string, unknown> | undefined
  define('type(dyn): type', (value: unknown) => {
    types ??= typeValues()
    const type = types.get(typeNameOf(value))
    if (type === undefined) throw new CelFailure('no_matching_overload')
    return type
  })

  define('google.protobuf.Duration.getMilliseconds(): int', (value: Duration) => BigInt(Math.trunc(value.nanos / 1e6)))
  define('google.protobuf.Timestamp.getMilliseconds(): int', (value: Date) => BigInt(value.getUTCMilliseconds()))
  define('google.protobuf.Timestamp.getMilliseconds(string): int', (value: Date) => BigInt(value.getUTCMilliseconds()))
}

/** The type values `string`, `timestamp` and the like, by their names in typeNameOf. */
function typeValues(): ReadonlyMap<string, unknown> {
  const types = new Map<string, unknown>()
  for (const name of ['string', 'bool', 'int', 'uint', 'double', 'bytes', 'list', 'map', 'null_type', 'type']) {
    types.set(name, evaluate(name))
  }
  types.set('timestamp', evaluate('google.protobuf.Timestamp'))
  types.set('duration', evaluate('google.protobuf.Duration'))
  return types
}

function toText(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return value
    case 'boolean':
    case 'bigint':
      return value.toString()
    case 'number':
      return Number.isFinite(value) || Number.isNaN(value) ? String(value) : value > 0 ? '+Inf' : '-Inf'
  }
  if (value instanceof UnsignedInt || value instanceof IpAddress || value instanceof Cidr) return value.toString()
  if (value instanceof Uint8Array) return decodeUtf8(value)
  if (value instanceof Date) return formatTimestamp(value)
  if (value instanceof Duration) return formatDuration(value)
  if (value instanceof Secret) return REDACTED
  throw new CelFailure('no_matching_overload')
}

export function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw new CelFailure('invalid_utf8')
  }
}

function toInt(value: unknown): bigint {
  if (typeof value === 'bigint') return value
  if (value instanceof UnsignedInt) return inRange(value.value, MIN_INT, MAX_INT)
  if (typeof value === 'number') return inRange(wholePart(value), MIN_INT + 1n, MAX_INT)
  if (typeof value === 'string') {
    if (!/^[+-]?[0-9]{1,20}$/.test(value)) throw new CelFailure('int_conversion_error')
    return inRange(BigInt(value.replace('+', '')), MIN_INT, MAX_INT)
  }
  if (value instanceof Date) return BigInt(Math.floor(value.getTime() / 1000))
  if (value instanceof Duration) return value.seconds
  throw new CelFailure('no_matching_overload')
}

function toUint(value: unknown): bigint {
  if (value instanceof UnsignedInt) return value.value
  if (typeof value === 'bigint') return inRange(value, 0n, MAX_UINT)
  if (typeof value === 'number') return inRange(wholePart(value), 0n, MAX_UINT)
  if (typeof value !== 'string') throw new CelFailure('no_matching_overload')
  if (!/^\+?[0-9]{1,20}$/.test(value)) throw new CelFailure('uint_conversion_error')
  return inRange(BigInt(value.replace('+', '')), 0n, MAX_UINT)
}

function wholePart(value: number): bigint {
  if (!Number.isFinite(value)) throw new CelFailure('numeric_overflow')
  return BigInt(Math.trunc(value))
}

function inRange(value: bigint, least: bigint, most: bigint, node?: SyntaxNode): bigint {
  if (value < least || value > most) throw new CelFailure('numeric_overflow', node)
  return value
}

/** The result of integer arithmetic; fails if it is not an int64. */
export function checkedInt(value: bigint, node?: SyntaxNode): bigint {
  return inRange(value, MIN_INT, MAX_INT, node)
}

function toDouble(value: unknown): number {
  if (typeof value === 'number') return value
  if (typeof value === 'bigint') return Number(value)
  if (value instanceof UnsignedInt) return Number(value.value)
  if (typeof value !== 'string') throw new CelFailure('no_matching_overload')
  const word = /^([+-]?)(inf|infinity|nan)$/i.exec(value)
  if (word) {
    if (word[2]?.toLowerCase() === 'nan') return Number.NaN
    return word[1] === '-' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
  }
  if (!/^[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$/.test(value)) {
    throw new CelFailure('double_conversion_error')
  }
  return Number(value)
}

function toBool(value: unknown): boolean {
  if (typeof value === 'boolean') return value
  if (typeof value !== 'string') throw new CelFailure('no_matching_overload')
  if (['1', 't', 'T', 'true', 'TRUE', 'True'].includes(value)) return true
  if (['0', 'f', 'F', 'false', 'FALSE', 'False'].includes(value)) return false
  throw new CelFailure('bool_conversion_error')
}

export function toBytes(value: unknown): Uint8Array {
  if (value instanceof Uint8Array) return value
  if (typeof value === 'string') return Buffer.from(value, 'utf8')
  throw new CelFailure('no_matching_overload')
}

function toDuration(value: unknown): Duration {
  if (value instanceof Duration) return value
  if (typeof value !== 'string') throw new CelFailure('no_matching_overload')
  return parseDuration(value)
}

/** `1h30m`, `1.5s`, `-200ms`, `0`. */
export function parseDuration(text: string): Duration {
  const sign = text.startsWith('-') ? -1n : 1n
  const body = text.replace(/^[+-]/, '').replaceAll('µ', 'u')
  if (body === '0') return new Duration(0n)
  if (text.length > 100 || !/^(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:ns|us|ms|s|m|h))+$/.test(body)) {
    throw new CelFailure('invalid_duration')
  }
  let nanos = 0n
  for (const [, number = '', unit = ''] of body.matchAll(/([0-9.]+)([a-z]+)/g)) {
    const [whole = '', fraction = ''] = number.split('.')
    const scale = NANOS[unit as keyof typeof NANOS]
    const digits = fraction.slice(0, 15)
    nanos += BigInt(whole || '0') * scale + (BigInt(digits || '0') * scale) / 10n ** BigInt(digits.length)
  }
  return durationOf(sign * nanos)
}

export function toTimestamp(value: unknown): Instant {
  if (value instanceof Date) return value
  if (typeof value === 'bigint') return instantOf(value * 1_000_000_000n)
  if (typeof value !== 'string') throw new CelFailure('no_matching_overload')
  const form =
    /^([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt]([0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]{1,9}))?([Zz]|[+-][0-9]{2}:[0-9]{2})$/
  const [, day = '', time = '', fraction = '', zone = ''] = form.exec(value) ?? []
  const ms = Date.parse(`${day}T${time}${zone.toUpperCase()}`)
  if (Number.isNaN(ms) || !realDay(day)) throw new CelFailure('invalid_timestamp')
  return instantOf(BigInt(ms) * 1_000_000n + BigInt(fraction.padEnd(9, '0')))
}

/** Date.parse accepts February 30 as March 1. */
function realDay(date: string): boolean {
  const [year = 0, month = 0, day = 0] = date.split('-').map(Number)
  const at = new Date(0)
  at.setUTCFullYear(year, month - 1, day)
  return at.getUTCMonth() === month - 1 && at.getUTCDate() === day
}
