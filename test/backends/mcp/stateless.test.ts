import { afterEach, describe, expect, test } from 'vitest'
import { type Gateway, type GatewayOptions, startGateway } from './gateway.ts'
import { META, MODERN, modern, STDIO_PROGRAM, say, startModern } from './modern-server.ts'
import { startScript } from './scripted-server.ts'
import { startSdkServer } from './sdk-server.ts'
import { post, type WireReply } from './wire.ts'

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

async function opened<T extends { close(): Promise<unknown> }>(starting: Promise<T>): Promise<T> {
  const it = await starting
  closing.push(() => it.close())
  return it
}

const newer = { name: 'newer', stdio: { cmd: process.execPath, args: ['-e', STDIO_PROGRAM] } }
const older = {
  name: 'older',
  stdio: { cmd: process.execPath, args: [new URL('stdio-server.ts', import.meta.url).pathname, 'older'] },
}

/** A target of each kind: two that know 2026-07-28, three that do not. */
async function all(spec: object = {}, options: GatewayOptions = {}) {
  const [web, old] = await Promise.all([opened(startModern('web')), opened(startSdkServer('old'))])
  const targets = [
    { name: 'web', mcp: { host: web.url } },
    { name: 'old', mcp: { host: `${old.url}/mcp` } },
    { name: 'sse', sse: { host: `${old.url}/sse` } },
    newer,
    older,
  ]
  const gateway = await opened(startGateway({ targets, ...spec }, options))
  return { web, old, gateway }
}

function ask(gateway: Gateway, method: string, params: object = {}, id: number | string = 1): Promise<WireReply> {
  const { body, headers } = modern(id, method, params)
  return post(gateway.url, body, headers)
}

/** The messages of a stream that stays open, as they come; `end` leaves it. */
function listen(gateway: Gateway, body: object, more: Record<string, string>) {
  const abort = new AbortController()
  closing.push(async () => abort.abort())
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...more }
  const init = { method: 'POST', headers, body: JSON.stringify(body), signal: abort.signal }
  const told: unknown[] = []
  const reading = fetch(gateway.url, init).then(async response => {
    let text = ''
    for await (const chunk of response.body ?? []) {
      text += Buffer.from(chunk).toString()
      const found = [...text.matchAll(/^data: ([^\n]*)\n/gm)].map(match => JSON.parse(match[1] as string))
      told.splice(0, told.length, ...found)
    }
  })
  reading.catch(() => {})
  return { told, end: () => abort.abort() }
}

const resultOf = (reply: WireReply) => (reply.messages.at(-1) as { result: Record<string, unknown> }).result
const textOf = (reply: WireReply) => (resultOf(reply).content as { text: string }[])[0]?.text

