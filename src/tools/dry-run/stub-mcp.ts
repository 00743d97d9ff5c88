import { isObject, type JsonObject, type Request, readMessage } from '../../mcp/message.ts'
import { LATEST_SESSION_VERSION } from '../../mcp/protocol.ts'
import { jsonReply, type StubCall, type StubReply } from './stub-transport.ts'

/** An item that a server offers: its name, or its whole description. */
export type McpEntry = string | (JsonObject & { readonly name: string })

/** An in-memory MCP server. Items that are not listed do not exist. */
export interface McpStub {
  /** `result`: of a call, as text, a whole result with `content`, or any other value as JSON. */
  readonly tools?: readonly McpEntry[]
  /** `text`: of its only message. */
  readonly prompts?: readonly McpEntry[]
  /** `uri` and `text`. */
  readonly resources?: readonly McpEntry[]
}

const INVALID_PARAMS = -32602
const METHOD_NOT_FOUND = -32601

export function mcpReply(server: McpStub, { method, body }: StubCall): StubReply {
  // It sends nothing unsolicited.
  if (method !== 'POST') return { status: method === 'DELETE' ? 200 : 405 }
  const message = readMessage(body)
  if (message.kind === 'unreadable') return { status: 400, body: message.problem }
  if (message.kind !== 'request') return { status: 202 }
  return jsonReply({ jsonrpc: '2.0', id: message.id, ...answerTo(message, server) })
}

type RpcOutcome = { readonly result: unknown } | { readonly error: { readonly code: number; readonly message: string } }

function answerTo({ method, params }: Request, server: McpStub): RpcOutcome {
  const tools = (server.tools ?? []).map(entryOf)
  const prompts = (server.prompts ?? []).map(entryOf)
  const resources = (server.resources ?? []).map(entryOf).map(withAddress)
  switch (method) {
    case 'initialize':
      return { result: greeting(params.protocolVersion) }
    case 'server/discover':
      return { result: { supportedVersions: [], ...greeting(undefined) } }
    case 'tools/list':
      // A server without a list of tools may have any.
      return { result: server.tools ? { tools: tools.map(shownTool) } : {} }
    case 'tools/call':
      return one(tools, 'name', params.name, 'tool', tool => toolResult(tool.result))
    case 'prompts/list':
      return { result: server.prompts ? { prompts: prompts.map(without('text')) } : {} }
    case 'prompts/get':
      return one(prompts, 'name', params.name, 'prompt', ({ text }) => ({
        messages: [{ role: 'user', content: { type: 'text', text: text ?? '' } }],
      }))
    case 'resources/list':
      return { result: { resources: resources.map(without('text')) } }
    case 'resources/templates/list':
      return { result: { resourceTemplates: [] } }
    case 'resources/read':
      return one(resources, 'uri', params.uri, 'resource', ({ uri, text }) => ({
        contents: [{ uri, text: text ?? '' }],
      }))
    case 'ping':
    case 'logging/setLevel':
    case 'resources/subscribe':
    case 'resources/unsubscribe':
      return { result: {} }
    default:
      return { error: { code: METHOD_NOT_FOUND, message: `the stub has no method ${method}` } }
  }
}

function greeting(asked: unknown) {
  return {
    protocolVersion: typeof asked === 'string' ? asked : LATEST_SESSION_VERSION,
    capabilities: { tools: {}, prompts: {}, resources: {} },
    serverInfo: { name: 'stub', version: '1' },
  }
}

type Entry = JsonObject & { readonly name: string }

function entryOf(entry: McpEntry): Entry {
  return typeof entry === 'string' ? { name: entry } : entry
}

function withAddress(resource: Entry): Entry {
  return { uri: `stub:///${resource.name}`, ...resource }
}

function shownTool({ result: _, ...tool }: Entry): JsonObject {
  return { inputSchema: { type: 'object' }, ...tool }
}

function without(hidden: string) {
  return (entry: JsonObject): JsonObject =>
    Object.fromEntries(Object.entries(entry).filter(([name]) => name !== hidden))
}

function one(
  entries: readonly Entry[],
  field: 'name' | 'uri',
  wanted: unknown,
  what: string,
  result: (entry: Entry) => unknown,
): RpcOutcome {
  const found = entries.find(entry => entry[field] === wanted)
  if (found) return { result: result(found) }
  return { error: { code: INVALID_PARAMS, message: `the stub has no ${what} ${JSON.stringify(wanted)}` } }
}

function toolResult(result: unknown): unknown {
  if (isObject(result) && Array.isArray(result.content)) return result
  const text = typeof result === 'string' ? result : JSON.stringify(result ?? {})
  return { content: [{ type: 'text', text }] }
}
