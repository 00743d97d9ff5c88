import { JwtVerifier } from '../../../auth/jwt.ts'
import type { KeySource } from '../../../auth/key-source.ts'
import { clientFor, type OAuthClient } from '../../../auth/oauth/client-authentication.ts'
import { lifetimeIn, refreshTokenIn, requestGrant, wordIn } from '../../../auth/oauth/grant-request.ts'
import { endpointIn, type ProviderMetadata } from '../../../auth/provider-metadata.ts'
import type { Claims } from '../../../auth/token-claims.ts'
import { GatewayError } from '../../../http/errors.ts'
import type { Exchange } from '../../../http/exchange.ts'
import type { TlsOptions } from '../../../http/transport.ts'
import type { Runtime } from '../../../runtime/runtime.ts'

export const SCOPE = 'oidc'

export interface ProviderSettings {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string
  /** If unset, chosen from the provider's metadata. */
  readonly authentication: 'clientSecretBasic' | 'clientSecretPost' | undefined
  readonly keys: KeySource
  readonly tls: TlsOptions | undefined
  metadata(x: Exchange): Promise<ProviderMetadata>
}

/** The token endpoint's response. */
export interface Grant {
  readonly idToken: string | undefined
  readonly claims: Claims | undefined
  readonly refreshToken: string | undefined
  /** s. */
  readonly expiresIn: number | undefined
}

/** The provider has rejected the grant: the user must sign in again. */
export class GrantRefused extends Error {}

/** The provider fails, or rejects this client. The error does not include its response. */
export function providerFailure(detail: string, cause?: unknown): GatewayError {
  return new GatewayError('oidc', { status: 500, detail, cause })
}

/** An OpenID Connect client of one provider. */
export class OpenidProvider {
  readonly #settings: ProviderSettings
  readonly #runtime: Runtime
  readonly #verifier: JwtVerifier

  constructor(settings: ProviderSettings, runtime: Runtime) {
    const { issuer, clientId, keys } = settings
    this.#settings = settings
    this.#runtime = runtime
    // The claims of a dry run are made up by the user.
    const required = runtime.standIns ? ['exp'] : ['exp', 'iat', 'sub']
    this.#verifier = new JwtVerifier([{ issuer, audiences: [clientId], requiredClaims: required, keys }], runtime.clock)
  }

  get clientId(): string {
    return this.#settings.clientId
  }

  /** Throws GatewayError `oidc`. */
  async metadata(x: Exchange): Promise<ProviderMetadata> {
    try {
      return await this.#settings.metadata(x)
    } catch (error) {
      throw providerFailure('the metadata of the identity provider is unavailable', error)
    }
  }

  /**
   * Throws GrantRefused, and GatewayError `oidc` for anything else. `nonce`: from the sign-in that the code belongs to.
   */
  async redeem(code: string, verifier: string, redirect: string, nonce: string, x: Exchange): Promise<Grant> {
    const form = { grant_type: 'authorization_code', code, redirect_uri: redirect, code_verifier: verifier }
    const grant = await this.#ask(form, x, false)
    if (grant.claims === undefined) throw providerFailure('the identity provider has given no ID token')
    if (grant.claims.nonce !== nonce) throw providerFailure('the ID token belongs to another sign-in')
    return grant
  }

  /** `subject`: the session's owner. Throws as `redeem` does. */
  async refresh(refreshToken: string, subject: unknown, x: Exchange): Promise<Grant> {
    const grant = await this.#ask({ grant_type: 'refresh_token', refresh_token: refreshToken }, x, true)
    if (grant.claims && grant.claims.sub !== subject) throw providerFailure('the ID token belongs to somebody else')
    return grant
  }

  async #ask(members: Readonly<Record<string, string>>, x: Exchange, shared: boolean): Promise<Grant> {
    const metadata = await this.metadata(x)
    const at = endpointIn(metadata, 'token_endpoint')
    if (!at) throw providerFailure('the identity provider names no usable token endpoint')
    const how = { scope: SCOPE, shared, tls: this.#settings.tls }
    const reply = await requestGrant(at, this.#client(metadata), members, how, this.#runtime, x).catch(error => {
      throw providerFailure('the token endpoint gives no usable answer', error)
    })
    const { status, members: replied } = reply
    const { error: code } = replied
    if (status === 400 && code === 'invalid_grant') throw new GrantRefused('the grant is not valid')
    if (status !== 200) throw providerFailure(`the token endpoint answered ${status}${wordIn(code)}`)
    return await this.#grantIn(replied)
  }

  async #grantIn(replied: Readonly<Record<string, unknown>>): Promise<Grant> {
    const { id_token: idToken } = replied
    return {
      ...(typeof idToken === 'string'
        ? { idToken, claims: await this.verify(idToken) }
        : { idToken: undefined, claims: undefined }),
      refreshToken: refreshTokenIn(replied),
      expiresIn: lifetimeIn(replied),
    }
  }

  /** Verifies an ID token for this client (OpenID Connect Core, 3.1.3.7). */
  async verify(token: string): Promise<Claims> {
    let claims: Claims
    try {
      claims = await this.#verifier.verify(token)
    } catch (error) {
      const reason = error instanceof GatewayError ? (error.details.detail ?? '') : ''
      throw providerFailure(`the ID token is refused: ${reason}`, error)
    }
    const { aud, azp } = claims
    const several = Array.isArray(aud) && aud.length > 1
    if ((azp !== undefined || several) && azp !== this.#settings.clientId)
      throw providerFailure('the ID token is meant for another client')
    return claims
  }

  #client({ token_endpoint_auth_methods_supported: methods }: ProviderMetadata): OAuthClient {
    const { clientId: id, clientSecret: secret, authentication: method } = this.#settings
    return method === undefined ? clientFor({ id, secret }, methods) : { method, id, secret }
  }
}
