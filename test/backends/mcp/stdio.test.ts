import { readFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { afterEach, expect, test } from 'vitest'
import { type Gateway, startGateway } from './gateway.ts'
import { PENDING, startScript } from './scripted-server.ts'
import { begin, initialize, post, type WireReply } from './wire.ts'

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

/**
 * A server that answers each line by `reply`, a function body over `m` (the message) and `say` (writes a line).
 * `greeted` runs once it has introduced itself.
 */
function scripted(reply: string, greeted = ''): { cmd: string; args: string[] } {
  const program = `
    const say = m => process.stdout.write((typeof m === 'string' ? m : JSON.stringify(m)) + '\\n')
    const result = (m, r) => say({ jsonrpc: '2.0', id: m.id, result: r })
    require('node:readline').createInterface({ input: process.stdin }).on('line', line => {
      const m = JSON.parse(line)
      if (m.method === 'initialize') {
        result(m, { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } })
        ${greeted}
        return
      }
      ${reply}
    })`
  return { cmd: process.execPath, args: ['-e', program] }
}

async function setUp(
  stdio: object,
): Promise<{ gateway: Gateway; session: string; call(m: object): Promise<WireReply> }> {
  const gateway = await startGateway({ targets: [{ name: 's', stdio }] })
  closing.push(() => gateway.close())
  const session = await begin(gateway.url)
  const call = (message: object) =>
    post(gateway.url, { jsonrpc: '2.0', id: 9, ...message }, { 'mcp-session-id': session })
  return { gateway, session, call }
}

/** A process that has ended but that nobody has waited for is not alive. */
const isAlive = (pid: number): boolean => {
  try {
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'latin1'))
  } catch {
    return false
  }
}
const resultOf = (reply: WireReply): unknown => (reply.messages.at(-1) as { result: unknown }).result

test('the reference server serves tools, resources and prompts', async () => {
  const program = new URL(
    '../../../node_modules/@modelcontextprotocol/server-everything/dist/index.js',
    import.meta.url,
  )
  const gateway = await startGateway({
    targets: [{ name: 'everything', stdio: { cmd: process.execPath, args: [program.pathname, 'stdio'] } }],
  })
  closing.push(() => gateway.close())
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(new StreamableHTTPClientTransport(gateway.url))
  closing.push(() => client.close())
  expect((await client.listTools()).tools.map(tool => tool.name)).toContain('echo')
  const echoed = await client.callTool({ name: 'echo', arguments: { message: 'hello' } })
  expect(JSON.stringify(echoed.content)).toContain('hello')
  expect((await client.listPrompts()).prompts.length).toBeGreaterThan(0)
  expect((await client.listResources()).resources.length).toBeGreaterThan(0)
})

test('every session has its own process that ends with it', async () => {
  const { gateway, session, call } = await setUp(scripted('if (m.id) result(m, process.pid)'))
  const pid = resultOf(await call({ method: 'tools/list' })) as number
  const other = await begin(gateway.url)
  const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
  expect(resultOf(await post(gateway.url, list, { 'mcp-session-id': other }))).not.toBe(pid)
  expect(session).toMatch(/^[\w-]+$/)
  await fetch(gateway.url, { method: 'DELETE', headers: { 'mcp-session-id': session } })
  await expect.poll(() => isAlive(pid)).toBe(false)
  expect((await call({ method: 'tools/list' })).status).toBe(404)
})

test('a process that ignores end of input is terminated, with its children', async () => {
  const { gateway, session, call } = await setUp(
    scripted(`
      process.on('SIGTERM', () => {})
      setInterval(() => {}, 1000)
      if (m.id) {
        const child = require('node:child_process').spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])
        result(m, [process.pid, child.pid])
      }`),
  )
  const pids = resultOf(await call({ method: 'tools/list' })) as number[]
  await fetch(gateway.url, { method: 'DELETE', headers: { 'mcp-session-id': session } })
  expect(pids.every(isAlive)).toBe(true)
  gateway.clock.advance(4000)
  await expect.poll(() => pids.some(isAlive)).toBe(false)
})

