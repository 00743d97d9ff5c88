import { RE2JS, RE2JSException, RE2Set } from 're2js'
import type { Problem } from '../schema/builder.ts'
import type { Pattern, PatternCompiler } from './expression.ts'
import { necessaryText } from './patterns/necessary-text.ts'
import { OpenMatches } from './patterns/open-matches.ts'
import type { Program } from './patterns/program.ts'

/** Maximum length of a pattern, in UTF-16 units: compile time and memory grow with it. */
export const MAX_PATTERN_LENGTH = 1024
const CACHED_PATTERNS = 256

/** What the expression functions need beyond a Pattern. */
export interface ReplacingPattern extends Pattern {
  /** Replaces the first match only. */
  replaceFirst(text: string, by: string): string
}
export interface ReplacingPatternCompiler extends PatternCompiler {
  compile(source: string, anchored: boolean): ReplacingPattern | { readonly problem: Problem }
}

/** Caches recently used patterns; each is compiled once while it stays in use. */
export function createPatternCompiler(): ReplacingPatternCompiler {
  const kept = new Map<string, ReplacingPattern>()
  return {
    compile(source, anchored) {
      const key = `${anchored ? 'a' : 's'}${source}`
      const known = kept.get(key)
      if (known) {
        kept.delete(key)
        kept.set(key, known)
        return known
      }
      const made = build(source, anchored)
      if (!('problem' in made)) {
        kept.set(key, made)
        if (kept.size > CACHED_PATTERNS) kept.delete(kept.keys().next().value as string)
      }
      return made
    },
  }
}

function build(source: string, anchored: boolean): ReplacingPattern | { readonly problem: Problem } {
  if (source.length > MAX_PATTERN_LENGTH) {
    return {
      problem: { message: `the pattern is ${source.length} characters long; the limit is ${MAX_PATTERN_LENGTH}` },
    }
  }
  const refused = unsupported(source)
  if (refused) return { problem: refused }
  try {
    return new LinearPattern(source, anchored)
  } catch (error) {
    if (error instanceof RE2JSException || error instanceof RangeError) return { problem: syntaxProblem(source, error) }
    throw error
  }
}

/** Start and end of a match, in UTF-16 units. */
export type Span = readonly [start: number, end: number]

/** Finds matches in whole texts, and in texts that arrive in pieces. */
export interface Search {
  readonly source: string
  /** Non-empty matches from `from` on, in order; the preceding text counts for `\\b`. */
  spans(text: string, from?: number): Span[]
  /** The first one. */
  first(text: string, from: number): Span | undefined
  /** For one text in pieces. */
  open(): OpenMatches
}

/** Finds the first match that begins at or after `from`. */
export type Finder = (text: string, from: number) => Span | undefined

/** `source` must have compiled. `finder`: an optional faster implementation, also in linear time. */
export function searchFor(source: string, finder?: Finder): Search {
  const regex = RE2JS.compile(source)
  const program = regex.re2Input.prog as Program
  const open = () => new OpenMatches(program)
  if (finder) return { source, first: finder, spans: (text, from = 0) => [...spansOf(finder, text, from)], open }
  return {
    source,
    open,
    spans(text, from = 0) {
      const matcher = regex.matcher(text)
      const found: Span[] = []
      for (let any = matcher.find(from); any; any = matcher.find()) {
        if (matcher.end() > matcher.start()) found.push([matcher.start(), matcher.end()])
      }
      return found
    },
    first(text, from) {
      const matcher = regex.matcher(text)
      for (let any = matcher.find(from); any; any = matcher.find()) {
        if (matcher.end() > matcher.start()) return [matcher.start(), matcher.end()]
      }
      return undefined
    },
  }
}

function* spansOf(finder: Finder, text: string, from: number): Generator<Span> {
  for (let span = finder(text, from); span; span = finder(text, span[1])) yield span
}

/**
 * Finds in one pass which of several patterns match anywhere in a text: their indexes, unordered. Most texts lack what
 * any match needs, which the platform's engine detects in a fraction of the time.
 */
export function screenFor(sources: readonly string[]): (text: string) => readonly number[] {
  const set = new RE2Set()
  for (const source of sources) set.add(source)
  set.compile()
  const needed = sources.map(source => necessaryText(RE2JS.compile(source).re2Input.prog as Program))
  if (needed.includes(undefined)) return text => set.match(text)
  const any = new RegExp(needed.join('|'))
  return text => (any.test(text) ? set.match(text) : [])
}

