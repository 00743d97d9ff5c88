import fc from 'fast-check'
import { expect, test } from 'vitest'
import { unifiedDiff } from '../../../src/tools/check/diff.ts'

/** What `patch` does with it. */
function apply(text: string, patch: string): string {
  const source = text.match(/[^\n]*\n|[^\n]+$/g) ?? []
  const out: string[] = []
  let at = 0
  const lines = patch.split('\n').slice(2)
  for (let i = 0; i < lines.length - 1; i++) {
    const line = lines[i]!
    const head = /^@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@$/.exec(line)
    const newline = lines[i + 1]?.startsWith('\\') ? '' : '\n'
    if (head !== null) {
      const start = head[2] === '0' ? Number(head[1]) : Number(head[1]) - 1
      while (at < start) out.push(source[at++]!)
    } else if (line.startsWith('\\')) continue
    else {
      const content = line.slice(1) + newline
      if (line[0] !== '+') expect(source[at++]).toBe(content)
      if (line[0] !== '-') out.push(content)
    }
  }
  return [...out, ...source.slice(at)].join('')
}

test('applying the patch to the old text gives the new one', () => {
  const text = fc
    .array(fc.constantFrom('a\n', 'b\n', 'c\r\n', '\n', 'd'), { maxLength: 40 })
    .map(lines => lines.join(''))
  fc.assert(
    fc.property(text, text, (before, after) => {
      const patch = unifiedDiff('x', before, after).text
      expect(before === after ? before : apply(before, patch)).toBe(after)
    }),
  )
})

test('distant changes get separate hunks with three lines of context', () => {
  const lines = Array.from({ length: 30 }, (_, i) => `${i}\n`)
  const after = lines.with(4, 'x\n').with(25, 'y\n')
  const patch = unifiedDiff('x', lines.join(''), after.join('')).text
  expect(patch.match(/^@@.*/gm)).toEqual(['@@ -2,7 +2,7 @@', '@@ -23,7 +23,7 @@'])
})

test('identical texts have no diff', () => {
  expect(unifiedDiff('x', 'a\n', 'a\n').text).toBe('')
})

test('conceals what either text conceals, and marks the diff as not applicable as a patch', () => {
  const conceal = (text: string) =>
    text.includes('new') ? text.replaceAll(/sk-\d/g, '****') : text.replace('sk-1', '****')
  expect(unifiedDiff('a', 'sk-1\nsk-2\nold\n', 'sk-1\nsk-2\nnew\n', conceal)).toEqual({
    text: '--- a\n+++ a\n@@ -1,3 +1,3 @@\n ****\n ****\n-old\n+new\n',
    concealed: true,
  })
  const far = `sk-1\n${'x\n'.repeat(9)}`
  expect(unifiedDiff('a', `${far}old\n`, `${far}new\n`, conceal).concealed).toBe(false)
})
