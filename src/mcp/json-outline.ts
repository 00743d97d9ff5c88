/** Bytes `start` to `end` (exclusive) of a JSON text, which hold one value. */
export interface JsonRange {
  readonly start: number
  readonly end: number
}

export interface JsonOutline {
  /** By dotted path from the root. Only members of the objects in `DESCEND` are listed. */
  readonly ranges: ReadonlyMap<string, JsonRange>
  /** Why the text must be rejected although it is valid JSON. */
  readonly problem?: string
}

/** Objects whose members decide routing and authorization. */
const DESCEND = new Set(['', 'params', 'params.ref', 'params._meta'])
const MAX_DEPTH = 128

const QUOTE = 34
const COMMA = 44
const BACKSLASH = 92

/**
 * Locates the members of a JSON-RPC message, so that one value can be replaced and every other byte is preserved:
 * numbers keep their digits, objects their order. `text` is an object that `JSON.parse` accepts.
 *
 * A message that two parsers could understand differently is a problem: a duplicate member (the first or the last one
 * wins), or two that differ only in case (Go's parser accepts either). The server must execute what the gateway
 * authorized.
 */
export function outlineJson(text: Buffer): JsonOutline {
  const scanner = new Scanner(text)
  try {
    scanner.object(scanner.skipSpace(0), '')
  } catch (error) {
    if (error instanceof Refused) return { ranges: scanner.ranges, problem: error.message }
    throw error
  }
  return { ranges: scanner.ranges }
}

/** `text` with the value at `range` replaced by `value`. */
export function replaceJson(text: Buffer, range: JsonRange, value: unknown): Buffer {
  return Buffer.concat([text.subarray(0, range.start), Buffer.from(JSON.stringify(value)), text.subarray(range.end)])
}

/** `text` with the value at `path` replaced, if present. */
export function withJsonAt(text: Buffer, path: string, value: unknown): Buffer {
  const range = outlineJson(text).ranges.get(path)
  return range ? replaceJson(text, range, value) : text
}

/** Whether lists and objects in `text`, which may be malformed, nest more than `limit` levels deep. */
export function nestsDeeperThan(limit: number, text: Buffer): boolean {
  if (text.length <= 2 * limit) return false
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const c = text[at]
    if (c === QUOTE) at = stringEnd(text, at) - 1
    else if (c === 0x7b || c === 0x5b) {
      if (++depth > limit) return true
    } else if (c === 0x7d || c === 0x5d) depth--
  }
  return false
}

class Refused extends Error {}

class Scanner {
  readonly ranges = new Map<string, JsonRange>()
  readonly #text: Buffer

  constructor(text: Buffer) {
    this.#text = text
  }

  /** From an opening brace to the position after the closing one. */
  object(at: number, path: string): number {
    const seen = new Set<string>()
    at = this.skipSpace(at + 1)
    while (this.#text[at] === QUOTE) {
      const keyEnd = stringEnd(this.#text, at)
      const key = memberName(this.#text.toString('utf8', at, keyEnd))
      const folded = key.toLowerCase()
      if (seen.has(folded)) throw new Refused(`duplicate field \`${key.slice(0, 64)}\``)
      seen.add(folded)
      const start = this.skipSpace(this.skipSpace(keyEnd) + 1)
      const name = path === '' ? key : `${path}.${key}`
      const end = this.#text[start] === 0x7b && DESCEND.has(name) ? this.object(start, name) : this.#value(start)
      this.ranges.set(name, { start, end })
      at = this.skipSpace(end)
      if (this.#text[at] === COMMA) at = this.skipSpace(at + 1)
    }
    return at + 1
  }

  skipSpace(at: number): number {
    for (let c = this.#text[at]; c === 32 || c === 10 || c === 13 || c === 9; c = this.#text[++at]);
    return at
  }

  #value(at: number): number {
    const text = this.#text
    if (text[at] === QUOTE) return stringEnd(this.#text, at)
    let depth = 0
    for (;;) {
      const c = text[at]
      if (c === QUOTE) {
        at = stringEnd(this.#text, at)
        continue
      }
      if (c === 0x7b || c === 0x5b) {
        if (++depth > MAX_DEPTH) throw new Refused('nested too deep')
      } else if (c === 0x7d || c === 0x5d) {
        if (depth === 0) return at
        if (--depth === 0) return at + 1
      } else if (depth === 0 && (c === COMMA || c === 32 || c === 10 || c === 13 || c === 9 || c === undefined)) {
        return at
      }
      at++
    }
  }
}

function memberName(quoted: string): string {
  return quoted.includes('\\') ? (JSON.parse(quoted) as string) : quoted.slice(1, -1)
}

/** From an opening quote to the position after the closing one. */
function stringEnd(text: Buffer, at: number): number {
  for (let end = text.indexOf(QUOTE, at + 1); ; end = text.indexOf(QUOTE, end + 1)) {
    if (end < 0) return text.length
    let slashes = 0
    while (text[end - 1 - slashes] === BACKSLASH) slashes++
    if (slashes % 2 === 0) return end + 1
  }
}
