import { setImmediate as turnOver } from 'node:timers/promises'
import { afterEach, describe, expect, test } from 'vitest'
import { type Gateway, type GatewayOptions, startGateway } from './gateway.ts'
import { META } from './modern-server.ts'
import { type Rpc, type ScriptedServer, startScript } from './scripted-server.ts'
import { begin, initialize, PROTOCOL, post, send } from './wire.ts'

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

const LIST = { jsonrpc: '2.0', id: 2, method: 'tools/list' }

async function setUp(
  script: (rpc: Rpc) => unknown = () => ({ tools: [] }),
  options: GatewayOptions & { spec?: object } = {},
): Promise<{ up: ScriptedServer; gateway: Gateway }> {
  const up = await startScript(rpc => (rpc.method === 'initialize' ? undefined : script(rpc)), { session: 'up-1' })
  closing.push(() => up.close())
  const gateway = await startGateway({ targets: [{ name: 'a', mcp: { host: up.url } }], ...options.spec }, options)
  closing.push(() => gateway.close())
  return { up, gateway }
}

describe('POST validation', () => {
  test.each([
    [
      'Accept without event streams',
      { accept: 'application/json' },
      406,
      'client must accept both application/json and text/event-stream',
    ],
    [
      'Accept without JSON',
      { accept: 'text/event-stream' },
      406,
      'client must accept both application/json and text/event-stream',
    ],
    ['Content-Type', { 'content-type': 'text/plain' }, 415, 'client must send application/json'],
    ['missing session', {}, 400, 'session header is required for non-initialize requests'],
    ['invalid session', { 'mcp-session-id': 'abc' }, 400, 'invalid session ID header'],
  ])('rejects a request by its %s', async (_what, headers, status, text) => {
    const { up, gateway } = await setUp()
    const reply = await post(gateway.url, LIST, headers)
    expect([reply.status, reply.text]).toEqual([status, `mcp: ${text}`])
    expect(up.received).toEqual([])
  })

  test.each([
    ['malformed JSON', '{"jsonrpc":"2.0",'],
    ['an empty body', ''],
    ['a batch', JSON.stringify([LIST])],
    ['a string', '"x"'],
    ['JSON-RPC 1.0', JSON.stringify({ ...LIST, jsonrpc: '1.0' })],
    ['a null id', JSON.stringify({ ...LIST, id: null })],
    ['an id that is an object', JSON.stringify({ ...LIST, id: {} })],
    ['params that are a list', JSON.stringify({ ...LIST, params: [] })],
    ['a method that is a number', JSON.stringify({ ...LIST, method: 1 })],
    ['invalid UTF-8', Buffer.from('{"jsonrpc":"2.0","id":1,"method":"\xff"}', 'latin1')],
    ['a duplicate field', '{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"tools/call"}'],
    ['a field in two letter cases', '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","Name":"b"}}'],
    [
      'a duplicate field with one escaped',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","n\\u0061me":"b"}}',
    ],
    [
      '100 000 nested lists',
      `{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":${'['.repeat(1e5)}${']'.repeat(1e5)}}}`,
    ],
  ])('rejects %s', async (_what, body) => {
    const { up, gateway } = await setUp()
    const reply = await post(gateway.url, body)
    expect(reply.status).toBe(400)
    expect(reply.text).toMatch(/^mcp: fail to deserialize request body: /)
    expect(up.received).toEqual([])
  })

  test('rejects a 3 MiB body with a JSON-RPC error', async () => {
    const { up, gateway } = await setUp()
    const reply = await post(gateway.url, { ...LIST, params: { fill: 'x'.repeat(3 * 1024 * 1024) } })
    expect(reply.status).toBe(413)
    expect(reply.messages).toMatchObject([{ id: null, error: { code: -32600 } }])
    expect(up.received).toEqual([])
  })

  test('rejects other methods', async () => {
    const { gateway } = await setUp()
    const reply = await send(gateway.url, 'PUT')
    expect([reply.status, reply.text]).toEqual([405, 'mcp: method not allowed; must be GET, POST, or DELETE'])
  })

  test('rejects an unknown protocol version and lists the supported ones', async () => {
    const { gateway } = await setUp()
    const listed = await post(gateway.url, LIST, { 'mcp-protocol-version': '1999-01-01' })
    expect(listed.status).toBe(400)
    expect(listed.messages).toMatchObject([
      {
        id: 2,
        error: { code: -32022, data: { supported: expect.arrayContaining([PROTOCOL]), requested: '1999-01-01' } },
      },
    ])
    const begun = await post(gateway.url, initialize(), { 'mcp-protocol-version': '2025-03-26' })
    expect(begun.messages).toMatchObject([{ id: 1, error: { code: -32020 } }])
  })
})

