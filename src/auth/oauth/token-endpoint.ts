// Asks authorization servers for tokens (RFC 6749 section 5, RFC 8693 section 2.2).
import { ask } from '../../calls/ask.ts'
import type { WholeReply } from '../../calls/dispatch.ts'
import type { Callee } from '../../calls/outcall.ts'
import { GatewayError } from '../../http/errors.ts'
import type { Exchange } from '../../http/exchange.ts'
import type { Runtime } from '../../runtime/runtime.ts'
import { accessTokenIn, oauthErrorIn, repliedMembers } from '../cloud/token-reply.ts'
import type { Dated } from '../fresh.ts'
import { type OAuthClient, proveClient } from './client-authentication.ts'
import { TOKEN_TYPES, type TokenType } from './token-types.ts'

export interface TokenEndpoint {
  readonly callee: Callee
  readonly path: string
  /** Unset: the token that is shown is all the proof there is. */
  readonly client: OAuthClient | undefined
  /** What errors call it: `the token endpoint`. */
  readonly name: string
}

/** What must come back. */
export interface ExpectedToken {
  /** Undefined: the grant gives access tokens and does not say so. */
  readonly issued?: TokenType | undefined
  /** ms of a token whose endpoint names none. */
  readonly defaultTtl: number
}

/** For whom it is asked. */
export interface TokenWish {
  readonly runtime: Runtime
  readonly x: Exchange
  /** Where its trace shows the call; unset: it does not wait for the answer, and may be over before that. */
  readonly scope: string | undefined
}

/** ms, unless the file says otherwise for the service. */
const TIMEOUT = 10_000
/** bytes. */
const LONGEST_REPLY = 256 * 1024
/** Errors that clients have no part in. */
const OWN_MISTAKES = ['invalid_client', 'unauthorized_client', 'unsupported_grant_type']

/**
 * One token for `form`. The call goes on when the client leaves: others may wait for the same token. Throws GatewayError
 * `invalidRequest` where the server refuses what the client has shown and `backendAuth` for all else; neither shows a
 * token.
 */
export async function askForToken(
  { callee, path, client, name }: TokenEndpoint,
  form: readonly (readonly [name: string, value: string])[],
  expected: ExpectedToken,
  { runtime, x, scope }: TokenWish,
): Promise<Dated<string>> {
  const now = runtime.clock.now()
  const params = new URLSearchParams(form.map(([field, value]) => [field, value]))
  const proof = client === undefined ? [] : proveClient(client, params, runtime.uuid(), now)
  const request = {
    ...(scope === undefined ? {} : { scope }),
    what: 'token exchange',
    purpose: { kind: 'Policy', subtype: 'TokenExchange' },
    timeout: callee.requestTimeout ?? TIMEOUT,
    shared: true,
    method: 'POST',
    path,
    fields: ['content-type', 'application/x-www-form-urlencoded', 'accept', 'application/json', ...proof],
  } as const
  const reply = await ask(callee, request, Buffer.from(params.toString()), LONGEST_REPLY, runtime, x).catch(error => {
    throw error instanceof GatewayError ? failed(`${name}: ${error.message}`, error) : error
  })
  if (reply.status !== 200) throw refused(name, reply)
  try {
    const members = repliedMembers(reply, name)
    checkKind(members, expected, name)
    return accessTokenIn(members, name, now, expected.defaultTtl / 1000)
  } catch (error) {
    throw failed(error instanceof Error ? error.message : 'unknown', error)
  }
}

function refused(name: string, reply: WholeReply): GatewayError {
  const code = oauthErrorIn(reply)
  const said = code === undefined ? '' : ` (${code})`
  if (reply.status !== 400 || OWN_MISTAKES.includes(code ?? ''))
    return failed(`${name} answered ${reply.status}${said}`)
  return new GatewayError('invalidRequest', { detail: `${name} refused the token${said}` })
}

/** A token of another kind is not what the backend takes, or is good for more than was asked for. */
function checkKind(members: Readonly<Record<string, unknown>>, { issued }: ExpectedToken, name: string): void {
  const { token_type: use, issued_token_type: kind } = members
  const assertion = issued === 'IdJag'
  const uses = issued === undefined || issued === 'AccessToken' ? ['bearer'] : assertion ? ['n_a'] : ['bearer', 'n_a']
  if (typeof use !== 'string' || !uses.includes(use.toLowerCase())) {
    throw new Error(`${name} gave no ${assertion ? 'assertion' : 'bearer token'}: another \`token_type\`, or none`)
  }
  if (issued === undefined || (kind === undefined && !assertion)) return
  if (kind !== null && kind !== TOKEN_TYPES[issued]) throw new Error(`${name} gave a token of another type`)
}

function failed(detail: string, cause?: unknown): GatewayError {
  return new GatewayError('backendAuth', { detail, cause })
}
