import { gzipSync } from 'node:zlib'

/** A stack frame of a sample: one of our functions or the runtime's. Lines start at 1; 0 if unknown. */
export interface Frame {
  readonly name: string
  readonly file: string
  readonly line: number
}

export interface StackSample {
  /** The innermost frame first. */
  readonly stack: readonly Frame[]
  /** One number per type of the profile. */
  readonly values: readonly number[]
}

export interface StackProfile {
  readonly types: readonly { readonly type: string; readonly unit: string }[]
  /** The type that viewers show by default; the last one if unset. */
  readonly shown?: string
  readonly samples: readonly StackSample[]
  /** The weight of one sample, in the unit of the last type. */
  readonly period: number
  /** ms since the epoch. */
  readonly startedAt: number
  /** ms. */
  readonly duration: number
}

/** A profile in the format of `go tool pprof`: gzipped protocol buffers (profile.proto). */
export function encodePprof(profile: StackProfile): Buffer {
  const strings = new Interned<string>(text => text)
  // The format requires the empty string first.
  strings.id('')
  const functions = new Interned<Frame>(({ name, file }) => `${name}\u0000${file}`)
  const locations = new Interned<Frame>(({ name, file, line }) => `${name}\u0000${file}\u0000${line}`)
  const valueType = ({ type, unit }: { readonly type: string; readonly unit: string }) =>
    Buffer.concat([integer(1, strings.id(type)), integer(2, strings.id(unit))])
  const samples = profile.samples.map(({ stack, values }) =>
    message(2, [
      packed(
        1,
        stack.map(frame => locations.id(frame) + 1),
      ),
      packed(2, values),
    ]),
  )
  const places = locations.all.map((frame, i) =>
    message(4, [integer(1, i + 1), message(4, [integer(1, functions.id(frame) + 1), integer(2, frame.line)])]),
  )
  const named = functions.all.map(({ name, file }, i) =>
    message(5, [
      integer(1, i + 1),
      integer(2, strings.id(name)),
      integer(3, strings.id(name)),
      integer(4, strings.id(file)),
    ]),
  )
  const period = profile.types.at(-1) ?? { type: '', unit: '' }
  const types = profile.types.map(type => message(1, [valueType(type)]))
  const end = [
    integer(9, profile.startedAt * 1_000_000),
    integer(10, profile.duration * 1_000_000),
    message(11, [valueType(period)]),
    integer(12, profile.period),
    ...(profile.shown === undefined ? [] : [integer(14, strings.id(profile.shown))]),
  ]
  // Last, since everything above adds to it.
  const table = strings.all.map(text => message(6, [Buffer.from(text)]))
  return gzipSync(Buffer.concat([...types, ...samples, ...places, ...named, ...table, ...end]))
}

/** Maps equal values to one number, in order of first appearance. */
class Interned<T> {
  readonly all: T[] = []
  readonly #ids = new Map<string, number>()
  readonly #keyOf: (value: T) => string

  constructor(keyOf: (value: T) => string) {
    this.#keyOf = keyOf
  }

  id(value: T): number {
    const key = this.#keyOf(value)
    const known = this.#ids.get(key)
    if (known !== undefined) return known
    this.#ids.set(key, this.all.length)
    return this.all.push(value) - 1
  }
}

function integer(field: number, value: number): Buffer {
  return Buffer.from([...varint(field * 8), ...varint(value)])
}

function message(field: number, parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts)
  return Buffer.concat([Buffer.from([...varint(field * 8 + 2), ...varint(body.length)]), body])
}

function packed(field: number, values: readonly number[]): Buffer {
  return message(field, [Buffer.from(values.flatMap(value => varint(value)))])
}

/**
 * `value` must not be negative. Times in nanoseconds need more than 53 bits, so they are rounded to what a number
 * holds.
 */
function varint(value: number): number[] {
  const out: number[] = []
  let rest = Math.round(value)
  while (rest >= 0x80) {
    out.push((rest % 0x80) + 0x80)
    rest = Math.floor(rest / 0x80)
  }
  out.push(rest)
  return out
}
