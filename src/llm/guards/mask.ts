// Finds patterns in texts and masks the matches.
import { type Finder, type Search, type Span, searchFor } from '../../cel/pattern.ts'

/** One kind of match. */
export interface MaskRule {
  /** For traces. */
  readonly name: string
  readonly search: Search
  /** Replaces a match. */
  readonly mask: string
  /** The part of a match that counts, if any, and where to resume the search. Unset: the whole match. */
  narrow?(text: string, found: Span): { readonly found: Span | undefined; readonly resume: number }
}

export function maskRule(
  name: string,
  source: string,
  mask: string,
  { finder, narrow }: { readonly finder?: Finder; readonly narrow?: MaskRule['narrow'] } = {},
): MaskRule {
  return { name, search: searchFor(source, finder), mask, ...(narrow ? { narrow } : {}) }
}

/** Matches in `text` that begin at or after `from` and before `before`. */
function findAll({ search, narrow }: MaskRule, text: string, from = 0, before = text.length): Span[] {
  if (narrow === undefined) return search.spans(text, from).filter(([start]) => start < before)
  const out: Span[] = []
  for (let next = search.first(text, from); next && next[0] < before; ) {
    const { found, resume } = narrow(text, next)
    if (found) out.push(found)
    next = resume < text.length ? search.first(text, resume) : undefined
  }
  return out
}

/** Whether any text, or their concatenation, matches. */
export function finds(rule: MaskRule, texts: readonly string[]): boolean {
  return (
    texts.some(text => findAll(rule, text).length > 0) || (texts.length > 1 && findAll(rule, texts.join('')).length > 0)
  )
}

/**
 * The texts with matches masked, including those that span several texts. A match across a boundary leaves its mask
 * where it begins.
 */
export function maskTexts(rule: MaskRule, texts: readonly string[]): readonly string[] {
  if (texts.length === 1) {
    const [text = ''] = texts
    const spans = findAll(rule, text)
    return spans.length === 0 ? texts : [replaceSpans(text, spans, rule.mask)]
  }
  const spans: Span[] = []
  let offset = 0
  for (const text of texts) {
    for (const [start, end] of findAll(rule, text)) spans.push([offset + start, offset + end])
    offset += text.length
  }
  spans.push(...findAll(rule, texts.join('')))
  return spans.length === 0 ? texts : replaceOver(texts, merged(spans), rule.mask)
}

function merged(spans: readonly Span[]): Span[] {
  const out: [number, number][] = []
  for (const [start, end] of spans.toSorted((a, b) => a[0] - b[0])) {
    const last = out.at(-1)
    if (last && start < last[1]) last[1] = Math.max(last[1], end)
    else out.push([start, end])
  }
  return out
}

function replaceSpans(text: string, spans: readonly Span[], mask: string): string {
  let out = ''
  let at = 0
  for (const [start, end] of spans) {
    out += text.slice(at, start) + mask
    at = end
  }
  return out + text.slice(at)
}

function replaceOver(texts: readonly string[], spans: readonly Span[], mask: string): string[] {
  const out: string[] = []
  let offset = 0
  let next = 0
  for (const text of texts) {
    const end = offset + text.length
    let kept = ''
    let at = offset
    for (; next < spans.length; next++) {
      const [from, to] = spans[next] as Span
      if (from >= end) break
      if (from >= offset) kept += text.slice(at - offset, from - offset) + mask
      at = Math.min(to, end)
      if (to > end) break
    }
    out.push(kept + text.slice(at - offset))
    offset = end
  }
  return out
}

/** UTF-16 units after which an open match is too long to wait for. */
const MAX_OPEN = 64 * 1024

/** Applies one rule to a streamed text. Holds back only what may still become part of a match. */
export class MaskedStream {
  readonly rule: MaskRule
  readonly #open
  /** Unsent text, after the last character sent, which is kept for word boundaries. */
  #text = ''
  #skip = 0
  /** Units before `#text`. */
  #offset = 0
  masked = false

  constructor(rule: MaskRule) {
    this.rule = rule
    this.#open = rule.search.open()
  }

  /** Returns the decided text, masked. Throws RangeError if a match stays open for too long. */
  push(text: string): string {
    if (text === '') return ''
    this.#text += text
    this.#open.push(text)
    const decided = Math.min(this.#open.earliest() - this.#offset, this.#text.length)
    if (decided > this.#skip) return this.#take(decided)
    if (this.#text.length > MAX_OPEN) throw new RangeError(`a match is open for more than ${MAX_OPEN} characters`)
    return ''
  }

  end(): string {
    const rest = this.#take(this.#text.length)
    this.#text = ''
    return rest
  }

  #take(decided: number): string {
    const text = this.#text
    const spans = findAll(this.rule, text, this.#skip, decided)
    const end = Math.max(decided, spans.at(-1)?.[1] ?? 0)
    if (spans.length > 0) this.masked = true
    const out = replaceSpans(text.slice(0, end), spans, this.rule.mask).slice(this.#skip)
    const keep = Math.max(0, end - 1)
    this.#text = text.slice(keep)
    this.#skip = end - keep
    this.#offset += keep
    this.#open.forget(this.#offset + this.#skip)
    return out
  }
}
