import { expect, test } from 'vitest'
import type { GatewayError } from '../../src/http/errors.ts'
import { csrf } from '../../src/policies/csrf.ts'
import { compile, exchange, hooksOf, run } from './policy-fixture.ts'

const REFUSED = /^403: CSRF validation failed: (?:sec-fetch-site|origin) /
const PASSED = /^passed$/
const hooks = hooksOf(csrf, { additionalOrigins: ['https://partner.example', 'http://localhost:3000'] })

test.each<[string, readonly string[], RegExp]>([
  ['GET', ['sec-fetch-site', 'cross-site'], PASSED],
  ['HEAD', ['sec-fetch-site', 'cross-site'], PASSED],
  ['OPTIONS', ['sec-fetch-site', 'cross-site'], PASSED],
  ['POST', ['sec-fetch-site', 'same-origin'], PASSED],
  ['POST', ['sec-fetch-site', 'none'], PASSED],
  ['POST', ['sec-fetch-site', 'cross-site'], REFUSED],
  ['POST', ['sec-fetch-site', 'same-site'], REFUSED],
  ['POST', ['sec-fetch-site', 'cross-site', 'origin', 'https://api.example.com'], REFUSED],
  ['POST', ['sec-fetch-site', 'cross-site', 'origin', 'https://partner.example'], PASSED],
  ['POST', ['sec-fetch-site', 'cross-site', 'origin', 'null'], REFUSED],
  ['POST', [], PASSED],
  ['POST', ['origin', 'null'], PASSED],
  ['POST', ['origin', 'https://api.example.com'], PASSED],
  ['POST', ['origin', 'https://API.example.com:443'], PASSED],
  ['POST', ['origin', 'http://api.example.com'], REFUSED],
  ['POST', ['origin', 'https://api.example.com:8443'], REFUSED],
  ['POST', ['origin', 'https://api.example.com.evil.org'], REFUSED],
  ['POST', ['origin', 'https://partner.example:443'], PASSED],
  ['POST', ['origin', 'https://sub.partner.example'], REFUSED],
  ['POST', ['origin', 'http://localhost:3000'], PASSED],
  ['POST', ['origin', 'http://localhost'], REFUSED],
  ['DELETE', ['origin', ''], REFUSED],
])('%s with %j: %s', async (method, headers, expected) => {
  const x = exchange({ method, scheme: 'https', headers })
  expect(await run(hooks, x)).toMatch(expected)
})

test('checks the original request, not a modified one', async () => {
  const x = exchange({ method: 'POST', headers: ['origin', 'http://evil.com'] })
  x.request.authority = 'evil.com'
  x.request.method = 'GET'
  expect(await run(hooks, x)).toMatch(REFUSED)
})

test.each([
  [{ additionalOrigins: ['partner.example'] }, 'GW106 additionalOrigins.0'],
  [{ additionalOrigins: ['https://*.partner.example'] }, 'GW106 additionalOrigins.0'],
  [{ additionalOrigins: ['https://a.com/'] }, 'GW106 additionalOrigins.0'],
  [{ additionalOrigins: [] }, 'GW109 additionalOrigins'],
  [{ additionalOrigins: Array(17).fill('https://a.com') }, 'GW109 additionalOrigins'],
])('%j is rejected', (bad, finding) => {
  expect(compile(csrf, bad).findings).toEqual([expect.stringContaining(finding)])
})

test('the log and trace name the mismatch, the response body does not', async () => {
  const bare = hooksOf(csrf, {})
  const refused = async (headers: readonly string[]) => {
    try {
      await bare.request!(exchange({ method: 'POST', scheme: 'https', headers }))
    } catch (error) {
      return error as GatewayError
    }
    return undefined
  }
  expect(await refused(['origin', 'https://evil.example'])).toMatchObject({
    message: 'CSRF validation failed: origin "https://evil.example" is not https://api.example.com',
    details: { body: { text: 'CSRF validation failed' } },
  })
  expect(await refused(['sec-fetch-site', 'cross-site'])).toMatchObject({
    message: 'CSRF validation failed: sec-fetch-site is cross-site',
  })
})
