import { createHash } from 'node:crypto'
import { principalOf } from '../../../auth/principal.ts'
import { asError } from '../../../calls/response-policies.ts'
import { withDeadline } from '../../../http/body-deadline.ts'
import { GatewayError } from '../../../http/errors.ts'
import type { Attempt, AuthFacts, Exchange } from '../../../http/exchange.ts'
import type { HeaderList } from '../../../http/headers.ts'
import { discard, handlerAround, type ResponseHandler } from '../../../http/transport.ts'
import type { Clock, Runtime } from '../../../runtime/runtime.ts'
import { REST } from '../connection.ts'
import type { Users } from '../targets.ts'
import { AuthorizationServer, type Begun, type Grant, type SignInSettings } from './authorization-server.ts'
import { type Challenge, challengeIn } from './challenge.ts'
import { Expiring } from './expiring.ts'
import { Grants } from './grants.ts'
import { type Need, SignInNeeded } from './need.ts'

/** An invitation to sign in, for one user. */
export interface Ticket {
  readonly id: string
  readonly principal: string
  /** As the page calls the user. */
  readonly user: string
  readonly scopes: readonly string[] | undefined
  readonly document: string | undefined
}

/** A sign-in of a browser that is at the authorization server. */
export interface Pending {
  readonly principal: string
  /** Only the browser that began it has this. */
  readonly proof: string
  readonly begun: Begun
}

/** ms for an invitation, and for a sign-in. */
const LIFE = 600_000
const MAX_OPEN = 10_000
/** RFC 6750, 3.1. */
const INSUFFICIENT = 'insufficient_scope'

/** What is kept of one target across reloads: its users' tokens, and who is about to sign in. */
export class SignInState {
  readonly grants: Grants
  readonly tickets: Expiring<Ticket>
  /** The latest one of each principal. */
  readonly invited: Expiring<Ticket>
  readonly pending: Expiring<Pending>

  constructor(clock: Clock) {
    this.grants = new Grants(clock)
    this.tickets = new Expiring(clock, LIFE, MAX_OPEN)
    this.invited = new Expiring(clock, LIFE, MAX_OPEN)
    this.pending = new Expiring(clock, LIFE, MAX_OPEN)
  }
}

interface Call {
  readonly principal: string
  readonly x: Exchange
  readonly attempt: Attempt
  readonly on: ResponseHandler
}

/** Calls one target with the token of whoever makes the call, and asks users for one. */
export class TargetUsers implements Users {
  readonly state: SignInState
  readonly server: AuthorizationServer
  readonly #settings: SignInSettings
  readonly #runtime: Runtime

  constructor(settings: SignInSettings, state: SignInState, runtime: Runtime) {
    this.state = state
    this.server = new AuthorizationServer(settings, runtime)
    this.#settings = settings
    this.#runtime = runtime
  }

  get target(): string {
    return this.#settings.target.name
  }

