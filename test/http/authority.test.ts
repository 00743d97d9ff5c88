import { describe, expect, test } from 'vitest'
import { readAuthority } from '../../src/http/authority.ts'
import { processorTime } from '../helpers/processor-time.ts'

describe('an authority from a client', () => {
  test.each([
    ['example.com', 'example.com'],
    ['example.com:8080', 'example.com:8080'],
    ['EXAMPLE.com', 'example.com'],
    ['example.com.', 'example.com'],
    ['example.com.:443', 'example.com:443'],
    ['example.com:', 'example.com'],
    ['a_b-c', 'a_b-c'],
    ['10.0.0.1:65535', '10.0.0.1:65535'],
    ['[::1]:80', '[::1]:80'],
    ['[FE80::A]', '[fe80::a]'],
    ["a!$&'()+;=~b", "a!$&'()+;=~b"],
  ])('%j parses as %j', (text, read) => expect(readAuthority(text)).toBe(read))

  test.each([
    'example.com..',
    '.example.com',
    'a..b',
    '.',
    ':80',
    'a:0',
    'a:00',
    'a:080',
    'a:65536',
    'a:99999',
    'a:999999',
    'a:-1',
    'a:+80',
    'a:8 0',
    'a:8_0',
    'a:80:90',
    'a:x',
    'a.:.',
    'a b',
    'a\tb',
    'a\u00a0b',
    'a\0',
    'a,b',
    'a/b',
    'a\\b',
    'a?b',
    'a#b',
    'user@a',
    'a%2eb',
    '*',
    '*.example.com',
    '[::1',
    '::1',
    '[::1]x',
    '[::1].',
    '[::1]@a',
    '[a.example]',
    'é.example',
    // Its lower case is an ASCII `k`.
    '\u212aube.example',
  ])('%j is invalid', text => expect(readAuthority(text)).toBeUndefined())

  test('takes linear time', () => {
    const cost = (length: number) =>
      processorTime(() => {
        for (const part of ['a', 'a.', '.', 'a:', '!', '[', 'a.A']) readAuthority(part.repeat(length / part.length))
      })
    cost(1000)
    expect(cost(400_000)).toBeLessThan(Math.max(100, 60 * cost(20_000)))
  })
})
