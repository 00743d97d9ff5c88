import { isUtf8 } from 'node:buffer'
import { hasRepeatedMembers } from '../http/repeated-members.ts'

/** Deeper bodies are rejected: no provider accepts them, and code that walks the value may recurse. */
const MAX_DEPTH = 256

interface Member {
  readonly key: string
  /** From the quote of the key to the end of the value. */
  readonly start: number
  readonly end: number
}

/**
 * A JSON object that can be edited by top-level key while every other byte is preserved: unknown fields, number formats
 * and key order reach the provider unchanged.
 */
export class JsonBody {
  /** The received body as JSON.parse reads it: the last of equal keys wins. Immutable. */
  readonly value: Readonly<Record<string, unknown>>
  readonly #source: Buffer
  readonly #text: string
  readonly #members: readonly Member[]
  /** Undefined marks a removed key. */
  readonly #changes = new Map<string, unknown>()

  private constructor(
    source: Buffer,
    text: string,
    members: readonly Member[],
    value: Readonly<Record<string, unknown>>,
  ) {
    this.#source = source
    this.#text = text
    this.#members = members
    this.value = value
  }

  /** Undefined if it is not UTF-8, not JSON, not an object, or nested deeper than 256. */
  static parse(source: Buffer): JsonBody | undefined {
    if (!isUtf8(source)) return undefined
    const text = source.toString('utf8')
    const members = scanMembers(text)
    if (!members) return undefined
    try {
      return new JsonBody(source, text, members, JSON.parse(text) as Record<string, unknown>)
    } catch {
      return undefined
    }
  }

  /** The body as received, for an independent edit. */
  fork(): JsonBody {
    return new JsonBody(this.#source, this.#text, this.#members, this.value)
  }

  has(key: string): boolean {
    return this.#changes.has(key) ? this.#changes.get(key) !== undefined : Object.hasOwn(this.value, key)
  }

  /** Whether any object has duplicate members: other parsers may then read something else than `value`. */
  ambiguous(): boolean {
    return hasRepeatedMembers(this.#text, this.value)
  }

  /** Current top-level keys. */
  keys(): string[] {
    const all = new Set([...Object.keys(this.value), ...this.#changes.keys()])
    return [...all].filter(key => this.has(key))
  }

  /** Whether `set` was called for it. */
  changed(key: string): boolean {
    return this.#changes.has(key)
  }

  get(key: string): unknown {
    if (this.#changes.has(key)) return this.#changes.get(key)
    return Object.hasOwn(this.value, key) ? this.value[key] : undefined
  }

  /** `value` is JSON data; undefined removes the key. */
  set(key: string, value: unknown): void {
    this.#changes.set(key, value)
  }

  /** The received bytes if nothing changed. A duplicate key is sent once, so that all parsers agree. */
  bytes(): Buffer {
    const last = new Map<string, Member>()
    for (const member of this.#members) last.set(member.key, member)
    if (this.#changes.size === 0 && last.size === this.#members.length) return this.#source
    const parts: string[] = []
    for (const member of this.#members) {
      if (last.get(member.key) !== member) continue
      if (!this.#changes.has(member.key)) parts.push(this.#text.slice(member.start, member.end))
      else parts.push(...pair(member.key, this.#changes.get(member.key)))
    }
    for (const [key, value] of this.#changes) if (!last.has(key)) parts.push(...pair(key, value))
    return Buffer.from(`{${parts.join(',')}}`)
  }
}

function pair(key: string, value: unknown): string[] {
  return value === undefined ? [] : [`${JSON.stringify(key)}:${JSON.stringify(value)}`]
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const OPEN = 0x7b
const CLOSE = 0x7d

/** The members of the object in `text`, undefined if it is none. Exact for valid JSON; JSON.parse decides validity. */
function scanMembers(text: string): Member[] | undefined {
  let at = skipSpace(text, 0)
  if (text.charCodeAt(at) !== OPEN) return undefined
  const members: Member[] = []
  at = skipSpace(text, at + 1)
  if (text.charCodeAt(at) === CLOSE) return members
  for (;;) {
    const start = at
    if (text.charCodeAt(at) !== QUOTE) return undefined
    at = skipString(text, at)
    if (at < 0) return undefined
    const key = readKey(text, start, at)
    at = skipSpace(text, at)
    if (key === undefined || text.charCodeAt(at) !== COLON) return undefined
    at = skipValue(text, skipSpace(text, at + 1))
    if (at < 0) return undefined
    members.push({ key, start, end: at })
    at = skipSpace(text, at)
    if (text.charCodeAt(at) === CLOSE) return members
    if (text.charCodeAt(at) !== COMMA) return undefined
    at = skipSpace(text, at + 1)
  }
}

function readKey(text: string, start: number, end: number): string | undefined {
  const inner = text.slice(start + 1, end - 1)
  if (!inner.includes('\\')) return inner
  try {
    return JSON.parse(text.slice(start, end)) as string
  } catch {
    return undefined
  }
}

function skipSpace(text: string, at: number): number {
  for (;;) {
    const c = text.charCodeAt(at)
    if (c !== 0x20 && c !== 0x0a && c !== 0x0d && c !== 0x09) return at
    at++
  }
}

/** From the opening quote to the position after the closing one; -1 if there is none. */
function skipString(text: string, at: number): number {
  for (;;) {
    at = text.indexOf('"', at + 1)
    if (at < 0) return -1
    let slashes = at - 1
    while (text.charCodeAt(slashes) === BACKSLASH) slashes--
    if ((at - slashes) % 2 === 1) return at + 1
  }
}

/** The end of the value that starts at `at`; -1 if it is unterminated or too deep. */
export function skipValue(text: string, at: number): number {
  const first = text.charCodeAt(at)
  if (first === QUOTE) return skipString(text, at)
  if (first !== OPEN && first !== 0x5b) {
    const start = at
    while (at < text.length && !isDelimiter(text.charCodeAt(at))) at++
    return at > start ? at : -1
  }
  let depth = 0
  while (at < text.length) {
    const c = text.charCodeAt(at)
    if (c === QUOTE) {
      at = skipString(text, at)
      if (at < 0) return -1
      continue
    }
    if (c === OPEN || c === 0x5b) {
      if (++depth >= MAX_DEPTH) return -1
    } else if (c === CLOSE || c === 0x5d) {
      if (--depth === 0) return at + 1
    }
    at++
  }
  return -1
}

function isDelimiter(c: number): boolean {
  return c === COMMA || c === CLOSE || c === 0x5d || c === 0x20 || c === 0x0a || c === 0x0d || c === 0x09
}
