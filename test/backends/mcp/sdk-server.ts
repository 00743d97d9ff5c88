import { randomUUID } from 'node:crypto'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js'
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { z } from 'zod'

export interface SdkServer {
  readonly url: string
  readonly requests: {
    readonly method: string
    readonly headers: IncomingHttpHeaders
    readonly rpc?: string
    /** A stream is only written to once its head has gone. */
    readonly reply: { readonly headersSent: boolean }
  }[]
  /** Calls of the tool `wait` that were cancelled. */
  readonly cancelled: string[]
  readonly sessions: Map<string, { readonly transport: StreamableHTTPServerTransport; readonly server: McpServer }>
  close(): Promise<void>
}

/** What the test servers offer; `label` tells two of them apart. */
export function buildServer(label: string, cancelled: string[] = []): McpServer {
  const server = new McpServer(
    { name: label, version: '1.0.0' },
    { capabilities: { logging: {}, resources: { subscribe: true } }, instructions: `This is ${label}.` },
  )
  const text = (value: string) => ({ content: [{ type: 'text' as const, text: value }] })
  server.registerTool('echo', { description: 'Echo', inputSchema: { text: z.string() } }, ({ text: said }) =>
    text(`${label}: ${said}`),
  )
  server.registerTool('secret', { description: 'Hidden' }, () => text(`${label} secret`))
  server.registerTool('big', { inputSchema: { bytes: z.number() } }, ({ bytes }) => text('x'.repeat(bytes)))
  server.registerTool('link', {}, () => ({
    content: [
      { type: 'resource_link', uri: 'note://one', name: 'one' },
      { type: 'resource', resource: { uri: 'note://one', text: label } },
    ],
  }))
  server.registerTool('progress', { inputSchema: { steps: z.number() } }, async ({ steps }, extra) => {
    const progressToken = extra._meta?.progressToken
    for (let progress = 1; progressToken !== undefined && progress <= steps; progress++) {
      await extra.sendNotification({
        method: 'notifications/progress',
        params: { progressToken, progress, total: steps },
      })
    }
    return text(`${label} done`)
  })
  server.registerTool('sample', {}, async extra => {
    const answer = await server.server.createMessage(
      { messages: [{ role: 'user', content: { type: 'text', text: `from ${label}` } }], maxTokens: 5 },
      { relatedRequestId: extra.requestId },
    )
    return text(`${label} sampled ${JSON.stringify(answer.content)}`)
  })
  server.registerTool('ping-client', {}, async () => {
    await server.server.ping()
    return text(`${label} ponged`)
  })
  server.registerTool('wait', {}, async extra => {
    await new Promise<void>(done => extra.signal.addEventListener('abort', () => done()))
    cancelled.push(label)
    return text('late')
  })
  server.registerTool('grow', {}, () => {
    server.registerTool('grown', {}, () => text(`${label} grew`))
    return text('ok')
  })
  server.registerTool('crash', {}, () => process.exit(3))
  server.registerPrompt('greet', { argsSchema: { who: z.string() } }, ({ who }) => ({
    messages: [{ role: 'user', content: { type: 'text', text: `${label} greets ${who}` } }],
  }))
  server.registerResource('one', 'note://one', {}, uri => ({ contents: [{ uri: uri.href, text: `${label} note` }] }))
  server.registerResource('any', new ResourceTemplate('note://any/{id}', { list: undefined }), {}, uri => ({
    contents: [{ uri: uri.href, text: `${label} ${uri.href}` }],
  }))
  return server
}

/** A real MCP server over Streamable HTTP at `/mcp` and over HTTP+SSE at `/sse`. */
export async function startSdkServer(label: string): Promise<SdkServer> {
  const sessions: SdkServer['sessions'] = new Map()
  const streams = new Map<string, SSEServerTransport>()
  const requests: SdkServer['requests'] = []
  const cancelled: string[] = []
  const http = createServer(async (req, res) => {
    const body = await readBody(req)
    const rpc = (body as { method?: string } | undefined)?.method
    requests.push({ method: req.method ?? '', headers: req.headers, reply: res, ...(rpc === undefined ? {} : { rpc }) })
    if (req.url === '/mcp') await streamable(req, res, body)
    else if (req.url === '/sse') {
      const transport = new SSEServerTransport('/messages', res)
      streams.set(transport.sessionId, transport)
      await buildServer(label, cancelled).connect(transport)
    } else {
      const id = new URL(req.url ?? '/', 'http://localhost').searchParams.get('sessionId') ?? ''
      await streams.get(id)?.handlePostMessage(req, res, body)
    }
  })
  const streamable = async (req: IncomingMessage, res: ServerResponse, body: unknown): Promise<void> => {
    const id = req.headers['mcp-session-id']
    const known = typeof id === 'string' ? sessions.get(id) : undefined
    if (known) return known.transport.handleRequest(req, res, body)
    if (id !== undefined) {
      res.writeHead(404).end('no such session')
      return
    }
    const server = buildServer(label, cancelled)
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: session => {
        sessions.set(session, { transport, server })
      },
      onsessionclosed: session => {
        sessions.delete(session)
      },
    })
    await server.connect(transport)
    await transport.handleRequest(req, res, body)
  }
  await new Promise<void>(done => http.listen(0, '127.0.0.1', done))
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    requests,
    cancelled,
    sessions,
    async close() {
      http.closeAllConnections()
      await new Promise(done => http.close(done))
    },
  }
}

async function readBody(req: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = []
  for await (const chunk of req) chunks.push(chunk as Buffer)
  return chunks.length === 0 ? undefined : JSON.parse(Buffer.concat(chunks).toString())
}
