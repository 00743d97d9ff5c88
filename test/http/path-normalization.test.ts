import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { PATHS_AS_WRITTEN, type PathRules, pathNormalizer, SAFE_PATHS } from '../../src/http/path-normalization.ts'
import { processorTime } from '../helpers/processor-time.ts'

const by = (rules: Partial<PathRules>, base: PathRules = PATHS_AS_WRITTEN) => pathNormalizer({ ...base, ...rules })
const safe = pathNormalizer(SAFE_PATHS)

describe('by default', () => {
  test.each([
    ['/', '/'],
    ['/a/b/', '/a/b/'],
    ['/.well-known/x', '/.well-known/x'],
    ['/a/...', '/a/...'],
    ['/a/.b/..c/d..', '/a/.b/..c/d..'],
    ['/a?x=//../%2f%', '/a?x=//../%2f%'],
    ['//a?x=//', '/a?x=//'],
    ['///', '/'],
    ['/a//b///c', '/a/b/c'],
    ['/a/./b', '/a/b'],
    ['/a/.', '/a/'],
    ['/a/..', '/'],
    ['/..', '/'],
    ['/../../etc', '/etc'],
    ['/public/../admin', '/admin'],
    ['/public/%2e%2E/admin', '/admin'],
    ['/public/.%2e/admin', '/admin'],
    ['/public/%2e/admin', '/public/admin'],
    ['/%61dmin', '/admin'],
    ['/%7Ea%2D%5F%2e', '/~a-_.'],
    ['/a%20b%C3%A9%3A%23%25', '/a%20b%C3%A9%3A%23%25'],
    // Once: what is encoded twice stays encoded.
    ['/%252e%252e/%2561', '/%252e%252e/%2561'],
    ['/a;b=1/c', '/a;b=1/c'],
    ['*', '*'],
    ['a.test:443', 'a.test:443'],
  ])('%s becomes %s', (target, normal) => expect(safe.normalize(target)).toBe(normal))

  test.each([
    '/a%2fb',
    '/a%2Fb?x',
    '/a%5cb',
    '/public/..%2fadmin',
    '/public%2f..%2fadmin',
    '/public/..%5cadmin',
    '/public/..;/admin',
    '/public/..;x=1/admin',
    '/public/%2e%2e;/admin',
    '/public/.;/admin',
    '/public/..%3b/admin',
    '/100%',
    '/%zz',
    // Decoded once more, this would be `%2e`.
    '/%%32%65/admin',
    '/a%00b',
    '/%c0%ae%c0%ae/admin',
    '/%c0%af',
    '/%e0%80%ae',
    '/%f0%80%80%ae',
  ])('%s is refused', target => expect(() => safe.normalize(target)).toThrow('invalid request: '))
})

describe('each rule on its own', () => {
  test.each<[Partial<PathRules>, string, string | undefined]>([
    [{}, '//a/../%61%2f%', '//a/../%61%2f%'],
    [{ mergeSlashes: true }, '//a/..//%61', '/a/../%61'],
    [{ dotSegments: 'resolve' }, '/a//../b/%2e%2e/c', '/a/c'],
    [{ dotSegments: 'reject' }, '/a/%2e/b', undefined],
    [{ dotSegments: 'reject' }, '/a//b%2fc', '/a//b%2fc'],
    [{ decodeUnreserved: true }, '/%61/%2e%2e/b', '/a/../b'],
    [{ encodedSlashes: 'reject' }, '/a%2fb', undefined],
    [{ encodedSlashes: 'reject' }, '/%61//..', '/%61//..'],
    [{ encodedSlashes: 'decode' }, '/a%2fb%5Cc', '/a/b/c'],
    [{ encodedSlashes: 'decode', dotSegments: 'resolve', mergeSlashes: true }, '/a%2f..%2f%2fb', '/b'],
    [{ encodedSlashes: 'keep', dotSegments: 'resolve' }, '/a%2fb/../c', '/c'],
    [{ encodedSlashes: 'keep', dotSegments: 'resolve' }, '/a/..%2fb', undefined],
    [{ encodedSlashes: 'keep', dotSegments: 'resolve' }, '/a%2f%2e%2e/b', undefined],
    [{ encodedSlashes: 'keep', dotSegments: 'resolve' }, '/a%5c..%5cb', undefined],
    [{ encodedSlashes: 'keep', dotSegments: 'resolve' }, '/a%2f..b', '/a%2f..b'],
  ])('%j: %s becomes %s', (rules, target, normal) => {
    if (normal === undefined) expect(() => by(rules).normalize(target)).toThrow('invalid request: ')
    else expect(by(rules).normalize(target)).toBe(normal)
  })

  test('redirects only paths with an encoded slash', () => {
    const { redirects } = by({ encodedSlashes: 'redirect' }, SAFE_PATHS)
    expect(['/a%2fb', '/a%5Cb?x', '/a//b', '/a?b=%2f'].map(redirects)).toEqual([true, true, false, false])
    expect(safe.redirects('/a%2fb')).toBe(false)
  })
})

test('normalizing a normalized path changes nothing, whatever the rules', () => {
  const piece = fc.constantFrom(
    '/',
    '//',
    '.',
    '..',
    '%2e',
    '%2E',
    '%2f',
    '%5c',
    '%61',
    '%25',
    '%',
    'a',
    ';',
    '?',
    '%3b',
  )
  const rules = fc.record<PathRules>({
    dotSegments: fc.constantFrom('resolve', 'reject', 'keep'),
    mergeSlashes: fc.boolean(),
    decodeUnreserved: fc.boolean(),
    encodedSlashes: fc.constantFrom('reject', 'keep', 'decode'),
  })
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), rules, (pieces, each) => {
      const { normalize } = pathNormalizer(each)
      let once: string
      try {
        once = normalize(`/${pieces.join('')}`)
      } catch {
        return
      }
      expect(once.startsWith('/')).toBe(true)
      // Without resolution, decoding may lay bare what only a rule that is off would look at.
      expect(normalize(once)).toBe(once)
    }),
    { numRuns: 3000 },
  )
})

test('takes linear time', () => {
  const cost = (length: number) =>
    processorTime(() => {
      for (const part of ['/', '/.', '/..', '%2e', '%61', '%2', ';', '/..a', '/a/..', '.', '%2f'])
        for (const rules of [SAFE_PATHS, { ...SAFE_PATHS, encodedSlashes: 'decode' as const }]) {
          try {
            pathNormalizer(rules).normalize(`/${part.repeat(length / part.length)}`)
          } catch {}
        }
    })
  cost(1000)
  expect(cost(400_000)).toBeLessThan(Math.max(200, 60 * cost(20_000)))
})
