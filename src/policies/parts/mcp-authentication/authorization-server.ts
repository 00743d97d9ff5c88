import {
  callProvider,
  endpointIn,
  type MetadataCache,
  type ProviderCall,
  type ProviderMetadata,
} from '../../../auth/provider-metadata.ts'
import { GatewayError } from '../../../http/errors.ts'
import type { Exchange, Reply } from '../../../http/exchange.ts'
import { formFields } from '../../../http/form-fields.ts'
import type { TlsOptions } from '../../../http/transport.ts'
import { type Place, serverDocument } from '../../../mcp/oauth-documents.ts'
import type { Runtime } from '../../../runtime/runtime.ts'
import { type IdentityProvider, isIn } from './identity-providers.ts'
import { corsFields, jsonReply } from './replies.ts'

export const SCOPE = 'mcpAuthentication'

export interface ServerSettings {
  readonly provider: IdentityProvider | undefined
  readonly audiences: readonly string[]
  readonly clientId: string | undefined
  readonly clientSecret: string | undefined
  readonly metadata: MetadataCache
  readonly tls: TlsOptions | undefined
}

/** Maximum bytes of a registration or token request. */
export const MAX_REQUEST = 64 * 1024
/** Only grants that involve a user's sign-in. Others would issue the client's own token to anyone. */
const GRANTS: readonly (string | null)[] = ['authorization_code', 'refresh_token']

/**
 * The gateway acting as the authorization server, as far as clients need it: metadata that names the gateway as issuer,
 * and what the identity provider does not support.
 */
export class AuthorizationServer {
  readonly #settings: ServerSettings
  readonly #runtime: Runtime

  constructor(settings: ServerSettings, runtime: Runtime) {
    this.#settings = settings
    this.#runtime = runtime
  }

  /** Whether clients are directed to the gateway instead of the issuer. */
  get stands(): boolean {
    const { provider, clientId, clientSecret } = this.#settings
    return provider !== undefined || clientId !== undefined || clientSecret !== undefined
  }

  /** `base`: the gateway's origin as the client knows it. */
  async answer(place: Place, base: string, x: Exchange): Promise<Reply> {
    const { method } = x.request
    const wanted = place.kind === 'server' || place.kind === 'authorize' ? 'GET' : 'POST'
    if (method === 'OPTIONS')
      return { status: 204, headers: corsFields(wanted), body: undefined, reason: 'DirectResponse' }
    if (method !== wanted && !(method === 'HEAD' && wanted === 'GET')) throw new GatewayError('methodNotAllowed')
    switch (place.kind) {
      case 'client-registration':
        return await this.#register(x)
      case 'token':
        return await this.#token(x)
      case 'authorize':
        return this.#authorize(await this.#read(x), x)
      default:
        return jsonReply(200, this.#rewritten(await this.#read(x), base, place.endpoint), corsFields('GET'))
    }
  }

  #read(x: Exchange): Promise<ProviderMetadata> {
    return this.#settings.metadata.read(SCOPE, this.#runtime, x)
  }

  /** Strict clients require the issuer to match the URL where they found it (RFC 8414, 3.3). */
  #rewritten(metadata: ProviderMetadata, base: string, endpoint: string): Readonly<Record<string, unknown>> {
    if (!this.stands) return metadata
    const { provider, audiences, clientId, clientSecret } = this.#settings
    const { registration_endpoint: registration, authorization_response_iss_parameter_supported: _, ...rest } = metadata
    const document = serverDocument(base, endpoint)
    const out: Record<string, unknown> = { ...rest, issuer: base + endpoint }
    if (registration !== undefined || clientId !== undefined)
      out.registration_endpoint = `${document}/client-registration`
    const page = endpointIn(metadata, 'authorization_endpoint')
    if (page && provider?.needsAudience && audiences[0] !== undefined) {
      page.searchParams.set('audience', audiences[0])
      out.authorization_endpoint = page.href
    }
    if (provider?.refusesResource && page) out.authorization_endpoint = `${document}/authorize`
    if (this.#asksForTokens) out.token_endpoint = `${document}/token`
    if (provider?.hidesPkce) out.code_challenge_methods_supported ??= ['S256']
    // Credentials added by the gateway are not for clients to know.
    if (clientId !== undefined || clientSecret !== undefined) out.token_endpoint_auth_methods_supported = ['none']
    return out
  }

