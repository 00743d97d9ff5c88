import { type CredentialLocation, createCredentialReader } from '../../auth/credential.ts'
import type { Introspection } from '../../auth/introspection.ts'
import { type JwtProvider, JwtVerifier } from '../../auth/jwt.ts'
import type { KeySource } from '../../auth/key-source.ts'
import { withKeys } from '../../auth/key-source.ts'
import type { Claims } from '../../auth/token-claims.ts'
import { GatewayError } from '../../http/errors.ts'
import type { Exchange } from '../../http/exchange.ts'
import { oneOf } from '../../schema/builder.ts'
import type { CompileContext } from '../policy.ts'

/** Whether a token is required, and must be valid. */
export const tokenMode = oneOf(['strict', 'optional', 'permissive'], {
  Strict: 'strict',
  Optional: 'optional',
  Permissive: 'permissive',
})

/** The error detail for a request without one. */
export const NO_TOKEN = 'no bearer token found'

interface TokenRules {
  readonly mode: 'strict' | 'optional' | 'permissive'
  readonly location: CredentialLocation | undefined
  readonly providers: readonly JwtProvider[]
  /** For opaque tokens. */
  readonly introspection?: Introspection | undefined
}

/** A dry run issues its own tokens for every issuer. */
export function acceptedKeys(issuer: string, keys: KeySource, { runtime: { standIns } }: CompileContext): KeySource {
  return standIns ? withKeys(keys, standIns.jwksFor(issuer)) : keys
}

/**
 * Verifies the token of a request, exposes its claims as `jwt` and removes it from the request. Throws GatewayError
 * `jwt` if the mode requires it. `verified`: also accepts a token that another policy has verified and removed.
 */
export function tokenCheck(
  { mode, location, providers, introspection }: TokenRules,
  ctx: CompileContext,
  verified = false,
): (x: Exchange) => undefined | Promise<undefined> {
  if (location) ctx.hides(location)
  const credential = createCredentialReader(location ?? { header: { name: 'authorization', prefix: 'Bearer ' } })
  const { clock, standIns } = ctx.runtime
  const sent = (x: Exchange) => credential.read(x) ?? (verified ? x.auth.rawToken : undefined)
  const read = standIns ? (x: Exchange) => sent(x) ?? standIns.tokenOf(x, providers) : sent
  const verifier = new JwtVerifier(providers, clock)
  async function verify(x: Exchange, token: string): Promise<undefined> {
    try {
      accept(x, token, await (introspection?.concerns(token) ? introspection.ask(token, x) : verifier.verify(token)))
    } catch (error) {
      if (mode !== 'permissive' || !(error instanceof GatewayError)) throw error
    }
  }
  function accept(x: Exchange, token: string, claims: Claims): undefined {
    x.auth.jwt = claims
    x.auth.rawToken = token
    credential.strip(x)
  }
  return x => {
    const token = read(x)
    if (token === undefined) {
      if (mode === 'strict') throw new GatewayError('jwt', { detail: NO_TOKEN })
      return undefined
    }
    const known = verifier.known(token) ?? introspection?.known(token)
    return known === undefined ? verify(x, token) : accept(x, token, known)
  }
}
