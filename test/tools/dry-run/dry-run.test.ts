import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { type DryGateway, type DryOutcome, openDryGateway, type Stub } from '../../../src/tools/dry-run/dry-run.ts'

const TIME = Date.parse('2026-01-01T00:00:00Z')

function open(text: string, stubs: Readonly<Record<string, Stub | readonly Stub[]>> = {}, seed = 1) {
  const stdin = Readable.from([text])
  return openDryGateway('-', { cwd: '/', stdin, env: {}, stubs: new Map(Object.entries(stubs)), time: TIME, seed })
}

function get(gateway: DryGateway, url: string): Promise<DryOutcome> {
  return gateway.run({ method: 'GET', url, headers: [] })
}

function post(gateway: DryGateway, url: string, value: unknown, headers: readonly (readonly [string, string])[] = []) {
  const own = [...headers, ['content-type', 'application/json'], ['accept', 'application/json, text/event-stream']]
  return gateway.run({
    method: 'POST',
    url,
    headers: own as (readonly [string, string])[],
    body: Buffer.from(JSON.stringify(value)),
  })
}

function routes(rest: string): string {
  return `binds:\n- port: 3000\n  listeners:\n  - routes:\n    - name: only\n${rest.replace(/^/gm, '      ')}`
}

function headerOf({ headers }: Pick<DryOutcome, 'headers'>, name: string): string | undefined {
  return headers.find(([each]) => each.toLowerCase() === name)?.[1]
}

describe('the outcome of a request', () => {
  it('has the response, its processing and the upstream request', async () => {
    const gateway = await open(
      routes(`policies:
  urlRewrite: {path: {full: /inner}}
  requestHeaderModifier: {set: {x-by: gateway}}
backends: [{host: 'backend.test:8080'}]`),
      { 'backend.test:8080': { status: 201, headers: [['x-own', 'yes']], body: 'made' } },
    )
    const outcome = await post(gateway, 'http://gw.test:3000/outer?a=1', { a: 1 })
    expect(outcome).toMatchObject({ status: 201, reason: 'Upstream', error: undefined })
    expect(outcome.route).toMatch(/only$/)
    expect(outcome.body.toString()).toBe('made')
    expect(headerOf(outcome, 'x-own')).toBe('yes')
    const [call, ...more] = outcome.upstream
    expect(more).toEqual([])
    expect(call).toMatchObject({ purpose: 'backend', method: 'POST', url: 'http://backend.test:8080/inner?a=1' })
    expect(call?.names[0]).toBe('backend.test:8080')
    expect(call?.stub).toBe('backend.test:8080')
    expect(call?.headers).toContainEqual(['x-by', 'gateway'])
    expect(call?.body.toString()).toBe('{"a":1}')
    const types = outcome.events.map(({ message }) => message.type)
    expect([types.at(0), types.at(-1)]).toEqual(['requestStarted', 'requestFinished'])
    expect(outcome.events.find(({ message }) => message.type === 'route')?.origins[0]?.line).toBe(5)
  })

  it('names the policy that responded and hides credentials', async () => {
    const gateway = await open(routes('policies:\n  directResponse: {status: 418}'))
    const outcome = await gateway.run({
      method: 'GET',
      url: 'http://gw.test:3000/',
      headers: [['authorization', 'Bearer very-secret']],
    })
    expect(outcome).toMatchObject({ status: 418, reason: 'DirectResponse', upstream: [] })
    expect(JSON.stringify(outcome.events)).not.toContain('very-secret')
  })

  it('is an error when no port is open', async () => {
    const gateway = await open('binds: []')
    await expect(get(gateway, 'http://gw.test/')).rejects.toThrow('opens no port')
  })
})

