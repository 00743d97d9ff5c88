import { wordIn } from '../../../auth/oauth/grant-request.ts'
import { endpointIn } from '../../../auth/provider-metadata.ts'
import { GatewayError } from '../../../http/errors.ts'
import type { Exchange, Reply } from '../../../http/exchange.ts'
import type { Runtime } from '../../../runtime/runtime.ts'
import type { BrowserSessions, SessionPlace } from './browser-session.ts'
import { cookieFields, cookiesOf, setCookie } from './cookies.ts'
import { GrantRefused, type OpenidProvider, providerFailure } from './openid-provider.ts'

/** A pending sign-in, as stored in the browser until it returns. */
interface SignIn {
  readonly state: string
  readonly nonce: string
  /** The PKCE verifier (RFC 7636). */
  readonly verifier: string
  /** Path and query. */
  readonly returnTo: string
  /** s since the epoch. */
  readonly ends: number
}

export interface SignInSettings {
  readonly redirect: URL
  readonly scopes: readonly string[]
  /** Prefix of the sign-in cookies. */
  readonly cookie: string
}

/** s. */
const LIFETIME = 300
/** Pending sign-ins per browser: each is a cookie on every request. */
const MAX_PENDING = 3
const MAX_PATH = 2048

/** Redirects browsers to the provider and handles their return (OpenID Connect Core, 3.1). */
export class SignIns {
  readonly #settings: SignInSettings
  readonly #place: SessionPlace
  readonly #provider: OpenidProvider
  readonly #sessions: BrowserSessions
  readonly #runtime: Runtime

  constructor(
    settings: SignInSettings,
    place: SessionPlace,
    provider: OpenidProvider,
    sessions: BrowserSessions,
    runtime: Runtime,
  ) {
    this.#settings = settings
    this.#place = place
    this.#provider = provider
    this.#sessions = sessions
    this.#runtime = runtime
  }

  async begin(x: Exchange): Promise<Reply> {
    const { redirect, scopes, cookie } = this.#settings
    const at = endpointIn(await this.#provider.metadata(x), 'authorization_endpoint')
    if (!at) throw providerFailure('the identity provider names no usable sign-in page')
    const { runtime, signIn } = { runtime: this.#runtime, signIn: this.#make(x) }
    const challenge = process.getBuiltinModule('node:crypto').hash('sha256', signIn.verifier, 'base64url')
    const asked = {
      response_type: 'code',
      client_id: this.#provider.clientId,
      redirect_uri: redirect.href,
      scope: ['openid', ...scopes.filter(scope => scope !== 'openid')].join(' '),
      state: signIn.state,
      nonce: signIn.nonce,
      code_challenge: challenge,
      code_challenge_method: 'S256',
    }
    for (const [name, value] of Object.entries(asked)) at.searchParams.set(name, value)
    const name = `${cookie}.${signIn.state}`
    const sealed = this.#place.seal.seal(JSON.stringify(signIn), this.#context(name, x), runtime.uuid())
    const cookies = [setCookie(name, sealed, LIFETIME, this.#place.secure), ...this.#surplus(x)]
    return redirectTo(at.href, cookies)
  }

  /** Whether a request is a browser's return from the provider. */
  returns(path: string, query: URLSearchParams): boolean {
    return path === this.#settings.redirect.pathname && query.has('state') && (query.has('code') || query.has('error'))
  }

  /** A browser without a pending sign-in for this state did not start it: somebody else may have sent it here. */
  async finish(query: URLSearchParams, x: Exchange): Promise<Reply> {
    if ([...query.keys()].some((name, i, all) => all.indexOf(name) !== i)) throw invalidCallback()
    const name = `${this.#settings.cookie}.${query.get('state')}`
    const signIn = this.#read(name, x)
    if (signIn === undefined || signIn.state !== query.get('state')) throw invalidCallback()
    const done = setCookie(name, '', 0, this.#place.secure)
    const metadata = await this.#provider.metadata(x)
    const issuer = query.get('iss')
    const announced = metadata.authorization_response_iss_parameter_supported === true
    if (issuer === null ? announced : issuer !== metadata.issuer) throw invalidCallback([done])
    const code = query.get('code')
    if (query.has('error') || code === null || code === '') {
      const detail = `the identity provider has refused the sign-in${wordIn(query.get('error'))}`
      throw new GatewayError('oidc', { status: 400, detail, headers: cookieFields([done]) })
    }
    try {
      const { redirect } = this.#settings
      const grant = await this.#provider.redeem(code, signIn.verifier, redirect.href, signIn.nonce, x)
      const session = this.#sessions.begin(grant)
      return redirectTo(this.#within(signIn.returnTo), [done, ...this.#sessions.cookies(session, x)])
    } catch (error) {
      throw error instanceof GrantRefused ? invalidCallback([done]) : error
    }
  }

  #make(x: Exchange): SignIn {
    const random = () => this.#runtime.uuid().replaceAll('-', '')
    return {
      state: random(),
      nonce: random(),
      verifier: random() + random(),
      returnTo: this.#within(x.request.path),
      ends: this.#now + LIFETIME,
    }
  }

  #read(name: string, x: Exchange): SignIn | undefined {
    const sealed = cookiesOf(x.request.headers, this.#settings.cookie).get(name)
    const text = sealed === undefined ? undefined : this.#place.seal.open(sealed, this.#context(name, x))
    const signIn = text === undefined ? undefined : (JSON.parse(text) as SignIn)
    return signIn && signIn.ends > this.#now ? signIn : undefined
  }

  /** Removes the oldest unfinished sign-ins, and invalid ones. */
  #surplus(x: Exchange): readonly string[] {
    const open = [...cookiesOf(x.request.headers, this.#settings.cookie).keys()]
      .map(name => ({ name, ends: this.#read(name, x)?.ends ?? 0 }))
      .sort((a, b) => b.ends - a.ends)
    return open.slice(MAX_PENDING - 1).map(({ name }) => setCookie(name, '', 0, this.#place.secure))
  }

  /** A path on this host, or its root: a browser may read other texts as another host. */
  #within(path: string): string {
    const { origin } = this.#settings.redirect
    if (path.length > MAX_PATH || !/^\/(?![/\\])[!-~]*$/.test(path)) return '/'
    return URL.canParse(path, origin) && new URL(path, origin).origin === origin ? path : '/'
  }

  #context(name: string, x: Exchange): string {
    return `sign-in ${name} ${x.request.authority}`
  }

  get #now(): number {
    return this.#runtime.clock.now() / 1000
  }
}

/** Without details: the sender may be probing. */
function invalidCallback(cookies: readonly string[] = []): GatewayError {
  return new GatewayError('oidc', { status: 400, detail: 'invalid callback', headers: cookieFields(cookies) })
}

export function redirectTo(location: string, cookies: readonly string[]): Reply {
  return {
    status: 302,
    headers: [
      'location',
      location,
      'cache-control',
      'no-store',
      'referrer-policy',
      'no-referrer',
      ...cookieFields(cookies),
    ],
    body: undefined,
    reason: 'Oidc',
  }
}
