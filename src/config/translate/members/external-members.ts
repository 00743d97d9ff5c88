import { asFields, asItems, asText, type Fields } from '../../resources/resource.ts'
import { defined, lower, type MemberContext, type Policies, strings } from './member-context.ts'

/** Bytes of a quantity such as `8Ki`. */
export function bytesOf(value: unknown): number | undefined {
  if (typeof value === 'number') return value
  const match = /^(\d+(?:\.\d+)?)(Ki|Mi|Gi|Ti|k|M|G|T)?$/.exec(String(value))
  if (!match) return undefined
  const units = { Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40, k: 1e3, M: 1e6, G: 1e9, T: 1e12 }
  return Math.floor(Number(match[1]) * (match[2] === undefined ? 1 : units[match[2] as keyof typeof units]))
}

/** A policy that may be written as variants: `one` converts the plain form. */
export function variants(part: Fields, one: (plain: Fields) => Policies | undefined): Policies | undefined {
  const entries = asItems(part.conditional)
  if (entries.length === 0) return one(part)
  const kept = entries.map(entry => {
    const inner = one(asFields(entry.policy) ?? {})
    return inner && defined({ condition: entry.condition, ...inner })
  })
  return kept.includes(undefined) ? undefined : { conditional: kept }
}

export function extAuthMember(part: Fields, ctx: MemberContext): Policies | undefined {
  return variants(part, plain => extAuth(plain, ctx))
}

function extAuth(part: Fields, ctx: MemberContext): Policies | undefined {
  const target = ctx.target(part, 'failed to build extAuth')
  const http = asFields(part.http)
  const grpc = asFields(part.grpc)
  const body = asFields(part.forwardBody)
  const cache = asFields(part.cache)
  const urlPath = ctx.urlPath(part)
  const out = {
    ...target,
    protocol: http ? { http: httpCheck(http, urlPath) } : { grpc: grpcCheck(grpc) },
    failureMode: part.failureMode === 'FailOpen' ? 'allow' : 'deny',
    includeRequestHeaders: http && strings(http.allowedRequestHeaders),
    includeRequestBody: body && { maxRequestBytes: bytesOf(body.maxSize) ?? 8192 },
    cache: cache && defined({ key: strings(cache.key), ttl: durationOrCel(cache.ttl), maxEntries: cache.maxEntries }),
  }
  return target && defined(out)
}

function httpCheck(http: Fields, urlPath: string | undefined): Policies {
  return defined({
    path: http.path ?? (urlPath === undefined ? undefined : JSON.stringify(urlPath)),
    redirect: http.redirect,
    body: http.body,
    includeResponseHeaders: strings(http.allowedResponseHeaders),
    addRequestHeaders: http.addRequestHeaders && { ...(http.addRequestHeaders as Fields) },
    metadata: http.responseMetadata && { ...(http.responseMetadata as Fields) },
  })
}

function grpcCheck(grpc: Fields | undefined): Policies {
  return defined({
    context: grpc?.contextExtensions && { ...(grpc.contextExtensions as Fields) },
    metadata: grpc?.requestMetadata && { ...(grpc.requestMetadata as Fields) },
  })
}

/** A plain duration becomes an expression; anything else is one already. */
export function durationOrCel(value: unknown): unknown {
  const text = asText(value)
  return text !== undefined && /^(\d+(\.\d+)?(ns|us|ms|s|m|h))+$/.test(text)
    ? `duration(${JSON.stringify(text)})`
    : value
}

export function extProcMember(part: Fields, ctx: MemberContext): Policies | undefined {
  return variants(part, plain => {
    const target = ctx.target(plain, 'failed to build extProc')
    const options = asFields(plain.processingOptions)
    const context = asFields(plain.metadataContext)
    return (
      target &&
      defined({
        ...target,
        failureMode: lower(plain.failureMode),
        processingOptions:
          options && Object.fromEntries(Object.entries(options).map(([name, value]) => [name, lower(value)])),
        metadataContext:
          context && Object.fromEntries(Object.entries(context).map(([name, inner]) => [name, { ...asFields(inner) }])),
        requestAttributes: plain.requestAttributes && { ...(plain.requestAttributes as Fields) },
        responseAttributes: plain.responseAttributes && { ...(plain.responseAttributes as Fields) },
      })
    )
  })
}

const UNITS: Readonly<Record<string, string>> = { Seconds: '1s', Minutes: '1m', Hours: '1h' }

/** `localRateLimit` and `remoteRateLimit`. */
export function rateLimitMembers(part: Fields, ctx: MemberContext): Readonly<Record<string, unknown>> {
  const entries = asItems(part.conditional)
  if (entries.length === 0)
    return defined({ localRateLimit: local(part.local, ctx), remoteRateLimit: remote(part.global, ctx) })
  const inner = entries.map(entry => ({ condition: entry.condition, policy: asFields(entry.policy) ?? {} }))
  const locals = inner.map(({ condition, policy }) => ({ condition, limits: local(policy.local, ctx) ?? [] }))
  const remotes = inner.map(({ condition, policy }) => {
    const limit = remote(policy.global, ctx)
    return limit && defined({ condition, ...limit })
  })
  for (const { limits } of locals)
    if (limits.length > 1) ctx.lose(part, 'of several local limits under one condition only the first is kept')
  const conditionalLocals = locals.flatMap(({ condition, limits }) =>
    limits[0] ? [defined({ condition, ...limits[0] })] : [],
  )
  const conditionalRemotes = remotes.filter(each => each !== undefined)
  return defined({
    localRateLimit: conditionalLocals.length > 0 ? { conditional: conditionalLocals } : undefined,
    remoteRateLimit: conditionalRemotes.length > 0 ? { conditional: conditionalRemotes } : undefined,
  })
}

function local(part: unknown, ctx: MemberContext): Policies[] | undefined {
  const limits = asItems(part).map(limit => {
    const rate = Number(limit.requests ?? limit.tokens)
    const made = {
      maxTokens: rate + Number(limit.burst ?? 0),
      tokensPerFill: rate,
      fillInterval: UNITS[String(limit.unit)] ?? '1s',
      type: limit.tokens === undefined ? 'requests' : 'tokens',
    }
    return ctx.work.keep(made, limit)
  })
  return limits.length === 0 ? undefined : limits
}

function remote(value: unknown, ctx: MemberContext): Policies | undefined {
  const part = asFields(value)
  if (!part) return undefined
  const target = ctx.target(part, 'failed to build global rate limit')
  const descriptors = asItems(part.descriptors).map(each =>
    defined({
      entries: asItems(each.entries).map(({ name, expression }) => ({ key: name, value: expression })),
      type: lower(each.unit) ?? 'requests',
      cost: each.cost,
      limitOverride: each.limitOverride,
    }),
  )
  return target && defined({ ...target, domain: part.domain, descriptors, failureMode: lower(part.failureMode) })
}
