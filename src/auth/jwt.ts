import { hash } from 'node:crypto'
import { GatewayError } from '../http/errors.ts'
import type { Clock } from '../runtime/runtime.ts'
import { type CompactJws, readCompact, signatureFits } from './jws.ts'
import type { VerificationKey } from './key-set.ts'
import type { KeySource } from './key-source.ts'

export type Claims = Readonly<Record<string, unknown>>

/** Whose tokens are accepted (specification, Inbound: JWT). */
export interface JwtProvider {
  readonly issuer: string
  /** Any of them must be in `aud`; undefined: `aud` is not looked at. */
  readonly audiences: readonly string[] | undefined
  readonly requiredClaims: readonly string[]
  readonly keys: KeySource
}

/** s; how far the clocks of issuer and gateway may differ. */
const LEEWAY = 60
/** UTF-16 units; no header that a server takes is longer. */
const MAX_TOKEN = 65_536
const MAX_REMEMBERED = 10_000

interface Remembered {
  readonly claims: Claims
  /** ms since the epoch, as is `until`. A clock that goes back is asked again. */
  readonly since: number
  readonly until: number
}

/**
 * Verifies tokens and remembers the verified ones by their SHA-256, so that a token that comes again costs one hash.
 * Failures are GatewayErrors `jwt` that say what is wrong and never repeat the token.
 */
export class JwtVerifier {
  readonly #providers: readonly JwtProvider[]
  readonly #clock: Clock
  readonly #remembered = new Map<string, Remembered>()

  constructor(providers: readonly JwtProvider[], clock: Clock) {
    this.#providers = providers
    this.#clock = clock
  }

  /** The claims of a token that has been verified before and is still valid. */
  known(token: string): Claims | undefined {
    const digest = hash('sha256', token, 'base64')
    const found = this.#remembered.get(digest)
    if (found === undefined) return undefined
    const now = this.#clock.now()
    if (now >= found.since && now < found.until) return found.claims
    this.#remembered.delete(digest)
    return undefined
  }

  async verify(token: string): Promise<Claims> {
    if (token.length > MAX_TOKEN) throw invalid('it is too long')
    const jws = readCompact(token)
    if (jws === undefined) throw invalid(NONE)
    const { kid, alg } = readHeader(jws)
    const { provider, keys } = await this.#find(kid, (jws.payload as Claims | undefined)?.iss)
    const key = keys.find(each => each.algorithms.includes(alg))
    if (key === undefined) throw invalid('its algorithm does not fit the key')
    if (!signatureFits(jws, alg, key.key)) throw invalid('its signature does not fit')
    const problem = claimsProblem(jws.payload, provider, this.#clock.now() / 1000)
    if (problem !== undefined) throw invalid(problem)
    const claims = jws.payload as Claims
    this.#remember(token, claims, provider)
    return claims
  }

  /** Two issuers may call their keys alike: then the token's own word says whose it claims to be. */
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

  #remember(token: string, claims: Claims, { keys }: JwtProvider): void {
    const expires = typeof claims.exp === 'number' ? (claims.exp + LEEWAY) * 1000 : Number.POSITIVE_INFINITY
    const since = this.#clock.now()
    const until = Math.min(expires, since + (keys.trustedFor ?? Number.POSITIVE_INFINITY))
    if (this.#remembered.size >= MAX_REMEMBERED) {
      for (const oldest of this.#remembered.keys()) {
        this.#remembered.delete(oldest)
        break
      }
    }
    this.#remembered.set(hash('sha256', token, 'base64'), { claims, since, until })
  }
}

const NONE = 'it is not a JSON Web Token'

function readHeader({ header }: CompactJws): { readonly kid: string; readonly alg: string } {
  const { kid, alg, crit } = header
  if (typeof kid !== 'string' || kid === '') {
    throw new GatewayError('jwt', { detail: 'the token header does not specify a `kid`' })
  }
  if (typeof alg !== 'string') throw invalid('it names no algorithm')
  // Tokens know no extension that has to be understood (RFC 7519; RFC 7797, 7).
  if (crit !== undefined) throw invalid('it needs an extension that is not known')
  return { kid, alg }
}

function invalid(reason: string): GatewayError {
  return new GatewayError('jwt', { detail: `the token is invalid or malformed: ${reason}` })
}

/** `now`: s since the epoch. */
function claimsProblem(payload: unknown, provider: JwtProvider, now: number): string | undefined {
  if (typeof payload !== 'object' || payload === null || Array.isArray(payload)) {
    return 'its claims are not a JSON object'
  }
  const { issuer, audiences, requiredClaims } = provider
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
