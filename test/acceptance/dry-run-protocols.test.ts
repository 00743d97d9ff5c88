import type { IncomingMessage, ServerResponse } from 'node:http'
import { describe, expect, test } from 'vitest'
import type { DryCall, DryOutcome, DryRequest } from '../../src/tools/dry-run/dry-run.ts'
import { loadDryGateway } from '../../src/tools/dry-run/dry-run.ts'
import { modelReply } from '../../src/tools/dry-run/stub-llm.ts'
import { type McpStub, mcpReply } from '../../src/tools/dry-run/stub-mcp.ts'
import type { StubCall } from '../../src/tools/dry-run/stub-transport.ts'
import { startGateway } from '../helpers/gateway.ts'
import { startUpstream } from '../helpers/upstream.ts'
import { send } from './differential/client.ts'

const SERVER: McpStub = {
  tools: [{ name: 'echo', result: 'said' }, 'reset'],
  prompts: [{ name: 'hi', text: 'Hello!' }],
  resources: [{ name: 'page', uri: 'file:///page', text: 'words' }],
}

/** Its place in the configuration is `HOST`. */
const CONFIG = `binds:
- port: 3000
  listeners:
  - routes:
    - name: openai
      matches: [{path: {pathPrefix: /v1}}]
      policies: {transformations: {response: {set: {x-tokens: 'string(llm.totalTokens)'}}}}
      backends:
      - ai: {name: model, provider: {openAI: {}}, hostOverride: 'HOST'}
        policies: {backendAuth: {key: k}}
    - name: anthropic
      matches: [{path: {pathPrefix: /claude}}]
      backends:
      - ai: {name: model, provider: {anthropic: {}}, hostOverride: 'HOST'}
        policies: {backendAuth: {key: k}, ai: {routes: {/claude/v1/messages: messages, '*': completions}}}
    - name: tools
      matches: [{path: {pathPrefix: /mcp}}]
      backends:
      - mcp: {targets: [{name: server, mcp: {host: 'http://HOST/mcp'}}]}
        policies: {mcpAuthorization: {rules: ['!has(mcp.tool) || mcp.tool.name == "echo"']}}
`

const CHAT = { model: 'm', messages: [{ role: 'user', content: 'hi' }] }
const rpc = (method: string, params: object = {}) => ({ jsonrpc: '2.0', id: 1, method, params })
const CLIENT = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } }

/** One after the other: the session of the first goes with those that follow. */
const CASES: Readonly<Record<string, readonly (readonly [path: string, body: unknown])[]>> = {
  'a chat': [['/v1/chat/completions', CHAT]],
  'a chat in pieces': [['/v1/chat/completions', { ...CHAT, stream: true }]],
  'what is no chat': [['/v1/chat/completions', 'nothing']],
  embeddings: [['/v1/embeddings', { model: 'm', input: 'hi' }]],
  'messages of another provider': [['/claude/v1/messages', { ...CHAT, max_tokens: 5 }]],
  'messages in pieces': [['/claude/v1/messages', { ...CHAT, max_tokens: 5, stream: true }]],
  'a format that the provider does not speak': [['/claude/v1/chat/completions', CHAT]],
  'a session of MCP': [
    ['/mcp', rpc('initialize', CLIENT)],
    ['/mcp', { jsonrpc: '2.0', method: 'notifications/initialized' }],
    ['/mcp', rpc('tools/list')],
    ['/mcp', rpc('tools/call', { name: 'echo', arguments: {} })],
    ['/mcp', rpc('tools/call', { name: 'reset', arguments: {} })],
    ['/mcp', rpc('prompts/list')],
    ['/mcp', rpc('resources/read', { uri: 'file:///page' })],
    ['/mcp', rpc('nobody/knows')],
  ],
  'MCP without a session': [['/mcp', rpc('tools/list')]],
  'what is no MCP': [['/mcp', 'nothing']],
}

describe('a dry run matches the engine for model and MCP calls', () => {
  test.each(Object.entries(CASES))('%s', async (_what, requests) => {
    const wire = await overSockets(requests)
    const dry = await dryRun(requests)
    expect(dry).toEqual(wire)
  })
})