describe('virtual time', () => {
  const LIMITED = routes(`policies:
  localRateLimit: [{maxTokens: 1, tokensPerFill: 1, fillInterval: 60s}]
backends: [{host: 'backend.test:80'}]`)

  it('stands still, so a rate limit refills only when the clock advances', async () => {
    const gateway = await open(LIMITED)
    const statuses = []
    for (const wait of [0, 0, 59_999, 1]) {
      gateway.clock.advance(wait)
      statuses.push((await get(gateway, 'http://gw.test:3000/')).status)
    }
    expect(statuses).toEqual([200, 429, 429, 200])
  })

  it('skips a delay at once', async () => {
    const gateway = await open(routes(`policies:\n  delay: {duration: 1h}\nbackends: [{host: 'backend.test:80'}]`))
    const started = performance.now()
    const outcome = await get(gateway, 'http://gw.test:3000/')
    expect(outcome).toMatchObject({ status: 200, duration: 3_600_000 })
    expect(performance.now() - started).toBeLessThan(60_000)
    expect(gateway.clock.now()).toBe(TIME + 3_600_000)
  })

  it('triggers the request timeout for a longer delay', async () => {
    const gateway = await open(
      routes(`policies:\n  delay: {duration: 10s}\n  timeout: {requestTimeout: 2s}\nbackends: [{host: 'b.test:80'}]`),
    )
    expect(await get(gateway, 'http://gw.test:3000/')).toMatchObject({ status: 504, duration: 2000, upstream: [] })
  })

  it('triggers the backend timeout for a late response', async () => {
    const gateway = await open(
      routes(`policies:\n  timeout: {backendRequestTimeout: 2s}\nbackends: [{host: 'b.test:80'}]`),
      { 'b.test': { delay: 3000 } },
    )
    expect(await get(gateway, 'http://gw.test:3000/')).toMatchObject({ status: 504, reason: 'Timeout', duration: 2000 })
  })

  it('stops at the request timeout, not at the late response', async () => {
    const gateway = await open(routes(`policies:\n  timeout: {requestTimeout: 1s}\nbackends: [{host: 'b.test:80'}]`), {
      'b.test': { delay: 3000 },
    })
    expect(await get(gateway, 'http://gw.test:3000/')).toMatchObject({ status: 504, duration: 1000 })
  })

  it('restarts on reset, along with all other state', async () => {
    const gateway = await open(LIMITED)
    await get(gateway, 'http://gw.test:3000/')
    gateway.clock.advance(5000)
    expect((await get(gateway, 'http://gw.test:3000/')).status).toBe(429)
    gateway.reset()
    expect(gateway.clock.now()).toBe(TIME)
    expect((await get(gateway, 'http://gw.test:3000/')).status).toBe(200)
  })
})

