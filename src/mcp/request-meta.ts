import { parseExact } from './exact-json.ts'
import { GATEWAY } from './identity.ts'
import { type JsonOutline, type JsonRange, outlineJson, replaceJson } from './json-outline.ts'
import { isObject, type JsonObject, type Request } from './message.ts'

/** Since 2026-07-28, every request describes itself in `params._meta`. */
export const META_VERSION = 'io.modelcontextprotocol/protocolVersion'
export const META_CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities'
const META_CLIENT_INFO = 'io.modelcontextprotocol/clientInfo'
/** The minimum level of log messages for a request; none without it. */
export const META_LOG_LEVEL = 'io.modelcontextprotocol/logLevel'
export const META_SERVER_INFO = 'io.modelcontextprotocol/serverInfo'
export const META_SUBSCRIPTION = 'io.modelcontextprotocol/subscriptionId'

export function metaOf(params: JsonObject): JsonObject | undefined {
  return isObject(params._meta) ? params._meta : undefined
}

/** The client's description for servers. */
export interface ClientFacts {
  readonly capabilities: JsonObject
  readonly clientInfo: JsonObject
}

/** The gateway itself as the client. */
export const NOBODY: ClientFacts = { capabilities: {}, clientInfo: GATEWAY }

/** The client's description in `initialize`. */
export function introducedBy({ capabilities, clientInfo }: JsonObject): ClientFacts {
  return {
    capabilities: isObject(capabilities) ? capabilities : {},
    clientInfo: isObject(clientInfo) ? clientInfo : GATEWAY,
  }
}

/** The client's description in a request. */
export function clientFactsOf(params: JsonObject): ClientFacts {
  const { [META_CAPABILITIES]: capabilities, [META_CLIENT_INFO]: clientInfo } = metaOf(params) ?? {}
  return introducedBy({ capabilities, clientInfo })
}

/** Adds to `request` what a server of `version` must know about its client, unless the client sent it. */
export function withRequestMeta(
  request: Request,
  version: string,
  { capabilities, clientInfo }: ClientFacts = NOBODY,
  logLevel?: unknown,
): Request {
  const given = metaOf(request.params)
  if (given?.[META_VERSION] !== undefined) return request
  const meta = {
    ...given,
    [META_VERSION]: version,
    [META_CAPABILITIES]: capabilities,
    [META_CLIENT_INFO]: clientInfo,
    ...(logLevel === undefined ? {} : { [META_LOG_LEVEL]: logLevel }),
  }
  const params = { ...request.params, _meta: meta }
  const { ranges } = outlineJson(request.bytes)
  return { ...request, params, value: { ...request.value, params }, bytes: insert(request.bytes, ranges, meta, params) }
}

/** Reduces `request` to the older form: such servers learned about the client in the handshake. */
export function withoutRequestMeta(request: Request): Request {
  const range = outlineJson(request.bytes).ranges.get('params._meta')
  if (!range) return request
  const {
    [META_VERSION]: _version,
    [META_CAPABILITIES]: _capabilities,
    [META_CLIENT_INFO]: _client,
    [META_LOG_LEVEL]: _level,
    ...meta
  } = parseExact(request.bytes.toString('utf8', range.start, range.end)) as JsonObject
  return { ...request, params: { ...request.params, _meta: meta }, bytes: replaceJson(request.bytes, range, meta) }
}

/** Preserves every byte except `_meta`. */
function insert(text: Buffer, ranges: JsonOutline['ranges'], meta: JsonObject, params: JsonObject): Buffer {
  const at = ranges.get('params._meta')
  if (at) return spliced(text, at, JSON.stringify(meta))
  const outer = ranges.get('params')
  if (!outer) return spliced(text, endOf(text), `,"params":${JSON.stringify(params)}`)
  const more = Object.keys(params).length > 1 ? ',' : ''
  return spliced(text, { start: outer.start + 1, end: outer.start + 1 }, `"_meta":${JSON.stringify(meta)}${more}`)
}

/** The position of the final closing brace. */
function endOf(text: Buffer): JsonRange {
  const end = text.lastIndexOf('}')
  return { start: end, end }
}

function spliced(text: Buffer, { start, end }: JsonRange, json: string): Buffer {
  return Buffer.concat([text.subarray(0, start), Buffer.from(json), text.subarray(end)])
}