class LinearPattern implements ReplacingPattern {
  readonly source: string
  readonly #regex: RE2JS
  readonly #anchored: boolean

  constructor(source: string, anchored: boolean) {
    this.source = source
    this.#regex = RE2JS.compile(source)
    this.#anchored = anchored
  }

  test(text: string): boolean {
    return this.#anchored ? this.#regex.testExact(text) : this.#regex.test(text)
  }

  replaceAll(text: string, by: string): string {
    return this.#replace(text, by, false)
  }

  replaceFirst(text: string, by: string): string {
    return this.#replace(text, by, true)
  }

  #replace(text: string, by: string, once: boolean): string {
    const matcher = this.#regex.matcher(text)
    let out = ''
    let at = 0
    while (matcher.find()) {
      out += text.slice(at, matcher.start()) + expand(by, name => group(matcher, name))
      at = matcher.end()
      if (once) break
    }
    return out + text.slice(at)
  }
}

type Matcher = ReturnType<RE2JS['matcher']>

function group(matcher: Matcher, name: string): string {
  if (/^[0-9]+$/.test(name)) return Number(name) <= matcher.groupCount() ? (matcher.group(Number(name)) ?? '') : ''
  return Object.hasOwn(matcher.namedGroups, name) ? (matcher.group(name) ?? '') : ''
}

/** `$1`, `$name`, `${name}` and `$$`; the longest name is taken, so `$1a` is the group `1a`. */
function expand(by: string, value: (name: string) => string): string {
  if (!by.includes('$')) return by
  return by.replace(/\$(?:\$|\{([^{}$]*)\}|([0-9A-Za-z_]+))/g, (whole, braced?: string, bare?: string) =>
    whole === '$$' ? '$' : value(braced ?? bare ?? ''),
  )
}

/** Syntax that the linear engine would reject with a less helpful message, or interpret differently than its author. */
function unsupported(source: string): Problem | undefined {
  let inClass = false
  for (let i = 0; i < source.length; i++) {
    const c = source[i]
    if (c === '\\') {
      if (source[i + 1] === 'Q') {
        const end = source.indexOf('\\E', i + 2)
        if (end < 0) return undefined
        i = end + 1
        continue
      }
      if (!inClass && /[1-9]/.test(source[i + 1] ?? '')) return refuse('back-references', i, source.slice(i, i + 2))
      if (!inClass && /^\\k[<{']/.test(source.slice(i, i + 3)))
        return refuse('back-references', i, source.slice(i, i + 3))
      i++
    } else if (inClass) {
      if (c === ']') inClass = false
      else if (c === '[' && source[i + 1] === ':') i = Math.max(i, source.indexOf(':]', i + 2) + 1)
      else if (c === '&' && source[i + 1] === '&') return refuse('`&&` inside a character class', i, '&&')
    } else if (c === '[') {
      inClass = true
      if (source[i + 1] === '^') i++
      if (source[i + 1] === ']') i++
    } else if (c === '(' && source[i + 1] === '?') {
      const found = /^\(\?(?:=|!|<=|<!|>)/.exec(source.slice(i, i + 4))?.[0]
      if (found) return refuse(found === '(?>' ? 'atomic groups' : 'look-around', i, found)
    }
  }
  return undefined
}

function refuse(what: string, at: number, text: string): Problem {
  const plural = what.endsWith('s') ? 'are' : 'is'
  return {
    message: `${what} ${plural} not supported in patterns`,
    label: 'not supported',
    help: 'Patterns use RE2 syntax, which always runs in linear time.',
    span: [at, at + text.length],
  }
}

function syntaxProblem(source: string, error: Error): Problem {
  const text = error.message.replace(/^error parsing regexp: /, '')
  const piece = /`([\s\S]*)`$/.exec(text)?.[1]
  const at = piece ? source.indexOf(piece) : -1
  return {
    message: `bad pattern: ${text}`,
    help: 'Patterns use RE2 syntax: no look-around, no back-references, no possessive or atomic groups, no `(?x)`.',
    ...(piece && at >= 0 ? { span: [at, at + piece.length] as const } : {}),
  }
}