describe('stubs', () => {
  it('return one response after the other for retries', async () => {
    const config = routes(`policies:
  retry: {attempts: 2, backoff: 1s, codes: [503]}
backends: [{host: 'b.test:80'}]`)
    const gateway = await open(config, { 'b.test': [{ status: 503 }, { unreachable: true }, { status: 200 }] })
    const outcome = await get(gateway, 'http://gw.test:3000/')
    expect(outcome.upstream.map(({ status }) => status)).toEqual([503, undefined, 200])
    expect(outcome).toMatchObject({ status: 200, duration: 2000 })
  })

  it('cover weighted backends, selected by the seed', async () => {
    const config = routes(`backends:\n- {host: 'a.test:80', weight: 1}\n- {host: 'b.test:80', weight: 1}`)
    const run = async (seed: number) => {
      const gateway = await open(config, {}, seed)
      const hosts = []
      for (let i = 0; i < 20; i++) hosts.push((await get(gateway, 'http://gw.test:3000/')).upstream[0]?.names[0])
      return hosts.join()
    }
    expect(await run(1)).toBe(await run(1))
    expect(await run(1)).not.toBe(await run(2))
    expect(await run(1)).toMatch(/a\.test.*b\.test|b\.test.*a\.test/)
  })

  it('are reached through random conditions decided by the seed', async () => {
    const config = routes(`policies: {authorization: {rules: ['random() < 0.5']}}\nbackends: [{host: 'b.test:80'}]`)
    const run = async (seed: number) => {
      const gateway = await open(config, {}, seed)
      const statuses = []
      for (let i = 0; i < 20; i++) statuses.push((await get(gateway, '/')).status)
      gateway.reset()
      expect((await get(gateway, '/')).status).toBe(statuses[0])
      return statuses.join()
    }
    expect(await run(1)).toBe(await run(1))
    expect(await run(1)).not.toBe(await run(2))
    expect(await run(1)).toMatch(/200.*403|403.*200/)
  })

  it('send no body where HTTP allows none', async () => {
    const gateway = await open(routes(`backends: [{host: 'b.test:80'}]`), {
      'b.test': [{ status: 204 }, { status: 200 }],
    })
    expect(await get(gateway, '/')).toMatchObject({ status: 204, body: Buffer.alloc(0) })
    const head = await gateway.run({ method: 'HEAD', url: '/', headers: [] })
    expect(head).toMatchObject({ status: 200, body: Buffer.alloc(0) })
  })

  it('act as a model responding in the format of the call', async () => {
    const gateway = await open(
      `llm:\n  models:\n  - name: '*'\n    provider: openAI\n    params: {apiKey: not-a-real-key}`,
      { openai: { llm: { text: 'Hi.', inputTokens: 40, outputTokens: 2 } } },
    )
    const outcome = await post(gateway, 'http://gw.test:4000/v1/chat/completions', { model: 'm', messages: [] })
    expect(JSON.parse(outcome.body.toString())).toMatchObject({
      model: 'm',
      choices: [{ message: { content: 'Hi.' } }],
    })
    expect(outcome.llm).toMatchObject({ provider: 'openai', inputTokens: 40, outputTokens: 2 })
    expect(outcome.upstream[0]?.headers).toContainEqual(['authorization', 'Bearer not-a-real-key'])
    expect(JSON.stringify(outcome.upstream[0]?.shown)).not.toContain('not-a-real-key')
    const streamed = await post(gateway, 'http://gw.test:4000/v1/chat/completions', {
      model: 'm',
      messages: [],
      stream: true,
    })
    expect(headerOf(streamed, 'content-type')).toBe('text/event-stream')
    expect(streamed.body.toString()).toContain('data: [DONE]')
    expect(streamed.llm).toMatchObject({ inputTokens: 40, outputTokens: 2 })
  })

  it.each(['stdio: {cmd: /no/such/program}', 'mcp: {host: http://tools.test/mcp}', 'sse: {host: http://tools.test}'])(
    'act as an MCP server in place of %s',
    async place => {
      const gateway = await open(
        routes(`backends:
- mcp:
    targets: [{name: tools, ${place}}]
  policies: {mcpAuthorization: {rules: ['mcp.tool.name == "echo"']}}`),
        { tools: { mcp: { tools: [{ name: 'echo', result: 'said' }, 'reset'] } } },
      )
      const rpc = (method: string, params: object, session?: string) =>
        post(
          gateway,
          'http://localhost:3000/mcp',
          { jsonrpc: '2.0', id: 1, method, params },
          session === undefined ? [] : [['mcp-session-id', session]],
        )
      const client = {
        protocolVersion: '2025-06-18',
        capabilities: {},
        clientInfo: { name: 'test', version: '1' },
      }
      const session = headerOf(await rpc('initialize', client), 'mcp-session-id')
      const list = (await rpc('tools/list', {}, session)).body.toString()
      expect(list).toContain('"echo"')
      expect(list).not.toContain('"reset"')
      const said = await rpc('tools/call', { name: 'echo', arguments: {} }, session)
      expect(said.body.toString()).toContain('"said"')
      expect(said.upstream[0]?.names[0]).toBe('tools')
      gateway.reset()
      expect((await rpc('tools/list', {}, session)).status).toBe(404)
    },
  )
})

