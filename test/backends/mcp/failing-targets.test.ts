import type { ServerResponse } from 'node:http'
import { afterEach, expect, test } from 'vitest'
import { type Gateway, type GatewayOptions, startGateway } from './gateway.ts'
import { PENDING, type ScriptedServer, startScript } from './scripted-server.ts'
import { begin, initialize, post, send } from './wire.ts'

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

type Script = Parameters<typeof startScript>[0]

async function server(script: Script = () => undefined): Promise<ScriptedServer> {
  const up = await startScript(script, { session: 'up' })
  closing.push(() => up.close())
  return up
}

async function gatewayTo(
  targets: Record<string, ScriptedServer>,
  spec: object = {},
  options: GatewayOptions = {},
): Promise<Gateway> {
  const list = Object.entries(targets).map(([name, { url }]) => ({ name, mcp: { host: url } }))
  const gateway = await startGateway({ targets: list, ...spec }, options)
  closing.push(() => gateway.close())
  return gateway
}

const asked = (up: ScriptedServer, method: string) =>
  expect.poll(() => up.received.some(({ text }) => text.includes(`"${method}"`))).toBe(true)
const LIST = { jsonrpc: '2.0', id: 2, method: 'tools/list' }

test('FailOpen: a target that never answers does not block `initialize` or a list forever', async () => {
  const good = await server(({ method }) =>
    method === 'tools/list' ? { tools: [{ name: 't', inputSchema: {} }] } : undefined,
  )
  const silent = await server(() => PENDING)
  const traced: string[] = []
  const gateway = await gatewayTo({ good, silent }, { failureMode: 'failOpen' }, { traced })
  const opening = post(gateway.url, initialize())
  await asked(silent, 'initialize')
  await expect.poll(() => traced).toContain('target good callEnd good')
  gateway.clock.advance(30_000)
  const opened = await opening
  expect(opened.messages).toMatchObject([{ id: 1, result: { serverInfo: { name: 'gwctl' } } }])
  const session = opened.headers.get('mcp-session-id') ?? ''
  const list = await post(gateway.url, LIST, { 'mcp-session-id': session })
  expect(list.messages).toMatchObject([{ id: 2, result: { tools: [{ name: 'good_t' }] } }])
})

test('FailOpen: a silent target is skipped before the route timeout expires', async () => {
  const silent = await server(() => PENDING)
  const gateway = await gatewayTo({ good: await server(), silent }, { failureMode: 'failOpen' }, { timeout: 5000 })
  const opening = post(gateway.url, initialize())
  await asked(silent, 'initialize')
  await expect.poll(() => gateway.clock.waiting).toBeGreaterThan(1)
  gateway.clock.advance(4500)
  expect((await opening).messages).toMatchObject([{ id: 1, result: { serverInfo: { name: 'gwctl' } } }])
})

test('FailClosed: a target that never answers yields an error within the route timeout', async () => {
  const good = await server()
  const silent = await server((_rpc, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
    return PENDING
  })
  const gateway = await gatewayTo({ good, silent }, {}, { timeout: 5000 })
  const opening = post(gateway.url, initialize())
  await asked(silent, 'initialize')
  await expect.poll(() => gateway.clock.waiting).toBeGreaterThan(1)
  gateway.clock.advance(5000)
  const reply = await opening
  // The call may end before its head has arrived, or after.
  expect(reply.messages).toMatchObject([
    { id: 1, error: { code: -32603, message: expect.stringMatching(/has not answered in time|timeout/) } },
  ])
  expect(reply.headers.has('mcp-session-id')).toBe(false)
})

