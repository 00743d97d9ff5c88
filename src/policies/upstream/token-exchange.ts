// Exchanges the client's token for another: `backendAuth.oauthTokenExchange` and `backendAuth.crossAppAccess`.
import { hash } from 'node:crypto'
import { type CredentialReader, createCredentialReader } from '../../auth/credential.ts'
import { type Dated, FreshByKey } from '../../auth/fresh.ts'
import { certificateHeader, type OAuthClient } from '../../auth/oauth/client-authentication.ts'
import type { TokenEndpoint, TokenRequest } from '../../auth/oauth/token-endpoint.ts'
import { TOKEN_TYPES, type TokenType, tokenTypeUri } from '../../auth/oauth/token-types.ts'
import { principalOf } from '../../auth/principal.ts'
import { readSigningKey } from '../../auth/token-signer.ts'
import { unverifiedClaims } from '../../auth/unverified-claims.ts'
import type { Expression } from '../../cel/expression.ts'
import type { Path } from '../../diagnostics/diagnostic.ts'
import { GatewayError } from '../../http/errors.ts'
import type { Exchange } from '../../http/exchange.ts'
import type { Infer } from '../../schema/builder.ts'
import { secretText } from '../parts/secret-text.ts'
import type { CompileContext } from '../policy.ts'
import type { clientAuth, subjectToken, tokenCache } from './backend-auth-schema.ts'
import { BEARER, credentialWriter } from './credential-writer.ts'
import type { backendAuthDeclaration } from './policy-target.ts'

type Members = Exclude<Infer<typeof backendAuthDeclaration.schema>, string>
type Exchanging = NonNullable<Members['oauthTokenExchange']>
type Crossing = NonNullable<Members['crossAppAccess']>
type Endpoint = Omit<Crossing['identityProvider'], 'clientAuth'> & {
  readonly clientAuth?: Infer<typeof clientAuth> | undefined
}
type Form = (readonly [name: string, value: string])[]
type Asker = (form: Form, wish: TokenRequest) => Promise<Dated<string>>

const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange'
const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer'

/** Adds a token of the subject to each call. */
export type TokenStep = (x: Exchange) => Promise<undefined>

/** RFC 8693 and RFC 7523. */
export function exchangedToken(spec: Exchanging, ctx: CompileContext): TokenStep {
  const { grantType, requestedTokenType = 'AccessToken', authorizationLocation: write = BEARER } = spec
  const issued = grantType === 'jwtBearer' ? undefined : (requestedTokenType as TokenType)
  const defaultTtl = ttlOf(spec.cache)
  const endpoint = endpointOf(spec, ['oauthTokenExchange'], 'the token endpoint', ctx)
  const subject = readerOf(spec.subjectToken, ctx)
  const actor = spec.actorToken && { ...spec.actorToken, reader: readerOf(spec.actorToken, ctx) }
  const subjectType = tokenTypeUri(spec.subjectToken?.tokenType, 'AccessToken')
  const wanted: Form = [
    ...(issued === undefined ? [] : [['requested_token_type', TOKEN_TYPES[issued]] as const]),
    ...targetsOf(spec),
  ]
  const form = (x: Exchange): Form => {
    const token = shown(subject, x, 'subject')
    const acting = actor && shown(actor.reader, x, 'actor')
    if (acting !== undefined && actor?.enforceMayAct) checkMayAct(token, acting)
    const more = Object.entries(spec.additionalParams ?? {}).map(([name, value]) => parameter(name, value, x))
    subject.strip(x)
    actor?.reader.strip(x)
    if (grantType === 'jwtBearer') return [['grant_type', JWT_BEARER], ['assertion', token], ...wanted, ...more]
    return [
      ['grant_type', TOKEN_EXCHANGE],
      ['subject_token', token],
      ['subject_token_type', subjectType],
      ...actorFields(acting, actor?.tokenType),
      ...wanted,
      ...more,
    ]
  }
  const asking = tokenAsker(ctx)
  const ask: Asker = async (fields, wish) => asking.part(served(endpoint), fields, { issued, defaultTtl }, wish)
  ctx.hides(write)
  return stepOf({ form, ask, write, cache: spec.cache, through: [endpoint] }, ctx)
}

