import { afterEach, describe, expect, test } from 'vitest'
import { type Gateway, startGateway } from './gateway.ts'
import { PENDING, type Rpc, type ScriptedServer, startScript } from './scripted-server.ts'
import { begin, initialize, post, send, type WireReply } from './wire.ts'

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

type Script = Parameters<typeof startScript>[0]
type Options = Parameters<typeof startScript>[1]

interface SetUp {
  readonly a: ScriptedServer
  readonly b: ScriptedServer
  readonly gateway: Gateway
  readonly session: string
  call(message: object): Promise<WireReply>
}

const skipInitialize =
  (script: Script): Script =>
  (rpc, res, req) =>
    rpc.method === 'initialize' ? undefined : script(rpc, res, req)

async function setUp(a: Script, b: Script, more: { spec?: object; a?: Options; b?: Options } = {}): Promise<SetUp> {
  const [first, second] = await Promise.all([
    startScript(skipInitialize(a), { session: 'up-a', ...more.a }),
    startScript(skipInitialize(b), { session: 'up-b', ...more.b }),
  ])
  closing.push(
    () => first.close(),
    () => second.close(),
  )
  const targets = [
    { name: 'a', mcp: { host: first.url } },
    { name: 'b', mcp: { host: second.url } },
  ]
  const gateway = await startGateway({ targets, ...more.spec })
  closing.push(() => gateway.close())
  const session = await begin(gateway.url)
  const call = (message: object) =>
    post(gateway.url, { jsonrpc: '2.0', id: 9, ...message }, { 'mcp-session-id': session })
  return { a: first, b: second, gateway, session, call }
}

const rpcs = (up: ScriptedServer): Rpc[] => up.received.filter(r => r.text !== '').map(r => JSON.parse(r.text))
const tools = (...names: string[]) => ({ tools: names.map(name => ({ name, inputSchema: {} })) })
const listed = (reply: WireReply): string[] =>
  (reply.messages.at(-1) as { result: { tools: { name: string }[] } }).result.tools.map(tool => tool.name)

describe('a merged list', () => {
  test('continues with every target that has another page, and accepts an empty cursor', async () => {
    const paged =
      (pages: Record<string, object>): Script =>
      ({ params }) =>
        pages[params?.cursor === undefined ? 'start' : String(params.cursor)]
    const { call } = await setUp(
      paged({ start: { ...tools('1'), nextCursor: '' }, '': { ...tools('2'), nextCursor: 'x' }, x: tools('3') }),
      paged({ start: { ...tools('1'), nextCursor: 'y' }, y: tools('2') }),
    )
    const seen: string[][] = []
    let cursor: unknown
    do {
      const reply = await call({ method: 'tools/list', params: cursor === undefined ? {} : { cursor } })
      seen.push(listed(reply))
      cursor = (reply.messages[0] as { result: { nextCursor?: string } }).result.nextCursor
    } while (cursor !== undefined)
    expect(seen).toEqual([['a_1', 'b_1'], ['a_2', 'b_2'], ['a_3']])
  })

  test.each(['junk', '', 'eyJhIjoxfQ', 7])('rejects the cursor %j', async cursor => {
    const { call } = await setUp(
      () => tools('1'),
      () => tools('1'),
    )
    const reply = await call({ method: 'tools/list', params: { cursor } })
    expect(reply.status).toBe(400)
    expect(reply.messages).toMatchObject([{ id: 9, error: { code: -32602 } }])
  })

  test('skips the cursor of a removed target', async () => {
    const { call } = await setUp(
      () => tools('1'),
      () => tools('1'),
    )
    const cursor = Buffer.from('{"gone":"x","b":"y"}').toString('base64url')
    expect(listed(await call({ method: 'tools/list', params: { cursor } }))).toEqual(['b_1'])
  })

  test('keeps numbers too large for a double', async () => {
    const { call } = await setUp(
      (_rpc, res) =>
        res
          .writeHead(200, { 'content-type': 'application/json' })
          .end(
            '{"jsonrpc":"2.0","id":9,"result":{"tools":[{"name":"n","inputSchema":{"maximum":9223372036854775807}}]}}',
          ),
      () => tools(),
    )
    expect((await call({ method: 'tools/list' })).text).toContain('"maximum":9223372036854775807')
  })

  test('skips targets without the capability, and is unknown when no target has it', async () => {
    const { a, b, call } = await setUp(
      () => undefined,
      () => tools('1'),
      { a: { capabilities: { prompts: {} } }, b: { capabilities: { tools: {} } } },
    )
    expect(listed(await call({ method: 'tools/list' }))).toEqual(['b_1'])
    expect(rpcs(a).some(rpc => rpc.method === 'tools/list')).toBe(false)
    const none = await call({ method: 'resources/list' })
    expect(none.messages).toMatchObject([{ error: { code: -32601 } }])
    expect(rpcs(b).some(rpc => rpc.method === 'resources/list')).toBe(false)
  })

  test('FailClosed: returns the failing target’s error; FailOpen: skips that target', async () => {
    const failing: Script = (rpc, res) =>
      rpc.method === 'tools/list'
        ? res
            .writeHead(200, { 'content-type': 'application/json' })
            .end('{"jsonrpc":"2.0","id":9,"error":{"code":-32000,"message":"broken"}}')
        : undefined
    const closed = await setUp(failing, () => tools('1'))
    expect((await closed.call({ method: 'tools/list' })).messages).toMatchObject([{ error: { message: 'broken' } }])
    const open = await setUp(failing, () => tools('1'), { spec: { failureMode: 'failOpen' } })
    expect(listed(await open.call({ method: 'tools/list' }))).toEqual(['b_1'])
  })
})

