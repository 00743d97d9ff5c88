import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { McpError } from '@modelcontextprotocol/sdk/types.js'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { createSigner, keySet, NOW, type Signer } from '../../../auth/token-fixture.ts'
import { ManualClock } from '../../../engine/manual-clock.ts'
import { startGateway, type TestGateway } from '../../../helpers/gateway.ts'
import { startIdentityProvider } from '../../../helpers/identity-provider.ts'
import { startGateway as startBackend } from '../gateway.ts'
import { META, modern } from '../modern-server.ts'
import { type SdkServer, startSdkServer } from '../sdk-server.ts'
import { post } from '../wire.ts'
import { type OAuthTarget, startOAuthTarget } from './oauth-target.ts'

const REDIRECT = 'http://localhost:3000/mcp/sign-in'
const URL_MODE = { elicitation: { url: {} } }

let signer: Signer
let other: SdkServer
const closing: (() => PromiseLike<unknown>)[] = []
beforeAll(async () => {
  signer = await createSigner('k', 'ES256')
  other = await startSdkServer('other')
})
afterAll(() => other.close())
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

interface Setup {
  readonly several?: boolean
  readonly more?: string
  readonly mcp?: string
  readonly clock?: ManualClock
}

async function setUp({ several, more = '', mcp = '', clock = new ManualClock(NOW * 1000) }: Setup = {}) {
  const target = await startOAuthTarget()
  closing.push(() => target.close())
  const files = `{name: files, mcp: {host: '${target.url}'}, signIn: {redirectURI: '${REDIRECT}'${more}}}`
  const others = several ? `, {name: other, mcp: {host: '${other.url}/mcp'}}` : ''
  const text = `
mcp:
  port: 3000
  targets: [${files}${others}]
  policies: {jwtAuth: {issuer: https://issuer.example, jwks: {file: jwks.json}}}
  ${mcp}`
  const gateway = await startGateway(text, { files: { 'jwks.json': keySet(signer) }, clock })
  closing.push(() => gateway[Symbol.asyncDispose]())
  return { target, gateway, text, clock }
}

/** `who`: a token, or the subject of one. */
async function connect(gateway: TestGateway, who: string, capabilities: object = {}) {
  const client = new Client({ name: 'test', version: '1' }, { capabilities })
  const authorization = `Bearer ${who.includes('.') ? who : await signer.sign({ sub: who })}`
  const transport = new StreamableHTTPClientTransport(new URL(`${gateway.url(3000)}/mcp`), {
    // Clocks of these tests jump, and the gateway closes what has been idle.
    requestInit: { headers: { authorization, connection: 'close' } },
  })
  await client.connect(transport)
  closing.push(() => client.close())
  return client
}

const toolsOf = async (client: Client) => (await client.listTools()).tools.map(({ name }) => name)
const textOf = (result: unknown) => (result as { content: { text: string }[] }).content[0]?.text ?? ''
const linkIn = (text: string) => /http:\S+/.exec(text)?.[0] ?? ''

/** The link that a call of the tool leads to. */
async function linkFor(client: Client, name = 'sign_in_to_files'): Promise<string> {
  return linkIn(textOf(await client.callTool({ name, arguments: {} })))
}

/** A browser with its cookies, at the gateway's pages. */
class Browser {
  readonly jar = new Map<string, string>()
  readonly #gateway: Pick<TestGateway, 'url'>
  constructor(gateway: Pick<TestGateway, 'url'>) {
    this.#gateway = gateway
  }

  async go(
    address: string,
    init: RequestInit = {},
  ): Promise<{ status: number; text: string; location: string; headers: Headers }> {
    const { pathname, search } = new URL(address, REDIRECT)
    const cookie = [...this.jar].map(([name, value]) => `${name}=${value}`).join('; ')
    const headers = { connection: 'close', ...(cookie && { cookie }), ...(init.headers as Record<string, string>) }
    const reply = await fetch(`${this.#gateway.url(3000)}${pathname}${search}`, {
      redirect: 'manual',
      ...init,
      headers,
    })
    for (const field of reply.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(field) ?? []
      if (/Max-Age=0;/.test(field)) this.jar.delete(name)
      else this.jar.set(name, value)
    }
    return {
      status: reply.status,
      text: await reply.text(),
      location: reply.headers.get('location') ?? '',
      headers: reply.headers,
    }
  }

