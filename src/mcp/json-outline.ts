/** Bytes of valid JSON whose value stands from `start` to `end` (exclusive). */
export interface JsonRange {
  readonly start: number
  readonly end: number
}

export interface JsonOutline {
  /** By dotted path from the root. Only members of the objects that `DESCEND` names are listed. */
  readonly ranges: ReadonlyMap<string, JsonRange>
  /** Why the text must not be passed on although it is JSON. */
  readonly problem?: string
}

/** Objects whose members decide where a message goes and who may send it. */
const DESCEND = new Set(['', 'params', 'params.ref', 'params._meta'])
const MAX_DEPTH = 128

const QUOTE = 34
const COMMA = 44
const BACKSLASH = 92

/**
 * Finds the members of a JSON-RPC message by place, so that one value can be exchanged and every other byte stays what
 * it was: numbers keep their digits, objects their order. `text` is an object that `JSON.parse` takes.
 *
 * A message that two readers could understand differently is a problem: a member named twice (the first or the last
 * one wins), or two that differ in case only (Go's reader takes either). What the gateway authorized must be what the
 * server executes.
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

/** `text` with the value at `range` exchanged for `value`. */
export function replaceJson(text: Buffer, range: JsonRange, value: unknown): Buffer {
  return Buffer.concat([text.subarray(0, range.start), Buffer.from(JSON.stringify(value)), text.subarray(range.end)])
}

/** `text` with another value at `path`, where it has one. */
export function withJsonAt(text: Buffer, path: string, value: unknown): Buffer {
  const range = outlineJson(text).ranges.get(path)
  return range ? replaceJson(text, range, value) : text
}

/** Whether lists and objects in `text`, which may be broken JSON, stand in one another more than `limit` times. */
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

  /** From an opening brace to behind the closing one. */
  object(at: number, path: string): number {
    const seen = new Set<string>()
    at = this.skipSpace(at + 1)
    while (this.#text[at] === QUOTE) {
      const keyEnd = stringEnd(this.#text, at)
      const key = JSON.parse(this.#text.toString('utf8', at, keyEnd)) as string
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

/** From an opening quote to behind the closing one. */
function stringEnd(text: Buffer, at: number): number {
  for (let end = text.indexOf(QUOTE, at + 1); ; end = text.indexOf(QUOTE, end + 1)) {
    if (end < 0) return text.length
    let slashes = 0
    while (text[end - 1 - slashes] === BACKSLASH) slashes++
    if (slashes % 2 === 0) return end + 1
  }
}
