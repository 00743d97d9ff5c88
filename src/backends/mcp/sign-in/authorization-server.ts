import { tokenText } from '../../../auth/cloud/token-reply.ts'
import { clientFor, type OAuthClient } from '../../../auth/oauth/client-authentication.ts'
import { lifetimeIn, refreshTokenIn, requestGrant, type TokenReply, wordIn } from '../../../auth/oauth/grant-request.ts'
import {
  callProvider,
  endpointIn,
  jsonObjectIn,
  MetadataCache,
  oauthDocuments,
  type ProviderMetadata,
} from '../../../auth/provider-metadata.ts'
import { GatewayError } from '../../../http/errors.ts'
import type { Exchange } from '../../../http/exchange.ts'
import type { TlsOptions } from '../../../http/transport.ts'
import type { Runtime } from '../../../runtime/runtime.ts'
import { addressGuard } from '../../address-guard.ts'
import type { HttpTarget } from '../upstream-call.ts'
import { isScope } from './challenge.ts'
import { type Resource, readResource, siteOf } from './resource.ts'

export interface SignInSettings {
  readonly target: HttpTarget
  readonly redirect: URL
  readonly issuer: string | undefined
  readonly client: { readonly id: string; readonly secret: string | undefined } | undefined
  readonly scopes: readonly string[] | undefined
  /** For the authorization server. */
  readonly tls: TlsOptions | undefined
}

/** A token of one user for one target. Times in ms since the epoch. */
export interface Grant {
  readonly token: string
  /** Undefined if the server has not said. */
  readonly expiresAt: number | undefined
  readonly refresh: (() => Promise<Grant>) | undefined
  readonly scopes: readonly string[]
}

/** A sign-in that has begun, with the server that it began at: its reply must come from there. */
export interface Begun {
  readonly page: URL
  readonly issuer: string
  /** Its reply has to carry `iss` (RFC 9207). */
  readonly namesItself: boolean
  redeem(code: string, x: Exchange): Promise<Grant>
}

/** The server has rejected the grant: the user must sign in again. */
export class GrantRefused extends Error {}

/** The user reads it; it has nothing of a response. */
function signInFailure(detail: string, cause?: unknown): GatewayError {
  return new GatewayError('mcp', { status: 502, detail, cause })
}

const SCOPE = 'signIn'
/** ms. */
const FRESH = 300_000

/** The gateway as OAuth client of one target's authorization server (MCP, "Authorization"). */
export class AuthorizationServer {
  readonly #settings: SignInSettings
  readonly #runtime: Runtime
  #resource: { readonly value: Resource; readonly until: number } | undefined
  #metadata: { readonly issuer: string; readonly cache: MetadataCache } | undefined
  #registered: { readonly issuer: string; readonly client: OAuthClient; readonly until: number } | undefined

  constructor(settings: SignInSettings, runtime: Runtime) {
    this.#settings = settings
    this.#runtime = runtime
  }

