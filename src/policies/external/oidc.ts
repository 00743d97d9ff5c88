// Signs browsers in with an OpenID provider, and exposes the claims of the ID token as `jwt`.

import { fetchedKeys, type KeySource } from '../../auth/key-source.ts'
import {
  endpointIn,
  MetadataCache,
  metadataIn,
  openidDocument,
  type ProviderMetadata,
} from '../../auth/provider-metadata.ts'
import { unverifiedClaims } from '../../auth/unverified-claims.ts'
import { GatewayError } from '../../http/errors.ts'
import type { Exchange, Reply } from '../../http/exchange.ts'
import { formFields } from '../../http/form-fields.ts'
import type { TlsOptions } from '../../http/transport.ts'
import { def, type Infer, list, object, oneOf, opt, req, shapes, string } from '../../schema/builder.ts'
import { fileOrInline, url } from '../../schema/scalars.ts'
import { issuerUrl } from '../parts/issuers.ts'
import { jwks, openKeys, optionalTls, tlsField } from '../parts/key-sets.ts'
import { type BrowserSession, BrowserSessions, type SessionPlace } from '../parts/oidc/browser-session.ts'
import { CookieSeal, sharedKey } from '../parts/oidc/cookie-seal.ts'
import { cookieChanges, dropCookies, RESERVED } from '../parts/oidc/cookies.ts'
import { OpenidProvider, SCOPE } from '../parts/oidc/openid-provider.ts'
import { redirectTo, SignIns } from '../parts/oidc/sign-in.ts'
import { once } from '../parts/once.ts'
import { secretText } from '../parts/secret-text.ts'
import { acceptedKeys } from '../parts/token-check.ts'
import { type CompileContext, definePolicy } from '../policy.ts'

const document = shapes({
  string: string({ min: 2 }),
  object: object(
    'discovery document',
    { file: opt(string({ min: 1 }), 'Path of the document.'), url: opt(url(), 'Address of the document.') },
    { exactlyOneOf: [['file', 'url']] },
  ),
})

const schema = object('OIDC', {
  issuer: req(issuerUrl, 'Issuer.'),
  discovery: opt(document, 'Discovery document; fetched from the issuer when unset.'),
  authorizationEndpoint: opt(url(), 'Where browsers are redirected to sign in.'),
  tokenEndpoint: opt(url(), 'Where codes are exchanged.'),
  tokenEndpointAuth: opt(oneOf(['clientSecretBasic', 'clientSecretPost']), 'How the gateway authenticates there.'),
  jwks: opt(jwks, 'Key set of the provider.'),
  backendTLS: tlsField,
  clientId: req(string({ min: 1 }), 'Client id.'),
  clientSecret: req(fileOrInline({ secret: true }), 'Client secret.'),
  redirectURI: req(url(), 'Where the provider redirects browsers after sign-in.'),
  scopes: def(list(string({ min: 1 })), [], 'Scopes besides `openid`.'),
})
type Spec = Infer<typeof schema>