  get #asksForTokens(): boolean {
    return this.#settings.clientSecret !== undefined || this.#settings.provider?.refusesResource === true
  }

  async #register(x: Exchange): Promise<Reply> {
    const { clientId } = this.#settings
    const body = await x.body.buffer(MAX_REQUEST)
    if (clientId !== undefined) {
      const answer = {
        client_id: clientId,
        client_id_issued_at: 0,
        token_endpoint_auth_method: 'none',
        grant_types: ['authorization_code'],
        response_types: ['code'],
        redirect_uris: redirectsIn(body),
      }
      return jsonReply(201, answer, corsFields('POST'))
    }
    const at = endpointIn(await this.#read(x), 'registration_endpoint')
    if (!at) return failure(404, 'invalid_request', 'the identity provider registers no clients')
    return await this.#passOn(at, { what: 'registration', fields: credentialsOf(x, 'application/json'), body }, x)
  }

  async #token(x: Exchange): Promise<Reply> {
    if (!this.#asksForTokens) throw new GatewayError('routeNotFound')
    const { clientId, clientSecret, provider } = this.#settings
    const form = formFields((await x.body.buffer(MAX_REQUEST)).toString('utf8'))
    if (['grant_type', 'client_id', 'client_secret'].some(name => form.getAll(name).length > 1))
      return failure(400, 'invalid_request', 'a parameter is repeated')
    if (provider?.refusesResource) form.delete('resource')
    const sent = x.request.headers.has('authorization') || form.has('client_secret')
    const named = form.get('client_id')
    if (clientSecret !== undefined && !sent && (named === null || clientId === undefined || named === clientId)) {
      if (!GRANTS.includes(form.get('grant_type')))
        return failure(400, 'unauthorized_client', 'this grant is not for clients without a secret')
      if (named === null && clientId !== undefined) form.set('client_id', clientId)
      form.set('client_secret', clientSecret)
    }
    const at = endpointIn(await this.#read(x), 'token_endpoint')
    if (!at) return failure(502, 'server_error', 'the identity provider has no token endpoint')
    const fields = credentialsOf(x, 'application/x-www-form-urlencoded')
    return await this.#passOn(at, { what: 'token', fields, body: form.toString() }, x)
  }

  #authorize(metadata: ProviderMetadata, x: Exchange): Reply {
    const at = endpointIn(metadata, 'authorization_endpoint')
    if (!at || !this.#settings.provider?.refusesResource) throw new GatewayError('routeNotFound')
    const { path } = x.request
    const asked = formFields(path.includes('?') ? path.slice(path.indexOf('?') + 1) : '')
    asked.delete('resource')
    for (const [name, value] of asked) at.searchParams.append(name, value)
    return {
      status: 302,
      headers: ['location', at.href, 'cache-control', 'no-store'],
      body: undefined,
      reason: 'DirectResponse',
    }
  }

  /** Forwards the provider's response as is. */
  async #passOn(at: URL, call: Pick<ProviderCall, 'what' | 'fields' | 'body'>, x: Exchange): Promise<Reply> {
    const { status, headers, body } = await callProvider(
      at,
      { ...call, scope: SCOPE, method: 'POST', tls: this.#settings.tls },
      this.#runtime,
      x,
    )
    const own = ['content-type', 'cache-control', 'www-authenticate'].flatMap(name => {
      const value = headers.get(name)
      return value === undefined ? [] : [name, value]
    })
    return { status, headers: [...own, ...corsFields('POST')], body, reason: 'DirectResponse' }
  }
}

function credentialsOf(x: Exchange, type: string): readonly string[] {
  const authorization = x.request.headers.get('authorization')
  return ['content-type', type, ...(authorization === undefined ? [] : ['authorization', authorization])]
}

function redirectsIn(body: Buffer): readonly unknown[] {
  try {
    const asked: unknown = JSON.parse(body.toString('utf8'))
    return isIn(asked, 'redirect_uris') && Array.isArray(asked.redirect_uris) ? asked.redirect_uris : []
  } catch {
    return []
  }
}

function failure(status: number, error: string, description: string): Reply {
  return jsonReply(status, { error, error_description: description }, corsFields('POST'))
}