describe('several targets of both protocol eras', () => {
  test('are presented as one server', async () => {
    const { gateway } = await all()
    const reply = await ask(gateway, 'server/discover')
    expect(resultOf(reply)).toMatchObject({
      resultType: 'complete',
      supportedVersions: expect.arrayContaining([MODERN, '2025-11-25']),
      capabilities: { tools: { listChanged: true }, resources: { subscribe: true }, prompts: {} },
      instructions: expect.stringMatching(/\[web\]\nThis is web\.\n\n\[old\]\nThis is old\./),
      ttlMs: 0,
      cacheScope: 'private',
      _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'gwctl' } },
    })
    expect(resultOf(reply).capabilities).toHaveProperty('logging')
    expect(reply.headers.has('mcp-session-id')).toBe(false)
  })

  test('are listed together, with no shared caching', async () => {
    const { gateway } = await all()
    const { tools, ...more } = resultOf(await ask(gateway, 'tools/list'))
    const names = (tools as { name: string }[]).map(({ name }) => name).filter(name => name.endsWith('_echo'))
    expect(names).toEqual(['web_echo', 'old_echo', 'sse_echo', 'newer_echo', 'older_echo'])
    expect(more).toEqual({ resultType: 'complete', ttlMs: 0, cacheScope: 'private' })
  })

  test('are each called in their own protocol', async () => {
    const { web, gateway } = await all()
    const call = (name: string) => ask(gateway, 'tools/call', { name, arguments: { text: 'x', n: 7 } })
    expect(textOf(await call('web_echo'))).toBe('web undefined')
    expect(textOf(await call('old_echo'))).toBe('old: x')
    expect(textOf(await call('sse_echo'))).toBe('old: x')
    expect(textOf(await call('newer_echo'))).toBe('7')
    const reply = await call('older_echo')
    expect(textOf(reply)).toBe('older: x')
    expect(resultOf(reply).resultType).toBe('complete')
    const { headers, text } = web.received.at(-1) ?? { headers: {}, text: '' }
    expect(headers).toMatchObject({ 'mcp-name': 'echo', 'mcp-method': 'tools/call', 'mcp-protocol-version': MODERN })
    expect(JSON.parse(text).params._meta).toEqual(META)
  })

  test('resource URIs carry their target, and fields missing from older servers are added', async () => {
    const { gateway } = await all()
    const read = (uri: string) => ask(gateway, 'resources/read', { uri }).then(resultOf)
    expect(await read('web+note://one')).toMatchObject({ contents: [{ uri: 'web+note://one' }], ttlMs: 60_000 })
    expect(await read('old+note://one')).toMatchObject({
      contents: [{ uri: 'old+note://one', text: 'old note' }],
      resultType: 'complete',
      ttlMs: 0,
      cacheScope: 'private',
    })
  })

  test('routes a target’s question to the client and the answer back with its state intact', async () => {
    const { gateway } = await all()
    const first = resultOf(await ask(gateway, 'tools/call', { name: 'web_ask' }))
    expect(first).toMatchObject({ resultType: 'input_required', requestState: 'sealed', inputRequests: { q: {} } })
    const { requestState } = first
    const params = { name: 'web_ask', requestState, inputResponses: { q: { action: 'accept' } } }
    expect(textOf(await ask(gateway, 'tools/call', params, 2))).toBe('web {"q":{"action":"accept"}}')
  })

  test('one program serves concurrent requests with equal IDs, each with its own progress', async () => {
    const { gateway } = await all()
    const call = (n: number) => {
      const { body, headers } = modern(1, 'tools/call', { name: 'newer_echo', arguments: { n } })
      const { params } = body as { params: { _meta: object } }
      Object.assign(params, { _meta: { ...params._meta, progressToken: `p${n}` } })
      return post(gateway.url, body, headers)
    }
    const replies = await Promise.all([1, 2, 3, 4].map(call))
    expect(replies.map(textOf)).toEqual(['1', '2', '3', '4'])
    for (const [i, { messages }] of replies.entries()) {
      expect(messages).toMatchObject([{ params: { progressToken: `p${i + 1}` } }, { id: 1 }])
    }
    expect(new Set(replies.map(reply => resultOf(reply).pid)).size).toBe(1)
  })

  test('a subscription starts once all targets accept, and reports each under its own names', async () => {
    const { web, gateway } = await all()
    const notifications = {
      toolsListChanged: true,
      resourceSubscriptions: ['web+note://one', 'old+note://one', 'nobody'],
    }
    const { body, headers } = modern('sub', 'subscriptions/listen', { notifications })
    const { told, end } = listen(gateway, body, headers)
    const about = { _meta: { 'io.modelcontextprotocol/subscriptionId': 'sub' } }
    await expect
      .poll(() => told[0])
      .toEqual({
        jsonrpc: '2.0',
        method: 'notifications/subscriptions/acknowledged',
        params: { notifications: { toolsListChanged: true, resourceSubscriptions: ['web+note://one'] }, ...about },
      })
    expect(JSON.parse(web.received.at(-1)?.text ?? '').params.notifications).toEqual({
      toolsListChanged: true,
      resourceSubscriptions: ['note://one'],
    })
    const [stream] = web.subscribed.values()
    if (!stream) throw new Error('nobody listens')
    say(stream, 'notifications/resources/updated', { uri: 'note://one', ...about })
    await expect.poll(() => told).toHaveLength(3)
    expect(told).toContainEqual({ jsonrpc: '2.0', method: 'notifications/tools/list_changed', params: about })
    expect(told).toContainEqual({
      jsonrpc: '2.0',
      method: 'notifications/resources/updated',
      params: { uri: 'web+note://one', ...about },
    })
    end()
    await expect.poll(() => web.subscribed.size).toBe(0)
  })

  test('rules hide and reject as they do in sessions', async () => {
    const { gateway, web } = await all({}, { rules: [{ allows: (_x, { target }) => target === 'newer' }] })
    const { tools } = resultOf(await ask(gateway, 'tools/list'))
    expect(tools).toMatchObject([{ name: 'newer_echo' }])
    const denied = await ask(gateway, 'tools/call', { name: 'web_echo' })
    expect([denied.status, denied.messages]).toMatchObject([
      400,
      [{ error: { code: -32602, message: 'Unknown tool: web_echo' } }],
    ])
    // The target agrees to whatever it is asked for.
    const notifications = { resourceSubscriptions: ['web+note://one'] }
    const { body, headers } = modern('sub', 'subscriptions/listen', { notifications })
    const { told } = listen(gateway, body, headers)
    await expect.poll(() => told[0]).toMatchObject({ params: { notifications } })
    expect(web.received.at(-1)?.text).not.toContain('"note://one"')
  })

  test('FailOpen: a dead target is skipped; FailClosed: it is an error', async () => {
    const web = await opened(startModern('web'))
    const targets = [
      { name: 'web', mcp: { host: web.url } },
      { name: 'dead', mcp: { host: 'http://127.0.0.1:1/mcp' } },
    ]
    const open = await opened(startGateway({ targets, failureMode: 'failOpen' }))
    expect(resultOf(await ask(open, 'server/discover'))).toMatchObject({ capabilities: { tools: {} } })
    expect(resultOf(await ask(open, 'tools/list'))).toMatchObject({ tools: [{ name: 'web_echo' }] })
    const closed = await opened(startGateway({ targets }))
    expect((await ask(closed, 'tools/list')).messages).toMatchObject([{ id: 1, error: { code: -32603 } }])
  })
})

