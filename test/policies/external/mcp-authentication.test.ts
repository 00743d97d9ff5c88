import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startGateway, type TestGateway } from '../../helpers/gateway.ts'
import { type IdentityProvider, startIdentityProvider } from '../../helpers/identity-provider.ts'
import { echo, startUpstream, type Upstream } from '../../helpers/upstream.ts'

let idp: IdentityProvider
let backend: Upstream
beforeAll(async () => {
  idp = await startIdentityProvider({ path: '/realms/one', clientId: 'known', clientSecret: 's3cret' })
  backend = await startUpstream(echo)
})
afterAll(async () => {
  await idp[Symbol.asyncDispose]()
  await backend[Symbol.asyncDispose]()
})

const PRM = '/.well-known/oauth-protected-resource'
const AS = '/.well-known/oauth-authorization-server'

/** The policy before a plain backend, which shows what reaches it. */
async function start(more = '', policies = ''): Promise<TestGateway & { readonly base: string }> {
  const gateway = await startGateway(`
binds: [{port: 8080, listeners: [{routes: [{backends: [{host: '${backend.host}'}], policies: {${policies}
  mcpAuthentication: {issuer: '${idp.issuer}', audiences: [mcp]${more && `, ${more}`}}}}]}]}]`)
  return Object.assign(gateway, { base: gateway.url(8080) })
}

const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })
const json = async (response: Response) => (await response.json()) as Record<string, unknown>

