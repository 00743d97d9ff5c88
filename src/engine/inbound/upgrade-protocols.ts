/**
 * Protocols that a client may switch to. Data after a switch bypasses every policy, so a protocol is listed only if
 * that is intended. Never HTTP itself: requests inside it would be subject to no rule.
 */
const PROTOCOLS: ReadonlySet<string> = new Set(['websocket'])

/** The first permitted protocol of an `upgrade` field; undefined if none, and the request is ordinary. */
export function wantedProtocol(upgrade: string): string | undefined {
  for (const protocol of upgrade.split(',')) {
    const name = protocol.trim().toLowerCase()
    if (PROTOCOLS.has(name)) return name
  }
  return undefined
}
