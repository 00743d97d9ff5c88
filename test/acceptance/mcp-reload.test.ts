import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { expect, test } from 'vitest'
import { startGateway } from '../helpers/gateway.ts'

const EVERYTHING = 'node_modules/@modelcontextprotocol/server-everything/dist/index.js'
const TARGETS = `{targets: [{name: everything, stdio: {cmd: node, args: [${EVERYTHING}, stdio]}}]}`
const route = (path: string) => `
    - matches: [{path: {exact: ${path}}}]
      backends: [{mcp: ${TARGETS}}]`
const file = (...paths: string[]) => `
binds:
- port: 8080
  listeners:
  - routes:${paths.map(route).join('')}
`

test('sessions survive a reload that moves their unnamed route', async () => {
  await using gateway = await startGateway(file('/a', '/b'))
  const connect = async (path: string) => {
    const client = new Client({ name: 'test', version: '1' })
    const transport = new StreamableHTTPClientTransport(new URL(gateway.url(8080) + path))
    await client.connect(transport)
    return { client, transport }
  }
  const [a, b] = await Promise.all([connect('/a'), connect('/b')])
  const direct = `
    - matches: [{path: {exact: /first}}]
      policies: {directResponse: {status: 200, body: first}}`
  const text = file('/a', '/b').replace('- routes:', `- routes:${direct}`)
  expect(await gateway.reload(text)).toEqual([])
  for (const { client, transport } of [a, b]) {
    const before = transport.sessionId
    const { content } = await client.callTool({ name: 'echo', arguments: { message: 'still here' } })
    expect(JSON.stringify(content)).toContain('still here')
    expect(transport.sessionId).toBe(before)
  }
  // What is gone from the file is over.
  expect(await gateway.reload(file('/c').replace('everything,', 'other,'))).toEqual([])
  await expect(a.client.callTool({ name: 'echo', arguments: { message: 'x' } })).rejects.toThrow()
  await Promise.all([a.client.close(), b.client.close()])
})

test('backends with identical configuration do not share sessions', async () => {
  await using gateway = await startGateway(file('/a', '/b'))
  const transport = new StreamableHTTPClientTransport(new URL(`${gateway.url(8080)}/a`))
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(transport)
  const reply = await fetch(`${gateway.url(8080)}/b`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-session-id': transport.sessionId ?? '',
    },
    body: '{"jsonrpc":"2.0","id":1,"method":"ping"}',
  })
  expect(reply.status).toBe(404)
  await client.close()
})
