import { expect, test } from 'vitest'
import { createSigner, keySet, NOW } from '../auth/token-fixture.ts'
import { ManualClock } from '../engine/manual-clock.ts'
import { startGateway } from '../helpers/gateway.ts'
import { echo, startUpstream } from '../helpers/upstream.ts'

type Told = Readonly<Record<string, unknown>> | undefined

/** An issuer that knows some tokens; undefined: it answers with 500. */
async function start(known: Record<string, Told>, { spec = '', more = '', mode = 'strict', providers = '' } = {}) {
  const asked: { readonly form: URLSearchParams; readonly authorization: string | undefined }[] = []
  const issuer = await startUpstream((req, res) => {
    let body = ''
    req.on('data', chunk => {
      body += chunk
    })
    req.on('end', () => {
      const form = new URLSearchParams(body)
      asked.push({ form, authorization: req.headers.authorization })
      const token = form.get('token') ?? ''
      if (Object.hasOwn(known, token) && known[token] === undefined) res.writeHead(500).end('topsecret')
      else res.end(JSON.stringify(known[token] ?? { active: false }))
    })
  })
  const backend = await startUpstream(echo)
  const clock = new ManualClock(NOW * 1000)
  const own = `issuer: 'https://opaque.example', introspection: {url: 'http://${issuer.host}/introspect', clientId: gw, clientSecret: s3cret${more}}${spec}`
  const signer = await createSigner('k', 'ES256')
  const gateway = await startGateway(
    `
binds: [{port: 8080, listeners: [{routes: [{backends: [{host: '${backend.host}', policies: {backendAuth: {passthrough: {}}}}], policies: {
  jwtAuth: {mode: ${mode}, ${providers ? `providers: [{${own}}, {issuer: 'https://issuer.example', jwks: {file: jwks.json}}]` : own}},
  transformations: {request: {set: {x-sub: 'default(jwt.sub, "nobody")'}}}}}]}]}]`,
    { clock, files: { 'jwks.json': keySet(signer) } },
  )
  return {
    asked,
    clock,
    signer,
    gateway,
    async get(token: string) {
      const reply = await fetch(gateway.url(8080), { headers: { authorization: `Bearer ${token}` } })
      const text = await reply.text()
      if (reply.status !== 200) return [reply.status, text]
      const { headers } = JSON.parse(text) as { headers: string[] }
      return [200, headers[headers.indexOf('x-sub') + 1], headers[headers.indexOf('authorization') + 1]]
    },
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]()
      await issuer[Symbol.asyncDispose]()
      await backend[Symbol.asyncDispose]()
    },
  }
}

const INVALID = 'authentication failure: the token is invalid or malformed: '

test('the issuer is asked once per token until its response expires', async () => {
  await using at = await start({ opaque: { active: true, sub: 'ann', exp: NOW + 3600 } })
  const both = await Promise.all([at.get('opaque'), at.get('opaque')])
  expect(both).toEqual([1, 2].map(() => [200, 'ann', 'Bearer opaque']))
  expect(at.asked).toHaveLength(1)
  expect(Object.fromEntries(at.asked[0]!.form)).toEqual({ token: 'opaque', token_type_hint: 'access_token' })
  expect(at.asked[0]!.authorization).toBe(`Basic ${btoa('gw:s3cret')}`)
  await at.get('opaque')
  expect(at.asked).toHaveLength(1)
  at.clock.advance(10_000)
  await at.get('opaque')
  expect(at.asked).toHaveLength(2)
})

test('a response is not cached beyond the token’s expiry', async () => {
  const known: Record<string, Told> = { short: { active: true, exp: NOW + 1 } }
  await using at = await start(known, { more: ', cacheDuration: 1h' })
  expect((await at.get('short'))[0]).toBe(200)
  known.short = { active: false }
  at.clock.advance(62_000)
  expect(await at.get('short')).toEqual([401, `${INVALID}the issuer reports it as inactive`])
})

test.each<[string, Told, string]>([
  ['is not active', { active: false, sub: 'ann' }, 'the issuer reports it as inactive'],
  ['is active as a string', { active: 'true' }, 'the issuer reports it as inactive'],
  ['has no active flag', { sub: 'ann' }, 'the issuer reports it as inactive'],
  ['has expired', { active: true, aud: 'api', exp: NOW - 100 }, 'it has expired'],
  ['is not valid yet', { active: true, aud: 'api', nbf: NOW + 100 }, 'it is not valid yet'],
  ['is for another audience', { active: true, aud: 'other' }, 'it is meant for another audience'],
  ['has no audience', { active: true }, 'it has no claim `aud`'],
  [
    'comes from another issuer',
    { active: true, aud: 'api', iss: 'https://evil.example' },
    'it comes from another issuer',
  ],
])('a token that %s is refused', async (_, told, reason) => {
  await using at = await start({ opaque: told }, { spec: ', audiences: [api]' })
  expect(await at.get('opaque')).toEqual([401, INVALID + reason])
})

test('a failed introspection refuses the token without leaking it', async () => {
  await using at = await start({ opaque: undefined })
  expect(await at.get('opaque')).toEqual([503, 'authentication failure: token introspection failed'])
  expect(at.gateway.logged.join()).not.toMatch(/topsecret|s3cret|opaque /)
  await using lenient = await start({ opaque: undefined }, { mode: 'permissive' })
  expect((await lenient.get('opaque')).slice(0, 2)).toEqual([200, 'nobody'])
})

test('tokens of other issuers are verified with their keys and not introspected', async () => {
  await using at = await start({ opaque: { active: true, sub: 'ann' } }, { providers: 'both' })
  expect((await at.get(await at.signer.sign({ sub: 'bob' })))[1]).toBe('bob')
  expect((await at.get(await at.signer.sign({ iss: 'https://elsewhere.example' })))[0]).toBe(401)
  expect(at.asked).toHaveLength(0)
  expect((await at.get('opaque'))[1]).toBe('ann')
  // Whoever claims to be of the issuer that is asked is asked about, and has to be known there.
  expect((await at.get(await at.signer.sign({ iss: 'https://opaque.example' })))[0]).toBe(401)
  expect(at.asked).toHaveLength(2)
})

test('only one provider may introspect opaque tokens', async () => {
  const one = (i: number) =>
    `{issuer: 'https://${i}.example', introspection: {url: 'http://127.0.0.1:1/', clientId: a, clientSecret: b}}`
  const file = `binds: [{port: 8080, listeners: [{routes: [{policies: {jwtAuth: {providers: [${one(1)}, ${one(2)}]}}}]}]}]`
  await expect(startGateway(file)).rejects.toThrow('only one provider may have `introspection`')
})
