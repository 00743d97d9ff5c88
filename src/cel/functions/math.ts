import { UnsignedInt } from '@marcbachmann/cel-js/evaluator'
import { type Toolbox, upTo } from '../define.ts'
import { CelFailure } from '../failure.ts'
import { compareNumbers, isList, isNumber, itemsOf } from '../values.ts'
import { checkedInt } from './conversions.ts'

type Numeric = number | bigint | UnsignedInt
/** Maximum length of bytes in bit operations. */
const MAX_BIT_BYTES = 32

/** `math.*`, `min` and `max`. */
export function defineMath({ define, namespace }: Toolbox): void {
  const pick =
    (sign: 1 | -1) =>
    (...values: unknown[]) =>
      extreme(values, sign)
  const arities = upTo(8, 'dyn')
  namespace('math', {
    least: arities.map(parameters => [parameters, 'dyn', pick(-1)] as const),
    greatest: arities.map(parameters => [parameters, 'dyn', pick(1)] as const),
    ceil: ['dyn', 'double', rounding(Math.ceil)],
    floor: ['dyn', 'double', rounding(Math.floor)],
    round: ['dyn', 'double', rounding(x => Math.sign(x) * Math.floor(Math.abs(x) + 0.5))],
    trunc: ['dyn', 'double', rounding(Math.trunc)],
    abs: ['dyn', 'dyn', absolute],
    sign: ['dyn', 'dyn', sign],
    sqrt: ['dyn', 'double', (x: unknown) => Math.sqrt(Number(numeric(x).valueOf()))],
    isInf: ['dyn', 'bool', (x: unknown) => Math.abs(double(x)) === Number.POSITIVE_INFINITY],
    isNaN: ['dyn', 'bool', (x: unknown) => Number.isNaN(double(x))],
    isFinite: ['dyn', 'bool', (x: unknown) => Number.isFinite(double(x))],
    bitAnd: ['dyn, dyn', 'dyn', bitwise((a, b) => a & b)],
    bitOr: ['dyn, dyn', 'dyn', bitwise((a, b) => a | b)],
    bitXor: ['dyn, dyn', 'dyn', bitwise((a, b) => a ^ b)],
    bitNot: ['dyn', 'dyn', bitNot],
    bitShiftLeft: ['dyn, dyn', 'dyn', (x: unknown, by: unknown) => shift(x, by, (v, n) => v << n)],
    bitShiftRight: ['dyn, dyn', 'dyn', (x: unknown, by: unknown) => shift(x, by, (v, n) => BigInt.asUintN(64, v) >> n)],
  })
  for (const parameters of arities) {
    define(`min(${parameters}): dyn`, pick(-1))
    define(`max(${parameters}): dyn`, pick(1))
  }
}

function numeric(value: unknown): Numeric {
  if (isNumber(value)) return value
  throw new CelFailure('no_matching_overload')
}

function double(value: unknown): number {
  if (typeof value === 'number') return value
  throw new CelFailure('no_matching_overload')
}

function extreme(values: unknown[], sign: 1 | -1): Numeric {
  const [only] = values
  const items = values.length === 1 && isList(only) ? itemsOf(only) : values
  let best: Numeric | undefined
  for (const item of items) {
    const candidate = numeric(item)
    if (best === undefined || compareNumbers(candidate, best) * sign > 0) best = candidate
  }
  if (best === undefined) throw new CelFailure('invalid_argument')
  return best
}

function rounding(round: (x: number) => number): (x: unknown) => number {
  return x => round(double(x))
}

function absolute(value: unknown): Numeric {
  const x = numeric(value)
  if (typeof x === 'bigint') return checkedInt(x < 0n ? -x : x)
  return typeof x === 'number' ? Math.abs(x) : x
}

function sign(value: unknown): Numeric {
  const x = numeric(value)
  if (typeof x === 'bigint') return x < 0n ? -1n : x > 0n ? 1n : 0n
  return typeof x === 'number' ? Math.sign(x) : new UnsignedInt(x.value > 0n ? 1n : 0n)
}

function bitwise(apply: (a: bigint, b: bigint) => bigint): (a: unknown, b: unknown) => unknown {
  return (a, b) => {
    if (typeof a === 'bigint' && typeof b === 'bigint') return BigInt.asIntN(64, apply(a, b))
    if (a instanceof UnsignedInt && b instanceof UnsignedInt) return new UnsignedInt(apply(a.value, b.value))
    if (a instanceof Uint8Array && b instanceof Uint8Array) return bitwiseBytes(a, b, apply)
    if (a instanceof Uint8Array) return bitwiseMixed(b, a, apply)
    if (b instanceof Uint8Array) return bitwiseMixed(a, b, apply)
    throw new CelFailure('no_matching_overload')
  }
}

/** Bytes are big-endian numbers; the shorter one is padded with leading zeros. */
function bitwiseBytes(a: Uint8Array, b: Uint8Array, apply: (a: bigint, b: bigint) => bigint): Uint8Array {
  const width = Math.max(a.length, b.length)
  const hex = apply(numberOf(a), numberOf(b))
    .toString(16)
    .padStart(width * 2, '0')
  return Buffer.from(hex, 'hex')
}

function bitwiseMixed(number: unknown, bytes: Uint8Array, apply: (a: bigint, b: bigint) => bigint): unknown {
  if (typeof number === 'bigint' && number >= 0n) return checkedInt(BigInt.asIntN(64, apply(number, numberOf(bytes))))
  if (number instanceof UnsignedInt) return new UnsignedInt(BigInt.asUintN(64, apply(number.value, numberOf(bytes))))
  throw new CelFailure('no_matching_overload')
}

function numberOf(bytes: Uint8Array): bigint {
  if (bytes.length > MAX_BIT_BYTES) throw new CelFailure('too_large')
  return bytes.length === 0 ? 0n : BigInt(`0x${Buffer.from(bytes).toString('hex')}`)
}

function bitNot(value: unknown): unknown {
  if (typeof value === 'bigint') return ~value
  if (value instanceof UnsignedInt) return new UnsignedInt(BigInt.asUintN(64, ~value.value))
  throw new CelFailure('no_matching_overload')
}

/** Shifts by 64 or more yield 0; a right shift is logical, whatever the sign. */
function shift(value: unknown, by: unknown, apply: (value: bigint, by: bigint) => bigint): unknown {
  if (typeof by !== 'bigint' || by < 0n) throw new CelFailure('invalid_argument')
  if (typeof value === 'bigint') return by > 63n ? 0n : BigInt.asIntN(64, apply(value, by))
  if (!(value instanceof UnsignedInt)) throw new CelFailure('no_matching_overload')
  return new UnsignedInt(by > 63n ? 0n : BigInt.asUintN(64, apply(value.value, by)))
}
