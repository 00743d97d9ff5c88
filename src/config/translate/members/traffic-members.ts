import { hash } from 'node:crypto'
import { labelsOf, selects } from '../../resources/graph.ts'
import { asFields, asItems, asText, type Fields, type Resource } from '../../resources/resource.ts'
import { dataKeysOf, dataOf } from '../secrets.ts'
import { bytesOf, durationOrCel, extAuthMember, extProcMember, rateLimitMembers, variants } from './external-members.ts'
import { byName, defined, lower, type MemberContext, type Policies, strings } from './member-context.ts'
import { credentialLocation, headerChanges, transformationMember } from './member-parts.ts'

/** One member of a policy in its standalone form: the part of the resource that made it, and its value. */
export interface Member {
  /** The name of the member in the resource. */
  readonly source: string
  /** The name of the standalone policy. */
  readonly name: string
  readonly part: unknown
  readonly value: unknown
}

/** The members of a `traffic` section. A value is undefined where a member cannot be made: it is lost. */
export function trafficMembers(spec: Fields, ctx: MemberContext): Member[] {
  const out: Member[] = []
  const put = (source: string, name: string, value: unknown, part: unknown = spec[source]): void => {
    out.push({ source, name, part, value })
  }
  const each = (source: string, name: string, make: (part: Fields, ctx: MemberContext) => unknown): void => {
    const part = asFields(spec[source])
    if (part) put(source, name, make(part, ctx))
  }
  each('transformation', 'transformations', transformationMember)
  each('extProc', 'extProc', extProcMember)
  each('extAuth', 'extAuthz', extAuthMember)
  const limits = asFields(spec.rateLimit)
  if (limits) {
    const made = rateLimitMembers(limits, ctx)
    for (const [name, value] of Object.entries(made)) put('rateLimit', name, value)
    if (Object.keys(made).length === 0) put('rateLimit', 'remoteRateLimit', undefined)
  }
  each('timeouts', 'timeout', part => defined({ requestTimeout: part.request }))
  each('retry', 'retry', retryMember)
  each('cors', 'cors', corsMember)
  each('csrf', 'csrf', part => defined({ additionalOrigins: strings(part.additionalOrigins) }))
  each('headerModifiers', 'requestHeaderModifier', part => headerChanges(asFields(part.request)) ?? null)
  each('headerModifiers', 'responseHeaderModifier', part => headerChanges(asFields(part.response)) ?? null)
  each('hostRewrite', 'urlRewrite', part => ({ authority: lower(part.mode) }))
  each('authorization', 'authorization', authorizationMember)
  each('delay', 'delay', part => ({ duration: durationText(part.duration) }))
  each('buffer', 'buffer', bufferMember)
  each('directResponse', 'directResponse', part => variants(part, directResponse))
  each('jwtAuthentication', 'jwtAuth', jwtMember)
  each('basicAuthentication', 'basicAuth', basicMember)
  each('apiKeyAuthentication', 'apiKey', apiKeyMember)
  // Null: the member says nothing about this policy.
  return out.filter(({ value }) => value !== null)
}

function durationText(value: unknown): unknown {
  return durationOrCel(value)
}

export function retryMember(part: Fields, ctx: MemberContext): Policies | null {
  const attempts = typeof part.attempts === 'number' ? part.attempts : 1
  if (attempts <= 0) return null
  if (attempts > 255) ctx.lose(part, `${attempts} attempts are cut to 255`)
  return defined({
    attempts: Math.min(attempts, 255),
    backoff: part.backoff,
    codes: Array.isArray(part.codes) ? [...part.codes] : undefined,
    precondition: part.precondition,
    condition: part.condition,
  })
}

export function corsMember(part: Fields): Policies {
  return defined({
    allowCredentials: part.allowCredentials,
    allowHeaders: strings(part.allowHeaders),
    allowMethods: strings(part.allowMethods),
    allowOrigins: strings(part.allowOrigins),
    exposeHeaders: strings(part.exposeHeaders),
    maxAge: `${typeof part.maxAge === 'number' ? part.maxAge : 5}s`,
  })
}

/** Also of MCP and network authorization. */
export function authorizationMember(part: Fields): Policies {
  const action = (asText(part.action) ?? 'Allow').toLowerCase()
  const expressions = strings(asFields(part.policy)?.matchExpressions) ?? []
  return { rules: expressions.map(expression => ({ [action]: expression })) }
}

function bufferMember(part: Fields): Policies {
  const side = (value: unknown) => {
    const inner = asFields(value)
    if (!inner) return undefined
    const max = inner.maxBytes
    return defined({
      maxBytes: max === undefined ? undefined : (bytesOf(max) ?? max),
      failureMode: lower(inner.failureMode ?? 'FailClosed'),
    })
  }
  return defined({ request: side(part.request), response: side(part.response) })
}

function directResponse(part: Fields): Policies {
  return defined({
    status: part.status,
    body: part.body,
    bodyExpression: part.bodyExpression,
    headers: byName(part.headers),
  })
}