test('a client that disconnects while its session starts leaves no process behind', async () => {
  const program = `process.stderr.write('pid ' + process.pid + '\\n'); process.stdin.resume()`
  const gateway = await startGateway({
    targets: [{ name: 's', stdio: { cmd: process.execPath, args: ['-e', program] } }],
  })
  closing.push(() => gateway.close())
  const leaving = new AbortController()
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  const body = JSON.stringify(initialize())
  const reply = fetch(gateway.url, { method: 'POST', headers, body, signal: leaving.signal })
  const pid = (): number => Number(/pid (\d+)/.exec(gateway.logs.join())?.[1])
  await expect.poll(pid).toBeGreaterThan(0)
  leaving.abort()
  await expect(reply).rejects.toThrow()
  await expect.poll(() => isAlive(pid())).toBe(false)
})

test('a target that exits while another is still starting fails the session', async () => {
  const held: ServerResponse[] = []
  const slow = await startScript((_rpc, res) => {
    held.push(res)
    return PENDING
  })
  closing.push(() => slow.close())
  const gateway = await startGateway({
    targets: [
      { name: 'short', stdio: scripted('', 'setImmediate(() => process.exit(1))') },
      { name: 'slow', mcp: { host: slow.url } },
    ],
  })
  closing.push(() => gateway.close())
  const reply = post(gateway.url, initialize())
  await expect.poll(() => gateway.logs.join()).toContain('the stdio server ended')
  await expect.poll(() => held).toHaveLength(1)
  held[0]?.setHeader('content-type', 'application/json')
  held[0]?.end('{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}')
  expect((await reply).messages).toMatchObject([
    { id: 1, error: { message: expect.stringContaining('a target ended the session') } },
  ])
})

test('shutdown terminates the processes', async () => {
  const { gateway, call } = await setUp(scripted('if (m.id) result(m, process.pid)'))
  const pid = resultOf(await call({ method: 'tools/list' })) as number
  gateway.dropState()
  await expect.poll(() => isAlive(pid)).toBe(false)
})

test('env extends the environment, or replaces it with clear_env', async () => {
  const show = scripted('if (m.id) result(m, [process.env.MINE, process.env.PATH !== undefined])')
  const added = await setUp({ ...show, env: { MINE: '1' } })
  expect(resultOf(await added.call({ method: 'tools/list' }))).toEqual(['1', true])
  const alone = await setUp({ ...show, env: { MINE: '1' }, clear_env: true })
  expect(resultOf(await alone.call({ method: 'tools/list' }))).toEqual(['1', false])
})

test('logs stderr output and lines that are not messages', async () => {
  const { gateway, call } = await setUp(
    scripted(`if (m.id) { process.stderr.write('careful\\n', () => { say('not JSON'); result(m, {}) }) }`),
  )
  await call({ method: 'tools/list' })
  await expect.poll(() => gateway.logs.filter(line => /careful|ignored a line/.test(line))).toHaveLength(2)
})

test('a missing program fails the session', async () => {
  const gateway = await startGateway({ targets: [{ name: 's', stdio: { cmd: '/no/such/program' } }] })
  closing.push(() => gateway.close())
  const reply = await post(gateway.url, initialize())
  expect(reply.status).toBe(500)
  expect(reply.messages).toMatchObject([
    { error: { code: -32603, message: 'failed to send message: failed to start stdio server: no such program' } },
  ])
  expect(reply.text).not.toContain('/no/such')
})

test('an oversized message fails only its own call', async () => {
  const { call } = await setUp(
    scripted(`if (m.method === 'big') process.stdout.write('{"jsonrpc":"2.0","id":9,"result":"' + 'x'.repeat(65 * 1024 * 1024) + '"}\\n')
      else if (m.id) result(m, 'ok')`),
  )
  expect((await call({ method: 'big' })).messages).toMatchObject([{ id: 9, error: { code: -32603 } }])
  expect(resultOf(await call({ method: 'small' }))).toBe('ok')
})

