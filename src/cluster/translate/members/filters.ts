import { convertCors } from '../../../policies/cors.ts'
import { defined, type Policies } from '../../../policies/parts/cluster-form.ts'
import { convertHeaderChanges } from '../../../policies/parts/header-changes.ts'
import { convertRetry } from '../../../policies/retry.ts'
import { convertSessionPersistence } from '../../../policies/session-persistence.ts'
import { asFields, asItems, asText, type Fields } from '../../../schema/untyped.ts'
import type { MemberContext } from './member-context.ts'

/** The policies of a rule's filters, timeouts, retry and session. `refused`: a controller rejects the route. */
export function rulePolicies(
  rule: Fields,
  ctx: MemberContext,
): { readonly policies: Policies; readonly refused?: string } {
  const out = filterPolicies(rule.filters, ctx)
  const timeouts = asFields(rule.timeouts)
  const limits = defined({
    requestTimeout: asText(timeouts?.request),
    backendRequestTimeout: asText(timeouts?.backendRequest),
  })
  if (timeouts && Object.keys(limits).length > 0) {
    const { path, resource } = ctx.work.from(timeouts, ctx.holder)
    ctx.work.origins.field(limits, 'requestTimeout', { resource, path: [...path, 'request'] })
    ctx.work.origins.field(limits, 'backendRequestTimeout', { resource, path: [...path, 'backendRequest'] })
    out.policies.timeout = ctx.work.keep(limits, timeouts)
  }
  const retry = asFields(rule.retry)
  const retries = retry && convertRetry(retry, ctx)
  if (retry && retries) out.policies.retry = ctx.work.keep(retries, retry)
  const session = asFields(rule.sessionPersistence)
  if (session) {
    const { namespace, name } = ctx.holder
    const index = ctx.work.from(rule, ctx.holder).path.at(-1)
    const converted = convertSessionPersistence(session, `${namespace}/${name}/${asText(rule.name) ?? index}`)
    out.policies.sessionPersistence = ctx.work.keep(converted, session)
  }
  return out
}

export function filterPolicies(filters: unknown, ctx: MemberContext) {
  const policies: Policies = {}
  const refused: string[] = []
  for (const filter of asItems(filters)) {
    const put = (name: string, part: unknown, value: Policies | undefined) => {
      if (value) policies[name] = ctx.work.keep(value, part)
    }
    switch (filter.type) {
      case 'RequestHeaderModifier':
        put('requestHeaderModifier', filter, convertHeaderChanges(asFields(filter.requestHeaderModifier)))
        break
      case 'ResponseHeaderModifier':
        put('responseHeaderModifier', filter, convertHeaderChanges(asFields(filter.responseHeaderModifier)))
        break
      case 'RequestRedirect':
        if (policies.requestRedirect) refused.push('cannot use multiple RequestRedirect filters')
        put('requestRedirect', filter, redirect(asFields(filter.requestRedirect) ?? {}))
        break
      case 'URLRewrite':
        put('urlRewrite', filter, rewrite(asFields(filter.urlRewrite) ?? {}))
        break
      case 'CORS':
        put('cors', filter, convertCors(asFields(filter.cors) ?? {}))
        break
      case 'RequestMirror':
        addMirror(filter, policies, ctx)
        break
      case 'ExternalAuth':
        put(
          'extAuthz',
          filter,
          externalAuth(asFields(filter.externalAuth) ?? {}, ctx) ?? unasked(filter, policies, ctx),
        )
        break
      default:
        refused.push(`unsupported filter type ${String(filter.type)}`)
    }
  }
  return { policies, ...(refused[0] === undefined ? {} : { refused: refused[0] }) }
}

/** The service does not exist: every request is refused, with that reason. */
function unasked(filter: Fields, policies: Policies, ctx: MemberContext): undefined {
  ctx.lose(filter, 'the authorization service cannot be asked')
  if (!ctx.work.options.allowUnguarded) policies.authorization = { rules: [{ deny: 'true' }] }
  return undefined
}

function path(part: Fields | undefined): Policies | undefined {
  if (!part) return undefined
  if (part.type === 'ReplaceFullPath') return { full: part.replaceFullPath === '' ? '/' : part.replaceFullPath }
  const prefix = String(part.replacePrefixMatch ?? '/')
  return { prefix: prefix === '' ? '/' : prefix.length > 1 ? prefix.replace(/\/$/, '') : prefix }
}

function redirect(part: Fields): Policies {
  const host = asText(part.hostname)
  const { port } = part
  const authority =
    host !== undefined && port !== undefined
      ? { full: `${host}:${String(port)}` }
      : host !== undefined
        ? { host }
        : port !== undefined
          ? { port }
          : undefined
  return defined({ scheme: part.scheme, authority, path: path(asFields(part.path)), status: part.statusCode ?? 302 })
}

function rewrite(part: Fields): Policies {
  const host = asText(part.hostname)
  return defined({ authority: host === undefined ? undefined : { full: host }, path: path(asFields(part.path)) })
}

/** Each has its own percentage. */
function addMirror(filter: Fields, policies: Policies, ctx: MemberContext): void {
  const made = mirror(asFields(filter.requestMirror) ?? {}, ctx)
  if (!made) return
  const first = policies.requestMirror as { more?: Policies[] } | undefined
  if (first) first.more = [...(first.more ?? []), ctx.work.keep(made, filter)]
  else policies.requestMirror = ctx.work.keep(made, filter)
}

function mirror(part: Fields, ctx: MemberContext): Policies | undefined {
  const fraction = asFields(part.fraction)
  const share =
    typeof part.percent === 'number'
      ? part.percent / 100
      : fraction
        ? Number(fraction.numerator) / Number(fraction.denominator ?? 100)
        : 1
  const backend = ctx.target(part, 'failed to build mirror')
  return backend && { backend, percentage: share }
}

function externalAuth(part: Fields, ctx: MemberContext): Policies | undefined {
  const target = ctx.target(part, 'failed to build external auth')
  const http = asFields(part.http)
  const size = asFields(part.forwardBody)?.maxSize
  const list = (value: unknown) => (Array.isArray(value) ? value.map(String) : undefined)
  return (
    target &&
    defined({
      ...target,
      protocol:
        part.protocol === 'HTTP'
          ? {
              http: defined({
                path: http?.path === undefined ? undefined : `${JSON.stringify(http.path)} + request.path`,
                includeResponseHeaders: list(http?.allowedResponseHeaders),
              }),
            }
          : { grpc: {} },
      includeRequestHeaders: list(http?.allowedHeaders ?? asFields(part.grpc)?.allowedHeaders),
      includeRequestBody: size === undefined ? undefined : { maxRequestBytes: size, allowPartialMessage: true },
    })
  )
}