describe('a session', () => {
  test('is named in the initialize reply and reaches the target under the target’s session ID', async () => {
    const { up, gateway } = await setUp()
    const session = await begin(gateway.url)
    expect((await post(gateway.url, LIST, { 'mcp-session-id': session })).messages).toEqual([
      { jsonrpc: '2.0', id: 2, result: { tools: [] } },
    ])
    expect(up.received.map(request => request.headers['mcp-session-id'])).toEqual([undefined, 'up-1', 'up-1'])
    // Without a key, its id tells nothing.
    expect(session).toMatch(/^[\da-f-]{36}$/)
  })

  test('ends on DELETE, also at the target, and is then unknown', async () => {
    const { up, gateway } = await setUp()
    const session = await begin(gateway.url)
    const headers = { 'mcp-session-id': session }
    expect((await send(gateway.url, 'DELETE', headers)).status).toBe(202)
    await expect
      .poll(() => up.received.at(-1))
      .toMatchObject({ method: 'DELETE', headers: { 'mcp-session-id': 'up-1' } })
    expect((await post(gateway.url, LIST, headers)).status).toBe(404)
    expect((await send(gateway.url, 'DELETE')).text).toBe('mcp: session ID is required')
  })

  test('survives a restart and works on another replica', async () => {
    const sessions = { key: Buffer.alloc(32, 7) }
    const { up, gateway } = await setUp(undefined, { sessions })
    const session = await begin(gateway.url)
    gateway.dropState()
    const replica = await startGateway({ targets: [{ name: 'a', mcp: { host: up.url } }] }, { sessions })
    closing.push(() => replica.close())
    const reply = await post(replica.url, LIST, { 'mcp-session-id': session })
    expect(reply.messages).toMatchObject([{ id: 2, result: {} }])
    expect(up.received.at(-1)?.headers['mcp-session-id']).toBe('up-1')
  })

  test('is bound to its backend and targets', async () => {
    const sessions = { key: Buffer.alloc(32, 7) }
    const { up, gateway } = await setUp(undefined, { sessions })
    const headers = { 'mcp-session-id': await begin(gateway.url) }
    for (const [key, name] of [
      ['other', 'a'],
      ['test/mcp', 'b'],
    ] as const) {
      const other = await startGateway({ targets: [{ name, mcp: { host: up.url } }] }, { key, sessions })
      closing.push(() => other.close())
      expect((await post(other.url, LIST, headers)).status).toBe(404)
    }
  })

  test('is bound to the user who started it', async () => {
    const auth = (x: { request: { headers: { get(name: string): string | undefined } } }) => ({
      jwt: { iss: 'i', sub: x.request.headers.get('x-user') },
    })
    const { gateway } = await setUp(undefined, { auth })
    const session = await begin(gateway.url, { 'x-user': 'ann' })
    expect((await post(gateway.url, LIST, { 'mcp-session-id': session, 'x-user': 'ann' })).status).toBe(200)
    expect((await post(gateway.url, LIST, { 'mcp-session-id': session, 'x-user': 'bob' })).status).toBe(404)
  })

  test('with a key has an ID that cannot be read or forged', async () => {
    const sessions = { key: Buffer.alloc(32, 7) }
    const { up, gateway } = await setUp(undefined, { sessions })
    const session = await begin(gateway.url)
    expect(Buffer.from(session, 'base64').toString('latin1')).not.toContain('up-1')
    const replica = await startGateway({ targets: [{ name: 'a', mcp: { host: up.url } }] }, { sessions })
    closing.push(() => replica.close())
    expect((await post(replica.url, LIST, { 'mcp-session-id': session })).status).toBe(200)
    const flipped = `${session.slice(0, 30)}${session[30] === 'A' ? 'B' : 'A'}${session.slice(31)}`
    expect((await post(gateway.url, LIST, { 'mcp-session-id': flipped })).status).toBe(400)
    const plain = Buffer.from(JSON.stringify({ t: 'mcp', s: [{ t: 'a' }], r: 'x', k: 'test/mcp' })).toString(
      'base64url',
    )
    expect((await post(gateway.url, LIST, { 'mcp-session-id': plain })).status).toBe(400)
  })

  test('expires when idle, unless a request is in flight', async () => {
    const { up, gateway } = await setUp()
    const headers = { 'mcp-session-id': await begin(gateway.url) }
    gateway.clock.advance(29 * 60_000)
    expect((await post(gateway.url, LIST, headers)).status).toBe(200)
    gateway.clock.advance(29 * 60_000)
    expect(up.received.some(request => request.method === 'DELETE')).toBe(false)
    gateway.clock.advance(2 * 60_000)
    await expect.poll(() => up.received.at(-1)?.method).toBe('DELETE')
    expect((await post(gateway.url, LIST, headers)).status).toBe(404)
  })
})

