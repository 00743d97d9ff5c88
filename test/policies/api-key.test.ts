import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { apiKey } from '../../src/policies/api-key.ts'
import { compile, exchange, hooksOf, run } from './policy-fixture.ts'

const WRONG = '401: api key authentication failure: invalid credentials'
const MISSING = '401: api key authentication failure: no API Key found'
const keyHash = `sha256:${createHash('sha256').update('hashed-key').digest('hex')}`
const keys = [
  { key: 'plain-key', metadata: { user: 'alice', roles: ['a'] } },
  { keyHash: keyHash.toUpperCase().replace('SHA256', 'sha256') },
]
const bearer = (key: string) => exchange({ headers: ['Authorization', `Bearer ${key}`] })

describe('a known key', () => {
  test('passes, shows its metadata and leaves the request', async () => {
    const x = bearer('plain-key')
    expect(await run(hooksOf(apiKey, { keys }), x)).toBe('passed')
    expect(x.auth.apiKey).toMatchObject({ user: 'alice', roles: ['a'] })
    expect(x.request.headers.raw).toEqual([])
  })
  test('may be given by its hash', async () => {
    expect(await run(hooksOf(apiKey, { keys }), bearer('hashed-key'))).toBe('passed')
    expect(await run(hooksOf(apiKey, { keys }), bearer(keyHash))).toBe(WRONG)
  })
  test.each<[object, object, string]>([
    [{ header: { name: 'X-API-Key' } }, { headers: ['x-api-key', 'plain-key'] }, '/'],
    [{ queryParameter: { name: 'key' } }, { path: '/a?key=plain%2Dkey' }, '/a'],
    [{ queryParameter: { name: 'key' } }, { path: '/a?b=1&k%65y=plain-key&c' }, '/a?b=1&c'],
    [{ cookie: { name: 'key' } }, { headers: ['cookie', 'key=plain-key'] }, '/'],
  ])('is read from %j', async (location, given, path) => {
    const x = exchange(given)
    expect(await run(hooksOf(apiKey, { keys, location }), x)).toBe('passed')
    expect([x.request.path, x.request.headers.raw]).toEqual([path, []])
  })
})

describe('other requests', () => {
  test.each([
    ['strict', WRONG, MISSING],
    ['optional', WRONG, 'passed'],
    ['permissive', 'passed', 'passed'],
  ])('%s', async (mode, wrong, missing) => {
    const x = bearer('nope')
    expect(await run(hooksOf(apiKey, { keys, mode }), x)).toBe(wrong)
    expect([x.auth.apiKey, x.request.headers.has('authorization')]).toEqual([undefined, true])
    expect(await run(hooksOf(apiKey, { keys, mode }), exchange())).toBe(missing)
  })
  test('strict is the default, and the answer never repeats a key', async () => {
    const answer = await run(hooksOf(apiKey, { keys }), bearer('my-secret'))
    expect(answer).toBe(WRONG)
  })
  test.each(['PLAIN-KEY', 'plain-key,', 'plain-ke', '__proto__', 'constructor', ''])('%j is not a key', async key => {
    expect(await run(hooksOf(apiKey, { keys }), bearer(key))).toMatch(/^401/)
  })
  test('a key sent twice is refused', async () => {
    const x = exchange({ headers: ['authorization', 'Bearer plain-key', 'Authorization', 'Bearer plain-key'] })
    expect(await run(hooksOf(apiKey, { keys }), x)).toBe(WRONG)
    const query = exchange({ path: '/?key=other&key=plain-key' })
    expect(await run(hooksOf(apiKey, { keys, location: { queryParameter: { name: 'key' } } }), query)).toBe(WRONG)
  })
})

test.each([
  [{ keys: [{}] }, 'GW107 keys.0'],
  [{ keys: [{ key: 'a', keyHash }] }, 'GW108 keys.0.keyHash'],
  [{ keys: [{ keyHash: 'sha256:12' }] }, 'GW106 keys.0.keyHash'],
  [{ keys: [{ key: '' }] }, 'GW110 keys.0.key'],
  [{ keys: [{ key: 'hashed-key' }, { keyHash }] }, 'GW203 keys.1'],
  [{ keys, location: { header: { name: 'a' }, cookie: { name: 'b' } } }, 'GW108 location.cookie'],
  [{}, 'GW103'],
])('%j is refused, without the key in the message', (bad, finding) => {
  const { findings } = compile(apiKey, bad)
  expect(findings).toEqual([expect.stringContaining(finding)])
  expect(findings.join()).not.toContain('hashed-key')
})