interface Seen {
  readonly status: number
  readonly headers: readonly string[]
  readonly body: string
  readonly calls: readonly string[]
}

const FIELDS = ['content-type: application/json', 'accept: application/json, text/event-stream']

async function overSockets(requests: readonly (readonly [string, unknown])[]): Promise<Seen[]> {
  const calls: string[] = []
  await using upstream = await startUpstream((req, res) => void answer(req, res, calls))
  await using gateway = await startGateway(CONFIG.replaceAll('HOST', upstream.host))
  const port = gateway.gateway.portOf(3000)!
  const seen: Seen[] = []
  let session: string[] = []
  for (const [path, body] of requests) {
    calls.length = 0
    const headers = ['host: gateway.test', ...FIELDS, ...session]
    const [reply] = await send({ name: path, method: 'POST', path, headers, body: JSON.stringify(body) }, port)
    const { status, headers: fields, body: text } = reply!
    session = session.length > 0 ? session : fields.filter(line => /^mcp-session-id:/i.test(line))
    seen.push(comparable({ status, headers: fields, body: text, calls: [...calls] }, upstream.host))
  }
  return seen
}

async function answer(req: IncomingMessage, res: ServerResponse, calls: string[]): Promise<void> {
  const body = Buffer.concat(await req.toArray())
  const { method = '', url: path = '' } = req
  calls.push(
    `${method} ${path} ${body}`,
    ...req.rawHeaders.flatMap((name, i, all) => (i % 2 ? [] : `${name}: ${all[i + 1]}`)),
  )
  // What stubs look at of a call.
  const call = { method, path, body } as StubCall
  const {
    status,
    headers = [],
    body: text = '',
  } = path.startsWith('/mcp') ? mcpReply(SERVER, call) : modelReply({}, call)
  res.sendDate = false
  res.writeHead(status, Object.fromEntries(headers))
  res.end(text)
}

const DRY_HOST = '127.0.0.1:50001'

async function dryRun(requests: readonly (readonly [string, unknown])[]): Promise<Seen[]> {
  const texts = [{ file: 'test.yaml', text: CONFIG.replaceAll('HOST', DRY_HOST) }]
  const stubs = new Map([['server', { mcp: SERVER }]])
  const { gateway } = await loadDryGateway(texts, { cwd: '/', env: {}, stubs })
  const seen: Seen[] = []
  let session: DryRequest['headers'] = []
  for (const [path, body] of requests) {
    const headers = ['host: gateway.test', ...FIELDS].map(line => line.split(': ') as [string, string])
    const bytes = Buffer.from(JSON.stringify(body))
    const outcome = await gateway!.run({
      method: 'POST',
      url: path,
      port: 3000,
      headers: [...headers, ...session],
      body: bytes,
    })
    session = session.length > 0 ? session : outcome.headers.filter(([name]) => name.toLowerCase() === 'mcp-session-id')
    seen.push(comparable(seenIn(outcome), DRY_HOST))
  }
  return seen
}

function seenIn({ status = 0, headers, body, upstream }: DryOutcome): Seen {
  const lines = (all: DryCall['headers']) => all.map(([name, value]) => `${name}: ${value}`)
  const calls = upstream.flatMap(call => [`${call.method} ${call.path} ${call.body}`, ...lines(call.headers)])
  return { status, headers: lines(headers), body: body.toString('latin1'), calls }
}

/** Without what frames bodies on one connection, and what differs from run to run. */
function comparable({ status, headers, body, calls }: Seen, host: string): Seen {
  const plain = (text: string) =>
    text
      .replaceAll(host, 'HOST')
      .replace(/^mcp-session-id: .*/i, 'mcp-session-id: <id>')
      .replace(/^[^:{ ]+:/, name => name.toLowerCase())
  const kept = (line: string) =>
    !/^(?:date|connection|keep-alive|transfer-encoding|content-length|traceparent):/i.test(line)
  const lines = (all: readonly string[]) => all.filter(kept).map(plain).sort()
  return { status, headers: lines(headers), body: plain(body), calls: lines(calls) }
}