  /** By way of a sign-in at the gateway itself. */
  async arrive(link: string) {
    const sent = await this.go(link)
    const back = await fetch(sent.location, { redirect: 'manual' })
    const come = await this.go(back.headers.get('location') ?? '')
    return await this.go(come.location)
  }

  /** Presses the button of a page. */
  press(text: string, headers: Record<string, string> = {}) {
    const field = (name: string) => new RegExp(`name="${name}" value="([^"]*)"`).exec(text)?.[1] ?? ''
    const body = new URLSearchParams({ ticket: field('ticket'), proof: field('proof') })
    return this.go(REDIRECT, { method: 'POST', body, headers: { origin: 'http://localhost:3000', ...headers } })
  }

  /** To the page of the authorization server. */
  async begin(link: string): Promise<string> {
    const asked = await this.go(link)
    const sent = await this.press(asked.text)
    expect(sent.status).toBe(303)
    return sent.location
  }
}

async function signIn(gateway: TestGateway, target: OAuthTarget, link: string, account: string): Promise<Browser> {
  const browser = new Browser(gateway)
  const back = await target.visit(await browser.begin(link), account)
  expect(await browser.go(back)).toMatchObject({ status: 200, text: expect.stringContaining('You have signed in') })
  return browser
}

describe.each([{ several: false }, { several: true }])('a target at which users sign in (%o)', ({ several }) => {
  const prefix = several ? 'files_' : ''

  test('offers the way there first, then its tools to each user', async () => {
    const { gateway, target } = await setUp({ several })
    const ann = await connect(gateway, 'ann')
    const before = await toolsOf(ann)
    expect(before.filter(name => name.startsWith('other_')).length > 0).toBe(several)
    expect(before.filter(name => !name.startsWith('other_'))).toEqual([`${prefix}sign_in_to_files`])
    const link = await linkFor(ann, `${prefix}sign_in_to_files`)
    await signIn(gateway, target, link, 'ann@files')
    expect(textOf(await ann.callTool({ name: `${prefix}sign_in_to_files` }))).toContain('has signed in')
    expect((await toolsOf(ann)).filter(name => !name.startsWith('other_'))).toEqual([`${prefix}whoami`])
    expect(textOf(await ann.callTool({ name: `${prefix}whoami` }))).toBe('ann@files')
    // Nobody else has it, in any session.
    const bob = await connect(gateway, 'bob')
    expect((await toolsOf(bob)).filter(name => !name.startsWith('other_'))).toEqual([`${prefix}sign_in_to_files`])
    await signIn(gateway, target, await linkFor(bob, `${prefix}whoami`), 'bob@files')
    const both = [ann, bob, ann, await connect(gateway, 'ann'), await connect(gateway, 'bob')]
    const said = await Promise.all(both.map(client => client.callTool({ name: `${prefix}whoami` }).then(textOf)))
    expect(said).toEqual(['ann@files', 'bob@files', 'ann@files', 'ann@files', 'bob@files'])
    expect(target.asked.filter(({ path }) => path === '/register')).toHaveLength(1)
    const [code] = target.asked.filter(({ path }) => path === '/token')
    expect(Object.fromEntries(code?.form ?? [])).toMatchObject({ resource: target.url, client_id: 'registered' })
  })

  test('is opened by clients that open links', async () => {
    const { gateway, target } = await setUp({ several })
    const ann = await connect(gateway, 'ann', URL_MODE)
    const error = await ann.callTool({ name: `${prefix}whoami` }).catch((thrown: McpError) => thrown)
    expect(error).toBeInstanceOf(McpError)
    const { code, data } = error as McpError
    expect(code).toBe(-32042)
    const { elicitations } = data as { elicitations: { mode: string; url: string; elicitationId: string }[] }
    expect(elicitations).toMatchObject([{ mode: 'url', elicitationId: expect.stringMatching(/^[\w-]{43}$/) }])
    await signIn(gateway, target, elicitations[0]?.url ?? '', 'ann@files')
    expect(textOf(await ann.callTool({ name: `${prefix}whoami` }))).toBe('ann@files')
  })
})

