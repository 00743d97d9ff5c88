import type { Finder } from '../../../cel/pattern.ts'
import { type MaskRule, maskRule } from '../../../llm/guards/mask.ts'
import { PHONE_CANDIDATE, phoneNumberIn } from './phone-numbers.ts'

const AT_DOMAIN = '@[a-zA-Z0-9\\-]+\\.[a-zA-Z0-9.\\-]+'

/**
 * The builtin patterns by their names in the configuration. No checksum is verified: anything that looks like a number
 * counts.
 */
const BUILTINS = {
  ssn: () => either('ssn', '<SSN>', '\\d{5}-\\d{4}', '\\d{3}-\\d{6}', '\\d{3}[- .]\\d{2}[- .]\\d{4}', '\\d{9}'),
  creditCard: () =>
    either(
      'creditCard',
      '<CREDIT_CARD>',
      '(?:4\\d{3}|5[0-5]\\d{2}|6\\d{3}|3\\d{3})[- ]?\\d{3,4}[- ]?\\d{3,4}[- ]?\\d{3,5}',
      '1\\d{3}[- ]?\\d{3,4}[- ]?\\d{3,4}[- ]?\\d{4,5}',
    ),
  phoneNumber: () => bounded('phoneNumber', PHONE_CANDIDATE, '<PHONE_NUMBER>', phoneNumberIn),
  email: () => maskRule('email', `[a-zA-Z0-9_.+\\-]+${AT_DOMAIN}`, '<EMAIL_ADDRESS>', { finder: findEmail }),
  caSin: () => either('caSin', '<CA_SIN>', '\\d{3}[- ]\\d{3}[- ]\\d{3}', '\\d{9}'),
} as const satisfies Record<string, () => MaskRule>

export type Builtin = keyof typeof BUILTINS

export function builtinRule(name: Builtin): MaskRule {
  return BUILTINS[name]()
}

/** One of several forms, as a separate word. */
function either(name: string, mask: string, ...forms: readonly string[]): MaskRule {
  return bounded(name, `\\b(?:${forms.join('|')})\\b`, mask)
}

/** No part of these patterns is unbounded: there is little backtracking, and the platform's own engine is faster. */
function bounded(name: string, source: string, mask: string, narrow?: MaskRule['narrow']): MaskRule {
  const regex = new RegExp(source.replaceAll('\\s', '\\t\\n\\f\\r '), 'g')
  const finder: Finder = (text, from) => {
    regex.lastIndex = from
    const found = regex.exec(text)
    return found === null ? undefined : [found.index, regex.lastIndex]
  }
  return maskRule(name, source, mask, { finder, ...(narrow ? { narrow } : {}) })
}

/** Scans from one `@` to the next: starting at every letter would be quadratic. */
function findEmail(text: string, from: number): readonly [start: number, end: number] | undefined {
  const domain = new RegExp(AT_DOMAIN, 'y')
  for (let at = text.indexOf('@', from + 1); at >= 0; at = text.indexOf('@', at + 1)) {
    let start = at
    while (start > from && isLocal(text.charCodeAt(start - 1))) start--
    domain.lastIndex = at
    if (start < at && domain.test(text)) return [start, domain.lastIndex]
  }
  return undefined
}

/** A letter, a digit, or one of `_.+-`. */
function isLocal(c: number): boolean {
  return (
    (c >= 0x61 && c <= 0x7a) ||
    (c >= 0x41 && c <= 0x5a) ||
    (c >= 0x30 && c <= 0x39) ||
    LOCAL_SIGNS.includes(String.fromCharCode(c))
  )
}
const LOCAL_SIGNS = '_.+-'