test('the route timeout limits how long a stdio target may take to start answering a call', async () => {
  const program = `
    const say = m => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...m }) + '\\n')
    require('node:readline').createInterface({ input: process.stdin }).on('line', line => {
      const { id, method, params } = JSON.parse(line)
      if (method === 'initialize') say({ id, result: { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: {} } })
      if (method === 'tools/call' && params.name === 'quick') say({ id, result: { content: [] } })
      if (method === 'notifications/cancelled') process.stderr.write('canceled ' + params.requestId + '\\n')
    })`
  const stdio = { cmd: process.execPath, args: ['-e', program] }
  const gateway = await startGateway({ targets: [{ name: 's', stdio }] }, { timeout: 5000 })
  closing.push(() => gateway.close())
  const headers = { 'mcp-session-id': await begin(gateway.url) }
  const call = (id: number, name: string) =>
    post(gateway.url, { jsonrpc: '2.0', id, method: 'tools/call', params: { name } }, headers)
  const before = gateway.clock.waiting
  const hanging = call(7, 'never')
  await expect.poll(() => gateway.clock.waiting).toBe(before + 2)
  gateway.clock.advance(5000)
  expect((await hanging).messages).toMatchObject([{ id: 7, error: { message: expect.stringMatching(/in time/) } }])
  await expect.poll(() => gateway.logs.join()).toContain('canceled 7')
  expect((await call(8, 'quick')).messages).toMatchObject([{ id: 8, result: {} }])
})

test('a reset connection fails its own call, not the session', async () => {
  for (const more of [0, 1]) {
    const up = await server(({ method, params }, _res, req) => {
      if (method === 'tools/call' && params?.name === 'reset') req.socket.destroy()
      return method === 'tools/call' ? { content: [] } : undefined
    })
    const other = await server()
    const gateway = await gatewayTo(more === 0 ? { a: up } : { a: up, b: other })
    const headers = { 'mcp-session-id': await begin(gateway.url) }
    const call = (name: string) =>
      post(
        gateway.url,
        { jsonrpc: '2.0', id: 3, method: 'tools/call', params: { name: more === 0 ? name : `a_${name}` } },
        headers,
      )
    expect((await call('reset')).messages).toMatchObject([{ id: 3, error: { code: -32603 } }])
    expect((await call('fine')).messages).toMatchObject([{ id: 3, result: { content: [] } }])
    expect(up.received.filter(({ text }) => text.includes('"initialize"'))).toHaveLength(1)
  }
})

test('a reset session stream is reopened within the session', async () => {
  let reset = true
  const up = await server(({ method }, res, req) => {
    if (req.method !== 'GET') return method === 'ping' ? {} : undefined
    if (reset) req.socket.destroy()
    else res.writeHead(200, { 'content-type': 'text/event-stream' }).end('data: {"jsonrpc":"2.0","method":"x"}\n\n')
    reset = false
    return PENDING
  })
  const gateway = await gatewayTo({ a: up })
  const headers = { accept: 'text/event-stream', 'mcp-session-id': await begin(gateway.url) }
  const first = await send(gateway.url, 'GET', headers).then(
    ({ status }) => status,
    () => 0,
  )
  expect(first).not.toBe(404)
  expect((await send(gateway.url, 'GET', headers)).messages).toEqual([{ jsonrpc: '2.0', method: 'x' }])
})

test('a merged list keeps the targets’ extra fields and is private to the client', async () => {
  const page = (name: string, more: object) => () => ({ tools: [{ name, inputSchema: {} }], ...more })
  const a = await server(({ method }) =>
    method === 'tools/list' ? page('x', { _meta: { a: 1, both: 'a' }, ttlMs: 9, cacheScope: 'public' })() : undefined,
  )
  const b = await server(({ method }) =>
    method === 'tools/list' ? page('y', { _meta: { b: 2, both: 'b' }, later: { n: 1 } })() : undefined,
  )
  for (const prefixMode of ['conditional', 'never']) {
    const gateway = await gatewayTo({ a, b }, { prefixMode })
    const list = await post(gateway.url, LIST, { 'mcp-session-id': await begin(gateway.url) })
    expect(list.messages).toMatchObject([
      {
        result: {
          tools: [{}, {}],
          _meta: { a: 1, b: 2, both: 'a' },
          later: { n: 1 },
          ttlMs: 0,
          cacheScope: 'private',
        },
      },
    ])
  }
})

