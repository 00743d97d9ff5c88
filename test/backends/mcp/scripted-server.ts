import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Rpc {
  readonly id?: string | number
  readonly method?: string
  readonly params?: Readonly<Record<string, unknown>>
}

export interface ScriptedServer {
  readonly url: string
  /** Everything that came, as it came. */
  readonly received: { method: string; headers: IncomingMessage['headers']; text: string }[]
  close(): Promise<void>
}

type Script = (rpc: Rpc, res: ServerResponse, req: IncomingMessage) => unknown

/**
 * An MCP server that does what a test says. `script` returns the result, or undefined after it has answered by itself;
 * notifications get 202, `initialize` a plain answer and a session, unless `script` deals with them.
 */
export async function startScript(
  script: Script,
  options: { session?: string; version?: string; capabilities?: object } = {},
): Promise<ScriptedServer> {
  const received: ScriptedServer['received'] = []
  const http = createServer(async (req, res) => {
    const chunks: Buffer[] = []
    for await (const chunk of req) chunks.push(chunk as Buffer)
    const text = Buffer.concat(chunks).toString()
    received.push({ method: req.method ?? '', headers: req.headers, text })
    const rpc: Rpc = text === '' ? {} : JSON.parse(text)
    const result = script(rpc, res, req)
    if (res.headersSent || res.writableEnded) return
    if (result === PENDING) return
    if (req.method === 'GET') res.writeHead(405).end()
    else if (req.method === 'DELETE' || rpc.id === undefined || rpc.method === undefined) res.writeHead(202).end()
    else answer(res, rpc, result, options)
  })
  await new Promise<void>(done => http.listen(0, '127.0.0.1', done))
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`,
    received,
    async close() {
      http.closeAllConnections()
      await new Promise(done => http.close(done))
    },
  }
}

/** The script answers later. */
export const PENDING: unique symbol = Symbol('pending')

function answer(
  res: ServerResponse,
  rpc: Rpc,
  result: unknown,
  options: { session?: string; version?: string; capabilities?: object },
): void {
  const { capabilities = { tools: {}, prompts: {}, resources: {} }, session, version = '2025-11-25' } = options
  if (result === undefined && rpc.method === 'initialize') {
    if (session !== undefined) res.setHeader('mcp-session-id', session)
    result = { protocolVersion: version, capabilities, serverInfo: { name: 'script', version: '1' } }
  }
  const body =
    result === undefined
      ? { jsonrpc: '2.0', id: rpc.id, error: { code: -32601, message: 'Method not found' } }
      : { jsonrpc: '2.0', id: rpc.id, result }
  res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}
