import { expect, test } from 'vitest'
import { globRoot, parseGlob } from '../../../src/tools/input/globs.ts'

test.each([
  ['*.yaml', 'a.yaml', true],
  ['*.yaml', 'k/a.yaml', false],
  ['**/*.yaml', 'a.yaml', true],
  ['**/*.yaml', 'k/x/a.yaml', true],
  ['k/**', 'k/x/a.yaml', true],
  ['k/**', 'kk/a.yaml', false],
  ['k/**/a.yaml', 'k/a.yaml', true],
  ['**/x/**/a.yaml', 'k/x/y/z/a.yaml', true],
  ['k/?.yaml', 'k/a.yaml', true],
  ['k/?.yaml', 'k/ab.yaml', false],
  ['*.{yaml,yml,json{,c}}', 'a.jsonc', true],
  ['*.{yaml,yml}', 'a.json', false],
  ['[a-c]x.yaml', 'bx.yaml', true],
  ['[!a-c]x.yaml', 'bx.yaml', false],
  ['[^a-c]x.yaml', 'dx.yaml', true],
  ['[]]x', ']x', true],
  ['[', '[', true],
  ['a\\*', 'a*', true],
  ['a\\*', 'ab', false],
  ['*', '.hidden', false],
  ['.*', '.hidden', true],
  ['*a*b*c*', 'xxaxxbxxcxx', true],
  ['*a*b*c*', 'xxaxxcxxbxx', false],
  ['/abs/*.yaml', '/abs/a.yaml', true],
])('%s and %s: %s', (pattern, path, matches) => {
  expect(parseGlob(pattern)(path)).toBe(matches)
})

test('matching is fast for any pattern', () => {
  const start = process.cpuUsage().user
  expect(parseGlob(`${'*a'.repeat(60)}b`)('a'.repeat(4000))).toBe(false)
  expect(parseGlob(`${'**/'.repeat(60)}b`)('a/'.repeat(400))).toBe(false)
  expect(parseGlob('{a,b}'.repeat(40))('x')).toBe(false)
  expect(process.cpuUsage().user - start).toBeLessThan(2_000_000)
})

test.each([
  ['k/**/*.yaml', 'k'],
  ['*.yaml', '.'],
  ['/abs/{a,b}/c', '/abs'],
  ['/*.yaml', '/'],
])('walking %s starts in %s', (pattern, root) => {
  expect(globRoot(pattern)).toBe(root)
})
