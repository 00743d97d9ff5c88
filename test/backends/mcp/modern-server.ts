import type { ServerResponse } from 'node:http'
import { PENDING, type Rpc, type ScriptedServer, startScript } from './scripted-server.ts'

export const MODERN = '2026-07-28'
const KEY = 'io.modelcontextprotocol/'

const FORM = { type: 'object', properties: { ok: { type: 'boolean' } } }

export const META = {
  [`${KEY}protocolVersion`]: MODERN,
  [`${KEY}clientCapabilities`]: { elicitation: {} },
  [`${KEY}clientInfo`]: { name: 'wire', version: '1' },
}

/** The body and the header fields of a request of 2026-07-28. */
export function modern(
  id: number | string,
  method: string,
  params: object = {},
): { readonly body: object; readonly headers: Record<string, string> } {
  const { name, uri } = params as { name?: string; uri?: string }
  const named = name ?? uri
  return {
    body: { jsonrpc: '2.0', id, method, params: { ...params, _meta: META } },
    headers: {
      'mcp-protocol-version': MODERN,
      'mcp-method': method,
      ...(named === undefined ? {} : { 'mcp-name': named }),
    },
  }
}

export interface ModernServer extends ScriptedServer {
  /** Streams of `subscriptions/listen`, by the id of the request. */
  readonly subscribed: Map<Rpc['id'], ServerResponse>
}

/** A server of 2026-07-28 alone: refuses what does not say so in header and body alike. */
export async function startModern(label: string): Promise<ModernServer> {
  const subscribed = new Map<Rpc['id'], ServerResponse>()
  const up = await startScript((rpc, res, req) => {
    const { params, method, id } = rpc
    const refuse = (status: number, code: number, message: string) => {
      res.writeHead(status, { 'content-type': 'application/json' })
      res.end(JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } }))
    }
    const meta = (params?._meta ?? {}) as Record<string, unknown>
    const { headers } = req
    if (headers['mcp-protocol-version'] !== MODERN || meta[`${KEY}protocolVersion`] !== MODERN) {
      return refuse(400, -32022, 'unsupported version')
    }
    const name = params?.name ?? params?.uri
    if (headers['mcp-method'] !== method || (name !== undefined && headers['mcp-name'] !== name)) {
      return refuse(400, -32020, 'header mismatch')
    }
    if (method === 'subscriptions/listen') {
      subscribed.set(id, res)
      res.on('close', () => subscribed.delete(id))
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      const about = { _meta: { [`${KEY}subscriptionId`]: id } }
      say(res, 'notifications/subscriptions/acknowledged', { notifications: params?.notifications, ...about })
      return PENDING
    }
    return answerOf(label, rpc) ?? refuse(404, -32601, 'Method not found')
  })
  return { ...up, subscribed }
}

export function say(res: ServerResponse, method: string, params: object): void {
  res.write(`event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', method, params })}\n\n`)
}

/** What servers of both eras say; `undefined` for what they do not know. */
function answerOf(label: string, { method, params }: Rpc): object | undefined {
  const cached = { resultType: 'complete', ttlMs: 60_000, cacheScope: 'public' }
  switch (method) {
    case 'server/discover':
      return {
        ...cached,
        supportedVersions: [MODERN],
        capabilities: { tools: { listChanged: true }, resources: { subscribe: true } },
        instructions: `This is ${label}.`,
      }
    case 'tools/list':
      return { ...cached, tools: [{ name: 'echo', inputSchema: { type: 'object' } }] }
    case 'resources/read':
      return { ...cached, contents: [{ uri: params?.uri, text: label }] }
    case 'tools/call':
      return params?.name === 'ask' && params.requestState === undefined
        ? {
            resultType: 'input_required',
            inputRequests: {
              q: { method: 'elicitation/create', params: { message: 'Go on?', requestedSchema: FORM } },
            },
            requestState: 'sealed',
          }
        : {
            resultType: 'complete',
            content: [{ type: 'text', text: `${label} ${JSON.stringify(params?.inputResponses)}` }],
          }
    default:
      return undefined
  }
}

/** The same over stdio; reports progress before it answers a call, and its process id in `pid`. */
export const STDIO_PROGRAM = `
  const meta = 'io.modelcontextprotocol/'
  const say = m => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...m }) + '\\n')
  require('node:readline').createInterface({ input: process.stdin }).on('line', line => {
    const { id, method, params = {} } = JSON.parse(line)
    const done = result => say({ id, result: { resultType: 'complete', ...result } })
    if (id === undefined) return
    const about = params._meta ?? {}
    if (about[meta + 'protocolVersion'] !== '2026-07-28') return say({ id, error: { code: -32022, message: 'unsupported' } })
    if (method === 'server/discover') done({ supportedVersions: ['2026-07-28'], capabilities: { tools: {} } })
    else if (method === 'tools/list') done({ tools: [{ name: 'echo', inputSchema: {} }], ttlMs: 5, cacheScope: 'public' })
    else if (params.name === 'lacking') say({ id, error: { code: -32021, message: 'lacking', data: {} } })
    else if (method === 'tools/call') {
      const { progressToken } = about
      if (progressToken !== undefined) say({ method: 'notifications/progress', params: { progressToken, progress: 1 } })
      setImmediate(() => done({ content: [{ type: 'text', text: String(params.arguments?.n) }], pid: process.pid }))
    } else if (method === 'subscriptions/listen') {
      const tag = { _meta: { [meta + 'subscriptionId']: id } }
      say({ method: 'notifications/subscriptions/acknowledged', params: { notifications: params.notifications, ...tag } })
      say({ method: 'notifications/tools/list_changed', params: tag })
    } else say({ id, error: { code: -32601, message: 'Method not found' } })
  })`