describe('the target', () => {
  test("gets the client's header fields, except connection-specific ones", async () => {
    const { up, gateway } = await setUp()
    await post(gateway.url, initialize(), { authorization: 'Bearer t', 'x-mine': '1', origin: 'https://evil.example' })
    const { headers } = up.received[0] as ScriptedServer['received'][number]
    expect(headers).toMatchObject({ authorization: 'Bearer t', 'x-mine': '1', host: new URL(up.url).host })
    expect(headers.origin).toBeUndefined()
    expect(headers['accept-encoding']).toBeUndefined()
  })

  test('gets a body byte for byte when there is nothing to translate', async () => {
    const { up, gateway } = await setUp()
    const headers = { 'mcp-session-id': await begin(gateway.url) }
    const body =
      '{"jsonrpc":"2.0", "id":9007199254740991,"method":"x/y","params":{"n":12345678901234567890,"f":1.0,"u":"\u2028"}}'
    await post(gateway.url, body, headers)
    expect(up.received.at(-1)?.text).toBe(body)
  })

  test('has its HTTP errors passed on to the client', async () => {
    const up = await startScript((rpc, res) => {
      if (rpc.method === 'tools/list')
        res.writeHead(429, { 'retry-after': '7', 'content-type': 'text/x' }).end('slow down')
    })
    closing.push(() => up.close())
    const gateway = await startGateway({ targets: [{ name: 'a', mcp: { host: up.url } }] })
    closing.push(() => gateway.close())
    const headers = { 'mcp-session-id': await begin(gateway.url) }
    const reply = await post(gateway.url, LIST, headers)
    expect([reply.status, reply.text, reply.headers.get('retry-after')]).toEqual([429, 'slow down', '7'])
    expect((await post(gateway.url, { ...LIST, method: 'ping' }, headers)).status).toBe(200)
  })

  test("that has lost its session ends the client's session", async () => {
    let lost = false
    const { gateway } = await setUp(() => ({ tools: [] }))
    const up = await startScript(
      (rpc, res) => {
        if (lost && rpc.method !== 'initialize') res.writeHead(404).end()
      },
      { session: 's' },
    )
    closing.push(() => up.close())
    expect(gateway).toBeDefined()
    const other = await startGateway({ targets: [{ name: 'a', mcp: { host: up.url } }] })
    closing.push(() => other.close())
    const headers = { 'mcp-session-id': await begin(other.url) }
    lost = true
    expect((await post(other.url, LIST, headers)).status).toBe(404)
    lost = false
    expect((await post(other.url, LIST, headers)).status).toBe(404)
    await begin(other.url)
  })

  test('may reply in any form, and the client gets an event stream', async () => {
    const up = await startScript((rpc, res) => {
      if (rpc.method !== 'tools/list') return
      const pretty = JSON.stringify({ jsonrpc: '2.0', id: rpc.id, result: { tools: [], text: 'é\u2028\n' } }, null, 2)
      res.writeHead(200, { 'content-type': 'application/json; charset=utf-8' })
      for (const byte of Buffer.from(pretty)) res.write(Buffer.of(byte))
      res.end()
    })
    closing.push(() => up.close())
    const gateway = await startGateway({ targets: [{ name: 'a', mcp: { host: up.url } }] })
    closing.push(() => gateway.close())
    const reply = await post(gateway.url, LIST, { 'mcp-session-id': await begin(gateway.url) })
    expect(reply.headers.get('content-type')).toBe('text/event-stream')
    expect(reply.text.startsWith('event: message\ndata: ')).toBe(true)
    expect(reply.messages).toEqual([{ jsonrpc: '2.0', id: 2, result: { tools: [], text: 'é\u2028\n' } }])
  })

  test('without a GET stream makes GET answer 405', async () => {
    const { gateway } = await setUp()
    const session = await begin(gateway.url)
    const reply = await send(gateway.url, 'GET', { accept: 'text/event-stream', 'mcp-session-id': session })
    expect([reply.status, reply.text]).toEqual([405, 'mcp: GET event stream is not supported by any upstream'])
    expect((await send(gateway.url, 'GET', { accept: 'text/event-stream' })).text).toBe('mcp: session ID is required')
    expect((await send(gateway.url, 'GET', { 'mcp-session-id': session, accept: 'a/b' })).status).toBe(406)
  })

  test('that dies mid-reply does not leave the client waiting', async () => {
    const up = await startScript((rpc, res) => {
      if (rpc.method !== 'tools/list') return
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      res.write('event: message\ndata: {"jsonrpc":"2.0","method":"notifications/message","params":{}}\n\n')
      setImmediate(() => res.destroy())
    })
    closing.push(() => up.close())
    const gateway = await startGateway({ targets: [{ name: 'a', mcp: { host: up.url } }] })
    closing.push(() => gateway.close())
    const reply = await post(gateway.url, LIST, { 'mcp-session-id': await begin(gateway.url) })
    expect(reply.messages).toMatchObject([{ method: 'notifications/message' }, { id: 2, error: { code: -32603 } }])
  })

  test.each([
    ['a notification', 'notifications/x', 200, '', 202],
    ['a refused notification', 'notifications/x', 500, '', 500],
    ['a request', 'tools/list', 200, 'event: message\ndata: {"jsonrpc":"2.0","id":2,"result":{"tools":[]}}\n\n', 200],
    ['a refused request', 'tools/list', 500, '', 500],
  ])('that never ends its answer to %s is not read forever', async (_what, method, status, text, answered) => {
    let gone = false
    const { promise: answering, resolve: begins } = Promise.withResolvers<void>()
    const up = await startScript((rpc, res) => {
      if (rpc.method !== method) return
      res.on('close', () => {
        gone = true
      })
      res.writeHead(status, { 'content-type': 'text/event-stream' }).flushHeaders()
      res.write(text)
      begins()
    })
    closing.push(() => up.close())
    // What rules may hide is read, and not passed on as it comes.
    const rules = [{ allows: () => true }]
    // Long enough for the answer to arrive, however far the clock is moved on until then.
    const timeout = 24 * 3600_000
    const gateway = await startGateway({ targets: [{ name: 'a', mcp: { host: up.url } }] }, { rules, timeout })
    closing.push(() => gateway.close())
    const headers = { 'mcp-session-id': await begin(gateway.url) }
    const reply = post(gateway.url, { ...LIST, method, ...(method === LIST.method ? {} : { id: undefined }) }, headers)
    if (answered !== 500) await reply
    // A target that has not answered yet has other limits: what was written is read within these turns.
    await answering
    for (let turn = 0; turn < 20; turn++) await turnOver()
    const later = () => {
      gateway.clock.advance(10_000)
      return gone
    }
    await expect.poll(later).toBe(true)
    expect((await reply).status).toBe(answered)
  })

  test('is called over one connection, even when it answers notifications with a body', async () => {
    const sockets = new Set<unknown>()
    const up = await startScript((rpc, res, req) => {
      sockets.add(req.socket)
      if (rpc.method === 'notifications/x') res.writeHead(202).end('Accepted')
    })
    closing.push(() => up.close())
    const gateway = await startGateway({ targets: [{ name: 'a', mcp: { host: up.url } }] })
    closing.push(() => gateway.close())
    const headers = { 'mcp-session-id': await begin(gateway.url) }
    for (let i = 0; i < 4; i++) await post(gateway.url, { jsonrpc: '2.0', method: 'notifications/x' }, headers)
    expect(sockets.size).toBe(1)
  })

  test('has its call cancelled when the client disconnects', async () => {
    let left: () => void = () => {}
    const gone = new Promise<void>(done => {
      left = done
    })
    const up = await startScript((rpc, res) => {
      if (rpc.method !== 'tools/call') return
      res.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
      res.on('close', left)
    })
    closing.push(() => up.close())
    const gateway = await startGateway({ targets: [{ name: 'a', mcp: { host: up.url } }] })
    closing.push(() => gateway.close())
    const abort = new AbortController()
    const reply = await fetch(gateway.url, {
      method: 'POST',
      signal: abort.signal,
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-session-id': await begin(gateway.url),
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 5, method: 'tools/call', params: { name: 'x' } }),
    })
    expect(reply.status).toBe(200)
    abort.abort()
    await gone
  })
})