describe('one target over stdio', () => {
  test.each([newer, older])('answers requests without a session: $name', async target => {
    const gateway = await opened(startGateway({ targets: [target] }))
    const { capabilities } = resultOf(await ask(gateway, 'server/discover')) as { capabilities: object }
    expect(capabilities).toMatchObject({ tools: {} })
    const { tools } = resultOf(await ask(gateway, 'tools/list')) as { tools: { name: string }[] }
    expect(tools.map(({ name }) => name)).toContain('echo')
  })
})

describe('header checks of a 2026-07-28 request', () => {
  const call = { jsonrpc: '2.0', id: 5, method: 'tools/call', params: { name: 'a_echo', _meta: META } }
  const right = { 'mcp-protocol-version': MODERN, 'mcp-method': 'tools/call', 'mcp-name': 'a_echo' }
  const version = 'io.modelcontextprotocol/protocolVersion'

  test.each([
    ['no method header', call, { ...right, 'mcp-method': undefined }, 400, -32020],
    ['a mismatched method header', call, { ...right, 'mcp-method': 'tools/list' }, 400, -32020],
    ['no name header', call, { ...right, 'mcp-name': undefined }, 400, -32020],
    ['a mismatched name header', call, { ...right, 'mcp-name': 'a_other' }, 400, -32020],
    ['a name in a different letter case', call, { ...right, 'mcp-name': 'A_echo' }, 400, -32020],
    ['a malformed base64 wrapper', call, { ...right, 'mcp-name': '=?base64?YV9lY2hv!?=' }, 400, -32020],
    ['no version header', call, { ...right, 'mcp-protocol-version': undefined }, 400, -32020],
    ['an older version header', call, { ...right, 'mcp-protocol-version': '2025-11-25' }, 400, undefined],
    ['a future version', call, { ...right, 'mcp-protocol-version': '2099-01-01' }, 400, -32022],
    ['no _meta', { ...call, params: { name: 'a_echo' } }, right, 400, -32602],
    ['no capabilities', { ...call, params: { name: 'a_echo', _meta: { [version]: MODERN } } }, right, 400, -32602],
    [
      'a session-only method',
      { ...call, method: 'ping', params: { _meta: META } },
      { ...right, 'mcp-method': 'ping', 'mcp-name': undefined },
      404,
      -32601,
    ],
    [
      'an unknown method',
      { ...call, method: 'x/y', params: { _meta: META } },
      { ...right, 'mcp-method': 'x/y', 'mcp-name': undefined },
      404,
      -32601,
    ],
    [
      'an unknown target',
      { ...call, params: { name: 'z_echo', _meta: META } },
      { ...right, 'mcp-name': 'z_echo' },
      400,
      -32602,
    ],
  ])('%s', async (_what, body, headers, status, code) => {
    const [a, b] = await Promise.all([opened(startModern('a')), opened(startModern('b'))])
    const targets = [
      { name: 'a', mcp: { host: a.url } },
      { name: 'b', mcp: { host: b.url } },
    ]
    const gateway = await opened(startGateway({ targets }))
    const reply = await post(gateway.url, body, headers)
    expect(reply.status).toBe(status)
    if (code !== undefined) expect(reply.messages).toMatchObject([{ id: 5, error: { code } }])
    expect(a.received.length + b.received.length).toBe(0)
  })

  test('a non-ASCII name arrives encoded and is forwarded encoded', async () => {
    const [a, b] = await Promise.all([opened(startModern('a')), opened(startScript(() => undefined))])
    const targets = [
      { name: 'a', mcp: { host: a.url } },
      { name: 'b', mcp: { host: b.url } },
    ]
    const gateway = await opened(startGateway({ targets, failureMode: 'failOpen' }))
    const wrap = (text: string) => `=?base64?${Buffer.from(text).toString('base64')}?=`
    const { body } = modern(1, 'tools/call', { name: 'a_grüßen' })
    await post(gateway.url, body, { ...right, 'mcp-name': wrap('a_grüßen') })
    expect(a.received.at(-1)?.headers['mcp-name']).toBe(wrap('grüßen'))
  })
})

