import { type MaskRule, maskRule } from '../../../llm/guards/mask.ts'
import { PHONE_CANDIDATE, phoneNumberIn } from './phone-numbers.ts'

/** What the gateway knows to look for, by the names in the file. No checksum is computed: a number that looks like one counts. */
const BUILTINS = {
  ssn: () => either('ssn', '<SSN>', '\\d{5}-\\d{4}', '\\d{3}-\\d{6}', '\\d{3}[- .]\\d{2}[- .]\\d{4}', '\\d{9}'),
  creditCard: () =>
    either(
      'creditCard',
      '<CREDIT_CARD>',
      '(?:4\\d{3}|5[0-5]\\d{2}|6\\d{3}|3\\d{3})[- ]?\\d{3,4}[- ]?\\d{3,4}[- ]?\\d{3,5}',
      '1\\d{3}[- ]?\\d{3,4}[- ]?\\d{3,4}[- ]?\\d{4,5}',
    ),
  phoneNumber: () => maskRule('phoneNumber', PHONE_CANDIDATE, '<PHONE_NUMBER>', phoneNumberIn),
  email: () => maskRule('email', '[a-zA-Z0-9_.+\\-]+@[a-zA-Z0-9\\-]+\\.[a-zA-Z0-9.\\-]+', '<EMAIL_ADDRESS>'),
  caSin: () => either('caSin', '<CA_SIN>', '\\d{3}[- ]\\d{3}[- ]\\d{3}', '\\d{9}'),
} as const satisfies Record<string, () => MaskRule>

export type Builtin = keyof typeof BUILTINS

export function builtinRule(name: Builtin): MaskRule {
  return BUILTINS[name]()
}

/** One of several forms, as a word of its own. */
function either(name: string, mask: string, ...forms: readonly string[]): MaskRule {
  return maskRule(name, `\\b(?:${forms.join('|')})\\b`, mask)
}