/** draft-ietf-oauth-identity-assertion-authz-grant: one server's assertion is exchanged at another. */
export function crossAppToken(spec: Crossing, ctx: CompileContext): TokenStep {
  const {
    identityProvider,
    resourceAuthorizationServer,
    audience,
    scopes,
    resources,
    accessTokenScopes = scopes,
  } = spec
  const provider = endpointOf(identityProvider, ['crossAppAccess', 'identityProvider'], 'the identity provider', ctx)
  const server = endpointOf(
    resourceAuthorizationServer,
    ['crossAppAccess', 'resourceAuthorizationServer'],
    'the resource authorization server',
    ctx,
  )
  const defaultTtl = ttlOf(spec.cache)
  const subject = readerOf(spec.subjectToken, ctx)
  const wanted: Form = [
    ['subject_token_type', tokenTypeUri(spec.subjectToken?.tokenType, 'IdToken')],
    ['requested_token_type', TOKEN_TYPES.IdJag],
    ...targetsOf({ audiences: [audience], scopes, resources }),
  ]
  const form = (x: Exchange): Form => {
    const token = shown(subject, x, 'subject')
    subject.strip(x)
    return [['grant_type', TOKEN_EXCHANGE], ['subject_token', token], ...wanted]
  }
  const asking = tokenAsker(ctx)
  const ask: Asker = async (fields, wish) => {
    const assertion = await asking.part(served(provider), fields, { issued: 'IdJag', defaultTtl }, wish)
    const grant: Form = [
      ['grant_type', JWT_BEARER],
      ['assertion', assertion.value],
      ...targetsOf({ scopes: accessTokenScopes }),
    ]
    return asking.part(served(server), grant, { defaultTtl }, wish)
  }
  ctx.hides(BEARER)
  return stepOf({ form, ask, write: BEARER, cache: spec.cache, through: [provider, server] }, ctx)
}

const tokenAsker = (ctx: CompileContext) =>
  ctx.serving(
    () => import('../../auth/oauth/token-endpoint.ts'),
    ({ askForToken }) => askForToken,
  )

interface Steps {
  /** Removes the client's credential from the request. Throws GatewayError for a request without it. */
  readonly form: (x: Exchange) => Form
  readonly ask: Asker
  readonly write: Parameters<typeof credentialWriter>[0]
  readonly cache: Infer<typeof tokenCache> | undefined
  readonly through: readonly (TokenEndpoint | undefined)[]
}

/** The input of one exchange: read once, since retries no longer find it in the request. */
interface Question {
  readonly fields: Form
  readonly key: string
  /** Expiry of the client's credential, in ms since the epoch. */
  readonly until: number
}

function stepOf({ form, ask, write, cache, through }: Steps, ctx: CompileContext): TokenStep {
  const { runtime } = ctx
  const writeTo = credentialWriter(write)
  const questions = new WeakMap<Exchange, Question>()
  const most = through.some(mayDependOnRequest) ? 0 : (cache?.maxEntries ?? MAX_ENTRIES)
  const tokens = ctx.state('exchanged tokens', () => new FreshByKey<string>(most, runtime.clock))
  return async x => {
    const known = questions.get(x)
    const question = known ?? questionOf(form(x), x)
    if (known === undefined) questions.set(x, question)
    const token = await tokens.get(question.key, async awaited => {
      const { value, expiresAt } = await ask(question.fields, {
        runtime,
        x,
        scope: awaited ? 'backendAuth' : undefined,
      })
      return { value, expiresAt: Math.min(expiresAt ?? Number.POSITIVE_INFINITY, question.until) }
    })
    writeTo(x, token)
    return undefined
  }
}

/** Maximum cached tokens unless configured; `cache: {}` means the same. */
const MAX_ENTRIES = 8192
const DEFAULT_TTL = 300_000

function ttlOf(cache: Steps['cache']): number {
  return cache?.defaultTtl ?? DEFAULT_TTL
}

/** Transformations may add anything from the request to the exchange, so the result cannot be shared. */
function mayDependOnRequest(endpoint: TokenEndpoint | undefined): boolean {
  return endpoint?.callee.steps.attempt.some(({ policy }) => policy === 'transformations') === true
}

/** Everything that is sent, and the principal: the endpoint's policies may read that. */
function questionOf(fields: Form, x: Exchange): Question {
  const shown = fields.filter(([name]) => SHOWN.includes(name)).map(([, token]) => unverifiedClaims(token)?.exp)
  const ends = shown.filter(exp => typeof exp === 'number').map(exp => exp * 1000)
  const key = hash('sha256', JSON.stringify([fields, principalOf(x.auth)]), 'base64url')
  return { fields, key, until: Math.min(...ends, Number.POSITIVE_INFINITY) }
}
const SHOWN: readonly string[] = ['subject_token', 'actor_token', 'assertion']

function readerOf(token: Infer<typeof subjectToken> | undefined, ctx: CompileContext): CredentialReader {
  const { source } = token ?? {}
  if (source) {
    ctx.hides(source)
    return createCredentialReader(source)
  }
  const header = createCredentialReader(BEARER)
  // A policy that verified it has removed it from the request.
  return { read: x => header.read(x) ?? x.auth.rawToken, strip: header.strip }
}

