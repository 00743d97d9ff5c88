import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { CreateMessageRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { afterEach, describe, expect, test } from 'vitest'
import { type Gateway, type GatewayOptions, startGateway } from './gateway.ts'
import { type SdkServer, startSdkServer } from './sdk-server.ts'

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

const KINDS = {
  mcp: (up: SdkServer) => ({ mcp: { host: `${up.url}/mcp` } }),
  sse: (up: SdkServer) => ({ sse: { host: `${up.url}/sse` } }),
  stdio: () => ({
    stdio: { cmd: process.execPath, args: [new URL('stdio-server.ts', import.meta.url).pathname, 'up'] },
  }),
} as const

async function setUp(
  kind: keyof typeof KINDS,
  options: GatewayOptions = {},
): Promise<{ up: SdkServer; gateway: Gateway; client: Client; transport: StreamableHTTPClientTransport }> {
  const up = await startSdkServer('up')
  closing.push(() => up.close())
  const gateway = await startGateway({ targets: [{ name: 'time', ...KINDS[kind](up) }] }, options)
  closing.push(() => gateway.close())
  const client = new Client({ name: 'test', version: '1' }, { capabilities: { sampling: {} } })
  const transport = new StreamableHTTPClientTransport(gateway.url)
  await client.connect(transport)
  closing.push(() => client.close())
  return { up, gateway, client, transport }
}

describe.each(['mcp', 'sse', 'stdio'] as const)('a single %s target', kind => {
  test('answers calls under its original names', async () => {
    const { client } = await setUp(kind)
    expect(client.getServerVersion()?.name).toBe('up')
    expect((await client.listTools()).tools.map(tool => tool.name)).toContain('echo')
    const result = await client.callTool({ name: 'echo', arguments: { text: 'hi' } })
    expect(result.content).toEqual([{ type: 'text', text: 'up: hi' }])
    expect((await client.readResource({ uri: 'note://one' })).contents[0]).toMatchObject({ uri: 'note://one' })
    expect((await client.getPrompt({ name: 'greet', arguments: { who: 'Ann' } })).messages).toHaveLength(1)
  })

  test('delivers every progress report before the result', async () => {
    const { client } = await setUp(kind)
    const seen: number[] = []
    await client.callTool({ name: 'progress', arguments: { steps: 5 } }, undefined, {
      onprogress: ({ progress }) => seen.push(progress),
    })
    expect(seen).toEqual([1, 2, 3, 4, 5])
  })

  test('lets the server send requests to the client', async () => {
    const { client } = await setUp(kind)
    client.setRequestHandler(CreateMessageRequestSchema, () => ({
      model: 'm',
      role: 'assistant',
      content: { type: 'text', text: 'pong' },
    }))
    const result = await client.callTool({ name: 'sample', arguments: {} })
    expect(JSON.stringify(result.content)).toContain('pong')
    const pinged = await client.callTool({ name: 'ping-client', arguments: {} })
    expect(pinged.content).toEqual([{ type: 'text', text: 'up ponged' }])
  })

  test('carries a result of 12 MB', async () => {
    const { client } = await setUp(kind)
    const result = await client.callTool({ name: 'big', arguments: { bytes: 12_000_000 } })
    expect((result.content as { text: string }[])[0]?.text).toHaveLength(12_000_000)
  })
})