describe('a token', () => {
  test('is refreshed before it ends, and when the target refuses it', async () => {
    const { gateway, target, clock } = await setUp()
    target.lifetime = 1000
    const ann = await connect(gateway, 'ann')
    await signIn(gateway, target, await linkFor(ann), 'ann@files')
    const call = () => ann.callTool({ name: 'whoami' }).then(textOf)
    expect(await call()).toBe('ann@files')
    clock.advance(950_000)
    // The one that is still valid is used while the next one is fetched.
    expect(await call()).toBe('ann@files')
    await expect.poll(() => target.asked.filter(({ path }) => path === '/token').length).toBe(2)
    clock.advance(100_000)
    expect(await call()).toBe('ann@files')
    expect(new Set(target.bearers.filter(bearer => bearer !== undefined)).size).toBe(2)
    target.tokens.clear()
    expect(await call()).toBe('ann@files')
    // Nothing helps against a server that has forgotten the user.
    target.tokens.clear()
    target.forgets = true
    expect(await call()).toContain('has to sign in')
    await signIn(gateway, target, linkIn(await call()), 'ann@files')
    expect(await call()).toBe('ann@files')
  })

  test('is asked for with more scopes where the target needs more', async () => {
    const { gateway, target } = await setUp()
    const ann = await connect(gateway, 'ann')
    await signIn(gateway, target, await linkFor(ann), 'ann@files')
    target.needs = 'write'
    const link = linkIn(textOf(await ann.callTool({ name: 'whoami' })))
    const page = await new Browser(gateway).begin(link)
    expect(new URL(page).searchParams.get('scope')).toBe('read write')
    target.needs = 'read'
    expect(textOf(await ann.callTool({ name: 'whoami' }))).toBe('ann@files')
  })

  test('is in no log, trace, dump and page', async () => {
    const { gateway, target } = await setUp()
    const watch = gateway.trace.watch({ requests: 100 })
    if (watch === undefined || 'problem' in watch) throw new Error('nobody watches')
    const ann = await connect(gateway, 'ann')
    const link = await linkFor(ann)
    await signIn(gateway, target, link, 'ann@files')
    await ann.callTool({ name: 'whoami' })
    const events: unknown[] = []
    for (let event = watch.next(); event; event = watch.next()) events.push(event)
    watch.close()
    const [token = ''] = [...target.tokens.keys()]
    const seen = JSON.stringify(events) + gateway.logged.join('\n')
    expect(token).toMatch(/^at-/)
    for (const secret of [token, new URL(link).searchParams.get('ticket') ?? '', 'rt-'])
      expect(seen).not.toContain(secret)
    expect(seen).toContain('ticket=<redacted>')
  })
})