function shown(reader: CredentialReader, x: Exchange, role: 'subject' | 'actor'): string {
  const token = reader.read(x)
  if (token === undefined)
    throw new GatewayError('invalidRequest', { detail: `no ${role} token for the token exchange` })
  return token
}

/** Every member of `may_act` must be a claim of the actor (RFC 8693 section 4.4). The server verifies both tokens. */
function checkMayAct(subject: string, actor: string): void {
  const allowed = unverifiedClaims(subject)?.may_act
  const members = typeof allowed === 'object' && allowed !== null ? Object.entries(allowed) : []
  const claims = unverifiedClaims(actor)
  const may =
    members.length > 0 && members.every(([name, value]) => typeof value === 'string' && claims?.[name] === value)
  if (!may)
    throw new GatewayError('authorization', { detail: 'the subject token does not name the actor in `may_act`' })
}

function actorFields(token: string | undefined, type: string | undefined): Form {
  if (token === undefined) return []
  return [
    ['actor_token', token],
    ['actor_token_type', tokenTypeUri(type, 'AccessToken')],
  ]
}

function targetsOf({
  audiences = [],
  scopes = [],
  resources = [],
}: Partial<Record<'audiences' | 'scopes' | 'resources', readonly string[] | undefined>>): Form {
  return [
    ...audiences.map(audience => ['audience', audience] as const),
    ...(scopes.length === 0 ? [] : [['scope', scopes.join(' ')] as const]),
    ...resources.map(resource => ['resource', resource] as const),
  ]
}

function parameter(name: string, value: Expression, x: Exchange): readonly [string, string] {
  const outcome = value.decide(x)
  if (outcome.ok && SCALARS.includes(typeof outcome.value)) return [name, String(outcome.value)]
  throw new GatewayError('invalidRequest', {
    detail: `the parameter \`${name}\` of the token exchange cannot be computed`,
  })
}

const SCALARS = ['string', 'number', 'bigint', 'boolean']

/** Undefined after a finding. */
function endpointOf(spec: Endpoint, at: Path, name: string, ctx: CompileContext): TokenEndpoint | undefined {
  const callee = ctx.callee?.(spec, at)
  const client = spec.clientAuth && clientOf(spec.clientAuth, [...at, 'clientAuth'], ctx)
  if (callee === undefined || client === null) return undefined
  return { callee, path: spec.path, client, name }
}

/** Fails if its service is invalid or its key unreadable, which has been reported. */
function served(endpoint: TokenEndpoint | undefined): TokenEndpoint {
  if (endpoint === undefined) throw new GatewayError('backendAuth')
  return endpoint
}

/** Null after a finding. */
function clientOf(spec: Infer<typeof clientAuth>, at: Path, ctx: CompileContext): OAuthClient | null {
  const { method, clientId: id, clientSecret } = spec
  if (method === 'privateKeyJwt') return signingClient(spec, at, ctx)
  const secret = clientSecret && secretText(clientSecret, ctx, [...at, 'clientSecret'])
  if (method === 'clientSecretPost') return clientSecret && secret === undefined ? null : { method, id, secret }
  return secret === undefined ? null : { method, id, secret }
}

function signingClient(spec: Infer<typeof clientAuth>, at: Path, ctx: CompileContext): OAuthClient | null {
  const { clientId: id, signingKey, certificate, certificateHeader: form, alg = 'RS256', kid, assertionAudience } = spec
  const pem = signingKey && secretText(signingKey, ctx, [...at, 'signingKey'])
  if (pem === undefined) return null
  const key = readSigningKey(pem, alg)
  if (typeof key === 'string') {
    report(`the signing key cannot be used: ${key}`, [...at, 'signingKey'], signingKey, ctx)
    return null
  }
  const chain = certificate && secretText(certificate, ctx, [...at, 'certificate'])
  const header = chain === undefined || form === undefined ? {} : certificateHeader(chain, form, key)
  if (typeof header === 'string') {
    report(`the certificate cannot be used: ${header}`, [...at, 'certificate'], certificate, ctx)
    return null
  }
  const assertion = { key, alg, kid, audience: assertionAudience ?? '', certificate: header as Record<string, unknown> }
  return { method: 'privateKeyJwt', id, assertion }
}

function report(message: string, at: Path, source: object | undefined, ctx: CompileContext): void {
  const path = source && 'file' in source ? [...at, 'file'] : at
  ctx.report({ code: 'GW207', path, at: 'value', message })
}
