import type { AuthFacts } from '../http/exchange.ts'
import { fingerprint } from '../mcp/session-id.ts'

/** Who a session or a token belongs to: nobody else has a use for it. Undefined: nobody has said who it is. */
export function principalOf({ jwt, rawToken, apiKey, basic }: AuthFacts): string | undefined {
  const who = jwt
    ? // Tokens that name nobody are nobody else's either.
      ['jwt', jwt.iss, jwt.sub ?? ['token', rawToken]]
    : apiKey
      ? ['key', apiKey.key ?? apiKey]
      : basic
        ? ['basic', basic.username]
        : undefined
  return who && fingerprint(JSON.stringify(who))
}
