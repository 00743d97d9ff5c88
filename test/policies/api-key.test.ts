import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { apiKey } from '../../src/policies/api-key.ts'
import { ManualClock } from '../engine/manual-clock.ts'
import { startGateway } from '../helpers/gateway.ts'
import { startOpenAiServer } from '../helpers/openai-server.ts'
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
  test('passes, exposes its metadata and is removed from the request', async () => {
    const x = bearer('plain-key')
    expect(await run(hooksOf(apiKey, { keys }), x)).toBe('passed')
    expect(x.auth.apiKey).toMatchObject({ user: 'alice', roles: ['a'] })
    expect(x.request.headers.raw).toEqual([])
  })
  test('can be configured by its hash', async () => {
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
  test('strict mode is the default, and the response never repeats a key', async () => {
    const answer = await run(hooksOf(apiKey, { keys }), bearer('my-secret'))
    expect(answer).toBe(WRONG)
  })
  test.each(['PLAIN-KEY', 'plain-key,', 'plain-ke', '__proto__', 'constructor', ''])(
    '%j is not accepted as a key',
    async key => {
      expect(await run(hooksOf(apiKey, { keys }), bearer(key))).toMatch(/^401/)
    },
  )
  test('a key sent twice is rejected', async () => {
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
])('%j is rejected, without the key in the message', (bad, finding) => {
  const { findings } = compile(apiKey, bad)
  expect(findings).toEqual([expect.stringContaining(finding)])
  expect(findings.join()).not.toContain('hashed-key')
})

describe('metadata of a key', () => {
  test('limits its models, even in the model list, and works in rules, limits and logs', async () => {
    await using provider = await startOpenAiServer()
    await using gateway = await startGateway(
      `
frontendPolicies: {accessLog: {add: {team: apiKey.team, secret: 'apiKey.key'}}}
llm:
  port: 8080
  models: [gpt-4o, gpt-4o-mini, other].map
  policies:
    apiKey:
      keys:
      - {key: red-key, metadata: {team: red}, allowedModels: ['gpt-*']}
      - {key: blue-key, metadata: {team: blue}}
      - {key: none-key, metadata: {team: red}, allowedModels: []}
      - {key: gray-key, metadata: {team: gray}}
    authorization: {rules: ['apiKey.team != "gray"']}
    localRateLimit: {conditional: [{condition: 'apiKey.team == "blue"', maxTokens: 1, tokensPerFill: 1, fillInterval: 1h}]}
`.replace(
        '[gpt-4o, gpt-4o-mini, other].map',
        JSON.stringify(
          ['gpt-4o', 'gpt-4o-mini', 'other'].map(name => ({
            name,
            provider: 'openAI',
            params: { baseUrl: `http://127.0.0.1:${provider.port}/v1` },
          })),
        ),
      ),
      { clock: new ManualClock() },
    )
    const ask = async (key: string, model: string) => {
      const body = JSON.stringify({ model, messages: [] })
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
      return (await fetch(`${gateway.url(8080)}/v1/chat/completions`, { method: 'POST', headers, body })).status
    }
    expect(await ask('red-key', 'gpt-4o')).toBe(200)
    // As for a model that there is not.
    expect(await ask('red-key', 'other')).toBe(404)
    expect(await ask('none-key', 'gpt-4o')).toBe(404)
    expect([await ask('blue-key', 'other'), await ask('blue-key', 'other')]).toEqual([200, 429])
    expect(await ask('gray-key', 'gpt-4o')).toBe(403)
    const list = await fetch(`${gateway.url(8080)}/v1/models`, { headers: { authorization: 'Bearer red-key' } })
    const { data } = (await list.json()) as { data: { id: string }[] }
    expect(data.map(({ id }) => id)).toEqual(['gpt-4o', 'gpt-4o-mini'])
    await expect.poll(() => gateway.logged.filter(line => line.includes('team=red')).length).toBeGreaterThan(2)
    expect(gateway.logged.join('')).not.toContain('red-key')
  })

  test('a model pattern with a star in the middle is an error', () => {
    const { findings } = compile(apiKey, { keys: [{ key: 'k', allowedModels: ['a*b'] }] })
    expect(findings.map(each => each.split(' ').slice(0, 2).join(' '))).toEqual(['GW106 keys.0.allowedModels.0'])
  })
})
