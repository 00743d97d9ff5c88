import type { Clock } from '../../../runtime/runtime.ts'
import { type Grant, GrantRefused } from './authorization-server.ts'

/** Users per target; the one that has not been seen for longest signs in again. */
const MAX_USERS = 10_000
/** ms before expiry at which a token is refreshed, or a fifth of what it had left; the old one is used meanwhile. */
const EARLY = 60_000
/** ms between attempts to refresh a token that is still valid. */
const PAUSE = 10_000

interface Held {
  grant: Grant
  /** When it is due. */
  early: number
  triedAt: number
  refreshing: Promise<Grant | undefined> | undefined
}

/**
 * The tokens that users have been given at one target, by principal. In memory only: nothing of them is written
 * anywhere, and users sign in again after a restart.
 */
export class Grants {
  readonly #clock: Clock
  readonly #held = new Map<string, Held>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  has(principal: string): boolean {
    return this.#held.has(principal)
  }

  keep(principal: string, grant: Grant): void {
    this.#held.delete(principal)
    this.#held.set(principal, {
      grant,
      early: this.#dueAt(grant),
      triedAt: Number.NEGATIVE_INFINITY,
      refreshing: undefined,
    })
    if (this.#held.size > MAX_USERS) this.#held.delete(this.#held.keys().next().value as string)
  }

  /** The principal's valid grant, refreshed if it is due; undefined if there is none any more. */
  async of(principal: string): Promise<Grant | undefined> {
    const held = this.#held.get(principal)
    if (!held) return undefined
    this.#held.delete(principal)
    this.#held.set(principal, held)
    const now = this.#clock.now()
    const { expiresAt = Number.POSITIVE_INFINITY, refresh } = held.grant
    if (now < held.early) return held.grant
    if (now >= expiresAt) return await this.#refreshed(principal, held)
    if (refresh && this.#clock.mono() - held.triedAt >= PAUSE) void this.#refreshed(principal, held).catch(() => {})
    return held.grant
  }

  /** The target refuses this token although it has not expired: the one to try instead, if any. */
  async after(principal: string, refused: Grant): Promise<Grant | undefined> {
    const held = this.#held.get(principal)
    if (!held) return undefined
    if (held.grant.token !== refused.token) return held.grant
    return await this.#refreshed(principal, held)
  }

  drop(principal: string, refused: Grant): void {
    if (this.#held.get(principal)?.grant.token === refused.token) this.#held.delete(principal)
  }

  /** Once for all who wait: a refresh token may work only once. */
  #refreshed(principal: string, held: Held): Promise<Grant | undefined> {
    const { refresh } = held.grant
    if (!refresh) {
      this.drop(principal, held.grant)
      return Promise.resolve(undefined)
    }
    held.triedAt = this.#clock.mono()
    held.refreshing ??= refresh()
      .then(
        grant => {
          held.grant = grant
          held.early = this.#dueAt(grant)
          return grant
        },
        (error: unknown) => {
          if (!(error instanceof GrantRefused)) throw error
          this.drop(principal, held.grant)
          return undefined
        },
      )
      .finally(() => {
        held.refreshing = undefined
      })
    return held.refreshing
  }

  #dueAt({ expiresAt }: Grant): number {
    if (expiresAt === undefined) return Number.POSITIVE_INFINITY
    return expiresAt - Math.min(EARLY, (expiresAt - this.#clock.now()) / 5)
  }
}
