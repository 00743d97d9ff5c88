import { GatewayError } from '../http/errors.ts'
import type { Clock } from '../runtime/runtime.ts'
import { type CompactJws, readCompact, signatureFits } from './jws.ts'
import type { VerificationKey } from './key-set.ts'
import type { KeySource } from './key-source.ts'
import { type Claims, claimsProblem, type ExpectedClaims, invalidToken, MAX_TOKEN } from './token-claims.ts'
import { VerifiedTokens } from './verified-tokens.ts'

/** An accepted issuer (specification, Inbound: JWT). */
export interface JwtProvider extends ExpectedClaims {
  readonly keys: KeySource
}

/**
 * Verifies tokens and caches verified ones by SHA-256, so that a repeated token costs one hash. Failures are
 * GatewayErrors `jwt` that give the reason and never repeat the token.
 */
export class JwtVerifier {
  readonly #providers: readonly JwtProvider[]
  readonly #clock: Clock
  readonly #verified: VerifiedTokens

  constructor(providers: readonly JwtProvider[], clock: Clock) {
    this.#providers = providers
    this.#clock = clock
    this.#verified = new VerifiedTokens(clock)
  }

  /** The claims of a token that was verified before and is still valid. */
  known(token: string): Claims | undefined {
    return this.#verified.known(token)
  }

  async verify(token: string): Promise<Claims> {
    if (token.length > MAX_TOKEN) throw invalidToken('it is too long')
    const jws = readCompact(token)
    if (jws === undefined) throw invalidToken(NONE)
    const { kid, alg } = readHeader(jws)
    const { provider, keys } = await this.#find(kid, (jws.payload as Claims | undefined)?.iss)
    const key = keys.find(each => each.algorithms.includes(alg))
    if (key === undefined) throw invalidToken('its algorithm does not fit the key')
    if (!signatureFits(jws, alg, key.key)) throw invalidToken('its signature does not fit')
    const problem = claimsProblem(jws.payload, provider, this.#clock.now() / 1000)
    if (problem !== undefined) throw invalidToken(problem)
    const claims = jws.payload as Claims
    this.#verified.keep(token, claims, provider.keys.trustedFor)
    return claims
  }

  /** Two issuers may use the same key id: then the token's own `iss` selects one. */
  async #find(kid: string, issuer: unknown): Promise<{ provider: JwtProvider; keys: readonly VerificationKey[] }> {
    const pending = this.#providers.flatMap(provider => provider.keys.refresh(false) ?? [])
    if (pending.length > 0) await Promise.all(pending)
    for (const retry of [false, true]) {
      if (retry) await Promise.all(this.#providers.map(provider => provider.keys.refresh(true)))
      const holders = this.#providers.flatMap(provider => {
        const keys = provider.keys.keys().get(kid)
        return keys ? [{ provider, keys }] : []
      })
      const found = holders.find(each => each.provider.issuer === issuer) ?? holders[0]
      if (found) return found
    }
    throw new GatewayError('jwt', { detail: `token uses the unknown key ${JSON.stringify(kid.slice(0, 128))}` })
  }
}

const NONE = 'it is not a JSON Web Token'

function readHeader({ header }: CompactJws): { readonly kid: string; readonly alg: string } {
  const { kid, alg, crit } = header
  if (typeof kid !== 'string' || kid === '') {
    throw new GatewayError('jwt', { detail: 'the token header does not specify a `kid`' })
  }
  if (typeof alg !== 'string') throw invalidToken('its header has no algorithm')
  // No critical extension is supported (RFC 7519; RFC 7797, 7).
  if (crit !== undefined) throw invalidToken('it requires an unsupported extension')
  return { kid, alg }
}