test('with one target the prefix is also stripped from the header', async () => {
  const a = await opened(startModern('a'))
  const gateway = await opened(startGateway({ targets: [{ name: 'a', mcp: { host: a.url } }], prefixMode: 'always' }))
  expect(textOf(await ask(gateway, 'tools/call', { name: 'a_echo' }))).toBe('a undefined')
})

test('unprefixed names are looked up in every target', async () => {
  const a = await opened(startModern('a'))
  const targets = [{ name: 'a', mcp: { host: a.url } }, older]
  const gateway = await opened(startGateway({ targets, prefixMode: 'never' }))
  expect(textOf(await ask(gateway, 'tools/call', { name: 'link' }))).toBe(undefined)
  const unclear = await ask(gateway, 'tools/call', { name: 'echo' })
  expect([unclear.status, unclear.messages]).toMatchObject([400, [{ error: { code: -32602 } }]])
})

test('an idle program ends, and restarts for the next request', async () => {
  const gateway = await opened(startGateway({ targets: [newer] }, { sessions: { ttl: 60_000 } }))
  const pid = async () => resultOf(await ask(gateway, 'tools/call', { name: 'echo' })).pid
  const first = await pid()
  expect(await pid()).toBe(first)
  gateway.clock.advance(91_000)
  expect(await pid()).not.toBe(first)
})

test('errors from programs get the same status as over HTTP', async () => {
  const gateway = await opened(startGateway({ targets: [newer] }))
  const reply = await ask(gateway, 'tools/call', { name: 'lacking' })
  expect([reply.status, reply.messages]).toMatchObject([400, [{ id: 1, error: { code: -32021 } }]])
})

test.each(['initialize', 'ping', 'resources/subscribe'])('%s never reaches a target', async method => {
  const a = await opened(startModern('a'))
  const gateway = await opened(startGateway({ targets: [{ name: 'a', mcp: { host: a.url } }] }))
  const reply = await ask(gateway, method)
  expect([reply.status, reply.messages]).toMatchObject([404, [{ id: 1, error: { code: -32601 } }]])
  expect(a.received).toEqual([])
})

test('an unknown revision gets the list of sessionless revisions', async () => {
  const a = await opened(startModern('a'))
  const gateway = await opened(startGateway({ targets: [{ name: 'a', mcp: { host: a.url } }] }))
  const { body, headers } = modern(1, 'tools/list')
  const text = JSON.stringify(body).replaceAll(MODERN, '2099-01-01')
  const reply = await post(gateway.url, text, { ...headers, 'mcp-protocol-version': '2099-01-01' })
  expect(reply.messages).toMatchObject([{ error: { code: -32022, data: { supported: [MODERN] } } }])
})
