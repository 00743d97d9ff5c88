import { expect, test } from 'vitest'
import { convertSessionPersistence } from '../../src/policies/session-persistence.ts'

test.each([
  [{ type: 'Cookie', cookie: { path: '/' } }, { cookie: { name: 'session-d997fb3745f4' } }],
  [
    { type: 'Cookie', cookie: { name: 'a', lifetimeType: 'Permanent' }, absoluteTimeout: '1h' },
    { cookie: { name: 'a', lifetime: 'permanent' }, absoluteTimeout: '1h' },
  ],
  [
    { type: 'Header', header: { name: 'x-a' }, idleTimeout: '5m' },
    { header: { name: 'x-a' }, idleTimeout: '5m' },
  ],
  // Before Gateway API 1.7.
  [{ sessionName: 'a', cookieConfig: { lifetimeType: 'Session' } }, { cookie: { name: 'a' } }],
  [{ type: 'Header', sessionName: 'x-a' }, { header: { name: 'x-a' } }],
])('%j of a rule', (part, policy) => {
  expect(convertSessionPersistence(part, 'prod/shop/0')).toEqual(policy)
})