export const oidc = definePolicy({
  name: 'oidc',
  doc: 'Signs browsers in with an OpenID provider; the claims of their ID tokens are `jwt` in expressions.',
  attach: ['listener', 'route'],
  asksFor: 'session',
  guards: true,
  schema,
  compile(spec, ctx) {
    const { runtime } = ctx
    const { redirectURI: redirect, scopes } = spec
    const secure = redirect.protocol === 'https:'
    const prefix = `${secure ? '__Host-' : ''}${RESERVED}`
    const provider = new OpenidProvider(providerSettings(spec, ctx), runtime)
    // The same in every replica, and across reloads that do not change it.
    const id = once(() => digestOf([spec.issuer, spec.clientId, redirect.href]))
    const made = once(() => {
      const place: SessionPlace = { cookie: `${prefix}s_${id()}`, secure, seal: sealOf(ctx) }
      const refreshes = ctx.state('refreshes', () => new Map<string, Promise<BrowserSession>>())
      const sessions = new BrowserSessions(place, provider, refreshes, runtime)
      const settings = { redirect, scopes, cookie: `${prefix}t_${id()}` }
      return { sessions, signIns: new SignIns(settings, place, provider, sessions, runtime) }
    })
    const goodbye = `${redirect.pathname.replace(/\/$/, '')}/logout`
    const issuers = [{ issuer: spec.issuer, audiences: [spec.clientId] }]
    return {
      request(x) {
        if (isPreflight(x)) return undefined
        const { sessions, signIns } = made()
        const { path, query } = partsOf(x.request.path)
        if (signIns.returns(path, query)) return signIns.finish(query, x)
        if (path === goodbye) return signOut(sessions, provider, redirect, x)
        const standIn = runtime.standIns?.tokenOf(x, issuers)
        if (standIn !== undefined) return provider.verify(standIn).then(() => accept(x, standIn))
        const session = sessions.read(x)
        if (session && sessions.isFresh(session)) return accept(x, session.idToken)
        return goOn(session, x)
      },
    }
    async function goOn(session: BrowserSession | undefined, x: Exchange): Promise<Reply | undefined> {
      const { sessions, signIns } = made()
      const next = session && (await sessions.refreshed(session, x))
      if (next && sessions.isFresh(next)) {
        x.queuedChanges.push(...cookieChanges(sessions.cookies(next, x)))
        return accept(x, next.idToken)
      }
      if (!isNavigation(x)) throw new GatewayError('oidc', { detail: 'not signed in' })
      return await signIns.begin(x)
    }
    function accept(x: Exchange, idToken: string): undefined {
      x.auth.jwt = unverifiedClaims(idToken) ?? {}
      x.auth.rawToken = idToken
      dropCookies(x.request.headers, name => name.startsWith(prefix) && name.includes(id()))
    }
  },
})

/** CORS preflights precede sign-in: browsers send no cookies with them. */
function isPreflight({ request: { method, headers } }: Exchange): boolean {
  return method === 'OPTIONS' && headers.has('origin') && headers.has('access-control-request-method')
}

/** Only navigations can be redirected; scripts cannot use a sign-in page and get an error. */
function isNavigation({ request: { method, headers } }: Exchange): boolean {
  const destination = headers.get('sec-fetch-dest')
  if (destination !== undefined && !/^(document|i?frame|embed|object)$/.test(destination)) return false
  if (headers.get('x-requested-with')?.toLowerCase() === 'xmlhttprequest') return false
  const accept = headers.get('accept')?.toLowerCase()
  if (method !== 'GET' && method !== 'HEAD') return accept?.includes('text/html') === true
  return accept === undefined || /text\/html|text\/\*|\*\/\*/.test(accept)
}

function partsOf(target: string): { readonly path: string; readonly query: URLSearchParams } {
  const at = target.indexOf('?')
  return at < 0
    ? { path: target, query: new URLSearchParams() }
    : { path: target.slice(0, at), query: formFields(target.slice(at + 1)) }
}

/** Ends the local session and, if the provider supports it, the provider's (OpenID Connect RP-Initiated Logout). */
async function signOut(sessions: BrowserSessions, provider: OpenidProvider, home: URL, x: Exchange): Promise<Reply> {
  if (x.request.headers.get('sec-fetch-site') === 'cross-site')
    throw new GatewayError('oidc', { status: 403, detail: 'another site cannot sign anybody out' })
  const session = sessions.read(x)
  const metadata = await provider.metadata(x).catch(() => undefined)
  const there = metadata && endpointIn(metadata, 'end_session_endpoint')
  if (!session || !there) return redirectTo('/', sessions.removal())
  there.searchParams.set('id_token_hint', session.idToken)
  there.searchParams.set('client_id', provider.clientId)
  there.searchParams.set('post_logout_redirect_uri', `${home.origin}/`)
  return redirectTo(there.href, sessions.removal())
}

function digestOf(parts: readonly string[]): string {
  return process.getBuiltinModule('node:crypto').hash('sha256', JSON.stringify(parts), 'hex').slice(0, 16)
}

