import fc from 'fast-check'
import { RE2JS, RE2Set } from 're2js'
import { describe, expect, test } from 'vitest'
import { screenFor } from '../../../src/cel/pattern.ts'
import { necessaryText } from '../../../src/cel/patterns/necessary-text.ts'
import type { Program } from '../../../src/cel/patterns/program.ts'

const needed = (source: string) => necessaryText(RE2JS.compile(source).re2Input.prog as Program)

describe('text required by every match of a pattern', () => {
  test.each([
    ['AKIA[0-9A-Z]{16}', 'so AKIA0123456789ABCDEF', 'so AKIA0123'],
    ['(?i)pass(word)?: \\S', 'PASS: x', 'pass. x'],
    ['.*confidential.*', 'all confidential', 'confidence'],
    ['[a-z.]+@[a-z]+\\.com', 'a@b.com', 'a at b.com'.replace('.com', '')],
    ['(?i)kiss', '\u212ai\u017fs', 'kis'],
    ['x+y', 'xxy', 'xx'],
  ])('%s', (source, has, lacks) => {
    const regex = new RegExp(needed(source) as string)
    expect(regex.test(has)).toBe(true)
    expect(regex.test(lacks)).toBe(false)
  })

  test('is found by an expression without repetition', () => {
    for (const source of ['(a+)+b', '(?:a|aa)*c', '(x{1,9}){1,9}y']) expect(needed(source)).not.toMatch(/[+*?]|\{\d*,/)
  })
})

const piece = fc.constantFrom('a', 'b', '[ab]', '.', '\\d', '(?i:k)', 'é', '😀', '\\b', '^', 'ab', '[^a]')
const pattern = fc
  .array(fc.tuple(piece, fc.constantFrom('', '', '*', '+', '?', '{2}', '{1,3}', '|')), { minLength: 1, maxLength: 6 })
  .map(parts => parts.map(([each, many]) => each + (many !== '|' && /^[\^\\b]{1,2}$/.test(each) ? '' : many)).join(''))
const text = fc.string({ unit: fc.constantFrom('a', 'b', '1', ' ', 'k', '\u212a', 'é', '😀', '\n'), maxLength: 12 })

test('a text that lacks the required text has no match', () => {
  fc.assert(
    fc.property(fc.array(pattern, { minLength: 1, maxLength: 3 }), text, (sources, text) => {
      const set = new RE2Set()
      for (const source of sources) set.add(source)
      set.compile()
      // A match of nothing is none.
      const found = set.match(text).filter(index => {
        const matcher = RE2JS.compile(sources[index] as string).matcher(text)
        while (matcher.find()) if (matcher.end() > matcher.start()) return true
        return false
      })
      expect(screenFor(sources)(text)).toEqual(expect.arrayContaining(found))
    }),
    { numRuns: 1000 },
  )
})