describe('routing', () => {
  test('sends a call to its target under the target’s own name, otherwise unchanged', async () => {
    const { a, b, call } = await setUp(
      () => ({}),
      () => ({ content: [] }),
    )
    const before = a.received.length
    await call({ method: 'tools/call', params: { name: 'b_do_it', arguments: { n: 1.5 } } })
    expect(rpcs(b).at(-1)).toEqual({
      jsonrpc: '2.0',
      id: 9,
      method: 'tools/call',
      params: { name: 'do_it', arguments: { n: 1.5 } },
    })
    expect(a.received).toHaveLength(before)
  })

  test.each([
    ['tools/call', { name: 'c_x' }],
    ['tools/call', { name: 'plain' }],
    ['resources/read', { uri: 'file:///x' }],
  ])('%s of %j matches no target', async (method, params) => {
    const { call } = await setUp(
      () => ({}),
      () => ({}),
    )
    const reply = await call({ method, params })
    expect(reply.status).toBe(500)
    expect(reply.messages).toMatchObject([
      { id: 9, error: { code: -32603, message: expect.stringMatching(/^failed to send message/) } },
    ])
  })

  test('finds the target of a completion by its reference', async () => {
    const { b, call } = await setUp(
      () => ({}),
      () => ({ completion: { values: [] } }),
    )
    const argument = { name: 'x', value: '' }
    await call({ method: 'completion/complete', params: { ref: { type: 'ref/prompt', name: 'b_p' }, argument } })
    expect(rpcs(b).at(-1)?.params).toEqual({ ref: { type: 'ref/prompt', name: 'p' }, argument })
    await call({ method: 'completion/complete', params: { ref: { type: 'ref/resource', uri: 'b+f://{x}' }, argument } })
    expect(rpcs(b).at(-1)?.params).toEqual({ ref: { type: 'ref/resource', uri: 'f://{x}' }, argument })
  })

  test('distinguishes tasks of two targets', async () => {
    const { b, call } = await setUp(
      () => ({}),
      ({ method }) => (method === 'tools/call' ? { task: { taskId: '1', status: 'working' } } : { taskId: '1' }),
    )
    const made = await call({ method: 'tools/call', params: { name: 'b_long', task: {} } })
    expect(made.messages).toMatchObject([{ result: { task: { taskId: 'b+1' } } }])
    expect((await call({ method: 'tasks/get', params: { taskId: 'b+1' } })).messages).toMatchObject([
      { result: { taskId: 'b+1' } },
    ])
    expect(rpcs(b).at(-1)?.params).toEqual({ taskId: '1' })
  })

  test('sends ping to all targets', async () => {
    const { a, b, call } = await setUp(
      () => ({}),
      () => ({}),
    )
    expect((await call({ method: 'ping' })).messages).toEqual([{ jsonrpc: '2.0', id: 9, result: {} }])
    for (const up of [a, b]) expect(rpcs(up).at(-1)?.method).toBe('ping')
  })

  test('prefixes the names of a single target with prefixMode always', async () => {
    const up = await startScript(rpc => (rpc.method === 'initialize' ? undefined : tools('x')))
    closing.push(() => up.close())
    const gateway = await startGateway({ prefixMode: 'always', targets: [{ name: 'a', mcp: { host: up.url } }] })
    closing.push(() => gateway.close())
    const headers = { 'mcp-session-id': await begin(gateway.url) }
    expect(listed(await post(gateway.url, { jsonrpc: '2.0', id: 9, method: 'tools/list' }, headers))).toEqual(['a_x'])
    await post(gateway.url, { jsonrpc: '2.0', id: 9, method: 'tools/call', params: { name: 'a_x' } }, headers)
    expect(rpcs(up).at(-1)?.params).toEqual({ name: 'x' })
  })

  test('prefixMode never: resolves names across pages, and rejects names shared by two targets', async () => {
    const { a, b, call } = await setUp(
      ({ method, params }) =>
        method === 'tools/list'
          ? params?.cursor === 'p2'
            ? tools('late')
            : { ...tools('both', 'first'), nextCursor: 'p2' }
          : { content: [] },
      ({ method }) => (method === 'tools/list' ? tools('both', 'second') : { content: [] }),
      { spec: { prefixMode: 'never' } },
    )
    expect((await call({ method: 'tools/call', params: { name: 'late' } })).status).toBe(200)
    expect(rpcs(a).at(-1)?.params).toEqual({ name: 'late' })
    expect(listed(await call({ method: 'tools/list' }))).toEqual(['first', 'late', 'second'])
    await call({ method: 'tools/call', params: { name: 'second' } })
    expect(rpcs(b).at(-1)?.params).toEqual({ name: 'second' })
    expect((await call({ method: 'tools/call', params: { name: 'both' } })).status).toBe(500)
  })
})

