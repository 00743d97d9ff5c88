import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import {
  ElicitRequestSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { afterEach, describe, expect, test } from 'vitest'
import { type Gateway, startGateway } from './gateway.ts'
import { META, MODERN, modern, STDIO_PROGRAM, say, startModern } from './modern-server.ts'
import { startSdkServer } from './sdk-server.ts'
import { begin, post, type WireReply } from './wire.ts'

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

async function opened<T extends { close(): Promise<unknown> }>(starting: Promise<T>): Promise<T> {
  const it = await starting
  closing.push(() => it.close())
  return it
}

async function connect(gateway: Gateway): Promise<Client> {
  const client = new Client({ name: 'old', version: '1' }, { capabilities: { elicitation: {} } })
  await client.connect(new StreamableHTTPClientTransport(gateway.url))
  closing.push(() => client.close())
  return client
}

const text = (result: unknown): string | undefined => (result as { content: { text?: string }[] }).content[0]?.text
const resultOf = (reply: WireReply) => (reply.messages.at(-1) as { result: Record<string, unknown> }).result

describe('a session client with a 2026-07-28 target', () => {
  async function setUp() {
    const web = await opened(startModern('web'))
    const gateway = await opened(startGateway({ targets: [{ name: 'web', mcp: { host: web.url } }] }))
    return { web, gateway }
  }

  test('gets the server information and calls its tools', async () => {
    const { web, gateway } = await setUp()
    const client = await connect(gateway)
    expect(client.getServerCapabilities()).toMatchObject({ tools: { listChanged: true } })
    expect(client.getInstructions()).toBe('This is web.')
    expect((await client.listTools()).tools).toMatchObject([{ name: 'echo' }])
    expect(text(await client.callTool({ name: 'echo', arguments: {} }))).toBe('web undefined')
    const { _meta } = JSON.parse(web.received.at(-1)?.text ?? '').params
    expect(_meta).toMatchObject({
      'io.modelcontextprotocol/protocolVersion': MODERN,
      'io.modelcontextprotocol/clientCapabilities': { elicitation: {} },
      'io.modelcontextprotocol/clientInfo': { name: 'old' },
    })
    await client.ping()
    expect(web.received.map(each => JSON.parse(each.text).method)).not.toContain('ping')
  })

  test('is asked for the target’s input, and the call is repeated with the answer', async () => {
    const { web, gateway } = await setUp()
    const client = await connect(gateway)
    client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: { ok: true } }))
    expect(text(await client.callTool({ name: 'ask', arguments: { n: 1 } }))).toBe(
      'web {"q":{"action":"accept","content":{"ok":true}}}',
    )
    const [first, second] = web.received
      .map(each => JSON.parse(each.text))
      .filter(({ method }) => method === 'tools/call')
    expect(second.id).not.toBe(first.id)
    expect(second.params).toMatchObject({ name: 'ask', arguments: { n: 1 }, requestState: 'sealed' })
  })

  test('that refuses to answer gets an error', async () => {
    const { gateway } = await setUp()
    const client = await connect(gateway)
    client.setRequestHandler(ElicitRequestSchema, () => {
      throw new Error('no')
    })
    await expect(client.callTool({ name: 'ask', arguments: {} })).rejects.toThrow(/has not answered/)
  })

  test('is notified of changes and of its subscriptions', async () => {
    const { web, gateway } = await setUp()
    const client = await connect(gateway)
    const changed = new Promise(done => client.setNotificationHandler(ToolListChangedNotificationSchema, done))
    const updated = new Promise(done => client.setNotificationHandler(ResourceUpdatedNotificationSchema, done))
    await expect.poll(() => web.subscribed.size).toBe(1)
    const [id] = web.subscribed.keys()
    const about = { _meta: { 'io.modelcontextprotocol/subscriptionId': id } }
    say([...web.subscribed.values()][0] as never, 'notifications/tools/list_changed', about)
    expect(JSON.stringify(await changed)).not.toContain('subscriptionId')
    await client.subscribeResource({ uri: 'note://one' })
    const listens = () => web.received.map(each => JSON.parse(each.text)).filter(each => /listen/.test(each.method))
    await expect.poll(() => listens().at(-1)?.params.notifications.resourceSubscriptions).toEqual(['note://one'])
    await expect.poll(() => web.subscribed.size).toBe(1)
    say([...web.subscribed.values()][0] as never, 'notifications/resources/updated', { uri: 'note://one' })
    expect(await updated).toMatchObject({ params: { uri: 'note://one' } })
  })

  test('continues its session on another replica', async () => {
    const web = await opened(startModern('web'))
    const targets = [{ name: 'web', mcp: { host: web.url } }]
    const sessions = { key: Buffer.alloc(32, 7), ttl: 60_000 }
    const start = () => opened(startGateway({ targets }, { sessions }))
    const [one, two] = [await start(), await start()]
    const session = await begin(one.url)
    const call = { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'echo', arguments: {} } }
    const reply = await post(two.url, call, { 'mcp-session-id': session })
    expect(text(resultOf(reply))).toBe('web undefined')
    const { _meta } = JSON.parse(web.received.at(-1)?.text ?? '').params
    expect(_meta).toMatchObject({ 'io.modelcontextprotocol/clientInfo': { name: 'wire' } })
  })

  test.each([['stdio programs', { name: 'new', stdio: { cmd: process.execPath, args: ['-e', STDIO_PROGRAM] } }]])(
    'also works with %s',
    async (_what, target) => {
      const gateway = await opened(startGateway({ targets: [target] }))
      const client = await connect(gateway)
      expect(text(await client.callTool({ name: 'echo', arguments: { n: 7 } }))).toBe('7')
    },
  )

  test('also works next to targets with sessions', async () => {
    const [web, old] = await Promise.all([opened(startModern('web')), opened(startSdkServer('old'))])
    const targets = [
      { name: 'web', mcp: { host: web.url } },
      { name: 'old', mcp: { host: `${old.url}/mcp` } },
    ]
    const client = await connect(await opened(startGateway({ targets })))
    client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'decline' }))
    expect(text(await client.callTool({ name: 'web_ask', arguments: {} }))).toBe('web {"q":{"action":"decline"}}')
    expect(text(await client.callTool({ name: 'old_echo', arguments: { text: 'x' } }))).toBe('old: x')
  })
})

