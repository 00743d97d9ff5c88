import { parseExact } from './exact-json.ts'
import { clientName, type Naming } from './lists.ts'
import { isObject, type JsonObject, type Notification, type Request, type RequestId, type Response } from './message.ts'
import { prefixId } from './names.ts'

const RELATED_TASK = 'io.modelcontextprotocol/related-task'

/** A target's request or notification as the client of several targets sees it. */
export function rewriteServerMessage(target: string, message: Request | Notification, naming: Naming): Buffer {
  if (!naming.uris) return message.bytes
  const value = parseExact(message.bytes.toString()) as Record<string, unknown>
  const params = isObject(value.params) ? rewriteParams(target, message, value.params, naming) : undefined
  const id = message.kind === 'request' ? { id: prefixId(target, message.id) } : {}
  return Buffer.from(JSON.stringify({ ...value, ...id, ...(params === undefined ? {} : { params }) }))
}

/** The same for the result of a call to one target. */
export function rewriteResult(target: string, message: Response, naming: Naming): Buffer {
  if (!naming.uris || !mentionsItems(message.bytes)) return message.bytes
  const value = parseExact(message.bytes.toString()) as Record<string, unknown>
  if (isObject(value.error)) {
    const error = { ...value.error, data: withUri(target, value.error.data, naming) }
    return Buffer.from(JSON.stringify({ ...value, error }))
  }
  if (!isObject(value.result)) return message.bytes
  return Buffer.from(JSON.stringify({ ...value, result: rewriteItems(target, value.result, naming) }))
}

/** Cheaper than parsing a large result without names. */
function mentionsItems(bytes: Buffer): boolean {
  return bytes.includes('"uri"') || bytes.includes('"taskId"')
}

function rewriteItems(target: string, result: JsonObject, naming: Naming): JsonObject {
  const out: Record<string, unknown> = { ...result }
  if (Array.isArray(result.content)) out.content = result.content.map(block => rewriteBlock(target, block, naming))
  if (Array.isArray(result.contents)) out.contents = result.contents.map(item => withUri(target, item, naming))
  if (Array.isArray(result.messages)) {
    out.messages = result.messages.map((message: unknown) =>
      isObject(message) ? { ...message, content: rewriteContent(target, message.content, naming) } : message,
    )
  }
  if (isObject(result.task)) out.task = withTaskId(target, result.task)
  if (isObject(result._meta)) out._meta = rewriteMeta(target, result._meta)
  return withTaskId(target, out)
}

function rewriteContent(target: string, content: unknown, naming: Naming): unknown {
  return Array.isArray(content)
    ? content.map(block => rewriteBlock(target, block, naming))
    : rewriteBlock(target, content, naming)
}

function rewriteBlock(target: string, block: unknown, naming: Naming): unknown {
  if (!isObject(block)) return block
  if (block.type === 'resource_link') return withUri(target, block, naming)
  return block.type === 'resource' ? { ...block, resource: withUri(target, block.resource, naming) } : block
}

function withUri(target: string, item: unknown, naming: Naming): unknown {
  if (!isObject(item) || typeof item.uri !== 'string') return item
  return { ...item, uri: clientName('resource', target, item.uri, naming) }
}

function withTaskId(target: string, item: JsonObject): JsonObject {
  return typeof item.taskId === 'string' ? { ...item, taskId: `${target}+${item.taskId}` } : item
}

function rewriteMeta(target: string, meta: JsonObject): JsonObject {
  const related = meta[RELATED_TASK]
  return isObject(related) ? { ...meta, [RELATED_TASK]: withTaskId(target, related) } : meta
}

function rewriteParams(
  target: string,
  message: Request | Notification,
  params: JsonObject,
  naming: Naming,
): JsonObject | undefined {
  const out: Record<string, unknown> = { ...params }
  if (isObject(params._meta)) out._meta = rewriteMeta(target, params._meta)
  if (message.kind === 'request') {
    // The client reports progress under this token, which must identify the target that chose it.
    const token = isObject(params._meta) ? params._meta.progressToken : undefined
    if (isId(token)) out._meta = { ...(out._meta as JsonObject), progressToken: prefixId(target, token) }
    return out
  }
  switch (message.method) {
    case 'notifications/resources/updated':
      return withUri(target, out, naming) as JsonObject
    case 'notifications/tasks/status':
      return withTaskId(target, out)
    case 'notifications/cancelled':
      return isId(params.requestId) ? { ...out, requestId: prefixId(target, params.requestId) } : out
    default:
      return out
  }
}

function isId(value: unknown): value is RequestId {
  return typeof value === 'string' || typeof value === 'number'
}
