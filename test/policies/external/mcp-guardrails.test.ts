import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { expect, test } from 'vitest'
import { phaseFor } from '../../../src/policies/parts/mcp-guardrails/method-phases.ts'
import { modern } from '../../backends/mcp/modern-server.ts'
import { startSdkServer } from '../../backends/mcp/sdk-server.ts'
import { post } from '../../backends/mcp/wire.ts'
import { type Answer, type Plain, startEnvoyServices, structOf } from '../../helpers/envoy-services.ts'
import { startGateway } from '../../helpers/gateway.ts'

const PASS = { pass: {} }
const json = (value: unknown) => Buffer.from(JSON.stringify(value))
const read = (bytes: Buffer) => JSON.parse(Buffer.from(bytes).toString())

interface Guards {
  readonly checkRequest?: (request: Plain) => Answer
  readonly checkResponse?: (request: Plain) => Answer
}

/** A gateway whose MCP messages are looked at, in front of one server or two. */
async function start(guards: Guards, processor: string, { targets = 1, more = '' } = {}) {
  const service = await startEnvoyServices(guards)
  const servers = await Promise.all(Array.from({ length: targets }, (_, i) => startSdkServer(`s${i}`)))
  const gateway = await startGateway(`
binds: [{port: 8080, listeners: [{routes: [{backends: [{mcp: {targets: [${servers
    .map(({ url }, i) => `{name: t${i}, mcp: {host: '${url}/mcp'}}`)
    .join(', ')}]}}], policies: {
  mcpGuardrails: {processors: [{kind: remote, host: '${service.host}', ${processor}}]}${more}}}]}]}]`)
  const url = new URL(`${gateway.url(8080)}/mcp`)
  const clients: Client[] = []
  return {
    service,
    servers,
    gateway,
    url,
    async connect() {
      const client = new Client({ name: 'test', version: '1' })
      const requestInit = { headers: { 'x-tenant': 'acme', 'x-secret': 's' } }
      await client.connect(new StreamableHTTPClientTransport(url, { requestInit }))
      clients.push(client)
      return client
    },
    async [Symbol.asyncDispose]() {
      for (const client of clients) await client.close()
      await gateway[Symbol.asyncDispose]()
      for (const server of servers) await server.close()
      await service[Symbol.asyncDispose]()
    },
  }
}

const echo = (text: string, name = 'echo') => ({ name, arguments: { text } })
const textOf = (result: Plain) => result.content[0].text

test('the service sees the target’s own tool names and can change calls in both directions', async () => {
  await using at = await start(
    {
      checkRequest: ({ mcpRequest }) => {
        const params = read(mcpRequest)
        return { mutated: json({ ...params, arguments: { text: `${params.arguments.text}!` } }) }
      },
      checkResponse: ({ mcpResponse }) => {
        const result = read(mcpResponse)
        return { mutated: json({ ...result, content: [{ type: 'text', text: `<${result.content[0].text}>` }] }) }
      },
    },
    `methods: {'tools/call': full}, metadata: {tenant: 'request.headers["x-tenant"]', tool: mcp.tool.name},
     requestHeaders: {allowed: [X-Tenant, ':method', x-secret], disallowed: [X-SECRET]}`,
    { targets: 2 },
  )
  const client = await at.connect()
  expect(textOf(await client.callTool(echo('hi', 't1_echo')))).toBe('<s1: hi!>')
  const [request, response] = at.service.asked
  expect(request).toMatchObject({ serviceNames: ['t1'], method: 'tools/call' })
  expect(read(request.mcpRequest)).toEqual(echo('hi'))
  expect(request.metadataContext).toEqual(structOf({ tenant: 'acme', tool: 'echo' }))
  expect(request.headers.map(({ key, value }: Plain) => [key, String(value)])).toEqual([
    [':method', 'POST'],
    ['x-tenant', 'acme'],
  ])
  expect(response).toMatchObject({ serviceNames: ['t1'], method: 'tools/call' })
  expect(read(response.mcpResponse).content[0].text).toBe('s1: hi!')
})

