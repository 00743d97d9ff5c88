import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { afterEach, expect, test } from 'vitest'
import { type SdkServer, startSdkServer } from '../backends/mcp/sdk-server.ts'
import { startGateway } from '../helpers/gateway.ts'

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

const file = (server: SdkServer, targets: string) => `
binds:
- port: 8080
  listeners:
  - routes:
    - backends:
      - mcp: {targets: [${targets}]}
backends:
- name: servers
  host: ${new URL(server.url).host}
  policies:
    requestHeaderModifier: {set: {x-from-backend: named}}
    backendAuth: {key: secret}
`

async function client(url: string): Promise<Client> {
  const connected = new Client({ name: 'test', version: '1' })
  await connected.connect(new StreamableHTTPClientTransport(new URL(url)))
  closing.push(() => connected.close())
  return connected
}

test('reaches MCP targets through a named backend and applies its policies', async () => {
  const server = await startSdkServer('one')
  closing.push(() => server.close())
  const targets = '{name: web, mcp: {backend: /servers, path: /mcp}}, {name: old, sse: {backend: /servers, path: /sse}}'
  const gateway = await startGateway(file(server, targets))
  closing.push(async () => gateway[Symbol.asyncDispose]())
  const connected = await client(gateway.url(8080))
  for (const name of ['web_echo', 'old_echo']) {
    const { content } = await connected.callTool({ name, arguments: { text: 'x' } })
    expect(content).toEqual([{ type: 'text', text: 'one: x' }])
  }
  const call = server.requests.find(({ rpc }) => rpc === 'tools/call')
  expect(call?.headers).toMatchObject({
    'x-from-backend': 'named',
    authorization: 'Bearer secret',
    host: new URL(server.url).host,
  })
})