  /** The client's own token stays here: it was not issued for the target. */
  send(x: Exchange, attempt: Attempt, on: ResponseHandler): void {
    x.request.headers.delete('authorization')
    const principal = principalOf(x.auth)
    if (principal === undefined) {
      const detail = `\`${this.target}\` takes calls of users only, and no policy has identified one`
      on.fail(new GatewayError('mcp', { status: 401, detail }))
      return
    }
    this.#grantOf(principal, x).then(
      grant => this.#send({ principal, x, attempt, on }, grant, true),
      (error: unknown) => on.fail(asError(error)),
    )
  }

  has({ auth }: Exchange): boolean {
    const principal = principalOf(auth)
    return principal !== undefined && this.state.grants.has(principal)
  }

  needOf({ auth }: Exchange): Need | undefined {
    const principal = principalOf(auth)
    const ticket = principal === undefined ? undefined : this.state.invited.get(principal)
    const open = ticket && this.state.tickets.get(ticket.id)
    return open && !this.state.grants.has(open.principal) ? this.#needFor(open) : undefined
  }

  async #grantOf(principal: string, { auth }: Exchange): Promise<Grant | undefined> {
    const { grants, invited } = this.state
    const grant = await grants.of(principal)
    if (grant) return grant
    // It has been refused before: the user has to act first.
    const ticket = invited.get(principal)
    if (ticket && this.state.tickets.get(ticket.id)) throw new SignInNeeded(this.#needFor(ticket))
    if (!this.#runtime.standIns) return undefined
    // In a dry run everybody has signed in: what matters is whose token a call carries.
    const own = { token: `token-of-${wordFor(auth)}`, expiresAt: undefined, refresh: undefined, scopes: [] }
    grants.keep(principal, own)
    return await grants.of(principal)
  }

  #send(call: Call, grant: Grant | undefined, mayRepeat: boolean): void {
    const { x, attempt, on } = call
    if (x.aborted) return
    if (grant) x.request.headers.set('authorization', `Bearer ${grant.token}`)
    const handler = handlerAround(on, {
      head: (status, headers) => {
        const challenge = challengeFor(status, headers)
        if (!challenge) return on.head(status, headers)
        // No client is asked to sign in for a stream: it goes without.
        if (x.request.method !== 'POST') return on.head(405, headers)
        void this.#refused(call, grant, challenge, mayRepeat && status === 401)
        return withDeadline(discard, REST, this.#runtime.clock, { cancel: () => x.abort() })
      },
    })
    this.#settings.target.send(x, attempt, handler)
  }

  /** The target wants another token. A call that it has refused has done nothing, and may be repeated. */
  async #refused(call: Call, grant: Grant | undefined, challenge: Challenge, mayRepeat: boolean): Promise<void> {
    const { principal, x, on } = call
    const { grants } = this.state
    try {
      const next = grant && mayRepeat ? await grants.after(principal, grant) : await undefined
      if (next) return this.#send(call, next, false)
      const enough = challenge.error !== INSUFFICIENT
      if (grant && enough) grants.drop(principal, grant)
      on.fail(this.#refusal(principal, x.auth, challenge, enough ? undefined : grant))
    } catch (error) {
      on.fail(asError(error))
    }
  }

  #refusal(principal: string, auth: AuthFacts, challenge: Challenge, granted: Grant | undefined): SignInNeeded {
    const { scopes: asked, document } = challenge
    const scopes = asked && [...new Set([...(granted?.scopes ?? []), ...asked])]
    return new SignInNeeded(this.#need(principal, auth, { scopes, document }))
  }

  /** One invitation per user at a time, unless it has to be for more. */
  #need(principal: string, auth: AuthFacts, { scopes, document }: Challenge): Need {
    const known = this.state.invited.get(principal)
    if (known && this.state.tickets.get(known.id) && (scopes ?? []).every(scope => known.scopes?.includes(scope)))
      return this.#needFor(known)
    const id = this.#runtime.uuid()
    const ticket = { id, principal, user: nameOf(auth), scopes, document }
    this.state.tickets.set(id, ticket)
    this.state.invited.set(principal, ticket)
    return this.#needFor(ticket)
  }

  #needFor({ id }: Ticket): Need {
    const link = new URL(this.#settings.redirect)
    link.searchParams.set('ticket', id)
    return { target: this.target, link: link.href, id: createHash('sha256').update(id).digest('base64url') }
  }
}

/** 401, or 403 for a token that is not allowed enough (RFC 6750, 3.1). */
function challengeFor(status: number, headers: HeaderList): Challenge | undefined {
  if (status !== 401 && status !== 403) return undefined
  const challenge = challengeIn(headers)
  return status === 401 || challenge.error === INSUFFICIENT ? challenge : undefined
}

function nameOf({ jwt, apiKey, basic }: AuthFacts): string {
  if (jwt) {
    const name = jwt.email ?? jwt.preferred_username ?? jwt.name
    return `${typeof name === 'string' ? `${name}, ` : ''}${String(jwt.sub ?? 'a token without subject')} of ${String(jwt.iss)}`
  }
  return basic ? basic.username : `the API key of ${JSON.stringify(apiKey?.user ?? apiKey?.name ?? 'unknown')}`
}

function wordFor({ jwt, apiKey, basic }: AuthFacts): string {
  return encodeURIComponent(String(jwt?.sub ?? basic?.username ?? apiKey?.user ?? 'user'))
}
