// Token requests to authorization servers (RFC 6749 section 5, RFC 8693 section 2.2).
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
  /** If unset, the presented token is the only authentication. */
  readonly client: OAuthClient | undefined
  /** Its name in errors: `the token endpoint`. */
  readonly name: string
}

/** Requirements on the issued token. */
export interface ExpectedToken {
  /** Undefined: the grant issues access tokens and does not state the type. */
  readonly issued?: TokenType | undefined
  /** Lifetime in ms if the endpoint gives none. */
  readonly defaultTtl: number
}

/** The request that the token is for. */
export interface TokenRequest {
  readonly runtime: Runtime
  readonly x: Exchange
  /** Where its trace shows the call; unset if it does not wait for the result and may end first. */
  readonly scope: string | undefined
}

/** ms, unless configured for the service. */
const TIMEOUT = 10_000
/** bytes. */
const MAX_REPLY = 256 * 1024
/** Errors that clients cannot cause. */
const OWN_MISTAKES = ['invalid_client', 'unauthorized_client', 'unsupported_grant_type']

/**
 * Requests one token for `form`. The call continues if the client disconnects, since others may be waiting for the same
 * token. Throws GatewayError `invalidRequest` if the server rejects the client's credential, and `backendAuth` for
 * anything else; neither contains a token.
 */
export async function askForToken(
  { callee, path, client, name }: TokenEndpoint,
  form: readonly (readonly [name: string, value: string])[],
  expected: ExpectedToken,
  { runtime, x, scope }: TokenRequest,
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
  const reply = await ask(callee, request, Buffer.from(params.toString()), MAX_REPLY, runtime, x).catch(error => {
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

/** A token of another type is not what the backend accepts, or grants more than was requested. */
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