describe('versions', () => {
  test('negotiates the oldest one with the client, and each target gets its own', async () => {
    const up: Script = () => tools()
    const a = await startScript(skipInitialize(up), { version: '2025-06-18' })
    const b = await startScript(skipInitialize(up), { version: '2025-11-25' })
    closing.push(
      () => a.close(),
      () => b.close(),
    )
    const targets = [
      { name: 'a', mcp: { host: a.url } },
      { name: 'b', mcp: { host: b.url } },
    ]
    const gateway = await startGateway({ targets })
    closing.push(() => gateway.close())
    const reply = await post(gateway.url, initialize())
    expect(reply.messages).toMatchObject([{ result: { protocolVersion: '2025-06-18' } }])
    await post(
      gateway.url,
      { jsonrpc: '2.0', id: 2, method: 'tools/list' },
      { 'mcp-session-id': reply.headers.get('mcp-session-id') ?? '', 'mcp-protocol-version': '2025-06-18' },
    )
    expect(a.received.at(-1)?.headers['mcp-protocol-version']).toBe('2025-06-18')
    expect(b.received.at(-1)?.headers['mcp-protocol-version']).toBe('2025-11-25')
  })
})

describe('requests from targets', () => {
  test('carry an ID that routes the answer back, and forged IDs are dropped', async () => {
    const ask: Script = (rpc, res) => {
      if (rpc.method !== 'tools/call') return undefined
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      res.write('data: {"jsonrpc":"2.0","id":0,"method":"roots/list","params":{"_meta":{"progressToken":"t_1"}}}\n\n')
      res.end('data: {"jsonrpc":"2.0","id":9,"result":{"content":[]}}\n\n')
      return undefined
    }
    const { a, b, call } = await setUp(ask, () => ({}))
    const reply = await call({ method: 'tools/call', params: { name: 'a_x' } })
    expect(reply.messages).toMatchObject([
      { id: 'agw_a_n_0', method: 'roots/list', params: { _meta: { progressToken: 'agw_a_s_t_1' } } },
      { id: 9, result: {} },
    ])
    expect((await call({ id: 'agw_a_n_0', result: { roots: [] } })).status).toBe(202)
    expect(rpcs(a).at(-1)).toEqual({ jsonrpc: '2.0', id: 0, result: { roots: [] } })
    await call({
      id: undefined,
      method: 'notifications/progress',
      params: { progressToken: 'agw_a_s_t_1', progress: 1 },
    })
    expect(rpcs(a).at(-1)).toMatchObject({ params: { progressToken: 't_1', progress: 1 } })
    const before = [a.received.length, b.received.length]
    for (const id of ['agw_c_n_0', 'agw_a_n_x', 'agw_', 5]) {
      expect((await call({ id, result: {} })).status).toBe(202)
    }
    expect([a.received.length, b.received.length]).toEqual(before)
  })

  test('the session stream merges the streams of all targets that have one', async () => {
    const stream: Script = (_rpc, res, req) => {
      if (req.method !== 'GET') return undefined
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      res.end('data: {"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"f://1"}}\r\n\r\n')
      return undefined
    }
    const { gateway, session } = await setUp(stream, () => undefined)
    const headers = { accept: 'text/event-stream', 'mcp-session-id': session }
    const reply = await send(gateway.url, 'GET', headers)
    expect(reply.messages).toEqual([
      { jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri: 'a+f://1' } },
    ])
  })
})

test('rejects a request ID that is in use', async () => {
  const { a, call } = await setUp(
    rpc => (rpc.method === 'tools/call' ? PENDING : undefined),
    () => ({}),
  )
  const slow = { method: 'tools/call', params: { name: 'a_slow' } }
  const first = call(slow).catch(() => {})
  await expect.poll(() => rpcs(a).at(-1)?.method).toBe('tools/call')
  const second = await call(slow)
  expect(second.status).toBe(400)
  expect(second.messages).toMatchObject([{ id: 9, error: { code: -32600 } }])
  await a.close()
  await first
})

test('an endlessly nested list fails only its own request', async () => {
  const deep = '['.repeat(200_000) + ']'.repeat(200_000)
  const { call } = await setUp(
    ({ method }, res) =>
      method === 'tools/list'
        ? res
            .writeHead(200, { 'content-type': 'application/json' })
            .end(`{"jsonrpc":"2.0","id":9,"result":{"tools":[{"name":"x","inputSchema":${deep}}]}}`)
        : {},
    () => tools('1'),
  )
  expect((await call({ method: 'tools/list' })).messages).toMatchObject([{ id: 9, error: { code: -32603 } }])
  expect((await call({ method: 'ping' })).messages).toMatchObject([{ id: 9, result: {} }])
})
