import { expect, test } from 'vitest'
import { retry } from '../../src/policies/retry.ts'
import { compile, exchange, hooksOf } from './policy-fixture.ts'

test('compiles to retry settings for the engine', () => {
  const spec = { attempts: 3, backoff: '500ms', codes: [429, 503], precondition: 'request.method == "GET"' }
  const { retry: rules } = hooksOf(retry, spec)
  expect(rules).toMatchObject({ attempts: 3, backoff: 500, codes: new Set([429, 503]) })
  expect(rules?.precondition?.evaluate(exchange())).toEqual({ ok: true, value: true })
  expect(rules?.condition).toBeUndefined()
})

test('defaults to one retry without backoff', () => {
  expect(hooksOf(retry, {})).toEqual({ retry: { attempts: 1, backoff: 0, codes: new Set() } })
})

test('a condition that reads the response body requests buffering', () => {
  expect(hooksOf(retry, { condition: 'string(response.body).contains("busy")' }).buffersResponse).toBeDefined()
})

test.each([
  [{ attempts: 0 }, 'GW105 attempts'],
  [{ attempts: 256 }, 'GW105 attempts'],
  [{ codes: ['5xx'] }, 'GW101 codes.0'],
  [{ codes: [99] }, 'GW105 codes.0'],
  [{ precondition: 'response.code == 200' }, 'GW302 precondition'],
  [{ condition: '"yes"' }, 'GW302 condition'],
])('%j is rejected', (bad, finding) => {
  expect(compile(retry, bad).findings).toEqual([expect.stringContaining(finding)])
})
