import { ask } from '../calls/ask.ts'
import type { WholeReply } from '../calls/dispatch.ts'
import { urlCallee } from '../calls/url-callee.ts'
import { GatewayError } from '../http/errors.ts'
import type { Exchange } from '../http/exchange.ts'
import type { Target, TlsOptions } from '../http/transport.ts'
import type { Runtime } from '../runtime/runtime.ts'

/** An authorization server's metadata (RFC 8414, OpenID Connect Discovery), as published. */
export type ProviderMetadata = Readonly<Record<string, unknown>> & { readonly issuer: string }

/** A call to an identity provider. If made for a client's request, it is recorded in its trace and ends with it. */
export interface ProviderCall {
  /** The policy's name. */
  readonly scope: string
  readonly what: string
  readonly method: 'GET' | 'POST'
  /** Name, value, name, value. */
  readonly fields?: readonly string[]
  readonly body?: string | Buffer
  /** Others await it too: it continues if the client disconnects. */
  readonly shared?: boolean
  readonly tls?: TlsOptions | undefined
  /** For an address that no configuration names. */
  readonly permits?: Target['permits'] | undefined
}

/** ms for each call, including its body. */
const TIMEOUT = 10_000
/** bytes. */
const MAX_REPLY = 1024 * 1024

/** Throws GatewayError if no response arrives. */
export function callProvider(at: URL, call: ProviderCall, runtime: Runtime, x?: Exchange): Promise<WholeReply> {
  const { scope, what, method, fields = [], body, shared = false, tls, permits } = call
  const request = {
    scope,
    shared,
    what,
    method,
    path: at.pathname + at.search,
    authority: at.host,
    fields: ['accept', 'application/json', ...fields],
    purpose: { kind: 'Policy', subtype: 'Oidc' },
    timeout: TIMEOUT,
  } as const
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  return ask(urlCallee(at, runtime, tls, permits), request, bytes, MAX_REPLY, runtime, x)
}

/** A response body that is a JSON object. Throws an Error that does not quote it. */
export function jsonObjectIn({ body }: WholeReply): Readonly<Record<string, unknown>> {
  let value: unknown
  try {
    value = JSON.parse(body.toString('utf8'))
  } catch {
    throw new Error('its reply is not JSON')
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Error('its reply is not a JSON object')
  return value as Readonly<Record<string, unknown>>
}

/** ms before metadata is refreshed. */
const FRESH = 300_000
/** Minimum time between retries in ms, so that clients cannot drive the request rate. */
const PAUSE = 5_000

/**
 * One issuer's metadata, fetched on first use and kept through outages. `documents`: candidate URLs, in the order to
 * try them.
 */
export class MetadataCache {
  readonly #issuer: string
  readonly #documents: readonly URL[]
  readonly #how: Pick<ProviderCall, 'tls' | 'permits'>
  #known: ProviderMetadata | undefined
  #askedAt = Number.NEGATIVE_INFINITY
  #failure: unknown
  #pending: Promise<ProviderMetadata> | undefined

  constructor(issuer: string, documents: readonly URL[], how: Pick<ProviderCall, 'tls' | 'permits'> = {}) {
    this.#issuer = issuer
    this.#documents = documents
    this.#how = how
  }

  /** Throws GatewayError. */
  async read(scope: string, runtime: Runtime, x?: Exchange): Promise<ProviderMetadata> {
    const age = runtime.clock.mono() - this.#askedAt
    if (this.#known && age < FRESH) return this.#known
    if (!this.#pending) {
      if (age < PAUSE) return this.#last()
      this.#askedAt = runtime.clock.mono()
      this.#pending = this.#fetch(scope, runtime, x).finally(() => {
        this.#pending = undefined
      })
    }
    try {
      return await this.#pending
    } catch (error) {
      this.#failure = error
      return this.#last()
    }
  }

  #last(): ProviderMetadata {
    if (this.#known) return this.#known
    throw this.#failure ?? new GatewayError('upstreamFailed')
  }

  async #fetch(scope: string, runtime: Runtime, x: Exchange | undefined): Promise<ProviderMetadata> {
    const problems: string[] = []
    for (const at of this.#documents) {
      try {
        const call = { scope, what: 'discovery', method: 'GET', shared: true, ...this.#how } as const
        const reply = await callProvider(at, call, runtime, x)
        if (reply.status !== 200) throw new Error(`status ${reply.status}`)
        this.#known = metadataIn(jsonObjectIn(reply), this.#issuer)
        return this.#known
      } catch (error) {
        problems.push(`${at.origin}${at.pathname}: ${error instanceof Error ? error.message : 'unknown'}`)
      }
    }
    const detail = 'the identity provider does not say where its endpoints are'
    runtime.log.log('warn', 'identity provider is unreachable', { issuer: this.#issuer, reason: problems.join('; ') })
    throw new GatewayError('oidc', { status: 502, detail, cause: new Error(problems.join('; ')) })
  }
}

/** Throws if the document is another issuer's (RFC 8414, 3.3): its author could redirect users elsewhere. */
export function metadataIn(document: Readonly<Record<string, unknown>>, issuer: string): ProviderMetadata {
  const { issuer: named } = document
  if (typeof named !== 'string' || named.replace(/\/$/, '') !== issuer.replace(/\/$/, '')) {
    throw new Error('its issuer does not match')
  }
  return document as ProviderMetadata
}

/** Undefined if absent or unusable: an https issuer must not be downgraded to an http endpoint. */
export function endpointIn(metadata: ProviderMetadata, member: string): URL | undefined {
  const value = metadata[member]
  const url = typeof value === 'string' && URL.canParse(value) ? new URL(value) : undefined
  if (url === undefined || url.username !== '' || url.password !== '') return undefined
  const secure = url.protocol === 'https:' || (url.protocol === 'http:' && !metadata.issuer.startsWith('https:'))
  return secure ? url : undefined
}

const OPENID = '/.well-known/openid-configuration'
const OAUTH = '/.well-known/oauth-authorization-server'

/** The document's URL in OpenID Connect Discovery. */
export function openidDocument(issuer: string): URL {
  return new URL(issuer.replace(/\/$/, '') + OPENID)
}

/** The URLs of RFC 8414, then common alternatives. */
export function oauthDocuments(issuer: string): readonly URL[] {
  const { origin, pathname } = new URL(issuer)
  const path = pathname.replace(/\/$/, '')
  const inserted = [new URL(`${origin}${OAUTH}${path}`), new URL(`${origin}${OPENID}${path}`)]
  return path === '' ? inserted : [...inserted, openidDocument(issuer)]
}