describe('an MCP guardrail', () => {
  it('is stubbed by its address and denies through its status', async () => {
    const gateway = await open(
      routes(`policies:
  mcpGuardrails: {processors: [{kind: remote, host: 'guard.test:9000', methods: {'tools/call': full}}]}
backends:
- mcp: {targets: [{name: tools, mcp: {host: 'http://tools.test/mcp'}}]}`),
      {
        'guard.test': [{}, {}, { status: 403, body: 'not this one' }],
        tools: { mcp: { tools: [{ name: 'echo', result: 'said' }] } },
      },
    )
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } }
    const url = 'http://localhost:3000/mcp'
    const begun = await post(gateway, url, { jsonrpc: '2.0', id: 1, method: 'initialize', params })
    const session: [string, string][] = [['mcp-session-id', headerOf(begun, 'mcp-session-id') ?? '']]
    const call = () =>
      post(gateway, url, { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'echo' } }, session)
    const said = await call()
    expect(said.body.toString()).toContain('"said"')
    const checks = said.events.flatMap(({ message }) =>
      message.type === 'guard' ? [[message.guard, message.phase, message.action]] : [],
    )
    expect(checks).toEqual([
      ['remote', 'request', 'allow'],
      ['remote', 'response', 'allow'],
    ])
    expect((await call()).body.toString()).toContain('{"code":-32001,"message":"not this one"}')
  })
})

describe('an OpenAPI target', () => {
  it('is called through its tools, whose names rules can match', async () => {
    const document = JSON.stringify({ openapi: '3.1.0', paths: { '/pets': { get: { operationId: 'listPets' } } } })
    const gateway = await open(
      routes(`backends:
- mcp:
    targets:
    - name: pets
      openapi: {host: 'http://api.test/v1', schema: '${document}'}
      policies: {backendAuth: {key: sample}}
  policies: {mcpAuthorization: {rules: ['mcp.tool.name == "listPets"']}}`),
      { pets: { body: '[{"name":"Rex"}]' } },
    )
    const rpc = (method: string, params: object, session = '') =>
      post(gateway, 'http://localhost:3000/mcp', { jsonrpc: '2.0', id: 1, method, params }, [
        ...(session === '' ? [] : [['mcp-session-id', session] as [string, string]]),
      ])
    const clientInfo = { name: 'test', version: '1' }
    const begun = await rpc('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo })
    const called = await rpc('tools/call', { name: 'listPets' }, headerOf(begun, 'mcp-session-id'))
    expect(called.body.toString()).toContain('"structuredContent":{"data":[{"name":"Rex"}]}')
    expect(called.upstream).toMatchObject([{ method: 'GET', path: '/v1/pets', purpose: 'backend' }])
    expect(called.upstream[0]?.headers).toContainEqual(['authorization', 'Bearer sample'])
  })

  it('is stubbed as a server when its document would have to be fetched', async () => {
    const gateway = await open(
      routes(`backends:
- mcp: {targets: [{name: pets, openapi: {host: api.test, schema: {url: 'http://api.test/openapi.json'}}}]}`),
      { pets: { mcp: { tools: ['listPets'] } } },
    )
    const clientInfo = { name: 'test', version: '1' }
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo }
    const begun = await post(gateway, 'http://localhost:3000/mcp', {
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params,
    })
    expect(begun.status).toBe(200)
    expect(begun.upstream.map(({ names }) => names[0])).toEqual(['pets'])
  })
})

