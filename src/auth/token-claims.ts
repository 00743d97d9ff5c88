import { GatewayError } from '../http/errors.ts'

export type Claims = Readonly<Record<string, unknown>>

/** Requirements on the claims of a token. */
export interface ExpectedClaims {
  readonly issuer: string
  /** Any of them must be in `aud`; undefined: `aud` is not checked. */
  readonly audiences: readonly string[] | undefined
  readonly requiredClaims: readonly string[]
}

/** Tolerated clock skew between issuer and gateway, in s. */
export const LEEWAY = 60
/** UTF-16 units; longer than any header that a server accepts. */
export const MAX_TOKEN = 65_536

/** Never repeats the token. */
export function invalidToken(reason: string): GatewayError {
  return new GatewayError('jwt', { detail: `the token is invalid or malformed: ${reason}` })
}

/** `now`: s since the epoch. */
export function claimsProblem(payload: unknown, expected: ExpectedClaims, now: number): string | undefined {
  if (typeof payload !== 'object' || payload === null || Array.isArray(payload)) {
    return 'its claims are not a JSON object'
  }
  const { issuer, audiences, requiredClaims } = expected
  const claims = payload as Claims
  const needed = ['iss', ...(audiences ? ['aud'] : []), ...requiredClaims]
  const missing = needed.find(name => !Object.hasOwn(claims, name))
  if (missing !== undefined) return `it has no claim \`${missing}\``
  const { iss, aud, nbf, exp } = claims
  if (iss !== issuer) return 'it comes from another issuer'
  if (audiences && ![aud].flat().some(each => audiences.includes(each as string))) {
    return 'it is meant for another audience'
  }
  for (const name of ['iat', 'nbf', 'exp']) {
    if (claims[name] !== undefined && !Number.isFinite(claims[name])) return `its claim \`${name}\` is not a number`
  }
  if (nbf !== undefined && (nbf as number) > now + LEEWAY) return 'it is not valid yet'
  return exp !== undefined && (exp as number) <= now - LEEWAY ? 'it has expired' : undefined
}