test('a client that disconnects and does not return cancels its call', async () => {
  const { gateway, session, call } = await setUp(
    scripted(`
      if (m.method === 'notifications/cancelled') global.cancelled = m.params.requestId
      else if (m.method === 'seen') result(m, global.cancelled ?? null)
      else if (m.method === 'slow') say({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 1 } })`),
  )
  const abort = new AbortController()
  const reply = await fetch(gateway.url, {
    method: 'POST',
    signal: abort.signal,
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-session-id': session,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 'gone', method: 'slow' }),
  })
  expect(reply.status).toBe(200)
  abort.abort()
  await expect.poll(() => gateway.exchanges.some(x => x.aborted)).toBe(true)
  gateway.clock.advance(5 * 60_000)
  await expect.poll(async () => resultOf(await call({ method: 'seen' }))).toBe('gone')
})

test('a pretty-printed request is sent as one line', async () => {
  const { gateway, session } = await setUp(scripted('if (m.id) result(m, m.params)'))
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'x', params: { text: 'a\nb\u2028c' } }, null, 2)
  const reply = await post(gateway.url, body.replaceAll('\n', '\r\n'), { 'mcp-session-id': session })
  expect(resultOf(reply)).toEqual({ text: 'a\nb\u2028c' })
})

test('server messages wait until a stream is open', async () => {
  const { gateway, session, call } = await setUp(
    scripted(`if (m.id) { result(m, {}); say({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' }) }`),
  )
  await call({ method: 'x' })
  const abort = new AbortController()
  const stream = await fetch(gateway.url, {
    signal: abort.signal,
    headers: { accept: 'text/event-stream', 'mcp-session-id': session },
  })
  const { value } = await (stream.body as ReadableStream<Uint8Array>).getReader().read()
  expect(Buffer.from(value as Uint8Array).toString()).toContain('list_changed')
  abort.abort()
})

const FORGETFUL = `
  const say = m => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...m }) + '\\n')
  const capabilities = { tools: { listChanged: true }, resources: { subscribe: true }, logging: {} }
  const asked = []
  require('node:readline').createInterface({ input: process.stdin }).on('line', line => {
    const { id, method, params } = JSON.parse(line)
    if (id === undefined) return
    if (method === 'initialize') return say({ id, result: { protocolVersion: '2025-11-25', capabilities, serverInfo: {} } })
    if (params?.name === 'crash') process.exit(1)
    if (method !== 'tools/call') asked.push(method + ' ' + Object.values(params))
    say({ id, result: method === 'tools/call' ? { content: [], asked } : {} })
  })`

test('a restarted program gets the client’s log level and subscriptions again, and the client is notified', async () => {
  const stdio = { cmd: process.execPath, args: ['-e', FORGETFUL] }
  const targets = ['a', 'b'].map(name => ({ name, stdio }))
  const sessions = { key: Buffer.alloc(32, 7), ttl: 60_000 }
  const start = async () => {
    const started = await startGateway({ targets, failureMode: 'failOpen' }, { sessions })
    closing.push(() => started.close())
    return started
  }
  const gateway = await start()
  const headers = { 'mcp-session-id': await begin(gateway.url) }
  let id = 1
  const ask = (method: string, params: object, at = gateway) =>
    post(at.url, { jsonrpc: '2.0', id: ++id, method, params }, headers)
  await ask('logging/setLevel', { level: 'error' })
  await ask('resources/subscribe', { uri: 'a+x://one' })
  expect((await ask('tools/call', { name: 'a_crash' })).messages).toMatchObject([{ error: { code: -32603 } }])
  gateway.clock.advance(1000)
  const news = [
    { method: 'notifications/message', params: { level: 'warning', data: expect.stringContaining('target a') } },
    { method: 'notifications/tools/list_changed' },
  ]
  const again = await ask('tools/call', { name: 'a_x' })
  const updated = { method: 'notifications/resources/updated', params: { uri: 'a+x://one' } }
  const asked = ['logging/setLevel error', 'resources/subscribe x://one']
  expect(again.messages).toMatchObject([...news, updated, { result: { asked } }])
  // Another process knows of nothing to ask for.
  const replica = await start()
  expect((await ask('tools/call', { name: 'a_x' }, replica)).messages).toMatchObject([
    ...news,
    { result: { asked: [] } },
  ])
  expect((await ask('tools/call', { name: 'a_x' }, replica)).messages).toHaveLength(1)
})
