import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import {
  CreateMessageRequestSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { afterEach, expect, test } from 'vitest'
import type { McpRules } from '../../../src/http/exchange.ts'
import { type Gateway, type GatewayOptions, startGateway } from './gateway.ts'
import { type SdkServer, startSdkServer } from './sdk-server.ts'
import { begin, initialize, post } from './wire.ts'

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

interface SetUp {
  readonly one: SdkServer
  readonly gateway: Gateway
}

const stdioServer = {
  cmd: process.execPath,
  args: [new URL('stdio-server.ts', import.meta.url).pathname, 'two'],
}

async function setUp(more: object = {}, options: GatewayOptions = {}): Promise<SetUp> {
  const one = await startSdkServer('one')
  closing.push(() => one.close())
  const targets = [
    { name: 'one', mcp: { host: `${one.url}/mcp` } },
    { name: 'two', stdio: stdioServer },
  ]
  const gateway = await startGateway({ targets, ...more }, options)
  closing.push(() => gateway.close())
  return { one, gateway }
}

async function connect(gateway: Gateway): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' }, { capabilities: { sampling: {} } })
  await client.connect(new StreamableHTTPClientTransport(gateway.url))
  closing.push(() => client.close())
  return client
}

const text = (result: unknown): string | undefined => (result as { content: { text?: string }[] }).content[0]?.text

test('same-named tools on two targets both answer', async () => {
  const { gateway } = await setUp()
  const client = await connect(gateway)
  const names = (await client.listTools()).tools.map(tool => tool.name)
  expect(names.filter(name => name.endsWith('_echo'))).toEqual(['one_echo', 'two_echo'])
  expect(text(await client.callTool({ name: 'one_echo', arguments: { text: 'a' } }))).toBe('one: a')
  expect(text(await client.callTool({ name: 'two_echo', arguments: { text: 'b' } }))).toBe('two: b')
  expect(client.getInstructions()).toMatch(/\[one\]\nThis is one\.\n\n\[two\]\nThis is two\./)
  expect(client.getServerCapabilities()).toMatchObject({ logging: {}, resources: { subscribe: true } })
  const prompt = await client.getPrompt({ name: 'two_greet', arguments: { who: 'Ann' } })
  expect(prompt.messages[0]?.content).toMatchObject({ text: 'two greets Ann' })
})

test('URIs carry their target everywhere', async () => {
  const { gateway } = await setUp()
  const client = await connect(gateway)
  const { resources } = await client.listResources()
  expect(resources.map(resource => resource.uri)).toEqual(['one+note://one', 'two+note://one'])
  const { resourceTemplates } = await client.listResourceTemplates()
  expect(resourceTemplates.map(template => template.uriTemplate)).toContain('two+note://any/{id}')
  expect((await client.readResource({ uri: 'two+note://any/7' })).contents).toEqual([
    { uri: 'two+note://any/7', text: 'two note://any/7' },
  ])
  const linked = await client.callTool({ name: 'one_link', arguments: {} })
  expect(linked.content).toMatchObject([{ uri: 'one+note://one' }, { resource: { uri: 'one+note://one' } }])
})

test('requests from two targets with the same ID get their own answers', async () => {
  const { gateway } = await setUp()
  const client = await connect(gateway)
  client.setRequestHandler(CreateMessageRequestSchema, request => ({
    model: 'm',
    role: 'assistant',
    content: { type: 'text', text: `to ${JSON.stringify(request.params.messages[0]?.content)}` },
  }))
  const [one, two] = await Promise.all([
    client.callTool({ name: 'one_sample', arguments: {} }),
    client.callTool({ name: 'two_sample', arguments: {} }),
  ])
  expect(text(one)).toContain('from one')
  expect(text(two)).toContain('from two')
})

test('the session stream carries server-initiated notifications', async () => {
  const { one, gateway } = await setUp()
  const client = await connect(gateway)
  const changed = new Promise(done => client.setNotificationHandler(ToolListChangedNotificationSchema, done))
  const updated = new Promise(done => client.setNotificationHandler(ResourceUpdatedNotificationSchema, done))
  const [session] = one.sessions.values()
  await expect.poll(() => one.requests.some(({ method, reply }) => method === 'GET' && reply.headersSent)).toBe(true)
  await session?.server.server.sendToolListChanged()
  await changed
  await session?.server.server.sendResourceUpdated({ uri: 'note://one' })
  expect(await updated).toMatchObject({ params: { uri: 'one+note://one' } })
})

