import type { Era } from './era.ts'
import { sessions } from './sessions/index.ts'
import { stateless } from './stateless/index.ts'

/** Oldest first. A client that names no revision belongs to the first. */
export const ERAS: readonly [Era, ...Era[]] = [sessions, stateless]

/** The revisions that the gateway supports, oldest first. */
export const PROTOCOL_VERSIONS: readonly string[] = ERAS.flatMap(era => era.versions)

/** Undefined for an unsupported revision. */
export function eraOf(version: string | undefined): Era | undefined {
  return version === undefined ? ERAS[0] : ERAS.find(era => era.versions.includes(version))
}
