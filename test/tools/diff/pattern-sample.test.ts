import { expect, test } from 'vitest'
import { sampleOf } from '../../../src/tools/diff/witness/pattern-sample.ts'

test.each([
  '/v[0-9]+/chat',
  '^/a/(b|c)/d$',
  '/users/\\d{3,5}',
  '/(?:x|y)*z?',
  '/[^/]+/end',
  '/[a-f]{2}\\.json',
  '(?i)/Deep/.*',
  '/(?P<id>\\w+)/\\w',
])('%s matches its own sample', pattern => {
  const sample = sampleOf(pattern)
  const flags = pattern.startsWith('(?i)') ? 'i' : ''
  const own = pattern.replace(/^\(\?i\)/, '').replace('?P<', '?<')
  expect(sample).toMatch(new RegExp(`^(?:${own})$`, flags))
})

test.each(['/\\p{L}+', '/(?i:x)', '/[[:alpha:', '/(a', '/\\x41', '/a)'])(
  '%s is unsupported and has no sample',
  pattern => {
    expect(sampleOf(pattern)).toBeUndefined()
  },
)
