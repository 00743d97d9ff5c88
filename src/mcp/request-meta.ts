import { GATEWAY } from './identity.ts'
import { type JsonOutline, type JsonRange, outlineJson } from './json-outline.ts'
import { isObject, type JsonObject, type Request } from './message.ts'

/** What each request says of itself since 2026-07-28, in `params._meta`. */
export const META_VERSION = 'io.modelcontextprotocol/protocolVersion'
export const META_CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities'
const META_CLIENT_INFO = 'io.modelcontextprotocol/clientInfo'
export const META_SERVER_INFO = 'io.modelcontextprotocol/serverInfo'
export const META_SUBSCRIPTION = 'io.modelcontextprotocol/subscriptionId'

export function metaOf(params: JsonObject): JsonObject | undefined {
  return isObject(params._meta) ? params._meta : undefined
}

/** `request` with what a server of `version` must know of its client, where the client has not said it. */
export function withRequestMeta(request: Request, version: string): Request {
  const given = metaOf(request.params)
  if (given?.[META_VERSION] !== undefined) return request
  const meta = {
    ...given,
    [META_VERSION]: version,
    [META_CAPABILITIES]: {},
    [META_CLIENT_INFO]: GATEWAY,
  }
  const params = { ...request.params, _meta: meta }
  const { ranges } = outlineJson(request.bytes)
  return { ...request, params, value: { ...request.value, params }, bytes: insert(request.bytes, ranges, meta, params) }
}

/** Every byte but `_meta` stays what it was. */
function insert(text: Buffer, ranges: JsonOutline['ranges'], meta: JsonObject, params: JsonObject): Buffer {
  const at = ranges.get('params._meta')
  if (at) return spliced(text, at, JSON.stringify(meta))
  const outer = ranges.get('params')
  if (!outer) return spliced(text, endOf(text), `,"params":${JSON.stringify(params)}`)
  const more = Object.keys(params).length > 1 ? ',' : ''
  return spliced(text, { start: outer.start + 1, end: outer.start + 1 }, `"_meta":${JSON.stringify(meta)}${more}`)
}

/** Before the closing brace of the whole. */
function endOf(text: Buffer): JsonRange {
  const end = text.lastIndexOf('}')
  return { start: end, end }
}

function spliced(text: Buffer, { start, end }: JsonRange, json: string): Buffer {
  return Buffer.concat([text.subarray(0, start), Buffer.from(json), text.subarray(end)])
}
