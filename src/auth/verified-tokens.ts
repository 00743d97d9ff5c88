import { hash } from 'node:crypto'
import type { Clock } from '../runtime/runtime.ts'
import { type Claims, LEEWAY } from './token-claims.ts'

const MAX_TOKENS = 10_000

interface Verified {
  readonly claims: Claims
  /** ms since the epoch, as is `until`. Used to detect a clock that goes back. */
  readonly since: number
  readonly until: number
}

/** A cache of verified tokens by SHA-256: a repeated one costs one hash. */
export class VerifiedTokens {
  readonly #clock: Clock
  readonly #kept = new Map<string, Verified>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The claims of a cached token that is still valid. */
  known(token: string): Claims | undefined {
    const digest = hash('sha256', token, 'base64')
    const found = this.#kept.get(digest)
    if (found === undefined) return undefined
    const now = this.#clock.now()
    if (now >= found.since && now < found.until) return found.claims
    this.#kept.delete(digest)
    return undefined
  }

  /** `trustedFor`: ms; undefined: as long as the token itself is valid. */
  keep(token: string, claims: Claims, trustedFor: number | undefined): void {
    const expires = typeof claims.exp === 'number' ? (claims.exp + LEEWAY) * 1000 : Number.POSITIVE_INFINITY
    const since = this.#clock.now()
    const until = Math.min(expires, since + (trustedFor ?? Number.POSITIVE_INFINITY))
    if (this.#kept.size >= MAX_TOKENS) this.#kept.delete(this.#kept.keys().next().value as string)
    this.#kept.set(hash('sha256', token, 'base64'), { claims, since, until })
  }
}
