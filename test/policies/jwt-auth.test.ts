import { createHmac, createPublicKey } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { HeaderList } from '../../src/http/headers.ts'
import { jwtAuth } from '../../src/policies/jwt-auth.ts'
import { createSigner, forge, keySet, NOW, type Signer } from '../auth/token-fixture.ts'
import { compile, createWorld, exchange, hooksOf, run } from './policy-fixture.ts'

let rsa: Signer
let ec: Signer
let ed: Signer
let stranger: Signer
const issuer = 'https://issuer.example'

beforeAll(async () => {
  rsa = await createSigner('rsa-1', 'RS256')
  ec = await createSigner('ec-1', 'ES256')
  ed = await createSigner('ed-1', 'EdDSA')
  stranger = await createSigner('rsa-1', 'RS256')
})

const spec = (more: object = {}) => ({ issuer, jwks: keySet(rsa, ec, ed), ...more })
const bearer = (token: string) => exchange({ headers: ['Authorization', `Bearer ${token}`, 'X-Other', '1'] })
const DENIED = '401: authentication failure: '
const INVALID = `${DENIED}the token is invalid or malformed: `

describe('a token that differs from the issuer’s exact encoding', () => {
  /** The same bytes with one of the bits changed that stand behind the last byte. */
  const otherEnd = (part: string) => {
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    return part.slice(0, -1) + alphabet[alphabet.indexOf(part.at(-1)!) + 1]
  }
  const parts = (token: string) => token.split('.') as [string, string, string]

  test.each<[string, (header: string, claims: string, signature: string) => string]>([
    ['padding after the signature', (h, c, s) => `${h}.${c}.${s}==`],
    ['padding after the claims', (h, c, s) => `${h}.${c}=.${s}`],
    ['different trailing bits in the signature', (h, c, s) => `${h}.${c}.${otherEnd(s)}`],
    ['an invalid character in the signature', (h, c, s) => `${h}.${c}.${s.slice(0, 9)}!${s.slice(9)}`],
    [
      'the standard base64 alphabet',
      (h, c, s) => `${h}.${c}.${s.replace(/[-_]/g, sign => (sign === '-' ? '+' : '/'))}+`,
    ],
    ['whitespace', (h, c, s) => `${h}.${c}. ${s}`],
    ['a fourth part', (h, c, s) => `${h}.${c}.${s}.`],
    ['no signature', (h, c) => `${h}.${c}.`],
  ])('%s is refused', async (_, change) => {
    for (const signer of [ec, ed]) {
      const token = await signer.sign({ sub: 'alice' })
      expect(await run(hooksOf(jwtAuth, spec()), bearer(token))).toBe('passed')
      expect(await run(hooksOf(jwtAuth, spec()), bearer(change(...parts(token))))).toContain('401: ')
    }
  })
})

