import { describe, expect, test } from 'vitest'
import { urlRewrite } from '../../src/policies/url-rewrite.ts'
import { compile, exchange, hooksOf, run } from './policy-fixture.ts'

describe('prefix', () => {
  test.each([
    ['/api', '/new', '/api/v1?q=1', '/new/v1?q=1'],
    ['/api', '/new', '/api', '/new'],
    ['/api', '/new', '/api?q', '/new?q'],
    ['/api', '/new', '/api/', '/new/'],
    ['/api', '/new/', '/api', '/new/'],
    ['/api', '/new/', '/api/v1', '/new/v1'],
    ['/api/', '/new', '/api/v1', '/new/v1'],
    ['/api/', '/new', '/api', '/new'],
    ['/api', '/', '/api/v1', '/v1'],
    ['/api', '/', '/api', '/'],
    ['/api', '', '/api?q', '/?q'],
    ['/', '/new', '/v1', '/new/v1'],
    ['/', '/new', '/', '/new/'],
    ['/api', '/new', '/api//evil.com', '/new//evil.com'],
    ['/api', '/new', '/api/%2e%2e/x', '/new/%2e%2e/x'],
  ])('matched %s, replaced by %j: %s becomes %s', async (matchedPrefix, prefix, path, expected) => {
    const x = exchange({ path, matchedPrefix })
    expect(await run(hooksOf(urlRewrite, { path: { prefix } }), x)).toBe('passed')
    expect(x.request.path).toBe(expected)
    expect(x.received.path).toBe(path)
  })

  test('needs a route with a prefix match', async () => {
    const answer = await run(hooksOf(urlRewrite, { path: { prefix: '/new' } }), exchange({ path: '/api' }))
    expect(answer).toMatch(/^500: failed to apply filters: .*prefix/)
  })

  test('fails for a path that no longer has the prefix', async () => {
    for (const path of ['/other', '/apis']) {
      const x = exchange({ path, matchedPrefix: '/api' })
      expect(await run(hooksOf(urlRewrite, { path: { prefix: '/new' } }), x)).toMatch(/^500/)
    }
  })
})

test.each([
  ['/f', '/a?q=1', '/f?q=1'],
  ['/f', '/a', '/f'],
  ['/f?x=1', '/a?q=1', '/f?x=1&q=1'],
])('full %s: %s becomes %s', async (full, path, expected) => {
  const x = exchange({ path })
  await run(hooksOf(urlRewrite, { path: { full } }), x)
  expect(x.request.path).toBe(expected)
})

test.each([
  [{ full: 'b.com:81' }, 'a.com:80', 'b.com:81', true],
  [{ host: 'b.com' }, 'a.com:80', 'b.com', true],
  [{ port: 99 }, 'a.com:80', 'a.com:99', true],
  [{ port: 99 }, '[::1]', '[::1]:99', true],
  [{ port: 99 }, '[::1]:8080', '[::1]:99', true],
  ['none', 'a.com:80', 'a.com:80', true],
  ['auto', 'a.com:80', 'a.com:80', false],
])('authority %j makes %s into %s', async (authority, given, expected, fixed) => {
  const x = exchange({ authority: given })
  await run(hooksOf(urlRewrite, { authority }), x)
  expect([x.request.authority, x.authorityFixed]).toEqual([expected, fixed])
})

test.each([
  [{ path: { full: 'no-slash' } }, 'GW106 path.full'],
  [{ path: { full: '/a b' } }, 'GW106 path.full'],
  [{ path: { full: '/a\r\nx: y' } }, 'GW106 path.full'],
  [{ path: { full: '/a#b' } }, 'GW106 path.full'],
  [{ path: { prefix: '/a?b' } }, 'GW106 path.prefix'],
  [{ path: { full: '/a', prefix: '/b' } }, 'GW108 path.prefix'],
  [{ path: {} }, 'GW107 path'],
  [{ authority: { host: 'a.com:80' } }, 'GW106 authority.host'],
  [{ authority: { full: 'a.com/x' } }, 'GW106 authority.full'],
  [{ authority: { full: 'a.com:0' } }, 'GW106 authority.full'],
  [{ authority: { full: 'user@a.com' } }, 'GW106 authority.full'],
  [{ authority: 'automatic' }, 'GW104 authority'],
])('%j is rejected', (bad, finding) => {
  expect(compile(urlRewrite, bad).findings).toEqual([expect.stringContaining(finding)])
})
