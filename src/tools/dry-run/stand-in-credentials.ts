import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import type { Exchange } from '../../http/exchange.ts'
import type { Clock, StandIns, TokenIssuer } from '../../runtime/runtime.ts'
import { sameJson } from './same-json.ts'

/** The caller of a request, beyond its headers. */
export interface DryCaller {
  /**
   * The claims of a token, which is accepted without regard to its issuer's key: by default `iss` and `aud` match the
   * policy and it is valid for an hour; null omits a claim.
   */
  readonly jwt?: Readonly<Record<string, unknown>> | undefined
  /** An API key, or metadata that identifies a configured key. */
  readonly apiKey?: string | Readonly<Record<string, unknown>> | undefined
}

const LIFETIME = 3600

/**
 * Credentials that one dry-run gateway accepts. Tokens are signed and verified as usual, with a key that exists only in
 * this process.
 */
export class StandInCredentials implements StandIns {
  readonly #clock: Clock
  readonly #callers = new WeakMap<Exchange, DryCaller>()
  #pair: { readonly publicKey: KeyObject; readonly privateKey: KeyObject } | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  calls(x: Exchange, caller: DryCaller): void {
    this.#callers.set(x, caller)
  }

  jwksFor(issuer: string): string {
    const key = { ...this.#keys.publicKey.export({ format: 'jwk' }), kid: kidOf(issuer), alg: 'EdDSA' }
    return JSON.stringify({ keys: [key] })
  }

  apiKeyFor(digest: string): string {
    return `dry-run ${digest}`
  }

  tokenOf(x: Exchange, issuers: readonly TokenIssuer[]): string | undefined {
    const given = this.#callers.get(x)?.jwt
    if (given === undefined) return undefined
    const meant = issuers.find(({ issuer }) => issuer === given.iss) ?? issuers[0]
    const exp = Math.floor(this.#clock.now() / 1000) + LIFETIME
    const claims = { iss: meant?.issuer, aud: meant?.audiences?.[0], exp, ...given }
    const kept = Object.entries(claims).filter(([, value]) => value !== null)
    return this.#sign(String(claims.iss), Object.fromEntries(kept))
  }

  apiKeyOf(x: Exchange, keys: Parameters<StandIns['apiKeyOf']>[1]): string | undefined {
    const given = this.#callers.get(x)?.apiKey
    if (given === undefined || typeof given === 'string') return given
    for (const [digest, metadata] of keys) {
      const fits = Object.entries(given).every(([name, value]) => sameJson(metadata[name], value))
      if (fits) return this.apiKeyFor(digest)
    }
    return this.apiKeyFor('of nobody')
  }

  #sign(issuer: string, claims: Readonly<Record<string, unknown>>): string {
    const header = { alg: 'EdDSA', typ: 'JWT', kid: kidOf(issuer) }
    const signed = [header, claims].map(part => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
    return `${signed}.${sign(null, Buffer.from(signed), this.#keys.privateKey).toString('base64url')}`
  }

  get #keys() {
    this.#pair ??= generateKeyPairSync('ed25519')
    return this.#pair
  }
}

/** One key per issuer name, so that a token is verified as one of its issuer. */
function kidOf(issuer: string): string {
  return `dry-run ${issuer}`
}
