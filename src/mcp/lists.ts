import type { McpItem } from '../http/exchange.ts'
import { type Cursors, encodeCursor } from './cursor.ts'
import { parseExact } from './exact-json.ts'
import { isObject, type JsonObject, type RequestId } from './message.ts'
import { prefixName, prefixUri } from './names.ts'

/** How clients see names and URIs: prefixed with the target, or unchanged. */
export interface Naming {
  readonly names: boolean
  readonly uris: boolean
}

interface ListMethod {
  /** The member of the result with the items. */
  readonly key: string
  readonly kind: McpItem['kind']
  /** The member of an item with its name. */
  readonly name: string
  readonly capability: string
}

export const LIST_METHODS: Readonly<Record<string, ListMethod>> = {
  'tools/list': { key: 'tools', kind: 'tool', name: 'name', capability: 'tools' },
  'prompts/list': { key: 'prompts', kind: 'prompt', name: 'name', capability: 'prompts' },
  'resources/list': { key: 'resources', kind: 'resource', name: 'uri', capability: 'resources' },
  'resources/templates/list': {
    key: 'resourceTemplates',
    kind: 'resource',
    name: 'uriTemplate',
    capability: 'resources',
  },
  'tasks/list': { key: 'tasks', kind: 'task', name: 'taskId', capability: 'tasks' },
}

export interface Page {
  readonly target: string
  readonly result: JsonObject
}

/** The form of a tool that clients see, if any. */
export interface ToolReview {
  shown(target: string, tool: JsonObject): JsonObject | undefined
}

/** `allows` checks each item by its own name; rejected items leave no trace in the list. */
export function listItems(
  method: ListMethod,
  page: Page,
  naming: Naming,
  allows: (item: McpItem) => boolean,
  guard?: ToolReview,
): JsonObject[] {
  const items = page.result[method.key]
  if (!Array.isArray(items)) return []
  const out: JsonObject[] = []
  for (const listed of items as unknown[]) {
    const item = isObject(listed) && guard && method.kind === 'tool' ? guard.shown(page.target, listed) : listed
    if (!isObject(item)) continue
    const name = item[method.name]
    if (typeof name !== 'string' || !allows({ kind: method.kind, name, target: page.target })) continue
    const named = { ...item, [method.name]: clientName(method.kind, page.target, name, naming) }
    out.push(method.kind === 'tool' ? withUiResource(named, page.target, naming, allows) : named)
  }
  return out
}

/** Merges the pages of several targets into one reply; of their other members the first value wins. */
export function mergedPage(
  id: RequestId,
  method: ListMethod,
  pages: readonly JsonObject[],
  items: readonly JsonObject[],
  next: Cursors,
): string {
  const nextCursor = encodeCursor(next)
  const result = {
    ...membersOf(pages, method),
    [method.key]: items,
    ...(nextCursor === undefined ? {} : { nextCursor }),
  }
  return JSON.stringify({ jsonrpc: '2.0', id, result })
}

/** The page of the only target, without hidden items and no longer shareable between clients. */
export function filteredPage(
  id: RequestId,
  method: ListMethod,
  page: JsonObject,
  items: readonly JsonObject[],
): string {
  return JSON.stringify({ jsonrpc: '2.0', id, result: { ...page, [method.key]: items, ...privately(page) } })
}

function membersOf(pages: readonly JsonObject[], { key }: ListMethod): JsonObject {
  const out: Record<string, unknown> = {}
  const meta: Record<string, unknown> = {}
  for (const { nextCursor: _nextCursor, _meta, [key]: _items, ...others } of pages) {
    for (const [name, value] of Object.entries(others)) out[name] ??= value
    if (isObject(_meta)) for (const [name, value] of Object.entries(_meta)) meta[name] ??= value
  }
  return { ...out, ...(Object.keys(meta).length === 0 ? {} : { _meta: meta }), ...privately(out) }
}

/** Caches must not share one client's view with another, nor keep it after the rules have changed. */
function privately(page: JsonObject): JsonObject {
  return { ...('cacheScope' in page ? { cacheScope: 'private' } : {}), ...('ttlMs' in page ? { ttlMs: 0 } : {}) }
}

/** A result that rules have decided about. */
export function privateReply(bytes: Buffer): Buffer {
  if (!bytes.includes('"cacheScope"')) return bytes
  const whole = parseExact(bytes.toString()) as JsonObject
  if (!isObject(whole.result)) return bytes
  return Buffer.from(JSON.stringify({ ...whole, result: { ...whole.result, ...privately(whole.result) } }))
}

export function clientName(kind: McpItem['kind'], target: string, name: string, naming: Naming): string {
  if (kind === 'tool' || kind === 'prompt') return naming.names ? prefixName(target, name) : name
  if (!naming.uris) return name
  return kind === 'task' ? `${target}+${name}` : prefixUri(target, name)
}

/** MCP Apps: a tool references the resource that displays its result; references to hidden resources are removed. */
function withUiResource(
  tool: JsonObject,
  target: string,
  naming: Naming,
  allows: (item: McpItem) => boolean,
): JsonObject {
  const meta = tool._meta
  if (!isObject(meta) || !isObject(meta.ui) || typeof meta.ui.resourceUri !== 'string') return tool
  const { resourceUri, ...rest } = meta.ui
  const uri = resourceUri as string
  const ui = allows({ kind: 'resource', name: uri, target })
    ? { ...rest, resourceUri: clientName('resource', target, uri, naming) }
    : rest
  return { ...tool, _meta: { ...meta, ui } }
}
