import { createHash } from 'node:crypto'
import { request } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ManualClock } from '../../engine/manual-clock.ts'
import { startGateway, type TestGateway } from '../../helpers/gateway.ts'
import { type IdentityProvider, startIdentityProvider } from '../../helpers/identity-provider.ts'
import { echo, startUpstream, type Upstream } from '../../helpers/upstream.ts'

const SECRET = 'a-secret-of-more-than-32-characters'
const REDIRECT = 'http://localhost:8080/oauth/callback'

let idp: IdentityProvider
let backend: Upstream
beforeAll(async () => {
  idp = await startIdentityProvider()
  backend = await startUpstream(echo)
})
afterAll(async () => {
  await idp[Symbol.asyncDispose]()
  await backend[Symbol.asyncDispose]()
})

interface Setup {
  readonly provider?: IdentityProvider
  readonly redirect?: string
  readonly more?: string
  readonly policies?: string
  readonly env?: Record<string, string>
  readonly clock?: ManualClock
  readonly listener?: boolean
}

const fileOf = ({ provider = idp, redirect = REDIRECT, more = '', policies = '', listener }: Setup): string => {
  const oidc = `oidc: {issuer: '${provider.issuer}', clientId: web, clientSecret: s3cret, redirectURI: '${redirect}'${more && `, ${more}`}}`
  const [early, late] = listener ? [oidc, policies] : ['', `${oidc}${policies && `, ${policies}`}`]
  return `
binds: [{port: 8080, listeners: [{policies: {${early}}, routes: [
  {matches: [{path: {pathPrefix: /public}}], backends: [{host: '${backend.host}'}]},
  {backends: [{host: '${backend.host}'}], policies: {${late}}}]}]}]`
}

const start = (setup: Setup = {}): Promise<TestGateway> =>
  startGateway(fileOf(setup), {
    env: setup.env ?? { OIDC_COOKIE_SECRET: SECRET },
    ...(setup.clock ? { clock: setup.clock } : {}),
  })

/** As much of a browser as sign-ins need: cookies by name, and one step at a time. */
class Browser {
  readonly jar = new Map<string, string>()
  /** `Set-Cookie` values as they came. */
  readonly set: string[] = []
  readonly #gateway: TestGateway
  constructor(gateway: TestGateway) {
    this.#gateway = gateway
  }

