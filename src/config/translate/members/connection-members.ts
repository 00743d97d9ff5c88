import { asFields, asItems, type Fields } from '../../resources/resource.ts'
import { authMember } from './auth-members.ts'
import { extAuthMember } from './external-members.ts'
import { defined, type MemberContext, type Policies, pick, strings } from './member-context.ts'
import { keepalives, transformationMember } from './member-parts.ts'

type Convert = (part: Fields, ctx: MemberContext) => unknown
/** Cluster member, standalone policy, and what makes one of the other. */
const MEMBERS: readonly (readonly [string, string, Convert])[] = [
  ['tcp', 'tcp', tcpMember],
  ['http', 'http', httpMember],
  ['tls', 'backendTLS', tlsMember],
  ['tunnel', 'backendTunnel', tunnelMember],
  ['auth', 'backendAuth', authMember],
  ['transformation', 'transformations', transformationMember],
  ['health', 'health', healthMember],
  ['extAuth', 'extAuthz', extAuthMember],
]

/** How a backend is connected to, whatever it speaks. */
export function connectionMembers(spec: Fields, ctx: MemberContext): Policies {
  const out: Policies = {}
  for (const [source, name, make] of MEMBERS) {
    const part = asFields(spec[source])
    if (part) putMember(out, name, part, make(part, ctx), ctx)
  }
  return out
}

/** Undefined: nothing can be made of the part, and it is lost. */
export function putMember(out: Policies, name: string, part: Fields, value: unknown, ctx: MemberContext): void {
  const from = ctx.work.from(part, ctx.holder)
  if (value === undefined) {
    ctx.lose(part, `\`${String(from.path.at(-1))}\` cannot be carried over as it is`)
    if (GUARDS.has(name) && !ctx.work.options.allowUnguarded) out.authorization = { rules: [{ deny: 'true' }] }
    return
  }
  out[name] = value
  ctx.work.origins.field(out, name, from)
  if (typeof value === 'object' && value !== null) ctx.work.origins.mark(value, from)
}

/** Policies without which more would be allowed, or more be shown, than the resource says. */
export const GUARDS: ReadonlySet<string> = new Set([
  'authorization',
  'jwtAuth',
  'basicAuth',
  'apiKey',
  'extAuthz',
  'extProc',
  'mcpAuthorization',
  'mcpAuthentication',
  'mcpGuardrails',
  'remoteRateLimit',
  'promptGuard',
  'guardrails',
  'networkAuthorization',
  'backendTLS',
  'backendTunnel',
  'csrf',
])

function tcpMember(part: Fields): Policies {
  const alive = asFields(part.keepalive)
  return defined({ connectTimeout: part.connectTimeout, keepalives: alive && keepalives(alive) })
}

function httpMember(part: Fields): Policies {
  const version = part.version === 'HTTP2' ? 'HTTP/2.0' : part.version === undefined ? undefined : 'HTTP/1.1'
  return defined({ version, requestTimeout: part.requestTimeout })
}

function tlsMember(part: Fields, ctx: MemberContext): Policies {
  const out: Policies = {}
  const client = asItems(part.mtlsCertificateRef)[0]
  const secret = client && ctx.secrets.secret(String(client.name))
  if (client && secret) {
    const cert = ctx.file(client, secret, 'tls.crt')
    const key = ctx.file(client, secret, 'tls.key')
    if (cert !== undefined && key !== undefined) Object.assign(out, { cert, key })
    if (!part.caCertificateRefs && hasKey(secret.raw, 'ca.cert')) {
      out.root = ctx.file(client, secret, 'ca.cert')
    }
  }
  const authority = asItems(part.caCertificateRefs)[0]
  if (authority) {
    const name = String(authority.name)
    const found = authority.kind === 'Secret' ? ctx.secrets.secret(name) : ctx.secrets.configMap(name)
    if (found) out.root = ctx.file(authority, found, 'ca.crt')
  }
  if (part.insecureSkipVerify === 'All') out.insecure = true
  if (part.insecureSkipVerify === 'Hostname') out.insecureHost = true
  if (part.certificateSource === 'SPIFFE') out.spiffe = {}
  Object.assign(out, pick(part, { sni: 'hostname' }))
  out.alpn = strings(part.alpnProtocols)
  out.subjectAltNames = strings(part.verifySubjectAltNames)
  out.keyExchangeGroups = strings(part.keyExchangeGroups)
  return defined(out)
}

function hasKey(raw: Fields, key: string): boolean {
  return [raw.data, raw.stringData].some(data => asFields(data)?.[key] !== undefined)
}

function tunnelMember(part: Fields, ctx: MemberContext): Policies | undefined {
  const proxy = ctx.target(part, 'failed to build tunnel')
  return proxy && { proxy }
}

function healthMember(part: Fields): Policies {
  const eviction = asFields(part.eviction)
  const share = (percent: unknown) => (typeof percent === 'number' ? percent / 100 : undefined)
  return defined({
    unhealthyExpression: part.unhealthyCondition,
    eviction:
      eviction &&
      defined({
        duration: eviction.duration ?? '3s',
        restoreHealth: share(eviction.restoreHealth),
        consecutiveFailures: eviction.consecutiveFailures,
        healthThreshold: share(eviction.healthThreshold),
      }),
  })
}