describe('a 2026-07-28 request to a target with sessions', () => {
  const capabilities = 'io.modelcontextprotocol/clientCapabilities'

  function ask(gateway: Gateway, method: string, params: object = {}, id = 1): Promise<WireReply> {
    const { body, headers } = modern(id, method, params)
    const { params: given } = body as { params: { _meta: object } }
    Object.assign(given, { _meta: { ...META, [capabilities]: { sampling: {} }, progressToken: id } })
    return post(gateway.url, body, headers)
  }

  async function setUp(kind: string, more: object = {}) {
    const old = await opened(startSdkServer('old'))
    const target = {
      http: { mcp: { host: `${old.url}/mcp` } },
      sse: { sse: { host: `${old.url}/sse` } },
      stdio: {
        stdio: { cmd: process.execPath, args: [new URL('stdio-server.ts', import.meta.url).pathname, 'old'] },
      },
    }[kind]
    const gateway = await opened(startGateway({ targets: [{ name: 'old', ...target }], ...more }))
    return { old, gateway }
  }

  test.each(['http', 'sse', 'stdio'])('over %s: is answered in its own protocol', async kind => {
    const { gateway } = await setUp(kind)
    expect(resultOf(await ask(gateway, 'server/discover'))).toMatchObject({ supportedVersions: expect.anything() })
    expect(resultOf(await ask(gateway, 'tools/list'))).toMatchObject({ resultType: 'complete', ttlMs: 0 })
    const reply = await ask(gateway, 'tools/call', { name: 'progress', arguments: { steps: 3 } }, 9)
    expect(reply.messages.slice(0, 3)).toMatchObject(
      [1, 2, 3].map(progress => ({ params: { progressToken: 9, progress } })),
    )
    expect(text(resultOf(reply))).toBe('old done')
  })

  test.each(['http', 'sse', 'stdio'])('over %s: a target’s question is answered with the next request', async kind => {
    const { gateway } = await setUp(kind)
    const first = resultOf(await ask(gateway, 'tools/call', { name: 'sample', arguments: {} }))
    expect(first).toMatchObject({ resultType: 'input_required', inputRequests: { 'question-1': {} } })
    const { requestState } = first
    const call = (inputResponses: object, state = requestState, name = 'sample') =>
      ask(gateway, 'tools/call', { name, arguments: {}, inputResponses, requestState: state }, 2)
    const forged = await call({}, `${requestState}x`)
    expect(forged.messages).toMatchObject([{ id: 2, error: { code: -32602 } }])
    const incomplete = resultOf(await call({ other: {} }))
    expect(incomplete).toMatchObject({ resultType: 'input_required', inputRequests: { 'question-1': {} } })
    const answer = { model: 'm', role: 'assistant', content: { type: 'text', text: 'pong' } }
    const last = await call({ 'question-1': answer }, incomplete.requestState)
    expect(text(resultOf(last))).toBe('old sampled {"type":"text","text":"pong"}')
    expect(resultOf(last).resultType).toBe('complete')
    const again = await call({ 'question-1': answer }, incomplete.requestState)
    expect(again.messages).toMatchObject([{ error: { code: -32602 } }])
  })

  test('a call that is never continued ends along with its session', async () => {
    const { old, gateway } = await setUp('http')
    await ask(gateway, 'tools/call', { name: 'sample', arguments: {} })
    await expect.poll(() => old.sessions.size).toBe(1)
    gateway.clock.advance(5 * 60_000)
    await expect.poll(() => old.sessions.size).toBe(0)
  })

  test('the state of one call is rejected for another', async () => {
    const { gateway } = await setUp('http')
    const { requestState } = resultOf(await ask(gateway, 'tools/call', { name: 'sample', arguments: {} }))
    const other = await ask(gateway, 'tools/call', { name: 'echo', arguments: { text: 'x' }, requestState }, 2)
    expect(other.messages).toMatchObject([{ id: 2, error: { code: -32602 } }])
  })

  test('a rejection from a strict target is passed on unchanged', async () => {
    const web = await opened(startModern('web'))
    const gateway = await opened(startGateway({ targets: [{ name: 'web', mcp: { host: web.url } }] }))
    const reply = await ask(gateway, 'x/unknown')
    expect([reply.status, reply.messages]).toMatchObject([
      404,
      [{ error: { code: -32601, message: 'Method not found' } }],
    ])
  })
})
