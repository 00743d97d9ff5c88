import { createHash, createPublicKey, X509Certificate } from 'node:crypto'
import { Readable } from 'node:stream'
import { decodeProtectedHeader, importSPKI, jwtVerify } from 'jose'
import { describe, expect, test } from 'vitest'
import { openDryGateway } from '../../../src/tools/dry-run/dry-run.ts'
import type { Stubs } from '../../../src/tools/dry-run/stubs.ts'
import type { TraceEvent } from '../../../src/trace/trace-event.ts'
import { createSigner, forge, keySet, NOW } from '../../auth/token-fixture.ts'
import { ManualClock } from '../../engine/manual-clock.ts'
import { createAuthority } from '../../helpers/certificates.ts'
import { startGateway, type TestGatewayOptions } from '../../helpers/gateway.ts'
import { sendJson, sendToken, startTokenServer, type TokenServer, URN } from '../../helpers/token-server.ts'
import { echo, startUpstream } from '../../helpers/upstream.ts'

const config = (backend: string, auth: string, more = '') => `
binds: [{port: 8080, listeners: [{routes: [{backends: [{host: '${backend}', policies: {backendAuth: {${auth}}}}]${more}}]}]}]`

interface Start extends TestGatewayOptions {
  readonly more?: string
}

/** `auth`: of the addresses of two authorization servers. */
async function start(auth: (one: string, two: string) => string, { more, ...options }: Start = {}) {
  const [one, two] = [await startTokenServer(), await startTokenServer()]
  const backend = await startUpstream(echo)
  const gateway = await startGateway(config(backend.host, auth(one.host, two.host), more), options)
  return {
    one,
    two,
    gateway,
    async ask(headers: Record<string, string> = {}, path = '/') {
      const reply = await fetch(gateway.url(8080) + path, { headers })
      const text = await reply.text()
      if (!reply.ok) return { status: reply.status, text, path: '', fields: {} as Record<string, string> }
      const { url, headers: raw } = JSON.parse(text) as { url: string; headers: string[] }
      const fields = Object.fromEntries(
        raw.flatMap((name, i) => (i % 2 === 0 ? [[name.toLowerCase(), raw[i + 1]!]] : [])),
      )
      return { status: reply.status, text, path: url, fields }
    },
    async [Symbol.asyncDispose]() {
      for (const each of [gateway, one, two, backend]) await each[Symbol.asyncDispose]()
    },
  }
}

const exchange =
  (settings = '') =>
  (host: string) =>
    `oauthTokenExchange: {host: '${host}'${settings && `, ${settings}`}}`
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const formOf = ({ asked }: TokenServer, i = 0) => [...asked[i]!.form].map(([name, value]) => `${name}=${value}`)

const unsigned = (claims: object) => forge({ alg: 'none' }, claims, 'x')