  async get(path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Response> {
    const cookie = [...this.jar].map(([name, value]) => `${name}=${value}`).join('; ')
    // Clocks of these tests jump, and the gateway closes what has been idle.
    const all = { accept: 'text/html', connection: 'close', ...(cookie && { cookie }), ...headers }
    const reply = await fetch(`${this.#gateway.url(8080)}${path}`, { method, headers: all, redirect: 'manual' })
    for (const text of reply.headers.getSetCookie()) {
      this.set.push(text)
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(text) ?? []
      if (/Max-Age=0;/.test(text)) this.jar.delete(name)
      else this.jar.set(name, value)
    }
    return reply
  }

  /** To the provider and back: the address that the browser is sent to. */
  async visit(address: string): Promise<string> {
    const reply = await fetch(address, { redirect: 'manual' })
    const back = new URL(reply.headers.get('location') ?? '')
    return back.pathname + back.search
  }

  async signIn(path = '/a?x=1'): Promise<Response> {
    const sent = await this.get(path)
    return await this.get(await this.visit(sent.headers.get('location') ?? ''))
  }
}

/** `fetch` lets nobody say for which host a request is. */
const statusOf = (url: string, headers: Record<string, string>) =>
  new Promise<number | undefined>((resolve, reject) => {
    request(url, { headers }, reply => {
      reply.resume()
      resolve(reply.statusCode)
    })
      .on('error', reject)
      .end()
  })

const echoed = async (reply: Response) => (await reply.json()) as { headers: string[] }

describe('a sign-in', () => {
  test.each([{ listener: false }, { listener: true }])(
    'redirects to the provider and back to the original page (%o)',
    async ({ listener }) => {
      await using gateway = await start({ listener, more: 'scopes: [email, openid]' })
      const browser = new Browser(gateway)
      const sent = await browser.get('/a/b?x=1')
      expect([sent.status, sent.headers.get('cache-control')]).toEqual([302, 'no-store'])
      const page = new URL(sent.headers.get('location') ?? '')
      expect(page.origin + page.pathname).toBe(`${idp.issuer}/authorize`)
      const asked = Object.fromEntries(page.searchParams)
      expect(asked).toMatchObject({
        response_type: 'code',
        client_id: 'web',
        redirect_uri: REDIRECT,
        scope: 'openid email',
        code_challenge_method: 'S256',
      })
      for (const name of ['state', 'nonce']) expect(asked[name]).toMatch(/^[0-9a-f]{32}$/)
      expect(browser.set.join()).toMatch(
        /^agw_oidc_t_[0-9a-f]{16}\.[^=]+=[\w-]+; Path=\/; Max-Age=300; HttpOnly; SameSite=Lax$/,
      )

      const back = await browser.get(await browser.visit(page.href))
      expect([back.status, back.headers.get('location')]).toEqual([302, '/a/b?x=1'])
      expect([...browser.jar.keys()]).toEqual([expect.stringMatching(/^agw_oidc_s_[0-9a-f]{16}\.0$/)])
      const redeemed = idp.asked.findLast(({ form }) => form.get('grant_type') === 'authorization_code')
      expect(redeemed?.authorization).toBe(`Basic ${btoa('web:s3cret')}`)
      const proof = createHash('sha256')
        .update(redeemed?.form.get('code_verifier') ?? '')
        .digest('base64url')
      expect(proof).toBe(asked.code_challenge)

      const passed = await browser.get('/a/b?x=1')
      expect(passed.status).toBe(200)
      expect(JSON.stringify(await echoed(passed))).not.toContain('agw_oidc')
    },
  )

  test('exposes the ID token’s claims to rules and backends', async () => {
    const rule = 'authorization: {rules: [\'jwt.sub == "alice" && jwt.team == "blue"\']}'
    await using gateway = await start({ policies: `${rule}, transformations: {request: {set: {x-who: jwt.sub}}}` })
    const browser = new Browser(gateway)
    await browser.signIn()
    expect((await browser.get('/a')).status).toBe(403)
    idp.claims = { team: 'blue' }
    browser.jar.clear()
    await browser.signIn()
    idp.claims = {}
    expect((await echoed(await browser.get('/a'))).headers).toContain('alice')
  })

  test('over TLS sets host-only cookies', async () => {
    await using gateway = await start({ redirect: 'https://app.example/cb' })
    const browser = new Browser(gateway)
    await browser.signIn()
    expect(browser.set).not.toHaveLength(0)
    for (const cookie of browser.set) {
      expect(cookie).toMatch(/^__Host-agw_oidc_/)
      expect(cookie).toMatch(/; Path=\/; .*; Secure$/)
      expect(cookie).not.toContain('Domain')
    }
    expect((await browser.get('/a')).status).toBe(200)
  })

  test('is valid on every replica with the same secret and after a reload, and nowhere else', async () => {
    await using one = await start()
    await using two = await start({ more: 'scopes: [email]' })
    await using other = await start({ env: { OIDC_COOKIE_SECRET: 'b'.repeat(40) } })
    await using both = await start({ env: { OIDC_COOKIE_SECRET: `${'b'.repeat(40)},${SECRET}` } })
    const browser = new Browser(one)
    await browser.signIn()
    expect(await one.reload(fileOf({ more: 'scopes: [profile]' }))).toEqual([])
    const cookie = [...browser.jar].map(([name, value]) => `${name}=${value}`).join('; ')
    const { host } = new URL(one.url(8080))
    const ask = (gateway: TestGateway, name = host) => statusOf(`${gateway.url(8080)}/a`, { cookie, host: name })
    for (const gateway of [one, two, both]) expect(await ask(gateway)).toBe(200)
    expect(await ask(other)).toBe(302)
    expect(await ask(one, 'elsewhere.example')).toBe(302)
  })
})

describe('a client that is not signed in', () => {
  test.each<[string, string, Record<string, string>, number]>([
    ['a browser', 'GET', {}, 302],
    ['a client that accepts anything', 'GET', { accept: '*/*' }, 302],
    ['an iframe', 'GET', { 'sec-fetch-dest': 'iframe' }, 302],
    ['a form', 'POST', {}, 302],
    ['a script', 'GET', { accept: '*/*', 'sec-fetch-dest': 'empty' }, 401],
    ['an old script', 'GET', { 'x-requested-with': 'XMLHttpRequest' }, 401],
    ['an API client', 'GET', { accept: 'application/json' }, 401],
    ['a mutating request', 'DELETE', { accept: '*/*' }, 401],
    ['a preflight', 'OPTIONS', { origin: 'https://a.example', 'access-control-request-method': 'PUT' }, 200],
    ['an OPTIONS request that is not a preflight', 'OPTIONS', {}, 302],
  ])('%s', async (_, method, headers, status) => {
    await using gateway = await start()
    const reply = await new Browser(gateway).get('/a', headers, method)
    expect(reply.status).toBe(status)
    if (status === 401) expect(await reply.text()).toBe('oidc failure: not signed in')
  })

  test('is always sent back to a path on the same host', async () => {
    await using gateway = await start()
    for (const path of [
      '//evil.example/a',
      '/\\evil.example',
      '/%2F/evil.example',
      '/ok//evil?x=//evil',
      `/${'a'.repeat(3000)}`,
    ]) {
      const browser = new Browser(gateway)
      const sent = await browser.get(path).catch(() => undefined)
      if (sent?.status !== 302) continue
      const back = await browser.get(await browser.visit(sent.headers.get('location') ?? ''))
      const to = new URL(back.headers.get('location') ?? '', 'http://localhost:8080')
      expect(to.origin).toBe('http://localhost:8080')
    }
  })

  test('has a limited number of pending sign-ins', async () => {
    await using gateway = await start()
    const browser = new Browser(gateway)
    for (let i = 0; i < 10; i++) await browser.get('/a')
    expect(browser.jar.size).toBe(3)
  })

  test('sign-in cookies are never forwarded to a backend', async () => {
    await using gateway = await start()
    const browser = new Browser(gateway)
    await browser.signIn()
    browser.jar.set('mine', '1')
    browser.jar.set('__Host-agw_oidc_s_0000.0', 'x')
    const { headers } = await echoed(await browser.get('/public'))
    expect(headers[headers.indexOf('cookie') + 1]).toBe('mine=1')
  })
})

describe('a session', () => {
  const later = async (
    setup: Setup,
    act: (browser: Browser, clock: ManualClock, own: IdentityProvider) => Promise<void>,
  ) => {
    const clock = new ManualClock()
    await using own = await startIdentityProvider({ now: () => Math.floor(clock.now() / 1000), lifetime: 600 })
    await using gateway = await start({ ...setup, provider: own, clock })
    const browser = new Browser(gateway)
    await browser.signIn()
    await act(browser, clock, own)
  }
  const refreshes = ({ asked }: IdentityProvider) =>
    asked.filter(({ form }) => form.get('grant_type') === 'refresh_token').length

  test('is refreshed when its token expires, once for parallel requests', () =>
    later({}, async (browser, clock, own) => {
      const before = new Map(browser.jar)
      clock.advance(700_000)
      const replies = await Promise.all(Array.from({ length: 8 }, () => browser.get('/a')))
      expect(replies.map(({ status }) => status)).toEqual(Array(8).fill(200))
      expect(refreshes(own)).toBe(1)
      expect(browser.jar).not.toEqual(before)
      expect((await browser.get('/a')).status).toBe(200)
      expect(refreshes(own)).toBe(1)
    }))

  test('that cannot be refreshed leads to a new sign-in', () =>
    later({}, async (browser, clock, own) => {
      own.answer = (req, res) => req.url === '/token' && Boolean(res.writeHead(400).end('{"error":"invalid_grant"}'))
      clock.advance(700_000)
      expect((await browser.get('/a')).status).toBe(302)
      expect((await browser.get('/a', { accept: 'application/json' })).status).toBe(401)
    }))

  test('is refused while the provider is down, and continues afterwards', () =>
    later({}, async (browser, clock, own) => {
      own.answer = (_req, res) => Boolean(res.writeHead(503).end())
      clock.advance(700_000)
      const refused = await browser.get('/a')
      expect([refused.status, await refused.text()]).toEqual([
        500,
        'oidc failure: the token endpoint gives no usable answer',
      ])
      own.answer = () => undefined
      expect((await browser.get('/a')).status).toBe(200)
    }))

  test('cannot be refreshed with another user’s token', () =>
    later({}, async (browser, clock, own) => {
      own.claims = { sub: 'mallory' }
      clock.advance(700_000)
      expect((await browser.get('/a')).status).toBe(500)
    }))

  test('ends after twelve hours, however often it is refreshed', () =>
    later({}, async (browser, clock) => {
      for (let hour = 0; hour < 12; hour++) {
        expect((await browser.get('/a')).status).toBe(200)
        clock.advance(3_600_000)
      }
      expect((await browser.get('/a')).status).toBe(302)
    }))

  test('survives key rotation, and new sign-ins use the new keys', () =>
    later({}, async (browser, clock, own) => {
      await own.rotate()
      clock.advance(11_000)
      expect((await browser.get('/a')).status).toBe(200)
      browser.jar.clear()
      await browser.signIn()
      expect((await browser.get('/a')).status).toBe(200)
    }))

  test('that is long is split into several cookies, and fails if too long for that', async () => {
    await using own = await startIdentityProvider()
    own.claims = { groups: 'g'.repeat(5000) }
    await using gateway = await start({ provider: own })
    const browser = new Browser(gateway)
    await browser.signIn()
    expect(browser.jar.size).toBeGreaterThan(1)
    for (const cookie of browser.set) expect(cookie.length).toBeLessThan(4096)
    expect((await browser.get('/a')).status).toBe(200)

    const [first] = browser.jar.keys()
    const whole = browser.jar.get(first ?? '') ?? ''
    browser.jar.set(first ?? '', `${whole.slice(0, 100)}A${whole.slice(101)}`)
    const changed = whole[100] === 'A' ? 200 : 302
    expect((await browser.get('/a')).status).toBe(changed)

    own.claims = { groups: 'g'.repeat(30_000) }
    browser.jar.clear()
    const reply = await browser.signIn()
    expect([reply.status, await reply.text()]).toEqual([
      500,
      'oidc failure: the ID token is too long for cookies: ask the provider for fewer claims',
    ])
    expect((await browser.get('/a')).status).toBe(302)
  })

  test('ends both at the gateway and at the provider', async () => {
    await using gateway = await start()
    const browser = new Browser(gateway)
    await browser.signIn()
    const old = new Map(browser.jar)
    const foreign = await browser.get('/oauth/callback/logout', { 'sec-fetch-site': 'cross-site' })
    expect(foreign.status).toBe(403)
    expect(browser.jar).toEqual(old)
    const left = await browser.get('/oauth/callback/logout')
    const there = new URL(left.headers.get('location') ?? '')
    expect([left.status, there.pathname]).toEqual([302, '/logout'])
    expect(Object.fromEntries(there.searchParams)).toMatchObject({
      client_id: 'web',
      post_logout_redirect_uri: 'http://localhost:8080/',
      id_token_hint: expect.stringContaining('.'),
    })
    expect(browser.jar.size).toBe(0)
    expect((await browser.get('/a')).status).toBe(302)
    const nobody = await browser.get('/oauth/callback/logout')
    expect(nobody.headers.get('location')).toBe('/')
  })
})

describe('attacks', () => {
  /** A browser that has been sent to the provider, and the address at which it would come back. */
  const sent = async (setup: Setup = {}) => {
    const gateway = await start(setup)
    const browser = new Browser(gateway)
    const reply = await browser.get('/a')
    const back = await browser.visit(reply.headers.get('location') ?? '')
    return { gateway, browser, back, [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose]() }
  }
  const INVALID = [400, 'oidc failure: invalid callback']
  const said = async (reply: Response) => [reply.status, await reply.text()]

  test('a callback works once, and only in the browser that started it', async () => {
    await using at = await sent()
    expect(await said(await new Browser(at.gateway).get(at.back))).toEqual(INVALID)
    const kept = new Map(at.browser.jar)
    expect((await at.browser.get(at.back)).status).toBe(302)
    expect(await said(await at.browser.get(at.back))).toEqual(INVALID)
    // The code is used up, whoever has kept the cookie.
    for (const [name, value] of kept) at.browser.jar.set(name, value)
    expect(await said(await at.browser.get(at.back))).toEqual(INVALID)
  })

  test('a code from another sign-in or from an attacker is refused', async () => {
    await using one = await sent()
    const other = new Browser(one.gateway)
    const page = (await other.get('/b')).headers.get('location') ?? ''
    const theirs = new URL(await other.visit(page), 'http://x').searchParams.get('code') ?? ''
    const mixed = one.back.replace(/code=[^&]+/, `code=${theirs}`)
    expect(await said(await one.browser.get(mixed))).toEqual(INVALID)
    expect((await one.browser.get('/a')).status).toBe(302)
  })

  test.each<[string, (back: string) => string]>([
    ['another state', back => back.replace(/state=./, 'state=x')],
    ['two states', back => `${back}&state=x`],
    ['two codes', back => `${back}&code=x`],
    ['another issuer (mix-up)', back => back.replace(/iss=[^&]+/, 'iss=https%3A%2F%2Fevil.example')],
    ['a forged state named __proto__', back => back.replace(/state=[^&]+/, 'state=__proto__')],
  ])('%s', async (_, change) => {
    await using at = await sent()
    expect(await said(await at.browser.get(change(at.back)))).toEqual(INVALID)
    expect((await at.browser.get('/a')).status).toBe(302)
  })

  test('a callback without an issuer is refused when the provider announces one', async () => {
    await using own = await startIdentityProvider()
    own.metadata = { ...own.metadata, authorization_response_iss_parameter_supported: true }
    await using at = await sent({ provider: own })
    expect(await said(await at.browser.get(at.back.replace(/&iss=[^&]+/, '')))).toEqual(INVALID)
  })

  test('a provider error is reported without its description', async () => {
    await using at = await sent()
    const state = new URL(at.back, 'http://x').searchParams.get('state')
    const refused = await at.browser.get(`/oauth/callback?error=access_denied&error_description=<b>&state=${state}`)
    expect(await said(refused)).toEqual([
      400,
      'oidc failure: the identity provider has refused the sign-in (access_denied)',
    ])
    await using again = await sent()
    const other = new URL(again.back, 'http://x').searchParams.get('state')
    const odd = await again.browser.get(`/oauth/callback?error=%3Cscript%3E&state=${other}`)
    expect(await said(odd)).toEqual([400, 'oidc failure: the identity provider has refused the sign-in'])
  })

  test.each<[string, Record<string, unknown>, string]>([
    ['from another sign-in', { nonce: 'x' }, 'the ID token belongs to another sign-in'],
    ['for another client', { aud: 'other' }, 'the ID token is refused: '],
    [
      'for several clients with another azp',
      { aud: ['web', 'x'], azp: 'x' },
      'the ID token is meant for another client',
    ],
    ['from another issuer', { iss: 'https://evil.example' }, 'the ID token is refused: '],
    ['that has expired', { exp: 1 }, 'the ID token is refused: '],
    ['without a subject', { sub: undefined }, 'the ID token is refused: '],
  ])('an ID token %s is refused', async (_, claims, detail) => {
    await using own = await startIdentityProvider()
    own.claims = claims
    await using at = await sent({ provider: own })
    const [status, text] = await said(await at.browser.get(at.back))
    expect([status, text]).toEqual([500, expect.stringContaining(detail)])
    expect((await at.browser.get('/a')).status).toBe(302)
  })

  test.each<[string, Record<string, unknown>]>([
    ['no ID token', { id_token: undefined }],
    ['an unsigned ID token', { id_token: `${btoa('{"alg":"none","kid":"x"}').replace(/=/g, '')}.e30.` }],
    ['a malformed ID token', { id_token: 'x' }],
  ])('a token endpoint that returns %s does not sign the user in', async (_, tokens) => {
    await using own = await startIdentityProvider()
    own.tokens = tokens
    await using at = await sent({ provider: own })
    expect((await at.browser.get(at.back)).status).toBe(500)
    expect((await at.browser.get('/a')).status).toBe(302)
  })

  test.each<[string, IdentityProvider['answer']]>([
    ['answers 500', (_req, res) => Boolean(res.writeHead(500).end('topsecret'))],
    ['answers HTML', (_req, res) => Boolean(res.end('<html>topsecret'))],
    ['resets the connection', req => Boolean(req.socket.destroy())],
    [
      'never ends its response',
      (_req, res) => {
        res.write('{'.repeat(2 * 1024 * 1024))
        return true
      },
    ],
    ['redirects', (_req, res) => Boolean(res.writeHead(302, { location: 'http://127.0.0.1:1/' }).end())],
  ])('a provider that %s does not sign the user in', async (_, answer) => {
    await using own = await startIdentityProvider()
    await using at = await sent({ provider: own })
    own.answer = answer
    const reply = await at.browser.get(at.back)
    const [status, text] = await said(reply)
    expect([status, text]).toEqual([500, expect.stringMatching(/^oidc failure: the token endpoint/)])
    expect(text).not.toContain('topsecret')
    expect(at.gateway.logged.join()).not.toContain('topsecret')
  })

  test.each<[string, string, string]>([
    ['hangs', '/token', 'the token endpoint gives no usable answer'],
    ['drips', '/token', 'the token endpoint gives no usable answer'],
    ['hangs', '/.well-known/openid-configuration', 'the metadata of the identity provider is unavailable'],
  ])('a provider that %s at %s times out after ten seconds, and the next sign-in works', async (how, path, detail) => {
    const clock = new ManualClock(Date.now())
    await using own = await startIdentityProvider({ now: () => Math.floor(clock.now() / 1000) })
    await using gateway = await start({ provider: own, clock })
    const browser = new Browser(gateway)
    const asked = Promise.withResolvers<void>()
    own.answer = (req, res) => {
      if (req.url !== path) return false
      if (how === 'drips') res.write('{')
      asked.resolve()
      return true
    }
    const reply = browser.signIn()
    await asked.promise
    clock.advance(10_000)
    const refused = await reply.catch(() => undefined)
    if (path === '/token') expect(await said(refused as Response)).toEqual([500, `oidc failure: ${detail}`])
    own.answer = () => false
    clock.advance(5_000)
    await browser.signIn()
    expect((await browser.get('/a')).status).toBe(200)
  })

  test('metadata of another issuer and endpoints without TLS are rejected', async () => {
    for (const lie of [{ issuer: 'https://evil.example' }, { authorization_endpoint: 'javascript:alert(1)' }]) {
      await using own = await startIdentityProvider()
      own.metadata = { ...own.metadata, ...lie }
      await using gateway = await start({ provider: own })
      expect((await new Browser(gateway).get('/a')).status).toBe(500)
    }
  })

  test('cookies set by another host are ignored', async () => {
    await using gateway = await start()
    const mallory = new Browser(gateway)
    await mallory.signIn()
    const victim = new Browser(gateway)
    await victim.signIn()
    const [name = '', value = ''] = [...mallory.jar][0] ?? []
    expect((await victim.get('/a', { cookie: `${name}=${value}; ${name}=${victim.jar.get(name)}` })).status).toBe(302)
    expect((await victim.get('/a', { cookie: `__Host-${name}=${value}` })).status).toBe(302)
    // The cookie of a sign-in is no session, and the other way round.
    await victim.get('/b', { cookie: '' })
    const [, open = ''] = [...victim.jar].find(([each]) => each.includes('_t_')) ?? []
    expect((await victim.get('/a', { cookie: `${name}=${open}` })).status).toBe(302)
  })

  test.each(['', 'x', '.', 'A'.repeat(8000), '%00', 'e30', '!'.repeat(40)])(
    'a cookie %j is not a session',
    async value => {
      await using gateway = await start()
      const browser = new Browser(gateway)
      await browser.signIn()
      const [name = ''] = browser.jar.keys()
      expect((await browser.get('/a', { cookie: `${name}=${value}` })).status).toBe(302)
    },
  )

  test('logs and traces contain no sign-in secrets', async () => {
    await using gateway = await start()
    const watch = gateway.trace.watch({ requests: 3 })
    if (watch === undefined || 'problem' in watch) throw new Error('nobody watches')
    const browser = new Browser(gateway)
    const sentTo = await browser.get('/a')
    const back = await browser.visit(sentTo.headers.get('location') ?? '')
    await browser.get(back)
    await browser.get('/a')
    const events: string[] = []
    await expect
      .poll(() => {
        for (let event = watch.next(); event; event = watch.next()) events.push(JSON.stringify(event))
        return watch.finished
      })
      .toBe(true)
    watch.close()
    const shown = events.join() + gateway.logged.join()
    const secrets = [
      ...browser.jar.values(),
      new URL(back, 'http://x').searchParams.get('code') ?? '',
      's3cret',
      SECRET,
    ]
    const code = idp.asked.findLast(({ form }) => form.has('code_verifier'))
    for (const secret of [...secrets, code?.form.get('code_verifier') ?? '-']) expect(shown).not.toContain(secret)
    expect(events.filter(event => event.includes('"callStart"')).length).toBeGreaterThanOrEqual(3)
  })
})

describe('provider endpoints', () => {
  const signsIn = async (own: IdentityProvider, more: string) => {
    await using gateway = await start({ provider: own, more })
    const browser = new Browser(gateway)
    await browser.signIn()
    expect((await browser.get('/a')).status).toBe(200)
    return own.asked.map(({ path }) => path.replace(/\?.*/, ''))
  }

  test('from the config alone', async () => {
    await using own = await startIdentityProvider({ algorithm: 'ES256' })
    const { issuer } = own
    const more = `authorizationEndpoint: '${issuer}/authorize', tokenEndpoint: '${issuer}/token', jwks: {url: '${issuer}/jwks'}, tokenEndpointAuth: clientSecretPost`
    expect(await signsIn(own, more)).toEqual(['/authorize', '/token', '/jwks'])
    expect(own.asked[1]?.form.get('client_secret')).toBe('s3cret')
  })

  test('from an inline discovery document or another URL', async () => {
    await using own = await startIdentityProvider()
    const { issuer, metadata } = own
    expect(await signsIn(own, `discovery: '${JSON.stringify(metadata)}'`)).toEqual(['/authorize', '/token', '/jwks'])
    const elsewhere = `discovery: {url: '${issuer}/.well-known/openid-configuration'}`
    expect((await signsIn(own, elsewhere)).slice(3)).toContain('/.well-known/openid-configuration')
    await expect(start({ provider: own, more: `discovery: '{"issuer":"https://evil.example"}'` })).rejects.toThrow(
      'GW106 the discovery document cannot be used: its issuer does not match',
    )
  })

  test('from a provider that only accepts client_secret_post', async () => {
    await using own = await startIdentityProvider()
    own.metadata = { ...own.metadata, token_endpoint_auth_methods_supported: ['client_secret_post'] }
    await signsIn(own, '')
    expect(own.asked.find(({ path }) => path === '/token')?.authorization).toBeUndefined()
  })
})