describe('a valid token', () => {
  test.each(['RS256', 'ES256', 'EdDSA'])(
    'with %s passes, exposes its claims and is removed from the request',
    async algorithm => {
      const signer = [rsa, ec, ed].find(each => each.algorithm === algorithm)!
      const token = await signer.sign({ sub: 'alice', roles: ['a'] })
      const x = bearer(token)
      expect(await run(hooksOf(jwtAuth, spec()), x)).toBe('passed')
      expect(x.auth.jwt).toMatchObject({ sub: 'alice', roles: ['a'] })
      expect(x.auth.rawToken).toBe(token)
      expect(x.request.headers.raw).toEqual(['X-Other', '1'])
    },
  )

  test('is verified once, and the next use is synchronous', async () => {
    const world = createWorld()
    const hooks = hooksOf(jwtAuth, spec(), world)
    const token = await rsa.sign({ sub: 'alice' })
    await run(hooks, bearer(token))
    const x = bearer(token)
    expect(hooks.request!(x)).toBeUndefined()
    expect(x.auth.jwt).toMatchObject({ sub: 'alice' })
    world.clock.advance(3_661_000)
    expect(await run(hooks, bearer(token))).toBe(`${INVALID}it has expired`)
  })

  test('can use any algorithm of its key', async () => {
    const pss = await createSigner('pss', 'PS512')
    expect(await run(hooksOf(jwtAuth, spec({ jwks: keySet(pss) })), bearer(await pss.sign({})))).toBe('passed')
  })

  test.each([
    [
      'query',
      { queryParameter: { name: 'access_token' } },
      { path: '/a?x=%201&access_token=TOKEN&y=2' },
      '/a?x=%201&y=2',
    ],
    ['cookie', { cookie: { name: 'session' } }, { headers: ['cookie', 'a=1; session=TOKEN; b=2'] }, 'a=1; b=2'],
    ['header', { header: { name: 'X-Token' } }, { headers: ['x-token', 'TOKEN'] }, undefined],
  ])('is read from a %s and removed from it', async (_place, location, given, left) => {
    const token = await rsa.sign({ sub: 'bob' })
    const filled = JSON.parse(JSON.stringify(given).replace('TOKEN', token))
    const x = exchange(filled)
    expect(await run(hooksOf(jwtAuth, spec({ location })), x)).toBe('passed')
    const { path, headers } = x.request
    expect(headers.get('cookie') ?? (path === '/' ? headers.get('x-token') : path)).toBe(left)
  })

  test('is read by an expression and stays in the request', async () => {
    const token = await rsa.sign({ sub: 'bob' })
    const hooks = hooksOf(jwtAuth, spec({ location: { expression: 'request.headers["x-t"].split("|")[1]' } }))
    const x = exchange({ headers: ['x-t', `v1|${token}`] })
    expect(await run(hooks, x)).toBe('passed')
    expect([x.auth.jwt?.sub, x.request.headers.has('x-t')]).toEqual(['bob', true])
  })
})

describe('without a token', () => {
  test('is refused in strict mode, the default', async () => {
    expect(await run(hooksOf(jwtAuth, spec()), exchange())).toBe(`${DENIED}no bearer token found`)
  })
  test.each(['optional', 'permissive', 'Optional'])('passes in %s mode', async mode => {
    expect(await run(hooksOf(jwtAuth, spec({ mode })), exchange())).toBe('passed')
  })
  test('another scheme does not count as a token', async () => {
    const x = exchange({ headers: ['authorization', 'Basic YTpi'] })
    expect(await run(hooksOf(jwtAuth, spec({ mode: 'optional' })), x)).toBe('passed')
    expect(x.request.headers.get('authorization')).toBe('Basic YTpi')
  })
})

