import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { afterEach, expect, test } from 'vitest'
import { startGateway, type TestGateway } from '../../helpers/gateway.ts'
import { startScript } from './scripted-server.ts'
import { type SdkServer, startSdkServer } from './sdk-server.ts'
import { begin, post } from './wire.ts'

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

async function start(text: string): Promise<TestGateway> {
  const gateway = await startGateway(text)
  closing.push(async () => gateway[Symbol.asyncDispose]())
  return gateway
}

async function server(label: string): Promise<SdkServer> {
  const up = await startSdkServer(label)
  closing.push(() => up.close())
  return up
}

async function connect(gateway: TestGateway): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(new StreamableHTTPClientTransport(new URL(`${gateway.url(3000)}/mcp`)))
  closing.push(() => client.close())
  return client
}

const names = async (client: Client) => (await client.listTools()).tools.map(tool => tool.name)

test('a route with several targets and rules serves what the rules allow', async () => {
  const [time, notes] = await Promise.all([server('time'), server('notes')])
  const gateway = await start(`
binds:
- port: 3000
  listeners:
  - routes:
    - policies:
        mcpAuthorization:
          rules:
          - 'mcp.tool.name == "echo"'
          - 'mcp.tool.name == "big" && mcp.tool.target == "notes"'
          - deny: 'has(request.headers.blocked)'
      backends:
      - mcp:
          targets:
          - {name: time, mcp: {host: "${time.url}/mcp"}}
          - {name: notes, mcp: {host: "${notes.url}/mcp"}}
`)
  const client = await connect(gateway)
  expect(await names(client)).toEqual(['time_echo', 'notes_echo', 'notes_big'])
  const url = new URL(`${gateway.url(3000)}/mcp`)
  const headers = { 'mcp-session-id': await begin(url) }
  const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
  expect((await post(url, list, { ...headers, blocked: '1' })).messages).toMatchObject([{ result: { tools: [] } }])
  const call = { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'time_big', arguments: { bytes: 1 } } }
  const denied = await post(url, call, headers)
  expect([denied.status, denied.text]).toEqual([
    400,
    '{"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"Unknown tool: time_big"}}',
  ])
})

test('route rules and backend rules are combined', async () => {
  const up = await server('up')
  const gateway = await start(`
binds:
- port: 3000
  listeners:
  - routes:
    - policies: {mcpAuthorization: {rules: ['mcp.tool.name == "echo"', {deny: 'mcp.tool.name == "secret"'}]}}
      backends:
      - policies: {mcpAuthorization: {rules: ['mcp.tool.name in ["big", "secret"]']}}
        mcp: {targets: [{name: up, mcp: {host: "${up.url}/mcp"}}]}
`)
  expect((await names(await connect(gateway))).sort()).toEqual(['big', 'echo'])
})

test('target policies apply to calls to that target only', async () => {
  const [one, two] = await Promise.all([startScript(() => undefined), startScript(() => undefined)])
  closing.push(
    () => one.close(),
    () => two.close(),
  )
  const gateway = await start(`
mcp:
  port: 3000
  targets:
  - name: one
    mcp: {host: "${one.url}"}
    policies: {requestHeaderModifier: {add: {x-target: one}, remove: [x-client]}}
  - {name: two, mcp: {host: "${two.url}"}}
`)
  await begin(new URL(`${gateway.url(3000)}/mcp`), { 'x-client': 'c' })
  expect(one.received[0]?.headers).toMatchObject({ 'x-target': 'one' })
  expect(one.received[0]?.headers['x-client']).toBeUndefined()
  expect(two.received[0]?.headers).toMatchObject({ 'x-client': 'c' })
  expect(two.received[0]?.headers['x-target']).toBeUndefined()
})

test('sessions survive a reload that leaves their backend unchanged', async () => {
  const up = await server('up')
  const config = (port: number) => `
binds:
- port: 3000
  listeners:
  - routes:
    - backends: [{mcp: {targets: [{name: up, sse: {host: "${up.url}/sse"}}]}}]
- port: ${port}
  listeners: [{routes: [{policies: {directResponse: {status: 200, body: ok}}}]}]
`
  const gateway = await start(config(4000))
  const client = await connect(gateway)
  expect(await gateway.reload(config(4001))).toEqual([])
  expect(await names(client)).toContain('echo')
})
