import { hash } from 'node:crypto'
import type { JWTVerifyOptions } from 'jose'
import { GatewayError } from '../http/errors.ts'
import type { Clock } from '../runtime/runtime.ts'
import { isBase64Url } from './base64url.ts'
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
  #library: Promise<typeof import('jose')> | undefined

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
    // Decoders take padding and bits left over, so that one token could be written in many ways.
    if (!token.split('.', 4).every(isBase64Url)) throw invalid('it is not a JSON Web Token')
    this.#library ??= import('jose')
    const jose = await this.#library
    const header = readHeader(token, jose)
    const { provider, keys } = await this.#find(header.kid, claimedIssuer(token, jose))
    const key = keys.find(each => each.algorithms.includes(header.alg))
    if (key === undefined) throw invalid('its algorithm does not fit the key')
    try {
      const { payload } = await jose.jwtVerify(token, key.key, this.#options(provider, header.alg))
      this.#remember(token, payload, provider)
      return payload
    } catch (error) {
      throw invalid(reasonOf(error), error)
    }
  }

  /** Two issuers may call their keys alike: then the token's own word says whose it claims to be. */
  async #find(kid: string, issuer: unknown): Promise<{ provider: JwtProvider; keys: readonly VerificationKey[] }> {
    await Promise.all(this.#providers.map(provider => provider.keys.refresh(false)))
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

  #options({ issuer, audiences, requiredClaims }: JwtProvider, algorithm: string): JWTVerifyOptions {
    return {
      algorithms: [algorithm],
      issuer,
      requiredClaims: [...requiredClaims],
      clockTolerance: LEEWAY,
      currentDate: new Date(this.#clock.now()),
      ...(audiences === undefined ? {} : { audience: [...audiences] }),
    }
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

function readHeader(token: string, jose: typeof import('jose')): { readonly kid: string; readonly alg: string } {
  let header: { readonly kid?: unknown; readonly alg?: unknown }
  try {
    header = jose.decodeProtectedHeader(token)
  } catch (error) {
    throw invalid('it is not a JSON Web Token', error)
  }
  const { kid, alg } = header
  if (typeof kid !== 'string' || kid === '') {
    throw new GatewayError('jwt', { detail: 'the token header does not specify a `kid`' })
  }
  if (typeof alg !== 'string') throw invalid('it names no algorithm')
  return { kid, alg }
}

/** Not verified: good for choosing whose keys to verify with. */
function claimedIssuer(token: string, jose: typeof import('jose')): unknown {
  try {
    return jose.decodeJwt(token).iss
  } catch {
    return undefined
  }
}

function invalid(reason: string, cause?: unknown): GatewayError {
  return new GatewayError('jwt', { detail: `the token is invalid or malformed: ${reason}`, cause })
}

/** By code: the library's own messages may change, and its errors carry the claims. */
function reasonOf(error: unknown): string {
  const { code, claim, reason } = error as { code?: unknown; claim?: unknown; reason?: unknown }
  if (code === 'ERR_JWT_EXPIRED') return 'it has expired'
  if (code === 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED') return 'its signature does not fit'
  if (code === 'ERR_JOSE_ALG_NOT_ALLOWED') return 'its algorithm does not fit the key'
  if (code === 'ERR_JWT_INVALID') return 'its claims are not a JSON object'
  if (code === 'ERR_JWT_CLAIM_VALIDATION_FAILED') return claimProblem(String(claim), reason)
  return 'it is not a JSON Web Token'
}

function claimProblem(claim: string, reason: unknown): string {
  if (reason === 'missing') return `it has no claim \`${claim}\``
  if (reason === 'invalid') return `its claim \`${claim}\` is not a number`
  switch (claim) {
    case 'iss':
      return 'it comes from another issuer'
    case 'aud':
      return 'it is meant for another audience'
    case 'nbf':
      return 'it is not valid yet'
    default:
      return `its claim \`${claim}\` does not fit`
  }
}