describe('an invalid token', () => {
  const rejected: [string, () => Promise<string> | string, string][] = [
    ['that has expired', () => rsa.sign({ exp: NOW - 61 }), `${INVALID}it has expired`],
    ['without exp', () => rsa.sign({ exp: undefined }), `${INVALID}it has no claim \`exp\``],
    ['that is not valid yet', () => rsa.sign({ nbf: NOW + 61 }), `${INVALID}it is not valid yet`],
    ['from another issuer', () => rsa.sign({ iss: 'https://evil' }), `${INVALID}it comes from another issuer`],
    ['without an issuer', () => rsa.sign({ iss: undefined }), `${INVALID}it has no claim \`iss\``],
    ['signed with another key', () => stranger.sign({}), `${INVALID}its signature does not fit`],
    [
      'with an unknown key ID',
      () => rsa.sign({}, { kid: 'x"\r\n' }),
      `${DENIED}token uses the unknown key "x\\"\\r\\n"`,
    ],
    ['without a kid', () => rsa.sign({}, { kid: undefined }), `${DENIED}the token header does not specify a \`kid\``],
    ['with alg none', () => forge({ alg: 'none', kid: 'rsa-1' }, { iss: issuer }), `${INVALID}its algorithm`],
    [
      'with alg None and a signature',
      () => forge({ alg: 'None', kid: 'rsa-1' }, {}, 'AAAA'),
      `${INVALID}its algorithm`,
    ],
    ['with the algorithm of another key', () => rsa.sign({}, { kid: 'ec-1' }), `${INVALID}its algorithm does not fit`],
    [
      'with an unknown critical extension',
      () =>
        rsa
          .sign({}, { crit: ['x'], x: 1 })
          .catch(() => forge({ alg: 'RS256', kid: 'rsa-1', crit: ['x'], x: 1 }, {}, 'AAAA')),
      INVALID,
    ],
    ['that is garbage', () => 'a.b.c', `${INVALID}it is not a JSON Web Token`],
    [
      'whose header is not an object',
      () => `${Buffer.from('[]').toString('base64url')}..`,
      `${INVALID}it is not a JSON Web Token`,
    ],
    ['that is encrypted', () => 'a.b.c.d.e', `${INVALID}it is not a JSON Web Token`],
    ['that is empty', () => '', 'authentication failure'],
    ['that is huge', () => 'a'.repeat(200_000), `${INVALID}it is too long`],
  ]
  test.each(rejected)('%s is refused', async (_what, make, message) => {
    const token = await make()
    const answer = await run(hooksOf(jwtAuth, spec()), exchange({ headers: ['authorization', `Bearer ${token}`] }))
    expect(answer).toContain(message)
    if (token.length > 20) expect(answer).not.toContain(token.slice(0, 20))
  })

  test('an HMAC signed with the public key is refused', async () => {
    const pem = createPublicKey({ key: rsa.jwk as never, format: 'jwk' }).export({ type: 'spki', format: 'pem' })
    for (const alg of ['HS256', 'HS512']) {
      const unsigned = forge({ alg, kid: 'rsa-1' }, { iss: issuer, exp: NOW + 99 }).slice(0, -1)
      const signature = createHmac(alg === 'HS256' ? 'sha256' : 'sha512', pem)
        .update(unsigned)
        .digest('base64url')
      expect(await run(hooksOf(jwtAuth, spec()), bearer(`${unsigned}.${signature}`))).toContain(
        'its algorithm does not fit',
      )
    }
  })

  test('a key embedded in the token is ignored', async () => {
    const token = await stranger.sign({}, { jwk: stranger.jwk, jku: 'http://evil/keys' })
    expect(await run(hooksOf(jwtAuth, spec()), bearer(token))).toBe(`${INVALID}its signature does not fit`)
  })

  test('a modified claim is refused', async () => {
    const [head, , signature] = (await rsa.sign({ sub: 'alice' })).split('.')
    const claims = forge({}, { iss: issuer, exp: NOW + 3600, sub: 'root' }).split('.')[1]
    expect(await run(hooksOf(jwtAuth, spec()), bearer(`${head}.${claims}.${signature}`))).toContain('signature')
  })

  test('two tokens are refused, whichever one is valid', async () => {
    const good = `Bearer ${await rsa.sign({})}`
    for (const [a, b] of [
      [good, 'Bearer x'],
      ['Bearer x', good],
      [good, good],
    ] as const) {
      const x = exchange({ headers: ['Authorization', a, 'authorization', b] })
      expect(await run(hooksOf(jwtAuth, spec({ mode: 'optional' })), x)).toContain(INVALID)
    }
  })

  test('an additional credential with another scheme is not forwarded', async () => {
    const x = exchange({ headers: ['authorization', 'Basic YTpi', 'Authorization', `bearer ${await rsa.sign({})}`] })
    expect(await run(hooksOf(jwtAuth, spec()), x)).toBe('passed')
    expect(x.request.headers.has('authorization')).toBe(false)
  })

  test('is refused in optional mode and passes without claims in permissive mode', async () => {
    const token = await stranger.sign({ sub: 'eve' })
    expect(await run(hooksOf(jwtAuth, spec({ mode: 'optional' })), bearer(token))).toContain('signature')
    const x = bearer(token)
    expect(await run(hooksOf(jwtAuth, spec({ mode: 'permissive' })), x)).toBe('passed')
    expect(x.auth.jwt).toBeUndefined()
    expect(x.request.headers.get('authorization')).toBe(`Bearer ${token}`)
  })
})