describe('policy calls', () => {
  it('are distinguished from backend calls', async () => {
    const gateway = await open(
      `backends: [{name: api, host: 'api.test:80'}]
${routes(`policies: {requestMirror: {backend: {host: 'shadow.test:80'}, percentage: 1}}
backends: [{backend: /api}]`)}`,
      { api: { status: 201 }, 'shadow.test': { status: 500 } },
    )
    const outcome = await get(gateway, '/')
    expect(outcome).toMatchObject({ status: 201, backends: ['api', 'api.test:80', 'api.test'] })
    expect(outcome.upstream.map(({ purpose, names, stub }) => [purpose, names[0], stub]).sort()).toEqual([
      ['backend', 'api', 'api'],
      ['service', 'shadow.test:80', 'shadow.test'],
    ])
  })
})

describe('endless responses', () => {
  it('such as an MCP event stream end when nothing more is pending', async () => {
    const gateway = await open(routes('backends:\n- mcp: {targets: [{name: tools, stdio: {cmd: none}}]}'))
    const outcome = await gateway.run({ method: 'GET', url: '/sse', headers: [['accept', 'text/event-stream']] })
    expect(outcome.status).toBe(200)
    expect(outcome.body.toString()).toContain('event: endpoint')
    expect(outcome.events.at(-1)?.message.type).toBe('requestFinished')
  })
})

describe('callers', () => {
  const JWKS = '{"keys":[]}'
  const GUARDED = routes(`policies:
  jwtAuth:
    providers:
    - {issuer: 'https://one.test', audiences: [api], jwks: '${JWKS}'}
    - {issuer: 'https://two.test', jwks: {url: 'https://two.test/keys'}}
  authorization: {rules: ['jwt.role == "admin"']}
backends: [{host: 'b.test:80'}]`)
  const as = (gateway: DryGateway, jwt: Readonly<Record<string, unknown>>) =>
    gateway.run({ method: 'GET', url: 'http://gw.test:3000/', headers: [], jwt })

  it.each([
    [200, { role: 'admin' }],
    [403, { role: 'user' }],
    [200, { role: 'admin', iss: 'https://two.test' }],
    [401, { role: 'admin', iss: 'https://three.test' }],
    [401, { role: 'admin', aud: 'other' }],
    [401, { role: 'admin', exp: TIME / 1000 - 61 }],
    [401, { role: 'admin', exp: null }],
    [401, { role: 'admin', nbf: TIME / 1000 + 61 }],
  ])('get %i with claims %j', async (status, claims) => {
    expect((await as(await open(GUARDED), claims)).status).toBe(status)
  })

  it('are anonymous without claims, and forged tokens are refused', async () => {
    const gateway = await open(GUARDED)
    expect((await get(gateway, 'http://gw.test:3000/')).status).toBe(401)
    const forged = ['{"alg":"none","kid":"dry-run https://one.test"}', '{"role":"admin","iss":"https://one.test"}']
    const token = `${forged.map(part => Buffer.from(part).toString('base64url')).join('.')}.`
    const headers = [['authorization', `Bearer ${token}`]] as const
    expect((await gateway.run({ method: 'GET', url: 'http://gw.test:3000/', headers })).status).toBe(401)
  })

  it('have tokens that expire when the clock advances', async () => {
    const gateway = await open(GUARDED)
    const claims = { role: 'admin', exp: TIME / 1000 + 100 }
    expect((await as(gateway, claims)).status).toBe(200)
    gateway.clock.advance(161_000)
    expect((await as(gateway, claims)).status).toBe(401)
  })

  it('are verified again after the clock is reset', async () => {
    const gateway = await open(GUARDED)
    const claims = { role: 'admin', nbf: TIME / 1000 + 300, exp: TIME / 1000 + 1000 }
    gateway.clock.advance(300_000)
    expect((await as(gateway, claims)).status).toBe(200)
    gateway.reset()
    expect((await as(gateway, claims)).status).toBe(401)
  })

  it('can send an API key or be identified by its metadata', async () => {
    const gateway = await open(
      routes(`policies:
  apiKey:
    keys:
    - {keyHash: 'sha256:${'0'.repeat(64)}', metadata: {user: alice, team: a}}
    - {key: not-a-secret, metadata: {user: bob}}
  authorization: {rules: ['apiKey.user == "alice"']}
backends: [{host: 'b.test:80'}]`),
    )
    const status = async (apiKey: string | Readonly<Record<string, unknown>>) =>
      (await gateway.run({ method: 'GET', url: 'http://gw.test:3000/', headers: [], apiKey })).status
    expect(await status({ user: 'alice' })).toBe(200)
    expect(await status({ user: 'bob' })).toBe(403)
    expect(await status('not-a-secret')).toBe(403)
    expect(await status('guessed')).toBe(401)
    expect(await status({ user: 'carol' })).toBe(401)
  })
})