test.each([1, 2])('a list is checked once, in the form the client gets, with %i targets', async targets => {
  await using at = await start(
    {
      checkRequest: () => ({ mutated: json({ ignored: true }) }),
      checkResponse: ({ mcpResponse }) => {
        const result = read(mcpResponse)
        return { mutated: json({ ...result, tools: result.tools.slice(0, 1) }) }
      },
    },
    "methods: {'*/list': full}",
    { targets },
  )
  const client = await at.connect()
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual([targets === 1 ? 'echo' : 't0_echo'])
  expect(at.service.asked.length).toBe(2)
  expect(at.service.asked[0]).toMatchObject({ method: 'tools/list', serviceNames: ['t0', 't1'].slice(0, targets) })
  expect(at.service.asked[0].mcpRequest).toBeUndefined()
  expect(textOf(await client.callTool(echo('x', targets === 1 ? 'echo' : 't0_echo')))).toBe('s0: x')
  expect(at.service.asked.length).toBe(2)
})

test('a denial by the service is returned instead of calling the target', async () => {
  await using at = await start(
    {
      checkRequest: ({ mcpRequest }) => {
        const { text } = read(mcpRequest).arguments
        if (text === 'ok') return PASS
        return { error: { code: Number(text), reason: 'not today', mcpError: json({ why: text }) } }
      },
    },
    "methods: {'tools/*': request, 'tools/list': off}",
  )
  const client = await at.connect()
  const codeOf = (text: string) =>
    client.callTool(echo(text)).then(textOf, ({ code, message, data }) => [code, message, data])
  expect(await codeOf('ok')).toBe('s0: ok')
  expect(await codeOf('1')).toEqual([-32001, expect.stringMatching(/not today$/), { why: '1' }])
  expect((await codeOf('2'))[0]).toBe(-32003)
  expect((await codeOf('3'))[0]).toBe(-32600)
  expect((await codeOf('0'))[0]).toBe(-32603)
  expect(at.servers[0]?.requests.filter(({ rpc }) => rpc === 'tools/call').length).toBe(1)
  const { body, headers } = modern(1, 'tools/call', echo('1'))
  const reply = await post(at.url, body, headers)
  expect(reply.status).toBe(200)
  expect(reply.messages[0]).toMatchObject({ id: 1, error: { code: -32001 } })
})

test('a tool name replaced by the service is authorized again', async () => {
  await using at = await start(
    { checkRequest: ({ mcpRequest }) => ({ mutated: json({ ...read(mcpRequest), name: 'secret' }) }) },
    "methods: {'tools/call': request}",
    { more: `, mcpAuthorization: {rules: ['mcp.tool.name != "secret"']}` },
  )
  const client = await at.connect()
  await expect(client.callTool(echo('x'))).rejects.toThrow('Unknown tool: echo')
})

test('headers and metadata from the service reach the target and expressions', async () => {
  await using at = await start(
    {
      checkRequest: () => ({
        ...PASS,
        headerMutation: {
          set: [
            { key: 'X-Score', value: Buffer.from('1') },
            { key: 'x-score', value: Buffer.from('2') },
            { key: 'bad name', value: Buffer.from('x') },
            { key: 'content-length', value: Buffer.from('7') },
          ],
          remove: ['X-Secret'],
        },
        metadata: structOf({ level: 'high' }),
      }),
    },
    "methods: {'tools/call': request}",
    { more: `, mcpAuthorization: {rules: ['mcpGuardrails.level == "high"']}` },
  )
  const client = await at.connect()
  expect(textOf(await client.callTool(echo('x')))).toBe('s0: x')
  const { headers } = at.servers[0]!.requests.findLast(({ rpc }) => rpc === 'tools/call') as Plain
  expect(headers['x-score']).toBe('1, 2')
  expect(headers['x-secret']).toBeUndefined()
  expect(headers['x-tenant']).toBe('acme')
})