describe('claims', () => {
  test('tolerate a minute of clock skew', async () => {
    const hooks = hooksOf(jwtAuth, spec())
    expect(await run(hooks, bearer(await rsa.sign({ exp: NOW - 59, nbf: NOW + 59 })))).toBe('passed')
  })
  test.each([
    [['a', 'b'], 'b', 'passed'],
    [['a', 'b'], ['x', 'a'], 'passed'],
    [['a', 'b'], ['x'], `${INVALID}it is meant for another audience`],
    [['a'], undefined, `${INVALID}it has no claim \`aud\``],
    [undefined, 'anything', 'passed'],
  ])('audiences %j with aud %j: %s', async (audiences, aud, expected) => {
    const hooks = hooksOf(jwtAuth, spec(audiences ? { audiences } : {}))
    expect(await run(hooks, bearer(await rsa.sign({ aud })))).toBe(expected)
  })
  test('required claims replace `exp`, but an expired token is still refused', async () => {
    const hooks = hooksOf(jwtAuth, spec({ jwtValidationOptions: { requiredClaims: ['sub'] } }))
    expect(await run(hooks, bearer(await rsa.sign({ sub: 'a', exp: undefined })))).toBe('passed')
    expect(await run(hooks, bearer(await rsa.sign({})))).toContain('it has no claim `sub`')
    expect(await run(hooks, bearer(await rsa.sign({ sub: 'a', exp: NOW - 100 })))).toContain('expired')
  })
  test('the provider that owns the key determines the issuer', async () => {
    const providers = [
      { issuer: 'one', jwks: keySet(rsa) },
      { issuer: 'two', jwks: keySet(ec) },
    ]
    const hooks = hooksOf(jwtAuth, { providers })
    expect(await run(hooks, bearer(await ec.sign({ iss: 'two' })))).toBe('passed')
    expect(await run(hooks, bearer(await ec.sign({ iss: 'one' })))).toContain('another issuer')
  })
  test('for providers with the same key id, the token’s issuer selects the provider', async () => {
    const providers = [
      { issuer: 'one', jwks: keySet(rsa) },
      { issuer: 'two', jwks: keySet(stranger) },
    ]
    expect(stranger.kid).toBe(rsa.kid)
    const hooks = hooksOf(jwtAuth, { providers })
    expect(await run(hooks, bearer(await rsa.sign({ iss: 'one' })))).toBe('passed')
    expect(await run(hooks, bearer(await stranger.sign({ iss: 'two' })))).toBe('passed')
    expect(await run(hooks, bearer(await stranger.sign({ iss: 'one' })))).toContain('its signature does not fit')
    expect(await run(hooks, bearer(await rsa.sign({ iss: 'three' })))).toContain('another issuer')
  })
})

describe('findings', () => {
  test('for an invalid structure', () => {
    expect(compile(jwtAuth, {}).findings).toEqual([expect.stringMatching(/^GW107 .*`issuer`, `providers`/)])
    expect(compile(jwtAuth, { issuer: 'a' }).findings).toEqual([expect.stringMatching(/jwks/)])
    expect(compile(jwtAuth, spec({ mode: 'lax' })).findings).toEqual([expect.stringMatching(/^GW104 mode/)])
  })
  test('for bad keys, while the good ones still work', async () => {
    const { kid: _, ...nameless } = ec.jwk
    const secret = { kty: 'oct', k: 'c2VjcmV0LXNlY3JldA', kid: 'hmac', alg: 'HS256' }
    const file = JSON.stringify({ keys: [rsa.jwk, nameless, secret, { ...ed.jwk, crv: 'Ed448' }] })
    const { hooks, findings } = compile(jwtAuth, { issuer, jwks: { file: 'keys.json' } }, createWorld(), {
      'keys.json': file,
    })
    expect(findings).toEqual([
      expect.stringMatching(/^GW207 jwks.file key 2 of the set has no `kid`/),
      expect.stringMatching(/^GW207 jwks.file key 3 of the set is symmetric/),
      expect.stringMatching(/^GW207 jwks.file key 4 .*OKP Ed448/),
    ])
    expect(findings.join()).not.toContain('c2VjcmV0')
    expect(await run(hooks, bearer(await rsa.sign({})))).toBe('passed')
    const forged = forge({ alg: 'HS256', kid: 'hmac' }, { iss: issuer, exp: NOW + 9 }, 'AAAA')
    expect(await run(hooks, bearer(forged))).toContain('unknown key "hmac"')
  })
})