test('a filtered list is not cacheable by others', async () => {
  const a = await server(({ method }) =>
    method === 'tools/list' ? { tools: [], ttlMs: 60_000, cacheScope: 'public' } : undefined,
  )
  const gateway = await gatewayTo({ a }, {}, { rules: [{ allows: () => true }] })
  const list = await post(gateway.url, LIST, { 'mcp-session-id': await begin(gateway.url) })
  expect(list.messages).toMatchObject([{ result: { ttlMs: 0, cacheScope: 'private' } }])
})

test('a method unknown to MCP is not found, and the session survives', async () => {
  const gateway = await gatewayTo({ a: await server(), b: await server() })
  const headers = { 'mcp-session-id': await begin(gateway.url) }
  const reply = await post(gateway.url, { jsonrpc: '2.0', id: 5, method: 'no/such' }, headers)
  expect([reply.status, reply.messages]).toEqual([
    200,
    [{ jsonrpc: '2.0', id: 5, error: { code: -32601, message: 'method not found: no/such' } }],
  ])
})

test('retries read-only requests when a target closes the connection, but not tool calls', async () => {
  for (const more of [0, 1]) {
    const broken = new Set<string>()
    const a = await server(({ method }, _res, req) => {
      if (method !== 'tools/list' && method !== 'tools/call') return undefined
      if (!broken.has(method)) req.socket.destroy()
      broken.add(method)
      return method === 'tools/list' ? { tools: [{ name: 't', inputSchema: {} }] } : { content: [] }
    })
    const gateway = await gatewayTo(more === 0 ? { a } : { a, b: await server() })
    const headers = { 'mcp-session-id': await begin(gateway.url) }
    expect((await post(gateway.url, LIST, headers)).messages).toMatchObject([{ id: 2, result: { tools: [{}] } }])
    const params = { name: more === 0 ? 't' : 'a_t' }
    const call = await post(gateway.url, { jsonrpc: '2.0', id: 3, method: 'tools/call', params }, headers)
    expect(call.messages).toMatchObject([{ id: 3, error: { code: -32603 } }])
    expect(a.received.filter(({ text }) => text.includes('tools/call'))).toHaveLength(1)
  }
})

test.each([1, 2])(
  'a target that answers with a wrong ID or nothing fails only that call, with %d targets',
  async count => {
    const wrong: Record<string, (res: ServerResponse) => unknown> = {
      foreign: res =>
        res.writeHead(200, { 'content-type': 'application/json' }).end('{"jsonrpc":"2.0","id":999,"result":{}}'),
      streamed: res =>
        res
          .writeHead(200, { 'content-type': 'text/event-stream' })
          .end('data: {"jsonrpc":"2.0","id":9,"result":{}}\n\n'),
      page: res => res.writeHead(200, { 'content-type': 'text/html' }).end('<html>'),
      accepted: res => res.writeHead(202).end(),
      right: res =>
        res.writeHead(200, { 'content-type': 'application/json' }).write('{"jsonrpc":"2.0","i') &&
        setImmediate(() => res.end('d": 2,"result":{}}')),
    }
    const up = await server(({ method, params }, res) => {
      if (method !== 'tools/call') return undefined
      wrong[String(params?.name)]?.(res)
      return PENDING
    })
    const other = await server()
    const gateway = await gatewayTo(count === 1 ? { a: up } : { a: up, b: other })
    const headers = { 'mcp-session-id': await begin(gateway.url) }
    for (const name of Object.keys(wrong)) {
      const params = { name: count === 1 ? name : `a_${name}` }
      const { messages } = await post(gateway.url, { jsonrpc: '2.0', id: 2, method: 'tools/call', params }, headers)
      const own = messages.filter(({ id }) => id === 2)
      expect(own, name).toMatchObject([name === 'right' ? { result: {} } : { error: { code: -32603 } }])
    }
  },
)
