import { createHash, timingSafeEqual } from 'node:crypto'
import { wordIn } from '../../../auth/oauth/grant-request.ts'
import { principalOf } from '../../../auth/principal.ts'
import { answerWith } from '../../../calls/outcall.ts'
import { asError } from '../../../calls/response-policies.ts'
import { GatewayError } from '../../../http/errors.ts'
import type { Exchange, Reply } from '../../../http/exchange.ts'
import { formFields } from '../../../http/form-fields.ts'
import type { ResponseHandler } from '../../../http/transport.ts'
import { pathOf } from '../../../mcp/oauth-documents.ts'
import { cookieFields, cookiesOf, RESERVED, setCookie } from '../../../policies/parts/oidc/cookies.ts'
import type { Runtime } from '../../../runtime/runtime.ts'
import { GrantRefused } from './authorization-server.ts'
import type { Pending, TargetUsers, Ticket } from './target-users.ts'

/** s. */
const LIFE = 600
const MAX_FORM = 4096

/**
 * The pages on which users sign in at targets. Nobody can sign in for somebody else: where a policy identifies the
 * browser's user, that must be the user of the invitation; otherwise the page names that user and asks. A sign-in ends
 * in the browser in which it began.
 */
export class SignInPages {
  readonly #redirect: URL
  readonly #users: readonly TargetUsers[]
  readonly #runtime: Runtime

  constructor(redirect: URL, users: readonly TargetUsers[], runtime: Runtime) {
    this.#redirect = redirect
    this.#users = users
    this.#runtime = runtime
  }

  /** False: the request is for something else. Nothing else is served at this path: it needs no credential. */
  serve(x: Exchange, on: ResponseHandler): boolean {
    if (pathOf(x.request.path) !== this.#redirect.pathname) return false
    this.#answer(x).then(
      reply => answerWith(reply, on),
      (error: unknown) => on.fail(asError(error)),
    )
    return true
  }

