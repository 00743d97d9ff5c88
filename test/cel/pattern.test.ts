import { describe, expect, it } from 'vitest'
import type { Pattern } from '../../src/cel/expression.ts'
import { createPatternCompiler, MAX_PATTERN_LENGTH } from '../../src/cel/pattern.ts'

const patterns = createPatternCompiler()

function pattern(source: string, anchored = false): Pattern {
  const made = patterns.compile(source, anchored)
  if ('problem' in made) throw new Error(made.problem.message)
  return made
}

function problem(source: string) {
  const made = patterns.compile(source, false)
  if (!('problem' in made)) throw new Error(`${source} compiles`)
  return { ...made.problem, at: made.problem.span && source.slice(...made.problem.span) }
}

describe('matching', () => {
  it.each([
    ['b', false, 'abc', true],
    ['b', true, 'abc', false],
    ['a|ab', true, 'ab', true],
    ['/v[0-9]+/.*', true, '/v1/users', true],
    ['/v[0-9]+', true, '/v1/users', false],
    ['(?i)ABC', true, 'abc', true],
    ['[[:alpha:]]+', true, 'abc', true],
    ['\\pL+', true, 'été', true],
    ['(?P<year>\\d{4})', false, 'in 2026', true],
    ['\\Qa+b\\E', true, 'a+b', true],
    ['[&]', false, 'a&b', true],
    ['a&&b', false, 'a&&b', true],
    ['', true, '', true],
    ['.', true, '😀', true],
  ])('%s (anchored: %s) on %s: %s', (source, anchored, text, expected) => {
    expect(pattern(source, anchored).test(text)).toBe(expected)
  })

  it.each([
    ['[0-9]+', 'a1b22', '#', 'a#b#'],
    ['([a-z])([0-9])', 'a1b2', '$2$1', '1a2b'],
    ['(?P<w>[a-z]+)', 'ab 1', '<${w}>', '<ab> 1'],
    ['(a)|b', 'ab', '[$1]', '[a][]'],
    ['a', 'a', '$$1', '$1'],
    ['a', 'a', '$9', ''],
    ['x', 'abc', 'y', 'abc'],
    ['', 'ab', '-', '-a-b-'],
  ])('%s is replaced in %s', (source, text, by, expected) => {
    expect(pattern(source).replaceAll(text, by)).toBe(expected)
  })
})

describe('rejected patterns', () => {
  it.each([
    ['a(?=b)', '(?=', 'look-around'],
    ['a(?!b)', '(?!', 'look-around'],
    ['(?<=a)b', '(?<=', 'look-around'],
    ['(?<!a)b', '(?<!', 'look-around'],
    ['(a)\\1', '\\1', 'back-references'],
    ['(?>a+)b', '(?>', 'atomic groups'],
    ['x[a-z&&[^b]]', '&&', '`&&` inside a character class'],
    ['a++', '++', 'nested repetition'],
    ['(a', '(a', 'missing closing )'],
    ['a{1001}', '{1001}', 'invalid repeat count'],
    ['((a{100}){100}){100}', '{100}', 'invalid repeat count'],
    ['\\h', '\\h', 'invalid escape'],
  ])('%s', (source, at, message) => {
    const found = problem(source)
    expect(found.message).toContain(message)
    if (source !== '(a') expect(found.at).toBe(at)
    expect(found.help).toContain('RE2')
  })

  it('longer than the limit', () => {
    expect(pattern('a'.repeat(MAX_PATTERN_LENGTH)).test('a')).toBe(false)
    expect(problem('a'.repeat(MAX_PATTERN_LENGTH + 1)).message).toContain('1025 characters')
  })
})

describe('hostile input', () => {
  // Each of these takes a backtracking engine from seconds to the end of the universe; twice the text must not take
  // much more than twice the time here. The ratio is taken over large texts, so a slow machine does not matter.
  it.each([
    ['(a+)+$', (n: number) => `${'a'.repeat(n)}!`],
    ['(a|aa)+$', (n: number) => `${'a'.repeat(n)}!`],
    ['^(\\w+\\s?)*$', (n: number) => `${'word '.repeat(n / 5)}!`],
    ['(.*a){20}', (n: number) => 'a'.repeat(19) + 'b'.repeat(n)],
    ['([\\w.-]+)+@evil', (n: number) => 'a'.repeat(n)],
    ['\\s+$', (n: number) => `${' '.repeat(n)}x`],
    ['.*.*=.*', (n: number) => 'x'.repeat(n)],
    ['[\\w.+-]+@[\\w-]+\\.[\\w.-]+', (n: number) => 'a'.repeat(n)],
  ])('%s runs in linear time', (source, text) => {
    const compiled = pattern(source)
    compiled.test(text(1000))
    const cost = (n: number) => {
      const input = text(n)
      const best = Array.from({ length: 5 }, () => {
        const before = process.cpuUsage()
        compiled.test(input)
        const { user } = process.cpuUsage(before)
        return user
      })
      return Math.min(...best)
    }
    const [small, large] = [cost(20_000), cost(160_000)]
    expect(large).toBeLessThan(Math.max(small, 500) * 40)
  })

  it('caches a bounded number of patterns', () => {
    const compiler = createPatternCompiler()
    const first = compiler.compile('kept', true)
    for (let i = 0; i < 200; i++) compiler.compile(`p${i}`, true)
    expect(compiler.compile('kept', true)).toBe(first)
    for (let i = 0; i < 300; i++) compiler.compile(`q${i}`, true)
    expect(compiler.compile('kept', true)).not.toBe(first)
  })
})
