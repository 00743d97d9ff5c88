import { GATEWAY } from './identity.ts'
import { isObject, type JsonObject, type RequestId } from './message.ts'
import { LATEST_SESSION_VERSION } from './protocol.ts'
import { META_SERVER_INFO } from './request-meta.ts'

export interface Introduction {
  readonly target: string
  readonly result: JsonObject
}

export interface MergeOptions {
  /** The client's revision, if known. */
  readonly clientVersion: string | undefined
  /** A single target, which describes itself. */
  readonly only: boolean
  /** The session has a stream for messages that servers initiate. */
  readonly stateful: boolean
}

const PREAMBLE =
  'Several MCP servers answer behind this one. What each of them says about its use follows under its name.'

/**
 * The reply to `initialize` on behalf of several targets: the union of their capabilities, in the oldest of their
 * revisions.
 */
export function mergeIntroductions(
  id: RequestId,
  introductions: readonly Introduction[],
  { clientVersion, stateful, only }: MergeOptions,
): string {
  let version = clientVersion ?? LATEST_SESSION_VERSION
  let capabilities: JsonObject = {}
  for (const { result } of introductions) {
    const { protocolVersion } = result
    if (typeof protocolVersion === 'string' && protocolVersion < version) {
      version = protocolVersion
    }
    if (isObject(result.capabilities)) capabilities = union(capabilities, result.capabilities)
  }
  const own = only ? introductions[0]?.result : undefined
  const instructions = own ? own.instructions : instructionsOf(introductions)
  const result = {
    protocolVersion: version,
    capabilities: stateful ? capabilities : withoutPushes(capabilities),
    serverInfo: (isObject(own?._meta) ? own._meta[META_SERVER_INFO] : undefined) ?? GATEWAY,
    ...(instructions === undefined ? {} : { instructions }),
  }
  return JSON.stringify({ jsonrpc: '2.0', id, result })
}

/** Each server's usage instructions, under its name. */
export function instructionsOf(introductions: readonly Introduction[]): string | undefined {
  const blocks = introductions.flatMap(({ target, result: { instructions } }) =>
    typeof instructions === 'string' && instructions !== '' ? [`[${target}]\n${instructions}`] : [],
  )
  return blocks.length === 0 ? undefined : [PREAMBLE, ...blocks].join('\n\n')
}

/** Merges objects by member; of two flags the stronger one wins. */
export function union(a: JsonObject, b: JsonObject): JsonObject {
  const out: Record<string, unknown> = { ...a }
  for (const [key, value] of Object.entries(b)) {
    const other = out[key]
    if (isObject(other) && isObject(value)) out[key] = union(other, value)
    else if (other === undefined || other === false) out[key] = value
  }
  return out
}

/** Without sessions, clients get nothing but replies. */
function withoutPushes(capabilities: JsonObject): JsonObject {
  const out: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(capabilities)) {
    if (!isObject(value)) out[key] = value
    else {
      const { listChanged: _listChanged, subscribe: _subscribe, ...rest } = value
      out[key] = rest
    }
  }
  return out
}

/** The parameters for a client without capabilities. */
export function initializeParams(client: string) {
  return { protocolVersion: LATEST_SESSION_VERSION, capabilities: {}, clientInfo: { name: client, version: '1' } }
}
