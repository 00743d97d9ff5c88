import type { AuthFacts } from '../http/exchange.ts'
import { fingerprint } from '../mcp/session-id.ts'

/** The principal that a session or token is bound to. Undefined for an anonymous caller. */
export function principalOf({ jwt, rawToken, apiKey, basic, passwordHash }: AuthFacts): string | undefined {
  const who = jwt
    ? // A token without a subject is a principal of its own.
      ['jwt', jwt.iss, jwt.sub ?? ['token', rawToken]]
    : apiKey
      ? ['key', apiKey.key ?? apiKey]
      : basic
        ? // Users of two password files may have the same name.
          ['basic', basic.username, passwordHash]
        : undefined
  return who && fingerprint(JSON.stringify(who))
}
