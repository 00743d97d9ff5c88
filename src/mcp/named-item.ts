import type { McpItem } from '../http/exchange.ts'
import { isObject, type JsonObject, type Request } from './message.ts'

/** The item that a request names: its kind, and the location of the name. */
export interface NamedItem {
  readonly kind: McpItem['kind']
  readonly at: string
}

const ITEM_METHODS: Readonly<Record<string, NamedItem>> = {
  'tools/call': { kind: 'tool', at: 'params.name' },
  'prompts/get': { kind: 'prompt', at: 'params.name' },
  'resources/read': { kind: 'resource', at: 'params.uri' },
  'resources/subscribe': { kind: 'resource', at: 'params.uri' },
  'resources/unsubscribe': { kind: 'resource', at: 'params.uri' },
  'tasks/get': { kind: 'task', at: 'params.taskId' },
  'tasks/update': { kind: 'task', at: 'params.taskId' },
  'tasks/result': { kind: 'task', at: 'params.taskId' },
  'tasks/cancel': { kind: 'task', at: 'params.taskId' },
}
const REFERENCES: Readonly<Record<string, NamedItem>> = {
  'ref/prompt': { kind: 'prompt', at: 'params.ref.name' },
  'ref/resource': { kind: 'resource', at: 'params.ref.uri' },
}

export function namedItem(request: Request): NamedItem | undefined {
  const { method } = request
  return Object.hasOwn(ITEM_METHODS, method) ? ITEM_METHODS[method] : referenceOf(request)
}

function referenceOf(request: Request): NamedItem | undefined {
  if (request.method !== 'completion/complete') return undefined
  const { ref } = request.params
  const type = isObject(ref) ? ref.type : undefined
  return typeof type === 'string' && Object.hasOwn(REFERENCES, type) ? REFERENCES[type] : undefined
}

/** The request with another name at `at`, which `bytes` already contain. */
export function renamed(request: Request, at: string, bytes: Buffer, name: string): Request {
  const [, param = '', inner] = at.split('.')
  if (inner !== undefined) return { ...request, bytes }
  return { ...request, bytes, params: { ...request.params, [param]: name } }
}

export function valueAt(value: JsonObject, path: string): unknown {
  let at: unknown = value
  for (const step of path.split('.')) at = isObject(at) ? at[step] : undefined
  return at
}