function jwtMember(part: Fields, ctx: MemberContext): Policies | undefined {
  const providers = asItems(part.providers).flatMap(each => {
    const jwks = keySet(asFields(each.jwks) ?? {}, ctx)
    return jwks === undefined ? [] : [defined({ issuer: each.issuer, audiences: strings(each.audiences), jwks })]
  })
  const mcp = asFields(part.mcp)
  if (mcp) ctx.lose(mcp, 'the OAuth metadata for MCP clients is not served: tokens are verified without it')
  if (providers.length === 0) return undefined
  return defined({ mode: mode(part.mode), location: credentialLocation(part.location), providers })
}

function mode(value: unknown): string {
  return String(lower(value ?? 'Strict'))
}

/** Inline text, or the address of a remote key set. Until a controller has fetched one it is an error of the policy. */
export function keySet(part: Fields, ctx: MemberContext): unknown {
  const inline = asText(part.inline)
  if (inline !== undefined) return inline
  const remote = asFields(part.remote) ?? part
  const url = asText(remote.url) ?? remoteUrl(remote, ctx)
  if (url === undefined) return undefined
  ctx.errors.push(`jwks keyset for ${JSON.stringify(url)} isn't available (not yet fetched or fetch failed)`)
  return defined({ url, cacheDuration: remote.cacheDuration })
}

function remoteUrl(remote: Fields, ctx: MemberContext): string | undefined {
  const ref = asFields(remote.backendRef)
  if (!ref) return undefined
  const name = `${asText(ref.namespace) ?? ctx.holder.namespace}/${String(ref.name)}`
  const before = ctx.errors.length
  const target = ctx.target(remote, 'failed to resolve jwks')
  const path = `/${String(remote.jwksPath ?? '').replace(/^\//, '')}`
  if (!target) {
    ctx.errors.length = before
    ctx.errors.push(`backend ${name} not found, policy ${ctx.holder.namespace}/${ctx.holder.name}`)
    return undefined
  }
  if (target.host !== undefined) return `http://${String(target.host)}${path}`
  const backend = ctx.work.world.find('ProxyBackend', asText(ref.namespace) ?? ctx.holder.namespace, String(ref.name))
  const spec = asFields(backend?.raw.spec)
  const address = asFields(spec?.static)
  if (!address) {
    ctx.errors.push(`backend ${name} cannot serve a key set: it is not static`)
    return undefined
  }
  const secure = asFields(spec?.policies)?.tls !== undefined || ctx.work.tlsBackends.has(name)
  return `${secure ? 'https' : 'http'}://${String(address.host)}:${String(address.port)}${path}`
}

function basicMember(part: Fields, ctx: MemberContext): Policies | undefined {
  const ref = asFields(part.secretRef)
  const users = strings(part.users)
  const { withSecrets } = ctx.work.options
  const own =
    users && (withSecrets ? users.join('\n') : `<redacted: users of ${ctx.holder.namespace}/${ctx.holder.name}>`)
  const htpasswd = own ?? (ref && ctx.secrets.shown(ref, '.htaccess'))
  if (htpasswd === undefined) return undefined
  return defined({
    htpasswd,
    realm: part.realm ?? 'Restricted',
    mode: mode(part.mode),
    authorizationLocation: credentialLocation(part.location),
  })
}

/** Keys are written as their hashes, so that the file holds no secret and still takes them. */
function apiKeyMember(part: Fields, ctx: MemberContext): Policies {
  const holders = keyHolders(part, ctx)
  const found = holders.flatMap(holder => dataKeysOf(holder).map(entry => apiKeyEntry(holder, entry, ctx)))
  const keys = found.filter(entry => entry !== undefined)
  keys.sort((a: Policies, b: Policies) => (String(a.keyHash) < String(b.keyHash) ? -1 : 1))
  return defined({ keys, mode: mode(part.mode), location: credentialLocation(part.location) })
}

function keyHolders(part: Fields, ctx: MemberContext): readonly Resource[] {
  const ref = asFields(part.secretRef)
  if (ref) return [ctx.secrets.secret(String(ref.name)) ?? []].flat()
  const kind = part.secretSelector ? 'Secret' : 'ConfigMap'
  const matchLabels = { ...asFields(asFields(part.secretSelector ?? part.configMapSelector)?.matchLabels) } as Record<
    string,
    string
  >
  return ctx.work.world
    .list(kind)
    .filter(each => each.namespace === ctx.holder.namespace && selects({ matchLabels }, labelsOf(each)))
}

function apiKeyEntry(holder: Resource, entry: string, ctx: MemberContext): Policies | undefined {
  const text = dataOf(holder, entry)?.toString('utf8').trim() ?? ''
  const where = `${holder.kindName} ${holder.namespace}/${holder.name}, key ${entry}`
  const parsed = text.startsWith('{') ? parseJson(text) : { key: text }
  const hashed = asText(parsed?.keyHash)
  const key = asText(parsed?.key)
  if (!parsed || (hashed === undefined && key === undefined)) {
    ctx.errors.push(`${where} holds no API key`)
    return undefined
  }
  if (hashed === undefined && holder.kind.kind === 'ConfigMap') {
    ctx.errors.push(`${where} holds a raw key: a ConfigMap takes only hashes`)
    return undefined
  }
  const keyHash = hashed ?? `sha256:${hash('sha256', key!)}`
  return defined({ keyHash, metadata: parsed.metadata })
}

function parseJson(text: string): Fields | undefined {
  try {
    return asFields(JSON.parse(text))
  } catch {
    return undefined
  }
}