test('accepts notifications and responses with 202, even unexpected ones', async () => {
  const { up, gateway } = await setUp()
  const headers = { 'mcp-session-id': await begin(gateway.url) }
  for (const message of [
    { jsonrpc: '2.0', method: 'notifications/whatever' },
    { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 99 } },
    { jsonrpc: '2.0', id: 4711, result: {} },
  ]) {
    const reply = await post(gateway.url, message, headers)
    expect([reply.status, reply.text]).toEqual([202, ''])
    expect(JSON.parse(up.received.at(-1)?.text ?? '')).toEqual(message)
  }
})

test('reports a disallowed item as unknown', async () => {
  const { up, gateway } = await setUp(undefined, { rules: [{ allows: (_x, { name }) => name === 'echo' }] })
  const headers = { 'mcp-session-id': await begin(gateway.url) }
  const reply = await post(
    gateway.url,
    { jsonrpc: '2.0', id: 's', method: 'tools/call', params: { name: 'echo_secret' } },
    headers,
  )
  expect(reply.status).toBe(400)
  expect(reply.headers.get('content-type')).toBe('application/json')
  expect(reply.text).toBe('{"jsonrpc":"2.0","id":"s","error":{"code":-32602,"message":"Unknown tool: echo_secret"}}')
  expect(up.received.filter(({ text }) => text.includes('tools/call'))).toEqual([])
})

