import type { Toolbox } from '../define.ts'
import { CelFailure } from '../failure.ts'
import { HeaderView } from '../header-view.ts'
import { isList, itemsOf, sizeOf } from '../values.ts'

/** Maximum length of a result: a few replacements in a row could otherwise grow without bound. */
const MAX_TEXT = 16 * 1024 * 1024
/** The white space removed by `trim`: the Unicode White_Space set. */
const SPACE = /^[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/
const SPACE_AT_END = /[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]$/

/** String functions. Positions and sizes count code points. */
export function defineStrings({ define, run, patterns }: Toolbox): void {
  const pattern = (source: string) => {
    const made = patterns.compile(source, false)
    if ('problem' in made) throw new CelFailure('invalid_regular_expression')
    return made
  }
  const matches = (text: string, source: string) => {
    run.charge(text.length >> 8)
    return pattern(source).test(text)
  }
  define('string.matches(string): bool', matches)
  define('matches(string, string): bool', matches)
  define('string.regexReplace(string, string): string', (text: string, source: string, by: string) => {
    run.charge(text.length >> 8)
    return bounded(pattern(source).replaceFirst(text, by))
  })

  define('string.charAt(int): string', (text: string, at: bigint) => {
    const points = pointsOf(text)
    if (at < 0n || at > BigInt(points.length)) throw new CelFailure('index_out_of_range')
    return points[Number(at)] ?? ''
  })
  define('string.indexOf(string): int', (text: string, part: string) => indexOf(text, part, 0n))
  define('string.indexOf(string, int): int', indexOf)
  define('string.lastIndexOf(string): int', (text: string, part: string) => lastIndexOf(text, part, undefined))
  define('string.lastIndexOf(string, int): int', lastIndexOf)
  define('string.substring(int): string', (text: string, from: bigint) => substring(text, from, undefined))
  define('string.substring(int, int): string', substring)
  define('string.lowerAscii(): string', (text: string) => text.replace(/[A-Z]+/g, part => part.toLowerCase()))
  define('string.upperAscii(): string', (text: string) => text.replace(/[a-z]+/g, part => part.toUpperCase()))
  define('string.trim(): string', trim)
  define('string.reverse(): string', (text: string) => pointsOf(text).reverse().join(''))
  define('string.replace(string, string): string', (text: string, part: string, by: string) =>
    replace(text, part, by, -1n),
  )
  define('string.replace(string, string, int): string', replace)
  define('string.stripPrefix(string): string', (text: string, part: string) =>
    text.startsWith(part) ? text.slice(part.length) : text,
  )
  define('string.stripSuffix(string): string', (text: string, part: string) =>
    part !== '' && text.endsWith(part) ? text.slice(0, -part.length) : text,
  )
  define('string.split(string): list<string>', (text: string, by: string) => split(text, by, -1n))
  define('string.split(string, int): list<string>', split)
  define('dyn.split(): dyn', (value: unknown) => headers(value).shaped('split'))
  define('dyn.join(): dyn', (value: unknown) =>
    value instanceof HeaderView ? value.shaped('join') : join(value, '', run.charge.bind(run)),
  )
  define('dyn.join(string): string', (value: unknown, by: string) => join(value, by, run.charge.bind(run)))
  define('dyn.raw(): dyn', (value: unknown) => headers(value).shaped('raw'))
  define('dyn.redacted(): dyn', (value: unknown) => headers(value).redacted())
  define('dyn.cookie(string): string', (value: unknown, name: string) => headers(value).cookie(name, run.guards))
}

function headers(value: unknown): HeaderView {
  if (value instanceof HeaderView) return value
  throw new CelFailure('no_matching_overload')
}

function bounded(text: string): string {
  if (text.length > MAX_TEXT) throw new CelFailure('too_large')
  return text
}

/** Each code point as a string, with a fast path for text without surrogates. */
function pointsOf(text: string): string[] {
  return hasSurrogates(text) ? Array.from(text) : text.split('')
}

function hasSurrogates(text: string): boolean {
  return /[\ud800-\udfff]/.test(text)
}

function pointCount(text: string): number {
  return hasSurrogates(text) ? Array.from(text).length : text.length
}

function indexOf(text: string, part: string, from: bigint): bigint {
  const size = pointCount(text)
  if (from < 0n || from > BigInt(size)) throw new CelFailure('index_out_of_range')
  if (!hasSurrogates(text)) return BigInt(text.indexOf(part, Number(from)))
  const start = Array.from(text).slice(0, Number(from)).join('').length
  const unit = text.indexOf(part, start)
  return BigInt(unit < 0 ? -1 : pointCount(text.slice(0, unit)))
}

function lastIndexOf(text: string, part: string, from: bigint | undefined): bigint {
  const size = pointCount(text)
  if (from !== undefined && (from < 0n || from > BigInt(size))) throw new CelFailure('index_out_of_range')
  const limit = from === undefined ? size : Number(from)
  if (!hasSurrogates(text)) return BigInt(text.lastIndexOf(part, limit))
  const start = Array.from(text).slice(0, limit).join('').length
  const unit = text.lastIndexOf(part, start)
  return BigInt(unit < 0 ? -1 : pointCount(text.slice(0, unit)))
}

function substring(text: string, from: bigint, to: bigint | undefined): string {
  const points = pointsOf(text)
  const end = to ?? BigInt(points.length)
  if (from < 0n || end < from || end > BigInt(points.length)) throw new CelFailure('index_out_of_range')
  return points.slice(Number(from), Number(end)).join('')
}

/** Trims the end one character at a time: a pattern anchored only at the end would be quadratic. */
function trim(text: string): string {
  const start = text.replace(SPACE, '')
  let end = start.length
  while (end > 0 && SPACE_AT_END.test(start[end - 1] as string)) end--
  return start.slice(0, end)
}

function replace(text: string, part: string, by: string, times: bigint): string {
  if (times === 0n) return text
  const limit = times < 0n ? Number.POSITIVE_INFINITY : Number(times)
  const pieces = part === '' ? ['', ...pointsOf(text), ''] : text.split(part)
  const cuts = Math.min(limit, pieces.length - 1)
  if (text.length + cuts * by.length > MAX_TEXT) throw new CelFailure('too_large')
  return (
    pieces.slice(0, cuts + 1).join(by) +
    pieces
      .slice(cuts + 1)
      .map(piece => part + piece)
      .join('')
  )
}

function split(text: string, by: string, limit: bigint): string[] {
  if (limit === 0n) return []
  const parts = by === '' ? pointsOf(text) : text.split(by)
  if (limit < 0n || BigInt(parts.length) <= limit) return parts
  const kept = Number(limit) - 1
  return [...parts.slice(0, kept), parts.slice(kept).join(by)]
}

function join(value: unknown, by: string, charge: (steps: number) => void): string {
  if (!isList(value)) throw new CelFailure('no_matching_overload')
  charge(sizeOf(value) >> 3)
  const items = itemsOf(value)
  if (!items.every(item => typeof item === 'string')) throw new CelFailure('invalid_list_element_type')
  return bounded(items.join(by))
}
