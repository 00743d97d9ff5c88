import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js'
import { CreateMessageRequestSchema, ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { afterEach, expect, test } from 'vitest'
import { type Gateway, startGateway } from './gateway.ts'
import { startSdkServer } from './sdk-server.ts'
import { initialize, post, send } from './wire.ts'

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

async function setUp(
  names: readonly string[],
): Promise<{ gateway: Gateway; url: URL; ups: Awaited<ReturnType<typeof startSdkServer>>[] }> {
  const ups = await Promise.all(names.map(startSdkServer))
  for (const up of ups) closing.push(() => up.close())
  const gateway = await startGateway({
    targets: ups.map((up, i) => ({ name: names[i], mcp: { host: `${up.url}/mcp` } })),
  })
  closing.push(() => gateway.close())
  return { gateway, url: new URL('/sse?tenant=1', gateway.url), ups }
}

test.each([[['one']], [['one', 'two']]])('an HTTP+SSE client uses the targets %j', async names => {
  const { url, ups } = await setUp(names)
  const client = new Client({ name: 'old', version: '1' }, { capabilities: { sampling: {} } })
  client.setRequestHandler(CreateMessageRequestSchema, () => ({
    model: 'm',
    role: 'assistant',
    content: { type: 'text', text: 'pong' },
  }))
  const changed = new Promise(done => client.setNotificationHandler(ToolListChangedNotificationSchema, done))
  await client.connect(new SSEClientTransport(url))
  closing.push(() => client.close())
  const prefix = names.length > 1 ? 'one_' : ''
  const echoed = await client.callTool({ name: `${prefix}echo`, arguments: { text: 'hi' } })
  expect(echoed.content).toEqual([{ type: 'text', text: 'one: hi' }])
  const sampled = await client.callTool({ name: `${prefix}sample`, arguments: {} })
  expect(JSON.stringify(sampled.content)).toContain('pong')
  const unknown = client.callTool({ name: 'none_such', arguments: {} })
  expect(
    await unknown.then(
      result => result.isError,
      () => true,
    ),
  ).toBe(true)
  await expect
    .poll(() => ups[0]?.requests.some(({ method, reply }) => method === 'GET' && reply.headersSent))
    .toBe(true)
  const [session] = ups[0]?.sessions.values() ?? []
  await session?.server.server.sendToolListChanged()
  await changed
  await client.close()
  await expect.poll(() => ups.map(up => up.sessions.size)).toEqual(ups.map(() => 0))
})

test('rejects a POST without an SSE session', async () => {
  const { url, gateway } = await setUp(['one'])
  const missing = await post(url, initialize())
  expect([missing.status, missing.text]).toEqual([422, 'mcp: failed to process session_id query parameter'])
  expect((await post(new URL('/sse?sessionId=x', gateway.url), initialize())).status).toBe(404)
  expect((await send(url, 'DELETE')).status).toBe(405)
})
