import { isUtf8 } from 'node:buffer'
import { parseExact } from '../exact-json.ts'
import { isObject, type JsonObject } from '../message.ts'

/** The response of an API. */
export interface ApiReply {
  readonly status: number
  readonly type: string | undefined
  readonly body: Buffer
}

/** A tool result: JSON as it is, along with its text; an error status becomes a tool error. */
export function toolResult({ status, type = '', body }: ApiReply, uri: string): JsonObject {
  const isError = status >= 400
  const media = (type.split(';', 1)[0] as string).trim().toLowerCase()
  if (/^(image|audio)\//.test(media) && media !== 'image/svg+xml' && !isError) {
    const kind = media.slice(0, media.indexOf('/'))
    return { content: [{ type: kind, data: body.toString('base64'), mimeType: media }], isError }
  }
  if (!isUtf8(body)) {
    const blob = { uri, mimeType: media || 'application/octet-stream', blob: body.toString('base64') }
    return { content: [{ type: 'resource', resource: blob }], isError }
  }
  const text = body.toString()
  const value = parsed(text)
  const structuredContent = isObject(value)
    ? value
    : value === undefined
      ? { code: status, message: text }
      : { data: value }
  return { content: [{ type: 'text', text: JSON.stringify(structuredContent) }], structuredContent, isError }
}

/** The result of a call that could not be made. */
export function failedResult(message: string): JsonObject {
  return { content: [{ type: 'text', text: message }], isError: true }
}

function parsed(text: string): unknown {
  try {
    return parseExact(text)
  } catch {
    return undefined
  }
}