  /** `scopes`: those that the target has asked for; `document`: where it has said that it describes itself. */
  async begin(
    asked: { readonly state: string; readonly verifier: string },
    {
      scopes: wanted,
      document,
    }: { readonly scopes?: readonly string[] | undefined; readonly document?: string | undefined },
    x: Exchange,
  ): Promise<Begun> {
    const resource = await this.#described(document, x)
    const metadata = await this.#found(resource, x)
    const page = this.#endpoint(metadata, 'authorization_endpoint')
    const tokens = this.#endpoint(metadata, 'token_endpoint')
    if (!listIn(metadata.code_challenge_methods_supported).includes('S256'))
      throw signInFailure('the authorization server does not support PKCE (S256)')
    const client = await this.#client(metadata, x)
    const scopes = this.#scopes(wanted, resource, metadata)
    const redirect = this.#settings.redirect.href
    const challenge = process.getBuiltinModule('node:crypto').hash('sha256', asked.verifier, 'base64url')
    const query = {
      response_type: 'code',
      client_id: client.id,
      redirect_uri: redirect,
      state: asked.state,
      code_challenge: challenge,
      code_challenge_method: 'S256',
      resource: resource.name,
      ...(scopes.length === 0 ? {} : { scope: scopes.join(' ') }),
      // OpenID providers give a refresh token only to users who have agreed to it.
      ...(scopes.includes('offline_access') ? { prompt: 'consent' } : {}),
    }
    for (const [name, value] of Object.entries(query)) page.searchParams.set(name, value)
    const at = { tokens, client, resource: resource.name, scopes }
    return {
      page,
      issuer: metadata.issuer,
      namesItself: metadata.authorization_response_iss_parameter_supported === true,
      redeem: (code, from) =>
        this.#ask(
          at,
          { grant_type: 'authorization_code', code, redirect_uri: redirect, code_verifier: asked.verifier },
          from,
        ),
    }
  }

  async #ask(
    at: {
      readonly tokens: URL
      readonly client: OAuthClient
      readonly resource: string
      readonly scopes: readonly string[]
    },
    grant: Readonly<Record<string, string>>,
    x: Exchange | undefined,
  ): Promise<Grant> {
    const how = { scope: SCOPE, shared: true, ...this.#reach(at.tokens) }
    const asked = { ...grant, resource: at.resource }
    const reply = await requestGrant(at.tokens, at.client, asked, how, this.#runtime, x).catch(error => {
      throw signInFailure('the token endpoint gives no usable answer', error)
    })
    const { status, members } = reply
    const { error: code } = members
    if (status === 400 && code === 'invalid_grant') throw new GrantRefused('the grant is not valid')
    // The server has forgotten this client, which registers anew with the next sign-in.
    if (code === 'invalid_client') this.#registered = undefined
    if (status !== 200) throw signInFailure(`the token endpoint answered ${status}${wordIn(code)}`)
    if (typeof members.token_type !== 'string' || members.token_type.toLowerCase() !== 'bearer')
      throw signInFailure('the token endpoint gave no bearer token')
    const again = refreshTokenIn(members) ?? grant.refresh_token
    const refresh = { grant_type: 'refresh_token', refresh_token: again ?? '' }
    return {
      token: bearerIn(members),
      expiresAt: this.#ends(members),
      scopes: typeof members.scope === 'string' ? members.scope.split(' ').filter(isScope) : at.scopes,
      refresh: again === undefined ? undefined : () => this.#ask(at, refresh, undefined),
    }
  }

  #ends(members: TokenReply['members']): number | undefined {
    const seconds = lifetimeIn(members)
    return seconds === undefined ? undefined : this.#runtime.clock.now() + seconds * 1000
  }

  async #described(document: string | undefined, x: Exchange): Promise<Resource> {
    const { target, issuer } = this.#settings
    const now = this.#runtime.clock.mono()
    if (this.#resource && this.#resource.until > now) return this.#resource.value
    const value = issuer === undefined ? await readResource(target, document, this.#runtime, x) : siteOf(target)
    this.#resource = { value, until: now + FRESH }
    return value
  }

  async #found({ issuer: named }: Resource, x: Exchange): Promise<ProviderMetadata> {
    const issuer = this.#settings.issuer ?? named
    if (!URL.canParse(issuer) || !this.#mayCall(new URL(issuer)))
      throw signInFailure('the target names an authorization server that is not called: it is not https')
    if (this.#metadata?.issuer !== issuer) {
      const cache = new MetadataCache(issuer, oauthDocuments(issuer), this.#reach(new URL(issuer)))
      this.#metadata = { issuer, cache }
    }
    try {
      return await this.#metadata.cache.read(SCOPE, this.#runtime, x)
    } catch (error) {
      throw signInFailure('the authorization server does not say where its endpoints are', error)
    }
  }

  #endpoint(metadata: ProviderMetadata, member: string): URL {
    const url = endpointIn(metadata, member)
    if (url && this.#mayCall(url)) return url
    throw signInFailure(`the authorization server names no usable \`${member}\``)
  }

  /** Addresses that only the target names: https, or the host of the target itself. */
  #mayCall({ protocol, hostname }: URL): boolean {
    if (this.#settings.issuer !== undefined) return true
    return protocol === 'https:' || (protocol === 'http:' && hostname === this.#host)
  }

  /** The same: none on the gateway's side of the network. */
  #reach({ hostname }: URL) {
    const { tls, issuer } = this.#settings
    return { tls, permits: issuer !== undefined || hostname === this.#host ? undefined : addressGuard([]) }
  }

  get #host(): string {
    return new URL(siteOf(this.#settings.target).name).hostname
  }

  #scopes(
    wanted: readonly string[] | undefined,
    { scopes }: Resource,
    { scopes_supported: supported }: ProviderMetadata,
  ): readonly string[] {
    const all = [...(this.#settings.scopes ?? wanted ?? scopes), ...(this.#settings.scopes ? (wanted ?? []) : [])]
    if (listIn(supported).includes('offline_access')) all.push('offline_access')
    return [...new Set(all)]
  }

  /** Configured, or registered once per authorization server (RFC 7591). */
  async #client(metadata: ProviderMetadata, x: Exchange): Promise<OAuthClient> {
    const { issuer, token_endpoint_auth_methods_supported: methods } = metadata
    if (this.#settings.client) return clientFor(this.#settings.client, methods)
    const known = this.#registered
    if (known?.issuer === issuer && known.until > this.#runtime.clock.now()) return known.client
    if (endpointIn(metadata, 'registration_endpoint') === undefined)
      throw signInFailure('the authorization server registers no clients: `clientId` has to be configured')
    const at = this.#endpoint(metadata, 'registration_endpoint')
    const body = JSON.stringify({
      client_name: 'gwctl',
      application_type: 'web',
      redirect_uris: [this.#settings.redirect.href],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: listIn(methods).includes('none') ? 'none' : 'client_secret_basic',
    })
    const fields = ['content-type', 'application/json']
    const call = { scope: SCOPE, what: 'registration', method: 'POST', fields, body, shared: true } as const
    const members = await callProvider(at, { ...call, ...this.#reach(at) }, this.#runtime, x)
      .then(reply => {
        if (reply.status !== 201 && reply.status !== 200) throw new Error(`status ${reply.status}`)
        return jsonObjectIn(reply)
      })
      .catch(error => {
        throw signInFailure('the authorization server has not registered the gateway', error)
      })
    const {
      client_id: id,
      client_secret: secret,
      token_endpoint_auth_method: method,
      client_secret_expires_at: ends,
    } = members
    if (typeof id !== 'string' || id === '') throw signInFailure('the authorization server has given no client id')
    const client = clientFor(
      { id, secret: typeof secret === 'string' && method !== 'none' ? secret : undefined },
      method === undefined ? methods : [method],
    )
    const until = typeof ends === 'number' && ends > 0 ? ends * 1000 : Number.POSITIVE_INFINITY
    this.#registered = { issuer, client, until }
    return client
  }
}

function bearerIn({ access_token: token }: TokenReply['members']): string {
  try {
    return tokenText(token, 'the token endpoint')
  } catch (error) {
    throw signInFailure('the token endpoint gave no token', error)
  }
}

function listIn(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
