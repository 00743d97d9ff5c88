/** The revisions of MCP that the gateway carries, oldest first. They order as text. */
export const PROTOCOL_VERSIONS = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28'] as const

/** From this revision on there are no sessions: each request stands for itself. */
export const MODERN_VERSION = '2026-07-28'

/** What the gateway speaks for itself where no client has said which. */
export const LATEST_SESSION_VERSION = '2025-11-25'

export function isKnownVersion(version: string): boolean {
  return (PROTOCOL_VERSIONS as readonly string[]).includes(version)
}

export function isModernVersion(version: string | undefined): boolean {
  return version !== undefined && version >= MODERN_VERSION && isKnownVersion(version)
}