describe('the token request', () => {
  test('exchanges the Authorization token for an access token by default', async () => {
    await using at = await start(exchange())
    const { fields } = await at.ask(bearer('mine'))
    expect(fields.authorization).toBe('Bearer t1')
    expect(formOf(at.one)).toEqual([
      'grant_type=urn:ietf:params:oauth:grant-type:token-exchange',
      'subject_token=mine',
      `subject_token_type=${URN}access_token`,
      `requested_token_type=${URN}access_token`,
    ])
    expect(at.one.asked[0]).toMatchObject({
      path: '/',
      headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
    })
    expect(at.one.asked[0]!.headers.authorization).toBeUndefined()
  })

  test('includes every configured parameter, and the client’s token is not forwarded', async () => {
    await using at = await start(
      exchange(`path: /token, audiences: [a, b c], scopes: [read, write], resources: ['https://r/'],
        requestedTokenType: Jwt, subjectToken: {source: {queryParameter: {name: t}}, tokenType: IdToken},
        actorToken: {source: {header: {name: x-agent}}, tokenType: 'urn:x:y'},
        additionalParams: {tenant: 'request.headers["x-tenant"]', version: '2'},
        authorizationLocation: {header: {name: x-token}}, clientAuth: {clientId: 'a:b é', clientSecret: 'c %+'}`),
    )
    const { path, fields } = await at.ask(
      { ...bearer('kept'), 'x-agent': 'acting', 'x-tenant': 'red' },
      '/p?t=mine&q=1',
    )
    expect(path).toBe('/p?q=1')
    expect(fields).toMatchObject({ 'x-token': 't1', authorization: 'Bearer kept' })
    expect(fields['x-agent']).toBeUndefined()
    expect(formOf(at.one)).toEqual([
      'grant_type=urn:ietf:params:oauth:grant-type:token-exchange',
      'subject_token=mine',
      `subject_token_type=${URN}id_token`,
      'actor_token=acting',
      'actor_token_type=urn:x:y',
      `requested_token_type=${URN}jwt`,
      'audience=a',
      'audience=b c',
      'scope=read write',
      'resource=https://r/',
      'tenant=red',
      'version=2',
    ])
    const [{ path: asked, headers }] = at.one.asked as [TokenServer['asked'][0]]
    expect(asked).toBe('/token')
    expect(headers.authorization).toBe(`Basic ${Buffer.from('a%3Ab+%C3%A9:c+%25%2B').toString('base64')}`)
  })

  test('follows RFC 7523 with grantType jwtBearer', async () => {
    await using at = await start(exchange('grantType: jwtBearer, scopes: [read], audiences: [a]'))
    expect((await at.ask(bearer('mine'))).fields.authorization).toBe('Bearer t1')
    expect(formOf(at.one)).toEqual([
      'grant_type=urn:ietf:params:oauth:grant-type:jwt-bearer',
      'assertion=mine',
      'audience=a',
      'scope=read',
    ])
  })

  test.each([
    ['with a secret', 'clientSecret: s', ['client_id=me', 'client_secret=s']],
    ['without a secret', '', ['client_id=me']],
  ])('from a client with credentials in the form, %s', async (_what, secret, fields) => {
    await using at = await start(exchange(`clientAuth: {method: clientSecretPost, clientId: me, ${secret}}`))
    await at.ask(bearer('mine'))
    expect(formOf(at.one).slice(4)).toEqual(fields)
  })

  test.each(['x5c', 'x5t#S256'])('from a client with a signed assertion, with its certificate as %s', async form => {
    const { cert, key } = createAuthority('client')
    await using at = await start(
      exchange(`cache: {maxEntries: 0}, clientAuth: {method: privateKeyJwt, clientId: me, assertionAudience: 'https://as/',
        signingKey: {file: key}, certificate: {file: cert}, certificateHeader: '${form}', alg: ES256, kid: k1}`),
      { files: { key, cert } },
    )
    await at.ask(bearer('mine'))
    await at.ask(bearer('mine'))
    const seen = new Set<unknown>()
    for (const { form: sent } of at.one.asked) {
      expect(sent.get('client_id')).toBe('me')
      expect(sent.get('client_assertion_type')).toBe('urn:ietf:params:oauth:client-assertion-type:jwt-bearer')
      const assertion = sent.get('client_assertion') ?? ''
      const { raw } = new X509Certificate(cert)
      const named =
        form === 'x5c'
          ? { x5c: [raw.toString('base64')] }
          : { 'x5t#S256': createHash('sha256').update(raw).digest('base64url') }
      expect(decodeProtectedHeader(assertion)).toEqual({ alg: 'ES256', typ: 'JWT', kid: 'k1', ...named })
      const spki = createPublicKey(cert).export({ type: 'spki', format: 'pem' }) as string
      const { payload } = await jwtVerify(assertion, await importSPKI(spki, 'ES256'), { audience: 'https://as/' })
      expect(payload).toMatchObject({ iss: 'me', sub: 'me' })
      expect(payload.exp! - payload.iat!).toBe(300)
      seen.add(payload.jti)
    }
    // No server takes one twice.
    expect(seen.size).toBe(2)
  })

  test('uses a token that a policy verified and removed', async () => {
    const signer = await createSigner('k', 'ES256')
    const token = await signer.sign({ sub: 'ann' })
    const more = ', policies: {jwtAuth: {issuer: https://issuer.example, jwks: {file: jwks.json}}}'
    const clock = new ManualClock(NOW * 1000)
    await using at = await start(exchange(), { more, clock, files: { 'jwks.json': keySet(signer) } })
    expect((await at.ask(bearer(token))).fields.authorization).toBe('Bearer t1')
    expect(at.one.asked[0]!.form.get('subject_token')).toBe(token)
  })
})