it('generates the same ids on every run and different ones with another seed', async () => {
  const text = routes(`policies:
  transformations: {request: {set: {x-id: uuid()}}}
backends: [{host: 'backend.test:8080'}]`)
  const idIn = async (gateway: DryGateway) => {
    const { upstream } = await get(gateway, 'http://localhost:3000/')
    return upstream[0] && headerOf(upstream[0], 'x-id')
  }
  const gateway = await open(text)
  const first = await idIn(gateway)
  const second = await idIn(gateway)
  gateway.reset()
  expect(await idIn(gateway)).toBe(first)
  expect(first).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  expect(second).not.toBe(first)
  expect(await idIn(await open(text, {}, 2))).not.toBe(first)
})

it('does not process a request whose connection a policy closes', async () => {
  const rules = 'frontendPolicies:\n  networkAuthorization: {rules: [{require: \'source.address == "10.1.1.1"\'}]}\n'
  const gateway = await open(`${rules}${routes(`backends: [{host: 'backend.test:8080'}]`)}`)
  const closed = await get(gateway, 'http://localhost:3000/')
  expect(closed).toMatchObject({ status: undefined, upstream: [], error: 'the connection is closed without an answer' })
  expect(closed.events.map(({ message }) => message)).toContainEqual(
    expect.objectContaining({ type: 'policy', policy: 'networkAuthorization', phase: 'connection', result: 'failed' }),
  )
  const within = await gateway.run({ method: 'GET', url: 'http://localhost:3000/', headers: [], source: '10.1.1.1' })
  expect(within.status).toBe(200)
})

