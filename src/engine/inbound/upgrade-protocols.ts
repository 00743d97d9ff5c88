/**
 * What a client may switch to. Whatever follows a switch passes unread, so a protocol stands here only when passing it on
 * past every policy is what is meant. Never HTTP itself: requests inside of it would meet no rule.
 */
const PROTOCOLS: ReadonlySet<string> = new Set(['websocket'])

/** The first of the protocols in an `upgrade` field that may be switched to; undefined: none, and the request is ordinary. */
export function wantedProtocol(upgrade: string): string | undefined {
  for (const protocol of upgrade.split(',')) {
    const name = protocol.trim().toLowerCase()
    if (PROTOCOLS.has(name)) return name
  }
  return undefined
}