describe('cross-app access', () => {
  const crossing = (settings: string) => (one: string, two: string) =>
    `crossAppAccess: {audience: 'https://as/',
    identityProvider: {host: '${one}', path: /idp, clientAuth: {clientId: i, clientSecret: is}},
    resourceAuthorizationServer: {host: '${two}', path: /as, clientAuth: {method: clientSecretPost, clientId: r}}, ${settings}}`
  const assertion = { issued_token_type: `${URN}id-jag`, token_type: 'N_A', access_token: 'assertion' }

  test('takes an assertion from the first server to the second', async () => {
    await using at = await start(crossing(`resources: ['https://r/'], scopes: [a, b], accessTokenScopes: [c]`))
    at.one.answer = (_request, res) => sendToken(res, assertion)
    expect((await at.ask(bearer('mine'))).fields.authorization).toBe('Bearer t1')
    expect((await at.ask(bearer('mine'))).fields.authorization).toBe('Bearer t1')
    expect(at.one.asked.map(({ path }) => path)).toEqual(['/idp'])
    expect(formOf(at.one)).toEqual([
      'grant_type=urn:ietf:params:oauth:grant-type:token-exchange',
      'subject_token=mine',
      `subject_token_type=${URN}id_token`,
      `requested_token_type=${URN}id-jag`,
      'audience=https://as/',
      'scope=a b',
      'resource=https://r/',
    ])
    expect(formOf(at.two)).toEqual([
      'grant_type=urn:ietf:params:oauth:grant-type:jwt-bearer',
      'assertion=assertion',
      'scope=c',
      'client_id=r',
    ])
  })

  test.each([
    [
      'no assertion from the identity provider',
      { token_type: 'Bearer' },
      'the identity provider gave no assertion: another `token_type`, or none',
    ],
    [
      'a token of another type',
      { issued_token_type: `${URN}jwt` },
      'the identity provider gave a token of another type',
    ],
  ])('reports which step failed: %s', async (_what, members, reason) => {
    await using at = await start(crossing(''))
    at.one.answer = (_request, res) => sendToken(res, { ...assertion, ...members })
    expect(await at.ask(bearer('mine'))).toMatchObject({
      status: 500,
      text: `backend authentication failed: ${reason}`,
    })
    expect(at.two.asked).toEqual([])
  })

  test('reports a refusal by the second server', async () => {
    await using at = await start(crossing(''))
    at.one.answer = (_request, res) => sendToken(res, assertion)
    at.two.answer = (_request, res) => sendJson(res, 401, { error: 'invalid_client', error_description: 'mine' })
    expect(await at.ask(bearer('mine'))).toMatchObject({
      status: 500,
      text: 'backend authentication failed: the resource authorization server answered 401 (invalid_client)',
    })
  })
})

describe('token endpoint responses', () => {
  test.each<[string, number, object, number, string]>([
    ['a rejected client token', 400, { error: 'invalid_grant' }, 400, 'refused the token (invalid_grant)'],
    ['rejected gateway credentials', 400, { error: 'invalid_client' }, 500, 'answered 400 (invalid_client)'],
    ['server errors', 503, {}, 500, 'answered 503'],
    ['no token', 200, { access_token: undefined }, 500, 'has no token'],
    ['an empty token', 200, { access_token: '' }, 500, 'has no token'],
    ['a token with a line break', 200, { access_token: 'a\r\nx-admin: 1' }, 500, 'has no token'],
    ['no token_type', 200, { token_type: undefined }, 500, 'gave no bearer token'],
    ['another token_type', 200, { token_type: 'DPoP' }, 500, 'gave no bearer token'],
    ['another issued_token_type', 200, { issued_token_type: `${URN}id_token` }, 500, 'a token of another type'],
    ['a negative lifetime', 200, { expires_in: -1 }, 500, 'has ended already'],
  ])('%s', async (_what, status, members, expected, reason) => {
    await using at = await start(exchange())
    at.one.answer = (_request, res) => (status === 200 ? sendToken(res, members) : sendJson(res, status, members))
    const reply = await at.ask(bearer('s3cr3t'))
    expect(reply.status).toBe(expected)
    expect(reply.text).toContain(reason)
    expect(reply.text).not.toMatch(/s3cr3t|t1/)
  })

  test('that are not JSON or far too long are errors', async () => {
    await using at = await start(exchange())
    for (const body of ['<html>', '[]', ' '.repeat(300_000)]) {
      at.one.answer = (_request, res) => res.end(body)
      expect((await at.ask(bearer('mine'))).status).toBe(500)
    }
  })

  test('that never arrive time out', async () => {
    const clock = new ManualClock()
    await using at = await start(exchange(), { clock })
    at.one.answer = () => clock.advance(10_000)
    expect(await at.ask(bearer('mine'))).toMatchObject({
      status: 500,
      text: 'backend authentication failed: the token endpoint: upstream call timeout',
    })
  })

  test('are not requested without the required tokens and parameters', async () => {
    await using at = await start(
      exchange('actorToken: {source: {header: {name: x-agent}}}, additionalParams: {a: jwt.sub}'),
    )
    const texts = [{}, bearer('mine'), { ...bearer('mine'), 'x-agent': 'a' }].map(
      async headers => (await at.ask(headers)).text,
    )
    expect(await Promise.all(texts)).toEqual([
      'invalid request: no subject token for the token exchange',
      'invalid request: no actor token for the token exchange',
      'invalid request: the parameter `a` of the token exchange cannot be computed',
    ])
    expect(at.one.asked).toEqual([])
  })
})

