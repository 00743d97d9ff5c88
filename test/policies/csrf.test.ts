import { expect, test } from 'vitest'
import { csrf } from '../../src/policies/csrf.ts'
import { compile, exchange, hooksOf, run } from './policy-fixture.ts'

const REFUSED = '403: CSRF validation failed'
const hooks = hooksOf(csrf, { additionalOrigins: ['https://partner.example', 'http://localhost:3000'] })

test.each<[string, readonly string[], string]>([
  ['GET', ['sec-fetch-site', 'cross-site'], 'passed'],
  ['HEAD', ['sec-fetch-site', 'cross-site'], 'passed'],
  ['OPTIONS', ['sec-fetch-site', 'cross-site'], 'passed'],
  ['POST', ['sec-fetch-site', 'same-origin'], 'passed'],
  ['POST', ['sec-fetch-site', 'none'], 'passed'],
  ['POST', ['sec-fetch-site', 'cross-site'], REFUSED],
  ['POST', ['sec-fetch-site', 'same-site'], REFUSED],
  ['POST', ['sec-fetch-site', 'cross-site', 'origin', 'https://api.example.com'], REFUSED],
  ['POST', ['sec-fetch-site', 'cross-site', 'origin', 'https://partner.example'], 'passed'],
  ['POST', ['sec-fetch-site', 'cross-site', 'origin', 'null'], REFUSED],
  ['POST', [], 'passed'],
  ['POST', ['origin', 'null'], 'passed'],
  ['POST', ['origin', 'https://api.example.com'], 'passed'],
  ['POST', ['origin', 'https://API.example.com:443'], 'passed'],
  ['POST', ['origin', 'http://api.example.com'], REFUSED],
  ['POST', ['origin', 'https://api.example.com:8443'], REFUSED],
  ['POST', ['origin', 'https://api.example.com.evil.org'], REFUSED],
  ['POST', ['origin', 'https://partner.example:443'], 'passed'],
  ['POST', ['origin', 'https://sub.partner.example'], REFUSED],
  ['POST', ['origin', 'http://localhost:3000'], 'passed'],
  ['POST', ['origin', 'http://localhost'], REFUSED],
  ['DELETE', ['origin', ''], REFUSED],
])('%s with %j: %s', async (method, headers, expected) => {
  const x = exchange({ method, scheme: 'https', headers })
  expect(await run(hooks, x)).toBe(expected)
})

test('what counts is the request as it came', async () => {
  const x = exchange({ method: 'POST', headers: ['origin', 'http://evil.com'] })
  x.request.authority = 'evil.com'
  x.request.method = 'GET'
  expect(await run(hooks, x)).toBe(REFUSED)
})

test.each([
  [{ additionalOrigins: ['partner.example'] }, 'GW106 additionalOrigins.0'],
  [{ additionalOrigins: ['https://*.partner.example'] }, 'GW106 additionalOrigins.0'],
  [{ additionalOrigins: ['https://a.com/'] }, 'GW106 additionalOrigins.0'],
  [{ additionalOrigins: [] }, 'GW109 additionalOrigins'],
  [{ additionalOrigins: Array(17).fill('https://a.com') }, 'GW109 additionalOrigins'],
])('%j is refused', (bad, finding) => {
  expect(compile(csrf, bad).findings).toEqual([expect.stringContaining(finding)])
})