test('a tool added later can be called', async () => {
  const { gateway } = await setUp({ prefixMode: 'never' })
  const client = await connect(gateway)
  expect(await names(client)).toEqual([])
  await expect(client.callTool({ name: 'echo', arguments: { text: 'x' } })).rejects.toThrow(/no target serves `echo`/)
})

async function names(client: Client): Promise<string[]> {
  return (await client.listTools()).tools.map(tool => tool.name)
}

test('disallowed items are neither listed nor callable', async () => {
  const only: McpRules = { allows: (_x, item) => item.kind === 'tool' && item.name === 'echo' && item.target === 'two' }
  const { one, gateway } = await setUp({}, { rules: [only] })
  const client = await connect(gateway)
  expect(await names(client)).toEqual(['two_echo'])
  expect((await client.listResources()).resources).toEqual([])
  const session = await begin(gateway.url)
  const call = (name: string) =>
    post(
      gateway.url,
      { jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name, arguments: { text: 'x' } } },
      { 'mcp-session-id': session },
    )
  const denied = await call('one_secret')
  expect(denied.status).toBe(400)
  expect(denied.messages).toEqual([
    { jsonrpc: '2.0', id: 7, error: { code: -32602, message: 'Unknown tool: one_secret' } },
  ])
  expect((await call('two_echo')).messages).toMatchObject([{ id: 7, result: {} }])
  expect(one.requests.filter(request => request.rpc === 'tools/call')).toEqual([])
})

test('FailClosed: a dead target fails the whole session', async () => {
  const gateway = await startGateway({
    targets: [
      { name: 'two', stdio: stdioServer },
      { name: 'dead', mcp: { host: 'http://127.0.0.1:1/mcp' } },
    ],
  })
  closing.push(() => gateway.close())
  const reply = await post(gateway.url, initialize())
  expect(reply.status).toBe(500)
  expect(reply.headers.has('mcp-session-id')).toBe(false)
  expect(reply.messages).toMatchObject([{ id: 1, error: { code: -32603 } }])
  expect(reply.text).toMatch(/failed to send message/)
})

test('FailOpen: a dead target is skipped', async () => {
  const gateway = await startGateway({
    failureMode: 'failOpen',
    targets: [
      { name: 'two', stdio: stdioServer },
      { name: 'dead', mcp: { host: 'http://127.0.0.1:1/mcp' } },
    ],
  })
  closing.push(() => gateway.close())
  const client = await connect(gateway)
  expect(await names(client)).toContain('two_echo')
  expect(text(await client.callTool({ name: 'two_echo', arguments: { text: 'b' } }))).toBe('two: b')
  await expect(client.callTool({ name: 'dead_echo', arguments: { text: 'b' } })).rejects.toThrow()
})

test('FailClosed: a crash fails the call immediately, and the session', async () => {
  const { gateway } = await setUp()
  const session = await begin(gateway.url)
  const crash = { jsonrpc: '2.0', id: 3, method: 'tools/call', params: { name: 'two_crash', arguments: {} } }
  const reply = await post(gateway.url, crash, { 'mcp-session-id': session })
  expect(reply.messages).toMatchObject([
    { id: 3, error: { code: -32603, message: expect.stringMatching(/exit code 3/) } },
  ])
  const next = await post(gateway.url, { jsonrpc: '2.0', id: 4, method: 'ping' }, { 'mcp-session-id': session })
  expect([next.status, next.text]).toEqual([404, 'mcp: session not found'])
  expect(await begin(gateway.url)).not.toBe(session)
})

test('FailOpen: after a crash the other targets keep working and the target restarts', async () => {
  const { gateway } = await setUp({ failureMode: 'failOpen' })
  const client = await connect(gateway)
  await expect(client.callTool({ name: 'two_crash', arguments: {} })).rejects.toThrow(/exit code 3/)
  expect(await names(client)).not.toContain('two_echo')
  expect(text(await client.callTool({ name: 'one_echo', arguments: { text: 'a' } }))).toBe('one: a')
  gateway.clock.advance(1000)
  expect(text(await client.callTool({ name: 'two_echo', arguments: { text: 'b' } }))).toBe('two: b')
})

test('a cancellation reaches only the target working on the request', async () => {
  const { one, gateway } = await setUp()
  const client = await connect(gateway)
  const cancel = new AbortController()
  const call = client.callTool({ name: 'one_wait', arguments: {} }, undefined, { signal: cancel.signal })
  await expect.poll(() => one.requests.some(request => request.rpc === 'tools/call')).toBe(true)
  cancel.abort('enough')
  await expect(call).rejects.toThrow()
  await expect.poll(() => one.cancelled).toEqual(['one'])
})
