import type { Span } from '../../../cel/pattern.ts'
import { NUMBERING_PLANS } from './numbering-plans.ts'

/** A candidate for a phone number: digits and common separators. */
export const PHONE_CANDIDATE = '[+(]{0,2}\\d[\\d\\s().\\-]{6,30}'

/** Minimum and maximum digits of a number (ITU-T E.164). */
const [SHORTEST, LONGEST] = [7, 15]

/** The first valid number in a candidate, and where to resume the search. */
export function phoneNumberIn(
  text: string,
  [start, end]: Span,
): { readonly found: Span | undefined; readonly resume: number } {
  const groups = groupsIn(text, start, end)
  const [first] = groups
  if (first === undefined) return { found: undefined, resume: end }
  // The tail of a longer number is not a number.
  if (isDigit(text, first.start - 1)) return { found: undefined, resume: first.end }
  const international = text.slice(Math.max(0, first.start - 2), first.start).includes('+')
  for (let last = groups.length - 1; last >= 0; last--) {
    const until = groups[last] as Group
    if (isDigit(text, until.end)) continue
    if (until.count > LONGEST || until.count < SHORTEST) continue
    const digits = text.slice(first.start, until.end).replace(/\D/g, '')
    if (international ? isInternational(digits) : isNational(digits)) {
      return { found: [start, until.end], resume: until.end }
    }
  }
  return { found: undefined, resume: first.end }
}

interface Group {
  readonly start: number
  readonly end: number
  /** Number of digits up to its end. */
  readonly count: number
}

function groupsIn(text: string, from: number, to: number): Group[] {
  const groups: Group[] = []
  let count = 0
  for (let at = from; at < to; at++) {
    if (!isDigit(text, at)) continue
    const start = at
    while (at < to && isDigit(text, at)) at++
    count += at - start
    groups.push({ start, end: at, count })
  }
  return groups
}

function isDigit(text: string, at: number): boolean {
  const c = text.charCodeAt(at)
  return c >= 0x30 && c <= 0x39
}

/** A cheap prefilter that accepts every national number of any region, and a few others. */
const LIKE_NATIONAL = new RegExp(
  NUMBERING_PLANS.map(({ code, prefix, valid }) => {
    const number = valid.source.slice(1)
    return `^(?:(?:${prefix.source.slice(1)})?|${code})${number}`
  }).join('|'),
)

/** Matches one of the plans above, with or without its national prefix. */
function isNational(digits: string): boolean {
  if (!LIKE_NATIONAL.test(digits)) return false
  return NUMBERING_PLANS.some(({ code, prefix, valid }) => {
    if (valid.test(digits)) return true
    const bare = digits.replace(prefix, '')
    if (bare !== digits && valid.test(bare)) return true
    return digits.startsWith(code) && valid.test(digits.slice(code.length))
  })
}

/** After a `+`: matches the country's plan if there is one, otherwise only the length counts. */
function isInternational(digits: string): boolean {
  if (digits.startsWith('0')) return false
  const plans = NUMBERING_PLANS.filter(({ code }) => digits.startsWith(code))
  if (plans.length === 0) return digits.length >= 8
  // `+44 (0)20` is a common spelling.
  return plans.some(({ code, prefix, valid }) => {
    const national = digits.slice(code.length)
    return valid.test(national) || valid.test(national.replace(prefix, '')) || code === '1'
  })
}
