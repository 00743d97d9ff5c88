import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { startGateway } from '../helpers/gateway.ts'

const entry = (password: string) => `ann:{SHA}${createHash('sha1').update(password).digest('base64')}`
const route = (path: string, password: string) =>
  `{matches: [{path: {pathPrefix: /${path}}}], policies: {basicAuth: {htpasswd: '${entry(password)}'}}, backends: [{backend: /tools}]}`

/** An MCP server that answers every request with the result of `initialize`. */
const server = `process.stdin.on('data', data => { for (const line of String(data).trim().split('\\n')) { const { id } = JSON.parse(line); if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, result: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' }, tools: [] } })) } })`

test('users of two password files never share a session, though their names are the same', async () => {
  await using gateway = await startGateway(
    `binds: [{port: 8080, listeners: [{routes: [${route('a', 'one')}, ${route('b', 'two')}]}]}]
backends: [{name: tools, mcp: {targets: [{name: t, stdio: {cmd: node, args: ['-e', ${JSON.stringify(server)}]}}]}}]`,
  )
  const post = (path: string, password: string, method: string, session?: string) =>
    fetch(`${gateway.url(8080)}${path}`, {
      method: 'POST',
      headers: {
        authorization: `Basic ${Buffer.from(`ann:${password}`).toString('base64')}`,
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        ...(session ? { 'mcp-session-id': session, 'mcp-protocol-version': '2025-11-25' } : {}),
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method,
        params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } },
      }),
    })
  const session = (await post('/a', 'one', 'initialize')).headers.get('mcp-session-id') ?? ''
  expect(session).not.toBe('')
  expect((await post('/a', 'one', 'tools/list', session)).status).toBe(200)
  expect((await post('/b', 'two', 'tools/list', session)).status).toBe(404)
})