  async #answer(x: Exchange): Promise<Reply> {
    const { method, path } = x.request
    const query = formFields(path.slice(pathOf(path).length + 1))
    if ([...query.keys()].some((name, i, all) => all.indexOf(name) !== i)) return INVALID
    if (method === 'POST') return await this.#begin(x)
    if (method !== 'GET') throw new GatewayError('methodNotAllowed', { headers: ['allow', 'GET, POST'] })
    return query.has('state') ? await this.#finish(query, x) : this.#ask(query.get('ticket') ?? '', x)
  }

  /** Asks whether the user means it: the link may have come from somebody else. */
  #ask(id: string, x: Exchange): Reply {
    const found = this.#ticket(id)
    if (!found) return EXPIRED
    const { ticket, users } = found
    if (isSomebodyElse(ticket, x)) return FOREIGN
    const proof = this.#runtime.uuid()
    const cookies = [setCookie(this.#cookie(id), proof, LIFE, this.#secure)]
    const text = `<p>Calls of <b>${escaped(ticket.user)}</b> to <b>${escaped(users.target)}</b> will be made with the account that you sign in with next.</p>
<p>Continue only if that is you, and if you have just asked for this. If somebody sent you this link, close the page.</p>
<form method="post" action="${escaped(this.#redirect.pathname)}"><input type="hidden" name="ticket" value="${escaped(id)}"><input type="hidden" name="proof" value="${proof}"><button>Continue to sign in</button></form>`
    return page(200, `Sign in to ${users.target}`, text, cookies)
  }

  async #begin(x: Exchange): Promise<Reply> {
    if (!this.#isOwnForm(x)) return INVALID
    const form = formFields((await x.body.buffer(MAX_FORM)).toString('utf8'))
    const id = form.get('ticket') ?? ''
    const found = this.#ticket(id)
    if (!found) return EXPIRED
    const { ticket, users } = found
    if (isSomebodyElse(ticket, x)) return FOREIGN
    const name = this.#cookie(id)
    if (!isSame(form.get('proof'), cookiesOf(x.received.headers, name).get(name))) return INVALID
    const random = () => this.#runtime.uuid().replaceAll('-', '')
    const [state, proof] = [random(), random()]
    const begun = await users.server.begin({ state, verifier: random() + random() }, ticket, x)
    // Works once; another tab may have been faster.
    if (!users.state.tickets.take(id)) return EXPIRED
    users.state.pending.set(state, { principal: ticket.principal, proof, begun })
    const cookies = [setCookie(name, '', 0, this.#secure), setCookie(this.#cookie(state), proof, LIFE, this.#secure)]
    return {
      status: 303,
      headers: ['location', begun.page.href, ...SAFE, ...cookieFields(cookies)],
      body: '',
      reason: 'MCP',
    }
  }

  async #finish(query: URLSearchParams, x: Exchange): Promise<Reply> {
    const state = query.get('state') ?? ''
    const users = this.#users.find(each => each.state.pending.get(state))
    const pending = users?.state.pending.get(state)
    const name = this.#cookie(state)
    if (!users || !pending || !isSame(pending.proof, cookiesOf(x.received.headers, name).get(name))) return INVALID
    users.state.pending.take(state)
    if (isSomebodyElse(pending, x)) return FOREIGN
    const done = [setCookie(name, '', 0, this.#secure)]
    // The reply of another server must not be taken for this one's (RFC 9207).
    const issuer = query.get('iss')
    if (issuer === null ? pending.begun.namesItself : issuer !== pending.begun.issuer) return INVALID
    const code = query.get('code')
    if (query.has('error') || code === null || code === '') {
      const text = `<p>${escaped(users.target)} has not let you in${wordIn(query.get('error'))}. Ask your agent for a new link to try again.</p>`
      return page(400, 'Not signed in', text, done)
    }
    return await this.#signIn(users, pending, code, x, done)
  }

  async #signIn(
    users: TargetUsers,
    { principal, begun }: Pending,
    code: string,
    x: Exchange,
    cookies: readonly string[],
  ): Promise<Reply> {
    try {
      users.state.grants.keep(principal, await begun.redeem(code, x))
    } catch (error) {
      if (error instanceof GrantRefused) return INVALID
      throw error
    }
    users.state.invited.take(principal)
    return page(
      200,
      'Signed in',
      `<p>You have signed in to ${escaped(users.target)}. You can close this page.</p>`,
      cookies,
    )
  }

  #ticket(id: string): { readonly ticket: Ticket; readonly users: TargetUsers } | undefined {
    for (const users of this.#users) {
      const ticket = users.state.tickets.get(id)
      if (ticket) return { ticket, users }
    }
    return undefined
  }

  /** Other sites must not continue for the user. */
  #isOwnForm({ request: { headers } }: Exchange): boolean {
    const [origin, site] = [headers.get('origin'), headers.get('sec-fetch-site')]
    return (origin === undefined || origin === this.#redirect.origin) && (site === undefined || site === 'same-origin')
  }

  get #secure(): boolean {
    return this.#redirect.protocol === 'https:'
  }

  /** The name tells nothing of the ticket or state. */
  #cookie(id: string): string {
    return `${this.#secure ? '__Host-' : ''}${RESERVED}u_${createHash('sha256').update(id).digest('hex').slice(0, 32)}`
  }
}

/** Only where a policy identifies the user of the browser. */
function isSomebodyElse({ principal }: { readonly principal: string }, { auth }: Exchange): boolean {
  const own = principalOf(auth)
  return own !== undefined && own !== principal
}

function isSame(given: string | null | undefined, held: string | undefined): boolean {
  if (!given || !held) return false
  const [a, b] = [given, held].map(text => createHash('sha256').update(text).digest())
  return timingSafeEqual(a as Buffer, b as Buffer)
}

const SAFE = [
  ...['cache-control', 'no-store', 'referrer-policy', 'no-referrer', 'x-content-type-options', 'nosniff'],
  ...[
    'x-frame-options',
    'DENY',
    'content-security-policy',
    "default-src 'none'; frame-ancestors 'none'; base-uri 'none'",
  ],
]

function page(status: number, title: string, body: string, cookies: readonly string[] = []): Reply {
  const text = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escaped(title)}</title><h1>${escaped(title)}</h1>${body}</html>`
  return {
    status,
    headers: ['content-type', 'text/html; charset=utf-8', ...SAFE, ...cookieFields(cookies)],
    body: text,
    reason: 'MCP',
  }
}

/** Without details: the sender may be probing. */
const INVALID = page(400, 'Not signed in', '<p>This is not the end of a sign-in that began in this browser.</p>')
const EXPIRED = page(
  400,
  'Link used or expired',
  '<p>Links to sign in work once and for ten minutes. Ask your agent for a new one.</p>',
)
const FOREIGN = page(403, 'Link for somebody else', '<p>This link is for another user than the one you are here.</p>')

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, char => `&#${char.charCodeAt(0)};`)
}
