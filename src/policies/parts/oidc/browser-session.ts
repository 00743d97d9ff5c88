import type { Claims } from '../../../auth/token-claims.ts'
import { unverifiedClaims } from '../../../auth/unverified-claims.ts'
import type { Exchange } from '../../../http/exchange.ts'
import type { Runtime } from '../../../runtime/runtime.ts'
import type { CookieSeal } from './cookie-seal.ts'
import { chunksOf, cookiesOf, joinedValue } from './cookies.ts'
import { type Grant, GrantRefused, type OpenidProvider, providerFailure } from './openid-provider.ts'

/** A signed-in session as stored in the browser. Times in s since the epoch. */
export interface BrowserSession {
  readonly idToken: string
  readonly refreshToken: string | undefined
  /** When it must be refreshed. */
  readonly expires: number
  /** When the user must sign in again, even if it can be refreshed. */
  readonly ends: number
}

/** s. */
const LEEWAY = 60
const LONGEST = 12 * 3600
/** ms for which requests with an old cookie get the result of a refresh: a page makes many at once. */
const REMEMBERED = 30_000

export interface SessionPlace {
  /** Prefix of the session cookies. */
  readonly cookie: string
  readonly secure: boolean
  readonly seal: CookieSeal
}

/** The sessions of one policy, each stored in its browser's cookies. */
export class BrowserSessions {
  readonly #place: SessionPlace
  readonly #provider: OpenidProvider
  readonly #runtime: Runtime
  readonly #refreshes: Map<string, Promise<BrowserSession>>

  constructor(
    place: SessionPlace,
    provider: OpenidProvider,
    refreshes: Map<string, Promise<BrowserSession>>,
    runtime: Runtime,
  ) {
    this.#place = place
    this.#provider = provider
    this.#runtime = runtime
    this.#refreshes = refreshes
  }

  /** The session of a request, possibly expired; undefined if there is none issued by this policy for this host. */
  read(x: Exchange): BrowserSession | undefined {
    const { cookie, seal } = this.#place
    const sealed = joinedValue(cookiesOf(x.request.headers, cookie), cookie)
    const text = sealed === undefined ? undefined : seal.open(sealed, this.#context(x))
    const session = text === undefined ? undefined : (JSON.parse(text) as BrowserSession)
    return session && session.ends > this.#now ? session : undefined
  }

  isFresh({ expires }: BrowserSession): boolean {
    return expires + LEEWAY > this.#now
  }

  begin({ idToken = '', claims, refreshToken, expiresIn }: Grant): BrowserSession {
    const ends = this.#now + LONGEST
    return { idToken, refreshToken, expires: this.#expiry(claims, expiresIn, ends), ends }
  }

  /**
   * The current session, refreshed once for all requests that need it; undefined if the user must sign in again. Throws
   * GatewayError `oidc` while the provider is unreachable.
   */
  async refreshed(session: BrowserSession, x: Exchange): Promise<BrowserSession | undefined> {
    const { refreshToken } = session
    if (refreshToken === undefined) return undefined
    const known = this.#refreshes.get(refreshToken)
    const pending = known ?? this.#refresh(session, refreshToken, x)
    if (!known) {
      this.#refreshes.set(refreshToken, pending)
      const forget = () => {
        this.#refreshes.delete(refreshToken)
      }
      pending.then(() => this.#runtime.clock.after(REMEMBERED, forget), forget)
    }
    try {
      return await pending
    } catch (error) {
      if (error instanceof GrantRefused) return undefined
      throw error
    }
  }

  async #refresh(session: BrowserSession, refreshToken: string, x: Exchange): Promise<BrowserSession> {
    const grant = await this.#provider.refresh(refreshToken, unverifiedClaims(session.idToken)?.sub, x)
    return {
      idToken: grant.idToken ?? session.idToken,
      refreshToken: grant.refreshToken ?? refreshToken,
      expires: this.#expiry(grant.claims, grant.expiresIn, session.ends),
      ends: session.ends,
    }
  }

  /** `Set-Cookie` values. A session too large for cookies is stored without its refresh token, if that makes it fit. */
  cookies(session: BrowserSession, x: Exchange): readonly string[] {
    const whole = this.#sealed(session, x) ?? this.#sealed({ ...session, refreshToken: undefined }, x)
    if (whole) return whole
    throw providerFailure('the ID token is too long for cookies: ask the provider for fewer claims')
  }

  removal(): readonly string[] {
    const { cookie, secure } = this.#place
    return chunksOf(cookie, '', 0, secure) ?? []
  }

  #sealed(session: BrowserSession, x: Exchange): readonly string[] | undefined {
    const { cookie, secure, seal } = this.#place
    const text = seal.seal(JSON.stringify(session), this.#context(x), this.#runtime.uuid())
    const until = session.refreshToken === undefined ? session.expires + LEEWAY : session.ends
    return chunksOf(cookie, text, Math.max(until - this.#now, 0), secure)
  }

  /** Binds a cookie to its host and use. */
  #context(x: Exchange): string {
    return `session ${this.#place.cookie} ${x.request.authority}`
  }

  /** Never later than the claims' expiry; without a new ID token, the provider's `expires_in` applies. */
  #expiry(claims: Claims | undefined, expiresIn: number | undefined, ends: number): number {
    const said = typeof claims?.exp === 'number' ? claims.exp : this.#now + (expiresIn ?? 300)
    return Math.min(said, ends)
  }

  get #now(): number {
    return this.#runtime.clock.now() / 1000
  }
}
