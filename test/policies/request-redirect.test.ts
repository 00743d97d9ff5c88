import { expect, test } from 'vitest'
import type { Reply } from '../../src/http/exchange.ts'
import { requestRedirect } from '../../src/policies/request-redirect.ts'
import { compile, exchange, type Given, hooksOf, run } from './policy-fixture.ts'

async function redirect(spec: object, given: Given): Promise<Reply> {
  return (await run(hooksOf(requestRedirect, spec), exchange(given))) as Reply
}
const r = { matchedPrefix: '/r' }

test.each<[object, Given, string]>([
  [{}, { authority: 'h.com', path: '/a?b=c' }, 'http://h.com/a?b=c'],
  [{ scheme: 'https' }, { authority: 'h.com:8080', path: '/a?b=c' }, 'https://h.com:8080/a?b=c'],
  [{ authority: { port: 80 } }, { authority: 'h.com:8080' }, 'http://h.com/'],
  [{ authority: { port: 443 }, scheme: 'https' }, { authority: 'h.com' }, 'https://h.com/'],
  [{ authority: { port: 80 }, scheme: 'https' }, { authority: 'h.com' }, 'https://h.com:80/'],
  [{ authority: { host: 'o.com' } }, { authority: 'h.com:8080' }, 'http://o.com:8080/'],
  [{ authority: { host: 'o.com' } }, { authority: '[::1]:8080' }, 'http://o.com:8080/'],
  [{ authority: { host: 'o.com' }, scheme: 'http' }, { authority: 'h.com:8080' }, 'http://o.com/'],
  [{ authority: { full: 'o.com:1' } }, { authority: 'h.com:8080', scheme: 'https' }, 'https://o.com:1/'],
  [{ authority: 'auto' }, { authority: 'h.com:8080' }, 'http://h.com:8080/'],
  [{ path: { full: '/f' } }, { authority: 'h.com', path: '/a?b' }, 'http://h.com/f?b'],
  [{ path: { prefix: '/n' } }, { authority: 'h.com', path: '/r/a?b', ...r }, 'http://h.com/n/a?b'],
  [{ path: { prefix: '/' } }, { authority: 'h.com', path: '/r', ...r }, 'http://h.com/'],
  [{ path: { prefix: '/' } }, { authority: 'h.com', path: '/r//evil.com', ...r }, 'http://h.com//evil.com'],
])('%j with %j redirects to %s', async (spec, given, location) => {
  expect(await redirect(spec, given)).toMatchObject({ status: 302, headers: ['location', location], body: undefined })
})

test('uses the configured status', async () => {
  expect((await redirect({ status: 308 }, {})).status).toBe(308)
})

test('a prefix redirect needs a route with a prefix match', async () => {
  expect(await run(hooksOf(requestRedirect, { path: { prefix: '/x' } }), exchange())).toMatch(/^500: failed to apply/)
})

test.each([
  [{ status: 200 }, 'GW105 status'],
  [{ scheme: 'javascript' }, 'GW104 scheme'],
  [{ path: { full: '/a\r\nset-cookie: b' } }, 'GW106 path.full'],
])('%j is rejected', (bad, finding) => {
  expect(compile(requestRedirect, bad).findings).toEqual([expect.stringContaining(finding)])
})