describe('Envoy protocol services', () => {
  const asking = routes(`policies:
  extAuthz: {host: 'authz.test:9000'}
  transformations: {request: {set: {x-team: extauthz.team}}}
backends: [{host: 'backend.test:8080'}]`)

  it('allow requests by default', async () => {
    const outcome = await get(await open(asking), 'http://gw.test:3000/')
    expect(outcome.status).toBe(200)
    expect(outcome.upstream.map(({ purpose, path }) => `${purpose} ${path}`)).toEqual([
      'service /envoy.service.auth.v3.Authorization/Check',
      'backend /',
    ])
  })

  it('respond as stubbed', async () => {
    const allows = { headers: [['x-user', 'ann']], body: '{"team": "red"}' } as const
    const allowed = await get(await open(asking, { 'authz.test:9000': allows }), 'http://gw.test:3000/')
    expect(allowed.upstream[1]?.headers).toContainEqual(['x-user', 'ann'])
    expect(allowed.upstream[1]?.headers).toContainEqual(['x-team', 'red'])
    const refuses = { status: 401, headers: [['www-authenticate', 'Bearer']], body: 'who?' } as const
    const refused = await get(await open(asking, { 'authz.test:9000': refuses }), 'http://gw.test:3000/')
    expect(refused).toMatchObject({ status: 401, reason: 'ExtAuth' })
    expect(headerOf(refused, 'www-authenticate')).toBe('Bearer')
    expect(refused.body.toString()).toBe('who?')
    const away = await get(await open(asking, { 'authz.test:9000': { unreachable: true } }), 'http://gw.test:3000/')
    expect(away).toMatchObject({ status: 403, reason: 'ExtAuth' })
  })

  it('process bodies and headers as stubbed', async () => {
    const text = routes(`policies:
  extProc: {host: 'proc.test:9000'}
  transformations: {request: {set: {x-team: extproc.team}}}
backends: [{host: 'backend.test:8080'}]`)
    const backend = { body: 'hello' } as const
    const stubs = {
      'backend.test:8080': backend,
      'proc.test:9000': { headers: [['x-user', 'ann']], body: '{"team": "red"}' },
    } as const
    const passed = await post(await open(text, stubs), 'http://gw.test:3000/', { a: 1 })
    expect(passed).toMatchObject({ status: 200, error: undefined })
    expect(passed.body.toString()).toBe('hello')
    expect(passed.upstream[1]?.body.toString()).toBe('{"a":1}')
    expect(passed.upstream[1]?.headers).toContainEqual(['x-user', 'ann'])
    expect(passed.upstream[1]?.headers).toContainEqual(['x-team', 'red'])
    const refuses = { status: 451, body: 'no' } as const
    const refused = await get(await open(text, { 'proc.test:9000': refuses }), 'http://gw.test:3000/')
    expect(refused).toMatchObject({ status: 451, reason: 'ExtProc' })
    expect(refused.body.toString()).toBe('no')
    const away = await get(await open(text, { 'proc.test:9000': { unreachable: true } }), 'http://gw.test:3000/')
    expect(away).toMatchObject({ status: 500, reason: 'ExtProc' })
  })

  it('limit rates as stubbed', async () => {
    const text = routes(`policies:
  remoteRateLimit: {host: 'limits.test:9000', domain: d, descriptors: [{entries: [{key: a, value: '"b"'}]}]}
backends: [{host: 'backend.test:8080'}]`)
    expect((await get(await open(text), 'http://gw.test:3000/')).status).toBe(200)
    const over = await get(await open(text, { 'limits.test:9000': { status: 429 } }), 'http://gw.test:3000/')
    expect(over).toMatchObject({ status: 429, reason: 'RateLimit' })
  })
})

describe('LLM guardrails', () => {
  const body = { model: 'm', messages: [{ role: 'user', content: 'My mail is ann@example.com.' }] }
  const guarded = (guards: string) => `llm:
  port: 4000
  models: [{name: m, provider: openAI}]
  guardrails: {request: [${guards}]}
`

  it.each([
    ['a webhook', '{webhook: {target: {host: "guard.test:80"}}}'],
    ['OpenAI moderation', '{openAIModeration: {}}'],
    ['Bedrock', '{bedrockGuardrails: {guardrailIdentifier: a, guardrailVersion: "1", region: eu-west-1}}'],
    ['Model Armor', '{googleModelArmor: {templateId: t, projectId: p, location: eu}}'],
    ['Azure content safety', '{azureContentSafety: {endpoint: safe.cognitiveservices.azure.com, detectJailbreak: {}}}'],
  ])('%s passes everything without a stub', async (_name, guard) => {
    const gateway = await open(guarded(guard))
    expect(await post(gateway, 'http://gw.test:4000/v1/chat/completions', body)).toMatchObject({ status: 200 })
  })

  it('a stub decides for a webhook', async () => {
    const reject = { body: '{"action": {"body": "no", "status_code": 422}}' }
    const gateway = await open(guarded('{webhook: {target: {host: "guard.test:80"}}}'), { 'guard.test:80': reject })
    expect(await post(gateway, 'http://gw.test:4000/v1/chat/completions', body)).toMatchObject({ status: 422 })
  })

  it('regex patterns are applied', async () => {
    const gateway = await open(guarded('{regex: {action: mask, rules: [{builtin: email}]}}'))
    const { upstream } = await post(gateway, 'http://gw.test:4000/v1/chat/completions', body)
    expect(upstream[0]?.body.toString()).toContain('My mail is <EMAIL_ADDRESS>')
  })
})