describe('keys from a URL', () => {
  const url = 'https://issuer.example/keys?v=1'
  const answering =
    (text: string, status = 200) =>
    () => ({ status, headers: new HeaderList(), body: Buffer.from(text) })

  test('are fetched on first use and again after their cache time', async () => {
    const world = createWorld()
    world.answer = answering(keySet(rsa))
    const hooks = hooksOf(jwtAuth, { issuer, jwks: { url } }, world)
    expect(world.calls).toEqual([])
    await run(hooks, bearer(await rsa.sign({ a: 1 })))
    await run(hooks, bearer(await rsa.sign({ a: 2 })))
    expect(world.calls).toEqual(['GET https://issuer.example:443/keys?v=1'])
    world.clock.advance(300_000)
    expect(await run(hooks, bearer(await rsa.sign({ a: 3 })))).toBe('passed')
    expect(world.calls).toHaveLength(2)
  })

  test('are refetched for an unknown key, but not for every unknown key', async () => {
    const world = createWorld()
    world.answer = answering(keySet(rsa))
    const hooks = hooksOf(jwtAuth, { issuer, jwks: { url } }, world)
    await run(hooks, bearer(await rsa.sign({})))
    world.clock.advance(10_000)
    world.answer = answering(keySet(rsa, ec))
    expect(await run(hooks, bearer(await ec.sign({})))).toBe('passed')
    for (let i = 0; i < 5; i++) await run(hooks, bearer(await rsa.sign({}, { kid: `x${i}` })))
    expect(world.calls).toHaveLength(2)
  })

  test('a withdrawn key stops working after the cache time', async () => {
    const world = createWorld()
    world.answer = answering(keySet(rsa))
    const hooks = hooksOf(jwtAuth, { issuer, jwks: { url, cacheDuration: '1m' } }, world)
    const token = await rsa.sign({})
    expect(await run(hooks, bearer(token))).toBe('passed')
    world.answer = answering(keySet(ec))
    world.clock.advance(60_000)
    await run(hooks, bearer(await ec.sign({})))
    expect(await run(hooks, bearer(token))).toContain('unknown key')
  })

  test('a broken response keeps the current keys', async () => {
    const world = createWorld()
    world.answer = answering(keySet(rsa))
    const hooks = hooksOf(jwtAuth, { issuer, jwks: { url } }, world)
    await run(hooks, bearer(await rsa.sign({ a: 1 })))
    world.answer = answering('<html>')
    world.clock.advance(300_000)
    await run(hooks, bearer(await rsa.sign({ a: 2 })))
    expect(await run(hooks, bearer(await rsa.sign({ a: 3 })))).toBe('passed')
    expect(world.calls).toHaveLength(2)
  })

  test.each([
    ['{"keys":[]}', 500],
    ['not json', 200],
  ])('a response of %j with status %i rejects requests', async (text, status) => {
    const world = createWorld()
    world.answer = answering(text, status)
    const hooks = hooksOf(jwtAuth, { issuer, jwks: { url } }, world)
    expect(await run(hooks, bearer(await rsa.sign({})))).toContain('unknown key')
    expect(world.logged.join()).not.toContain('v=1')
    expect(world.logged).not.toEqual([])
  })
})