describe('a user’s token stays with that user', () => {
  test.each([
    ['without the cookie of the browser that started it', (back: string) => [back, {}] as const],
    ['with another state', (back: string) => [back.replace(/state=\w{4}/, 'state=0000'), undefined] as const],
    [
      'with the issuer of another server',
      (back: string) => [back.replace(/iss=[^&]+/, 'iss=http://evil.example'), undefined] as const,
    ],
    ['without an issuer', (back: string) => [back.replace(/&iss=[^&]+/, ''), undefined] as const],
    ['with two states', (back: string) => [`${back}&state=1`, undefined] as const],
    ['with another code', (back: string) => [back.replace(/code=\w{4}/, 'code=0000'), undefined] as const],
  ])('by a return %s', async (_, change) => {
    const { gateway, target } = await setUp()
    const ann = await connect(gateway, 'ann')
    const browser = new Browser(gateway)
    const [back, cookies] = change(await target.visit(await browser.begin(await linkFor(ann)), 'ann@files'))
    const reply = await (cookies ? new Browser(gateway) : browser).go(back)
    expect([reply.status, reply.headers.get('content-security-policy')]).toEqual([
      400,
      expect.stringContaining("'none'"),
    ])
    expect(await toolsOf(ann)).toEqual(['sign_in_to_files'])
    expect(target.bearers.filter(bearer => bearer !== undefined)).toEqual([])
  })

  test('by links and returns that have worked already', async () => {
    const { gateway, target } = await setUp()
    const ann = await connect(gateway, 'ann')
    const link = await linkFor(ann)
    const browser = new Browser(gateway)
    const back = await target.visit(await browser.begin(link), 'ann@files')
    expect((await browser.go(link)).text).toContain('Link used or expired')
    const cookies = new Map(browser.jar)
    expect((await browser.go(back)).status).toBe(200)
    for (const [name, value] of cookies) browser.jar.set(name, value)
    expect((await browser.go(back)).status).toBe(400)
  })

  test('by links that have expired', async () => {
    const { gateway, clock } = await setUp()
    const link = await linkFor(await connect(gateway, 'ann'))
    clock.advance(601_000)
    expect((await new Browser(gateway).go(link)).text).toContain('Link used or expired')
  })

  test.each([
    ['a cross-site page (Origin)', { origin: 'https://evil.example' }],
    ['a cross-site page (Sec-Fetch-Site)', { 'sec-fetch-site': 'cross-site' }],
  ])('by a form that %s sends', async (_, headers) => {
    const { gateway } = await setUp()
    const browser = new Browser(gateway)
    const { text } = await browser.go(await linkFor(await connect(gateway, 'ann')))
    expect((await browser.press(text, headers)).status).toBe(400)
  })

  test('by a form of another browser: the page names the user whose calls they are', async () => {
    const { gateway } = await setUp()
    const link = await linkFor(await connect(gateway, '<mallory>'))
    const { text } = await new Browser(gateway).go(link)
    expect(text).toContain('&#60;mallory&#62; of https://issuer.example')
    const victim = new Browser(gateway)
    expect((await victim.press(text)).status).toBe(400)
  })

  test('by calls without a user, and by calls to the pages', async () => {
    const { gateway, target } = await setUp()
    const ann = await connect(gateway, 'ann')
    await signIn(gateway, target, await linkFor(ann), 'ann@files')
    const before = target.bearers.length
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} })
    for (const path of ['/mcp', '/mcp/sign-in', '/mcp/sign-in?x=1']) {
      const reply = await fetch(`${gateway.url(3000)}${path}`, { method: 'POST', headers, body })
      expect([reply.status, await reply.text()]).not.toContain('whoami')
      expect(reply.status).toBeGreaterThanOrEqual(400)
    }
    expect(target.bearers).toHaveLength(before)
  })
})

describe('a target cannot send users', () => {
  test.each([
    ['to a server without HTTPS', { authorization_servers: ['http://evil.example'] }, {}],
    ['to a server in the internal network', { authorization_servers: ['https://127.0.0.2:1'] }, {}],
    ['to a javascript: server address', { authorization_servers: ['javascript:alert(1)'] }, {}],
    ['to a javascript: page', {}, { authorization_endpoint: 'javascript:alert(1)' }],
    ['to a page without HTTPS', {}, { authorization_endpoint: 'http://evil.example/authorize' }],
    ['to the token endpoint of another server', {}, { token_endpoint: 'http://evil.example/token' }],
    ['to a server that claims another issuer', {}, { issuer: 'https://good.example' }],
    ['to a server without PKCE', {}, { code_challenge_methods_supported: ['plain'] }],
    ['to a server without client registration', {}, { registration_endpoint: undefined }],
  ])('%s', async (_, resource, metadata) => {
    const { gateway, target } = await setUp()
    Object.assign(target.resource, resource)
    Object.assign(target.metadata, metadata)
    const browser = new Browser(gateway)
    const { text } = await browser.go(await linkFor(await connect(gateway, 'ann')))
    const reply = await browser.press(text)
    expect([reply.status, reply.location]).toEqual([502, ''])
  })

  test('to what describes another resource, or stands elsewhere', async () => {
    const { gateway, target } = await setUp()
    target.resource.resource = 'https://files.example/mcp'
    target.resource.authorization_servers = ['https://evil.example']
    const page = await new Browser(gateway).begin(await linkFor(await connect(gateway, 'ann')))
    expect(page).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/authorize\?/)
  })
})