describe('a request to the endpoint', () => {
  test('needs a token for this audience, and the 401 names the metadata URL', async () => {
    await using gateway = await start()
    const { base } = gateway
    const refused = await fetch(`${base}/mcp?x=1`, { method: 'POST' })
    expect(refused.status).toBe(401)
    expect(refused.headers.get('www-authenticate')).toBe(`Bearer resource_metadata="${base}${PRM}/mcp"`)
    expect(await refused.json()).toEqual({ error: 'unauthorized', error_description: 'JWT token required' })

    const passed = await fetch(`${base}/mcp`, bearer(await idp.token({ aud: ['other', 'mcp'] })))
    expect(passed.status).toBe(200)
    expect(JSON.stringify(await passed.json())).not.toContain('uthorization')
  })

  test.each<[string, (token: string) => Promise<string>]>([
    ['for another audience', () => idp.token({ aud: 'other' })],
    ['without an audience', () => idp.token({ aud: undefined })],
    ['from another issuer', () => idp.token({ aud: 'mcp', iss: 'https://evil.example' })],
    ['that has expired', () => idp.token({ aud: 'mcp', exp: 1 })],
    ['without an expiry', () => idp.token({ aud: 'mcp', exp: undefined })],
    [
      'with a changed claim',
      async token => token.replace(/\.[^.]+\./, `.${btoa('{"sub":"root"}').replace(/=+$/, '')}.`),
    ],
    ['that is not a JWT', async () => 'none'],
  ])('with a token %s is refused', async (_, make) => {
    await using gateway = await start()
    const token = await make(await idp.token({ aud: 'mcp' }))
    const refused = await fetch(`${gateway.base}/mcp`, bearer(token))
    expect(refused.status).toBe(401)
    expect(refused.headers.get('www-authenticate')).toContain(', error="invalid_token"')
    expect(await refused.text()).not.toContain(token)
  })

  test('follows optional and permissive mode', async () => {
    await using optional = await start('mode: optional')
    expect((await fetch(`${optional.base}/mcp`)).status).toBe(200)
    expect((await fetch(`${optional.base}/mcp`, bearer('none'))).status).toBe(401)
    await using permissive = await start('mode: permissive')
    expect((await fetch(`${permissive.base}/mcp`, bearer('none'))).status).toBe(200)
  })

  test('is verified with discovered keys, across rotation', async () => {
    await using own = await startIdentityProvider({ algorithm: 'ES256' })
    await using gateway = await startGateway(`
binds: [{port: 8080, listeners: [{routes: [{backends: [{host: '${backend.host}'}], policies: {
  mcpAuthentication: {issuer: '${own.issuer}', audiences: [mcp]}}}]}]}]`)
    const url = `${gateway.url(8080)}/mcp`
    expect((await fetch(url, bearer(await own.token({ aud: 'mcp' })))).status).toBe(200)
    expect(own.asked.map(({ path }) => path)).toEqual([AS, '/jwks'])
  })

  test('with a token removed by jwtAuth is still checked for this audience', async () => {
    const jwt = `jwtAuth: {issuer: '${idp.issuer}', jwks: {url: '${idp.issuer}/jwks'}}, `
    await using gateway = await start('', jwt)
    expect((await fetch(`${gateway.base}/mcp`, bearer(await idp.token({ aud: 'mcp' })))).status).toBe(200)
    expect((await fetch(`${gateway.base}/mcp`, bearer(await idp.token({ aud: 'other' })))).status).toBe(401)
  })

  test('with a quote in its path cannot break the challenge header', async () => {
    await using gateway = await start()
    const refused = await fetch(`${gateway.base}/a%22,%20x="`, { method: 'POST' })
    expect(refused.headers.get('www-authenticate')?.match(/"/g)).toHaveLength(2)
  })
})

describe('protected-resource metadata', () => {
  test('contain the issuer and the configured resource metadata', async () => {
    await using gateway = await start(
      'resourceMetadata: {scopesSupported: [read], bearerMethodsSupported: [header], foo-bar: 1}',
    )
    const { base } = gateway
    const reply = await fetch(`${base}${PRM}/mcp`)
    expect(reply.headers.get('access-control-allow-origin')).toBe('*')
    expect(await reply.json()).toEqual({
      resource: `${base}/mcp`,
      authorization_servers: [idp.issuer],
      mcp_protocol_version: '2025-06-18',
      resource_type: 'mcp-server',
      scopes_supported: ['read'],
      bearer_methods_supported: ['header'],
      foo_bar: 1,
    })
    expect((await json(await fetch(`${base}${PRM}`))).resource).toBe(base)
    expect((await json(await fetch(`${base}${PRM}/a/b?x=1`))).resource).toBe(`${base}/a/b`)
    expect((await json(await fetch(`${base}/mcp${PRM}`))).resource).toBe(`${base}/mcp`)
    expect((await fetch(`${base}${PRM}ish`)).status).toBe(401)
    expect((await fetch(`${base}${PRM}/mcp`, { method: 'POST' })).status).toBe(405)
  })

  test('use the public address from a proxy, or a configured resource', async () => {
    await using gateway = await start("resourceMetadata: {resource: 'https://api.example/mcp'}")
    const headers = { 'x-forwarded-proto': 'https' }
    expect((await json(await fetch(`${gateway.base}${PRM}/mcp`, { headers }))).resource).toBe('https://api.example/mcp')
    const refused = await fetch(`${gateway.base}/mcp`)
    expect(refused.headers.get('www-authenticate')).toContain(`"https://api.example${PRM}/mcp"`)
    await using open = await start()
    const shown = await json(await fetch(`${open.base}${PRM}/mcp`, { headers }))
    expect(shown.resource).toBe(`${open.base.replace('http:', 'https:')}/mcp`)
    const odd = await json(await fetch(`${open.base}${PRM}/mcp`, { headers: { 'x-forwarded-proto': 'javascript' } }))
    expect(odd.resource).toBe(`${open.base}/mcp`)
  })

  test('allow preflight requests', async () => {
    await using gateway = await start()
    for (const path of [`${PRM}/mcp`, `${AS}/mcp`, `${AS}/mcp/client-registration`]) {
      const reply = await fetch(gateway.base + path, { method: 'OPTIONS' })
      expect([reply.status, reply.headers.get('access-control-allow-origin')]).toEqual([204, '*'])
      expect(reply.headers.get('access-control-allow-headers')).toContain('mcp-protocol-version')
    }
  })
})

describe('authorization-server metadata', () => {
  test('without a provider are those of the issuer', async () => {
    await using gateway = await start()
    expect(await json(await fetch(`${gateway.base}${AS}/mcp`))).toEqual(idp.metadata)
  })

  test.each<[string, Record<string, unknown>]>([
    ['keycloak', {}],
    ['descope', {}],
    ['authentik', {}],
    ['auth0', { authorization_endpoint: '{idp}/authorize?audience=mcp' }],
    ['okta', { authorization_endpoint: '{idp}/authorize?audience=mcp' }],
    ['entra', { authorization_endpoint: '{here}/authorize', token_endpoint: '{here}/token' }],
  ])('%s: the gateway is the issuer at every metadata URL', async (provider, changes) => {
    await using gateway = await start(`provider: {${provider}: {}}`)
    const { base } = gateway
    expect((await json(await fetch(`${base}${PRM}/mcp`))).authorization_servers).toEqual([`${base}/mcp`])
    const here = `${base}${AS}/mcp`
    const addressed = Object.entries(changes).map(([name, value]) => [
      name,
      String(value).replace('{idp}', idp.issuer).replace('{here}', here),
    ])
    const expected = {
      ...idp.metadata,
      issuer: `${base}/mcp`,
      registration_endpoint: `${here}/client-registration`,
      ...Object.fromEntries(addressed),
    }
    const openid = '/.well-known/openid-configuration'
    for (const path of [`${AS}/mcp`, `${openid}/mcp`, `/mcp${openid}`, `/mcp${AS}`])
      expect(await json(await fetch(base + path))).toEqual(expected)
    expect((await json(await fetch(`${base}${AS}`))).issuer).toBe(base)
  })

  test('are fetched once and cached through an outage', async () => {
    await using own = await startIdentityProvider()
    await using gateway = await startGateway(`
binds: [{port: 8080, listeners: [{routes: [{backends: [{host: '${backend.host}'}], policies: {
  mcpAuthentication: {issuer: '${own.issuer}', audiences: [mcp], provider: keycloak}}}]}]}]`)
    const ask = () => fetch(`${gateway.url(8080)}${AS}/mcp`)
    const replies = await Promise.all(Array.from({ length: 20 }, ask))
    expect(replies.map(({ status }) => status)).toEqual(Array(20).fill(200))
    own.answer = (_req, res) => Boolean(res.writeHead(500).end())
    expect((await ask()).status).toBe(200)
    expect(own.asked).toHaveLength(1)
  })

  test.each<[string, object | string]>([
    ['from another issuer', { issuer: 'https://evil.example' }],
    ['that are not JSON', '<html>'],
    ['that are a list', []],
  ])('%s are not passed on', async (_, lie) => {
    await using own = await startIdentityProvider()
    own.answer = (_req, res) => Boolean(res.end(typeof lie === 'string' ? lie : JSON.stringify(lie)))
    await using gateway = await startGateway(`
binds: [{port: 8080, listeners: [{routes: [{backends: [{host: '${backend.host}'}], policies: {
  mcpAuthentication: {issuer: '${own.issuer}', audiences: [mcp], provider: keycloak}}}]}]}]`)
    const reply = await fetch(`${gateway.url(8080)}${AS}/mcp`)
    expect([reply.status, await reply.text()]).toEqual([
      502,
      'oidc failure: the identity provider does not say where its endpoints are',
    ])
  })
})

describe('registration', () => {
  const REGISTER = `${AS}/mcp/client-registration`
  const body = JSON.stringify({ redirect_uris: ['http://localhost:1/cb'], client_name: 'x' })

  test('is forwarded to the identity provider', async () => {
    await using gateway = await start('provider: keycloak')
    const reply = await fetch(gateway.base + REGISTER, { method: 'POST', body })
    expect(reply.status).toBe(201)
    expect(reply.headers.get('access-control-allow-origin')).toBe('*')
    expect(await json(reply)).toMatchObject({ client_name: 'x', client_id: expect.stringMatching(/^made-/) })
    expect(idp.asked.at(-1)).toMatchObject({ method: 'POST', path: '/realms/one/register', body })
  })

  test('returns the configured client', async () => {
    await using gateway = await start('provider: keycloak, clientId: known')
    const before = idp.asked.length
    const reply = await fetch(gateway.base + REGISTER, { method: 'POST', body })
    expect([reply.status, await json(reply)]).toEqual([
      201,
      {
        client_id: 'known',
        client_id_issued_at: 0,
        token_endpoint_auth_method: 'none',
        grant_types: ['authorization_code'],
        response_types: ['code'],
        redirect_uris: ['http://localhost:1/cb'],
      },
    ])
    expect(idp.asked).toHaveLength(before)
    const odd = await json(await fetch(gateway.base + REGISTER, { method: 'POST', body: '[]' }))
    expect(odd.redirect_uris).toEqual([])
    const long = await fetch(gateway.base + REGISTER, { method: 'POST', body: 'x'.repeat(70_000) })
    expect(long.status).toBe(413)
  })
})

describe('the client secret', () => {
  const settings = 'provider: keycloak, clientId: known, clientSecret: s3cret'
  const post = (base: string, form: string, headers = {}) =>
    fetch(`${base}${AS}/mcp/token`, { method: 'POST', body: new URLSearchParams(form), headers })

  test('is added to token requests without being revealed to clients', async () => {
    await using gateway = await start(settings)
    const { base } = gateway
    const metadata = await json(await fetch(`${base}${AS}/mcp`))
    expect(metadata.token_endpoint).toBe(`${base}${AS}/mcp/token`)
    expect(metadata.token_endpoint_auth_methods_supported).toEqual(['none'])
    const reply = await post(base, 'grant_type=authorization_code&code=none&client_id=known')
    expect([reply.status, await json(reply)]).toEqual([400, { error: 'invalid_grant' }])
    expect(idp.asked.at(-1)?.form.get('client_secret')).toBe('s3cret')
  })

  test.each([
    ['a grant that needs no user sign-in', 'grant_type=client_credentials&client_id=known', 'unauthorized_client'],
    ['a password grant', 'grant_type=password&username=a&password=b', 'unauthorized_client'],
    ['two client IDs', 'grant_type=refresh_token&client_id=known&client_id=x', 'invalid_request'],
    ['two grant types', 'grant_type=refresh_token&grant_type=client_credentials', 'invalid_request'],
  ])('is not used for %s', async (_, form, error) => {
    await using gateway = await start(settings)
    const before = idp.asked.length
    const reply = await post(gateway.base, form)
    expect([reply.status, (await json(reply)).error]).toEqual([400, error])
    expect(idp.asked.slice(before).map(({ path }) => path)).not.toContain('/realms/one/token')
  })

  test('is not added for another client or next to another secret', async () => {
    await using gateway = await start(settings)
    await post(gateway.base, 'grant_type=authorization_code&client_id=other')
    expect(idp.asked.at(-1)?.form.has('client_secret')).toBe(false)
    const authorization = `Basic ${btoa('known:wrong')}`
    await post(gateway.base, 'grant_type=client_credentials', { authorization })
    expect(idp.asked.at(-1)).toMatchObject({ authorization, path: '/realms/one/token' })
    expect(idp.asked.at(-1)?.form.has('client_secret')).toBe(false)
  })

  test('Entra requests omit the resource parameter', async () => {
    await using gateway = await start('provider: entra, clientId: known, clientSecret: s3cret')
    await post(gateway.base, 'grant_type=refresh_token&refresh_token=x&resource=https://a')
    expect(idp.asked.at(-1)?.form.has('resource')).toBe(false)
    const url = `${gateway.base}${AS}/mcp/authorize?state=a%26b&resource=https://a&scope=x+y`
    const reply = await fetch(url, { redirect: 'manual' })
    expect([reply.status, reply.headers.get('location')]).toEqual([
      302,
      `${idp.issuer}/authorize?state=a%26b&scope=x+y`,
    ])
  })
})

test('identity provider calls appear in the trace, without secrets', async () => {
  await using gateway = await start('provider: keycloak, clientId: known, clientSecret: s3cret')
  const watch = gateway.trace.watch({ requests: 1 })
  if (watch === undefined || 'problem' in watch) throw new Error('nobody watches')
  await fetch(`${gateway.base}${AS}/mcp/token`, {
    method: 'POST',
    body: 'grant_type=authorization_code&code=topsecret',
  })
  const events: string[] = []
  await expect
    .poll(() => {
      for (let event = watch.next(); event; event = watch.next()) events.push(JSON.stringify(event))
      return watch.finished
    })
    .toBe(true)
  watch.close()
  expect(events.filter(event => event.includes('"callStart"'))).toHaveLength(2)
  expect(events.join()).not.toMatch(/s3cret|topsecret/)
})
