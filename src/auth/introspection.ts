import { GatewayError } from '../http/errors.ts'
import type { Exchange } from '../http/exchange.ts'
import type { TlsOptions } from '../http/transport.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { readCompact } from './jws.ts'
import { type OAuthClient, proveClient } from './oauth/client-authentication.ts'
import { callProvider, jsonObjectIn } from './provider-metadata.ts'
import { type Claims, claimsProblem, type ExpectedClaims, invalidToken, MAX_TOKEN } from './token-claims.ts'
import { VerifiedTokens } from './verified-tokens.ts'

export interface IntrospectionSettings {
  /** The policy's name, as calls are labeled in traces. */
  readonly scope: string
  readonly endpoint: URL
  readonly tls: TlsOptions | undefined
  readonly client: OAuthClient
  readonly expected: ExpectedClaims
  /** ms that a response is cached. */
  readonly cacheDuration: number
}

/** Opaque tokens, introspected at their issuer (RFC 7662). */
export class Introspection {
  readonly #settings: IntrospectionSettings
  readonly #runtime: Runtime
  readonly #verified: VerifiedTokens
  readonly #pending = new Map<string, Promise<Claims>>()

  constructor(settings: IntrospectionSettings, runtime: Runtime) {
    this.#settings = settings
    this.#runtime = runtime
    this.#verified = new VerifiedTokens(runtime.clock)
  }

  /** A token that names another issuer is not disclosed to this one. */
  concerns(token: string): boolean {
    const payload = readCompact(token)?.payload as Claims | undefined
    return payload?.iss === undefined || payload.iss === this.#settings.expected.issuer
  }

  known(token: string): Claims | undefined {
    return this.#verified.known(token)
  }

  /**
   * Throws GatewayError `jwt`, with status 503 if the endpoint is unreachable. Concurrent requests with one token share
   * a call.
   */
  ask(token: string, x: Exchange): Promise<Claims> {
    if (token.length > MAX_TOKEN) throw invalidToken('it is too long')
    const known = this.#pending.get(token)
    if (known) return known
    const pending = this.#ask(token, x).finally(() => this.#pending.delete(token))
    this.#pending.set(token, pending)
    return pending
  }

  async #ask(token: string, x: Exchange): Promise<Claims> {
    const { scope, endpoint, tls, client, expected, cacheDuration } = this.#settings
    const form = new URLSearchParams({ token, token_type_hint: 'access_token' })
    const { uuid, clock } = this.#runtime
    const proof = proveClient(client, form, uuid(), clock.now())
    const fields = ['content-type', 'application/x-www-form-urlencoded', ...proof]
    const call = { scope, what: 'introspection', method: 'POST', fields, shared: true, tls } as const
    let reply: Readonly<Record<string, unknown>>
    try {
      const answer = await callProvider(endpoint, { ...call, body: form.toString() }, this.#runtime, x)
      if (answer.status !== 200) throw new Error(`status ${answer.status}`)
      reply = jsonObjectIn(answer)
    } catch (error) {
      throw new GatewayError('jwt', { status: 503, detail: 'token introspection failed', cause: error })
    }
    const { active, ...told } = reply
    if (active !== true) throw invalidToken('the issuer reports it as inactive')
    const claims = { iss: expected.issuer, ...told }
    const problem = claimsProblem(claims, expected, clock.now() / 1000)
    if (problem !== undefined) throw invalidToken(problem)
    this.#verified.keep(token, claims, cacheDuration)
    return claims
  }
}
