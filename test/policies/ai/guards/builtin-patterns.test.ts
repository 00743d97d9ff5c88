import fc from 'fast-check'
import { expect, test } from 'vitest'
import { searchFor } from '../../../../src/cel/pattern.ts'
import { type Builtin, builtinRule } from '../../../../src/policies/ai/guards/builtin-patterns.ts'

/** What the patterns are about, and what stands around it. */
const piece = fc.oneof(
  fc.constantFrom(
    '123-45-6789',
    '4111 1111-1111 1111',
    '+1 (415) 555-2671',
    'a.b+c@ex-ample.co.uk.',
    '@',
    'a@b',
    '046 454 286',
  ),
  fc.constantFrom(...'0123456789aZ_.+-@ ()\n\t\f\v\u00a0\u2028é🎈\u0000'),
  fc.stringMatching(/^[0-9 .-]{1,12}$/),
)
const text = fc.array(piece, { maxLength: 30 }).map(pieces => pieces.join(''))

test.each<Builtin>(['ssn', 'creditCard', 'phoneNumber', 'email', 'caSin'])(
  '%s matches like RE2, from any starting position',
  name => {
    const { search } = builtinRule(name)
    const re2 = searchFor(search.source)
    fc.assert(
      fc.property(text, fc.nat(20), (text, from) => {
        expect(search.spans(text)).toEqual(re2.spans(text))
        const at = Math.min(from, text.length)
        expect(search.first(text, at)).toEqual(re2.first(text, at))
      }),
      { numRuns: 300 },
    )
  },
)
