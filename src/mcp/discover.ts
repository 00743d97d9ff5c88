import { GATEWAY } from './identity.ts'
import { type Introduction, instructionsOf, union } from './initialize.ts'
import { isObject, type JsonObject, type RequestId } from './message.ts'
import { META_SERVER_INFO } from './request-meta.ts'

/** The reply to `server/discover` on behalf of several servers. `versions`: those that the gateway supports. */
export function describeServers(
  id: RequestId,
  introductions: readonly Introduction[],
  versions: readonly string[],
): string {
  let capabilities: JsonObject = {}
  for (const { result } of introductions) {
    if (!isObject(result.capabilities)) continue
    capabilities = union(capabilities, result.capabilities)
  }
  const instructions = instructionsOf(introductions)
  const result = {
    resultType: 'complete',
    supportedVersions: versions,
    capabilities,
    ...(instructions === undefined ? {} : { instructions }),
    ttlMs: 0,
    cacheScope: 'private',
    _meta: { [META_SERVER_INFO]: GATEWAY },
  }
  return JSON.stringify({ jsonrpc: '2.0', id, result })
}