test.each<[object, object, number]>([
  [{ may_act: { sub: 'agent' } }, { sub: 'agent', iss: 'any' }, 200],
  [{ may_act: { sub: 'agent', iss: 'i' } }, { sub: 'agent', iss: 'i' }, 200],
  [{ may_act: { sub: 'agent', iss: 'i' } }, { sub: 'agent' }, 403],
  [{ may_act: { sub: 'other' } }, { sub: 'agent' }, 403],
  [{ may_act: {} }, { sub: 'agent' }, 403],
  [{ may_act: 'agent' }, { sub: 'agent' }, 403],
  [{}, { sub: 'agent' }, 403],
])('%j allows %j to act: %i', async (subject, actor, status) => {
  await using at = await start(
    exchange('actorToken: {source: {header: {name: x-agent}}, tokenType: Jwt, enforceMayAct: true}'),
  )
  expect((await at.ask({ ...bearer(unsigned(subject)), 'x-agent': unsigned(actor) })).status).toBe(status)
})

describe('cached tokens', () => {
  test('concurrent requests share one exchange, even if the first client disconnects', async () => {
    await using at = await start(exchange())
    const held: (() => void)[] = []
    at.one.answer = (_request, res) => held.push(() => sendToken(res))
    const leaving = new AbortController()
    const first = fetch(at.gateway.url(8080), { headers: bearer('mine'), signal: leaving.signal }).catch(() => 'left')
    await expect.poll(() => held.length).toBe(1)
    const others = [1, 2, 3].map(() => at.ask(bearer('mine')))
    leaving.abort()
    expect(await first).toBe('left')
    for (const answer of held) answer()
    for (const { fields } of await Promise.all(others)) expect(fields.authorization).toBe('Bearer t1')
    expect(at.one.asked).toHaveLength(1)
  })

  test('are keyed by all inputs, so that nobody gets another user’s token', async () => {
    await using at = await start(
      exchange(
        `actorToken: {source: {header: {name: x-agent}}}, additionalParams: {tenant: 'request.headers["x-tenant"]'}`,
      ),
    )
    const who = [
      ['ann', 'a', 'red'],
      ['bob', 'a', 'red'],
      ['ann', 'b', 'red'],
      ['ann', 'a', 'blue'],
      ['ann', 'a', 'red&subject_token=bob'],
    ]
    const tokens = async () => {
      const got: string[] = []
      for (const [user = '', agent = '', tenant = ''] of who) {
        const { fields } = await at.ask({ ...bearer(user), 'x-agent': agent, 'x-tenant': tenant })
        got.push(fields.authorization ?? '')
      }
      return got
    }
    const first = await tokens()
    expect(new Set(first).size).toBe(who.length)
    expect(await tokens()).toEqual(first)
    expect(at.one.asked).toHaveLength(who.length)
  })

  test('are not kept when policies on the endpoint could read the request', async () => {
    const policies = `policies: {transformations: {request: {set: {x-from: source.address}}}}`
    await using at = await start(exchange(policies))
    for (const token of ['t1', 't2'])
      expect((await at.ask(bearer('mine'))).fields.authorization).toBe(`Bearer ${token}`)
  })

  test('are renewed before they expire, and the old one is used meanwhile, even in an outage', async () => {
    const clock = new ManualClock()
    await using at = await start(exchange(), { clock })
    const ask = async () => (await at.ask(bearer('mine'))).fields.authorization
    expect(await ask()).toBe('Bearer t1')
    clock.advance(479_000)
    expect(await ask()).toBe('Bearer t1')
    expect(at.one.asked).toHaveLength(1)
    clock.advance(2_000)
    const { answer } = at.one
    at.one.answer = (_request, res) => sendJson(res, 503, {})
    expect(await ask()).toBe('Bearer t1')
    await expect.poll(() => at.one.asked.length).toBe(2)
    at.one.answer = answer
    clock.advance(11_000)
    await expect.poll(ask).toBe('Bearer t3')
    expect(at.one.asked).toHaveLength(3)
  })

  test('expire with the subject token', async () => {
    const clock = new ManualClock()
    await using at = await start(exchange(), { clock })
    const shown = bearer(unsigned({ sub: 'ann', exp: Math.floor(clock.now() / 1000) + 60 }))
    expect((await at.ask(shown)).fields.authorization).toBe('Bearer t1')
    clock.advance(61_000)
    expect((await at.ask(shown)).fields.authorization).toBe('Bearer t2')
  })

  test('expire after the default TTL if no lifetime is given, up to a maximum number of entries', async () => {
    const clock = new ManualClock()
    await using at = await start(exchange('cache: {maxEntries: 1, defaultTtl: 20s}'), { clock })
    at.one.answer = (_request, res) => sendToken(res, { expires_in: undefined }, at.one.asked.length)
    const ask = async (who: string) => (await at.ask(bearer(who))).fields.authorization
    expect([await ask('ann'), await ask('ann')]).toEqual(['Bearer t1', 'Bearer t1'])
    clock.advance(21_000)
    expect([await ask('ann'), await ask('bob'), await ask('ann')]).toEqual(['Bearer t2', 'Bearer t3', 'Bearer t4'])
  })

  test('a retry can exchange again although the token was removed from the request', async () => {
    const backends = [503, 200]
    const tokens = await startTokenServer()
    const seen: (string | undefined)[] = []
    const backend = await startUpstream((req, res) => {
      seen.push(req.headers.authorization)
      res.writeHead(backends.shift() ?? 200).end()
    })
    const auth = exchange('cache: {maxEntries: 0}')(tokens.host)
    const gateway = await startGateway(config(backend.host, auth, ', policies: {retry: {attempts: 1, codes: [503]}}'))
    expect((await fetch(gateway.url(8080), { headers: bearer('mine') })).status).toBe(200)
    expect(seen).toEqual(['Bearer t1', 'Bearer t2'])
    expect(tokens.asked.map(({ form }) => form.get('subject_token'))).toEqual(['mine', 'mine'])
    for (const each of [gateway, tokens, backend]) await each[Symbol.asyncDispose]()
  })
})