const BAD: Readonly<Record<string, Answer>> = {
  'no verdict': {},
  'no JSON': { mutated: Buffer.from('{') },
  'no object': { mutated: Buffer.from('[]') },
  'no message': Buffer.from([0xff, 0xff]),
  'no permission to ask': { code: 7, details: 'no' },
}

test.each(Object.keys(BAD))('an invalid response denies the call in any failure mode: %s', async name => {
  for (const failureMode of ['failClosed', 'failOpen']) {
    for (const phase of ['request', 'response']) {
      const guards = { checkRequest: () => BAD[name], checkResponse: () => BAD[name] }
      await using at = await start(guards, `methods: {'tools/call': ${phase}}, failureMode: ${failureMode}`)
      const client = await at.connect()
      await expect(client.callTool(echo('x'))).rejects.toThrow('a guardrail could not be reached')
    }
  }
})

test('a failing service denies the call, unless failOpen is set', async () => {
  for (const failureMode of ['failClosed', 'failOpen']) {
    const guards = {
      checkRequest: () => ({ code: 14, details: 'gone' }),
      checkResponse: () => ({ code: 13, details: '' }),
    }
    await using at = await start(guards, `methods: {'*': full}, failureMode: ${failureMode}`)
    if (failureMode === 'failOpen') expect(textOf(await (await at.connect()).callTool(echo('x')))).toBe('s0: x')
    else await expect(at.connect()).rejects.toThrow('a guardrail could not be reached')
  }
})

test.each([1, 2])('initialize, discovery and subscriptions are checked too, with %d targets', async targets => {
  const asked: string[] = []
  await using at = await start(
    {
      checkRequest: ({ method }) => {
        asked.push(method)
        return method === 'subscriptions/listen' ? { error: { code: 1, reason: 'no' } } : PASS
      },
      checkResponse: ({ method, mcpResponse }) => {
        asked.push(`${method} answered`)
        return { mutated: json({ ...read(mcpResponse), instructions: 'read first' }) }
      },
    },
    "methods: {initialize: full, 'server/discover': full, 'subscriptions/listen': request}",
    { targets },
  )
  const client = await at.connect()
  expect(client.getInstructions()).toBe('read first')
  const say = async (method: string, params: object) => {
    const { body, headers } = modern(1, method, params)
    return post(at.url, body, headers)
  }
  const discovered = await say('server/discover', {})
  expect(discovered.messages).toMatchObject([{ result: { instructions: 'read first' } }])
  const listened = await say('subscriptions/listen', { notifications: { toolsListChanged: true } })
  expect(listened.messages).toMatchObject([{ error: { message: 'no' } }])
  expect(asked).toEqual([
    'initialize',
    'initialize answered',
    'server/discover',
    'server/discover answered',
    'subscriptions/listen',
  ])
})

test('a long result is checked as a whole', async () => {
  const sizes: number[] = []
  await using at = await start(
    {
      checkResponse: ({ mcpResponse }) => {
        sizes.push(mcpResponse.length)
        return PASS
      },
    },
    "methods: {'*': response}",
  )
  const client = await at.connect()
  const result = await client.callTool({ name: 'big', arguments: { bytes: 5_000_000 } })
  expect(textOf(result).length).toBe(5_000_000)
  expect(sizes.at(-1)).toBeGreaterThan(5_000_000)
})

test('the most specific method pattern wins', () => {
  const phases = {
    '*': 'off',
    'tools/*': 'request',
    '*/list': 'response',
    'tools/call': 'full',
    'a*b': 'full',
  } as const
  expect(phaseFor('tools/call', phases)).toBe('full')
  expect(phaseFor('tools/list', phases)).toBe('request')
  expect(phaseFor('prompts/list', phases)).toBe('response')
  expect(phaseFor('acb', phases)).toBe('off')
  expect(phaseFor('ping', {})).toBe('off')
  const resources = { 'resources/*': 'request', 'resources/templates/*': 'response' } as const
  expect(phaseFor('resources/templates/list', resources)).toBe('response')
})