describe('pages behind a sign-in at the gateway', () => {
  test('open for the user of the link only', async () => {
    const target = await startOAuthTarget()
    const idp = await startIdentityProvider()
    closing.push(
      () => target.close(),
      () => idp[Symbol.asyncDispose](),
    )
    const gateway = await startGateway(
      `
backends:
- name: tools
  mcp: {targets: [{name: files, mcp: {host: '${target.url}'}, signIn: {redirectURI: '${REDIRECT}'}}]}
binds: [{port: 3000, listeners: [{routes: [
  {matches: [{path: {exact: /mcp}}], backends: [{backend: /tools}],
   policies: {jwtAuth: {issuer: '${idp.issuer}', audiences: [web], jwks: {url: '${idp.issuer}/jwks'}}}},
  {matches: [{path: {exact: /mcp/sign-in}}, {path: {exact: /callback}}], backends: [{backend: /tools}],
   policies: {oidc: {issuer: '${idp.issuer}', clientId: web, clientSecret: s3cret, redirectURI: 'http://localhost:3000/callback'}}}]}]}]`,
      { env: { OIDC_COOKIE_SECRET: 'a-secret-of-more-than-32-characters' } },
    )
    closing.push(() => gateway[Symbol.asyncDispose]())
    const ann = await connect(gateway, await idp.token({ sub: 'ann' }))
    idp.claims = { sub: 'bob' }
    const bob = new Browser(gateway)
    await bob.arrive(await linkFor(ann))
    const refused = await bob.go(await linkFor(ann))
    expect([refused.status, refused.text]).toEqual([403, expect.stringContaining('for another user')])
    idp.claims = { sub: 'ann' }
    const own = new Browser(gateway)
    const asked = await own.arrive(await linkFor(ann))
    const stolen = await bob.press(asked.text)
    expect(stolen.status).toBe(403)
    const sent = await own.press(asked.text)
    const back = await target.visit(sent.location, 'ann@files')
    for (const [name, value] of own.jar) if (name.includes('_u_')) bob.jar.set(name, value)
    expect((await bob.go(back)).status).toBe(403)
    // The attempt has ended the sign-in.
    expect((await own.go(back)).status).toBe(400)
    const again = await own.go(await linkFor(ann))
    const ended = await own.go(await target.visit((await own.press(again.text)).location, 'ann@files'))
    expect(ended.text).toContain('You have signed in')
    expect(textOf(await ann.callTool({ name: 'whoami' }))).toBe('ann@files')
  })
})

describe('clients of 2026-07-28', () => {
  const asking = (sub: string) => ({ auth: () => ({ jwt: { iss: 'https://issuer.example', sub } }) })

  test.each([{ several: false }, { several: true }])('are asked for input (%o)', async ({ several }) => {
    const target = await startOAuthTarget()
    closing.push(() => target.close())
    const targets = [
      { name: 'files', mcp: { host: target.url }, signIn: { redirectURI: REDIRECT } },
      ...(several ? [{ name: 'other', mcp: { host: `${other.url}/mcp` } }] : []),
    ]
    const backend = await startBackend({ targets }, asking('ann'))
    closing.push(() => backend.close())
    const ask = async (method: string, params: object = {}, capabilities: object = {}) => {
      const { headers } = modern(1, method, params)
      const meta = { ...META, 'io.modelcontextprotocol/clientCapabilities': capabilities }
      const body = { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: meta } }
      const reply = await post(backend.url, body, headers)
      return reply.messages.at(-1) as { result: Record<string, unknown> }
    }
    const name = `${several ? 'files_' : ''}whoami`
    expect((await ask('server/discover')).result).toMatchObject({ capabilities: { tools: {} }, resultType: 'complete' })
    const listed = (await ask('tools/list')).result as { tools: { name: string }[]; ttlMs: number }
    expect(listed).toMatchObject({ resultType: 'complete', ttlMs: 0 })
    expect(listed.tools.map(tool => tool.name)).toContain(name.replace('whoami', 'sign_in_to_files'))
    const plain = (await ask('tools/call', { name, arguments: {} })).result
    expect(plain).toMatchObject({ resultType: 'complete', isError: true })
    const { result } = await ask('tools/call', { name, arguments: {} }, URL_MODE)
    expect(result).toMatchObject({
      resultType: 'input_required',
      inputRequests: { sign_in: { method: 'elicitation/create', params: { mode: 'url' } } },
    })
    const { inputRequests } = result as { inputRequests: { sign_in: { params: { url: string } } } }
    const browser = new Browser({ url: () => backend.url.origin })
    const back = await target.visit(await browser.begin(inputRequests.sign_in.params.url), 'ann@files')
    expect((await browser.go(back)).status).toBe(200)
    const inputResponses = { sign_in: { action: 'accept' } }
    const again = await ask('tools/call', { name, arguments: {}, inputResponses }, URL_MODE)
    expect(textOf(again.result)).toBe('ann@files')
  })
})