test('a filtered list keeps allowed items unchanged', async () => {
  const tool = {
    name: 'echo',
    title: 'Echo',
    icons: [{ src: 'data:x' }],
    inputSchema: { type: 'object', $defs: { a: { maximum: 1 } }, additionalProperties: false },
    outputSchema: { type: 'object' },
    annotations: { readOnlyHint: true },
    _meta: { x: 1 },
  }
  const { gateway } = await setUp(
    () => ({ tools: [{ name: 'hidden', inputSchema: {} }, tool], nextCursor: '', _meta: { y: 2 } }),
    { rules: [{ allows: (_x, { name }) => name === 'echo' }] },
  )
  const reply = await post(gateway.url, LIST, { 'mcp-session-id': await begin(gateway.url) })
  expect(reply.messages).toEqual([
    { jsonrpc: '2.0', id: 2, result: { tools: [tool], nextCursor: '', _meta: { y: 2 } } },
  ])
})

test('in stateless mode every request opens and closes its own target session', async () => {
  const { up, gateway } = await setUp(() => ({ tools: [] }), { spec: { statefulMode: 'stateless' } })
  const reply = await post(gateway.url, LIST)
  expect(reply.headers.has('mcp-session-id')).toBe(false)
  expect(reply.messages).toMatchObject([{ id: 2, result: {} }])
  await expect.poll(() => up.received.at(-1)?.method).toBe('DELETE')
  expect(up.received.map(({ text }) => text && JSON.parse(text).method)).toEqual([
    'initialize',
    'notifications/initialized',
    'tools/list',
    '',
  ])
  expect((await post(gateway.url, initialize())).headers.has('mcp-session-id')).toBe(false)
  expect((await send(gateway.url, 'GET', { accept: 'text/event-stream' })).status).toBe(405)
})