test('traces show the exchange, but no token or secret', async () => {
  await using at = await start(
    exchange(`clientAuth: {method: clientSecretPost, clientId: me, clientSecret: s3cr3t},
      subjectToken: {source: {queryParameter: {name: subject}}}, authorizationLocation: {header: {name: x-handed}}`),
  )
  at.one.answer = (_request, res) => sendToken(res, { access_token: 'handed-out' })
  const watch = at.gateway.trace.watch({ requests: 1, withBodies: true } as Parameters<
    typeof at.gateway.trace.watch
  >[0])
  if (watch === undefined || 'problem' in watch) throw new Error('nobody watches')
  expect((await at.ask({}, '/?subject=shown-token')).fields['x-handed']).toBe('handed-out')
  const events: TraceEvent[] = []
  await expect
    .poll(() => {
      for (let event = watch.next(); event; event = watch.next()) events.push(event)
      return watch.finished
    })
    .toBe(true)
  watch.close()
  const calls = events.filter(({ message }) => message.type === 'callStart' || message.type === 'callEnd')
  expect(calls.slice(0, 2)).toMatchObject([
    { scope: ['backendAuth'], message: { type: 'callStart', purpose: 'token exchange' } },
    { scope: ['backendAuth'], message: { type: 'callEnd', target: at.one.host, status: 200 } },
  ])
  expect(JSON.stringify(events) + at.gateway.logged.join('')).not.toMatch(/s3cr3t|shown-token|handed-out/)
})

describe('a dry run', () => {
  const text = config('backend.test:80', exchange('clientAuth: {clientId: a, clientSecret: b}')('tokens.test:80'))
  const run = async (stubs: Stubs, token: string) => {
    const gateway = await openDryGateway('-', { cwd: '/', stdin: Readable.from([text]), env: {}, stubs })
    const headers = [['authorization', `Bearer ${token}`]] as const
    return gateway.run({ method: 'GET', url: 'http://gw.test:8080/', headers })
  }

  test('gives each subject its own token', async () => {
    for (const who of ['ann', 'bob']) {
      const { status, upstream } = await run(new Map(), unsigned({ sub: who }))
      expect(status).toBe(200)
      expect(upstream.map(({ purpose }) => purpose)).toEqual(['service', 'backend'])
      expect(upstream[1]?.headers).toContainEqual(['authorization', `Bearer token-of-${who}`])
    }
  })

  test('uses the stubbed response', async () => {
    const refused = await run(new Map([['tokens.test:80', { status: 401 }]]), 'x')
    expect(refused).toMatchObject({ status: 500, error: expect.stringContaining('the token endpoint answered 401') })
  })
})