/** `OIDC_COOKIE_SECRET`, or `SESSION_KEY`; without either, sessions are specific to this replica and end with it. */
function sealOf(ctx: CompileContext): CookieSeal {
  const { OIDC_COOKIE_SECRET: own, SESSION_KEY: shared } = ctx.env
  const written = (own ?? shared)?.split(',').filter(each => each.length >= SHORTEST_SECRET)
  if (written && written.length > 0) return new CookieSeal(written.map(each => Buffer.from(each)))
  ctx.runtime.log.log('warn', 'sign-ins end with this gateway: OIDC_COOKIE_SECRET is not set or too short', {
    least: SHORTEST_SECRET,
  })
  return new CookieSeal([sharedKey(ctx.memory('cookie key', 32))])
}

/** Minimum characters. */
const SHORTEST_SECRET = 32

function providerSettings(spec: Spec, ctx: CompileContext) {
  const { issuer, clientId, tokenEndpointAuth } = spec
  const tls = optionalTls(spec.backendTLS, ['backendTLS'], ctx)
  const metadata = metadataFrom(spec, tls, ctx)
  return {
    issuer,
    clientId,
    clientSecret: secretText(spec.clientSecret, ctx, ['clientSecret']) ?? '',
    authentication: tokenEndpointAuth,
    keys: acceptedKeys(issuer, keysOf(spec, metadata, tls, ctx), ctx),
    metadata,
    tls,
  }
}

type FindMetadata = (x?: Exchange) => Promise<ProviderMetadata>

/** Configured endpoints take precedence over the discovery document, which is not fetched if all are configured. */
function metadataFrom(spec: Spec, tls: TlsOptions | undefined, ctx: CompileContext): FindMetadata {
  const { issuer, discovery, authorizationEndpoint: page, tokenEndpoint: tokens } = spec
  const own = {
    ...(page ? { authorization_endpoint: page.href } : {}),
    ...(tokens ? { token_endpoint: tokens.href } : {}),
  }
  const written = discovery === undefined ? undefined : writtenDocument(discovery, issuer, ctx)
  if (written || (page && tokens && spec.jwks && discovery === undefined)) {
    const whole = { ...written, ...own, issuer: written?.issuer ?? issuer }
    return () => Promise.resolve(whole)
  }
  const at = typeof discovery === 'object' ? discovery.url : undefined
  const cache = ctx.state('metadata', () => new MetadataCache(issuer, [at ?? openidDocument(issuer)], { tls }))
  return async x => ({ ...(await cache.read(SCOPE, ctx.runtime, x)), ...own })
}

/** Undefined if it is to be fetched, or after a finding. */
function writtenDocument(
  discovery: NonNullable<Spec['discovery']>,
  issuer: string,
  ctx: CompileContext,
): ProviderMetadata | undefined {
  const inline = typeof discovery === 'string'
  const file = inline ? undefined : discovery.file
  const path = inline ? ['discovery'] : ['discovery', 'file']
  const text = inline ? discovery : file && ctx.readFile(file, path)?.toString('utf8')
  if (text === undefined) return undefined
  try {
    return metadataIn(JSON.parse(text) as Record<string, unknown>, issuer)
  } catch (error) {
    const reason = error instanceof SyntaxError ? 'it is not JSON' : error instanceof Error ? error.message : ''
    const message = `the discovery document cannot be used: ${reason}`
    ctx.report({ code: inline ? 'GW106' : 'GW207', message, path, at: 'value' })
    return undefined
  }
}

/** ms. */
const KEYS_FRESH = 300_000

function keysOf(spec: Spec, metadata: FindMetadata, tls: TlsOptions | undefined, ctx: CompileContext): KeySource {
  const { issuer, jwks: written } = spec
  if (written) return openKeys(written, ['jwks'], ctx, tls)
  const find = async () => {
    const at = endpointIn(await metadata(), 'jwks_uri')
    if (!at) throw new Error('the identity provider names no usable key set')
    return at
  }
  return fetchedKeys(issuer, find, KEYS_FRESH, ctx, tls)
}
