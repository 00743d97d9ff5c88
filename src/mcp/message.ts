import { isUtf8 } from 'node:buffer'
import { type JsonOutline, nestsDeeperThan, outlineJson } from './json-outline.ts'

export type RequestId = string | number
export type JsonObject = Readonly<Record<string, unknown>>

interface Common {
  /** JSON text without line breaks. */
  readonly bytes: Buffer
  readonly value: JsonObject
}
export interface Request extends Common {
  readonly kind: 'request'
  readonly id: RequestId
  readonly method: string
  readonly params: JsonObject
}
export interface Notification extends Common {
  readonly kind: 'notification'
  readonly method: string
  readonly params: JsonObject
}
export interface Response extends Common {
  readonly kind: 'response'
  /** Null if the sender could not read the request's id. */
  readonly id: RequestId | null
  /** It has an error instead of a result. */
  readonly failed: boolean
}
export type Message = Request | Notification | Response

export interface Unreadable {
  readonly kind: 'unreadable'
  readonly problem: string
}

const EMPTY: JsonObject = {}
/** Parsing has no depth limit, but serialization exhausts the stack. */
const MAX_DEPTH = 1000

/** Parses one JSON-RPC 2.0 message. Batches are rejected: MCP removed them in 2025-06-18. */
export function readMessage(bytes: Buffer): Message | Unreadable {
  if (!isUtf8(bytes)) return unreadable('not valid UTF-8')
  let value: unknown
  try {
    value = JSON.parse(bytes.toString())
  } catch (error) {
    return unreadable(error instanceof SyntaxError ? syntaxProblem(error) : 'not JSON')
  }
  if (nestsDeeperThan(MAX_DEPTH, bytes)) return unreadable('nested too deep')
  if (Array.isArray(value)) return unreadable('a batch is not a JSON-RPC message')
  if (!isObject(value)) return unreadable('not a JSON-RPC message')
  return classify(value, oneLine(bytes))
}

/** Like `readMessage`, for client messages: also rejects what two parsers could understand differently. */
export function readClientMessage(bytes: Buffer): { message: Message; outline: JsonOutline } | Unreadable {
  const message = readMessage(bytes)
  if (message.kind === 'unreadable') return message
  const outline = outlineJson(message.bytes)
  return outline.problem === undefined ? { message, outline } : unreadable(outline.problem)
}

/** Creates a request of the gateway. */
export function requestOf(id: RequestId, method: string, params: JsonObject): Request {
  const value = { jsonrpc: '2.0', id, method, params }
  return { kind: 'request', id, method, params, value, bytes: Buffer.from(JSON.stringify(value)) }
}

export function notificationOf(method: string, params: JsonObject): Notification {
  const value = { jsonrpc: '2.0', method, params }
  return { kind: 'notification', method, params, value, bytes: Buffer.from(JSON.stringify(value)) }
}

export function replyOf(id: RequestId, result: JsonObject): Response {
  const value = { jsonrpc: '2.0', id, result }
  return { kind: 'response', id, failed: false, value, bytes: Buffer.from(JSON.stringify(value)) }
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function classify(value: JsonObject, bytes: Buffer): Message | Unreadable {
  if (value.jsonrpc !== '2.0') return unreadable('`jsonrpc` is not "2.0"')
  const { id, method, params } = value
  if (method !== undefined) {
    if (typeof method !== 'string') return unreadable('`method` is not a string')
    if (params !== undefined && !isObject(params)) return unreadable('`params` is not an object')
    if (id === undefined) return { kind: 'notification', method, params: params ?? EMPTY, bytes, value }
    if (!isId(id)) return unreadable('`id` is neither an integer nor a string')
    return { kind: 'request', id, method, params: params ?? EMPTY, bytes, value }
  }
  const failed = isObject(value.error)
  if (!failed && value.result === undefined) return unreadable('neither request, notification nor response')
  if (!isId(id) && id !== null) return unreadable('`id` is neither an integer nor a string')
  return { kind: 'response', id, failed, bytes, value }
}

function isId(id: unknown): id is RequestId {
  return typeof id === 'string' || (typeof id === 'number' && Number.isSafeInteger(id))
}

/** Line breaks in JSON are whitespace between tokens: strings contain them escaped. */
function oneLine(bytes: Buffer): Buffer {
  if (!bytes.includes(10) && !bytes.includes(13)) return bytes
  const out = Buffer.from(bytes)
  for (let i = 0; i < out.length; i++) if (out[i] === 10 || out[i] === 13) out[i] = 32
  return out
}

/** V8 quotes the text around the error; only the position is reported. */
function syntaxProblem(error: SyntaxError): string {
  const place = /at position (\d+)/.exec(error.message)
  return place ? `invalid JSON at byte ${place[1]}` : 'invalid JSON'
}

function unreadable(problem: string): Unreadable {
  return { kind: 'unreadable', problem }
}