test('DNS rebinding protection accepts local origins only', async () => {
  const { gateway } = await setUp(undefined, { spec: { dnsRebindingProtection: true } })
  expect((await post(gateway.url, initialize())).status).toBe(200)
  expect((await post(gateway.url, initialize(), { origin: `http://localhost:${gateway.url.port}` })).status).toBe(200)
  const { waiting } = gateway.clock
  for (const origin of ['http://evil.example.com', 'null']) {
    const reply = await post(gateway.url, initialize(), { origin })
    expect(reply.status).toBe(403)
    expect(reply.text).toMatch(/^MCP DNS rebinding protection/)
  }
  // Nothing comes after such an answer.
  expect(gateway.clock.waiting).toBe(waiting)
})

test('2026-07-28 works without a session and authorizes the name in the header', async () => {
  const modern = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call' }
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'echo', _meta: META } }
  const { up, gateway } = await setUp(() => ({ resultType: 'complete', content: [] }), {
    rules: [{ allows: (_x, { name }) => name === 'echo' }],
  })
  const reply = await post(gateway.url, call, { ...modern, 'mcp-name': 'echo' })
  expect(reply.messages).toMatchObject([{ id: 1, result: { resultType: 'complete' } }])
  expect(reply.headers.has('mcp-session-id')).toBe(false)
  const calls = () => up.received.filter(({ headers }) => headers['mcp-method'] === 'tools/call')
  expect(calls()).toMatchObject([{ headers: { 'mcp-name': 'echo', 'mcp-protocol-version': '2026-07-28' } }])
  const other = await post(gateway.url, call, { ...modern, 'mcp-name': 'secret' })
  expect(other.messages).toMatchObject([{ error: { code: -32020 } }])
  const denied = { ...call, params: { name: 'secret', _meta: META } }
  expect((await post(gateway.url, denied, { ...modern, 'mcp-name': '=?base64?c2VjcmV0?=' })).messages).toMatchObject([
    { error: { code: -32602, message: 'Unknown tool: secret' } },
  ])
  expect((await post(gateway.url, call, { ...modern, 'mcp-name': 'echo', 'mcp-session-id': 'x' })).status).toBe(400)
  expect(calls()).toHaveLength(1)
})

test('the trace shows the call to the target, and the exchange records what was called', async () => {
  const traced: string[] = []
  const { gateway } = await setUp(() => ({ content: [] }), { traced })
  const headers = { 'mcp-session-id': await begin(gateway.url) }
  traced.length = 0
  await post(gateway.url, { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'echo' } }, headers)
  expect(traced).toEqual(['mcp', 'mcp a', 'target a callStart a', 'target a callEnd a'])
  expect(gateway.exchanges.at(-1)?.mcp).toEqual({
    method: 'tools/call',
    sessionId: headers['mcp-session-id'],
    tool: { name: 'echo', target: 'a' },
  })
})
