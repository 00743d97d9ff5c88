import { asFields, asItems, type Fields } from '../../resources/resource.ts'
import { bytesOf } from './external-members.ts'
import { byName, defined, lower, type MemberContext, type Policies, strings } from './member-context.ts'
import { keepalives } from './member-parts.ts'
import { authorizationMember, type Member } from './traffic-members.ts'

/** The members of a `frontend` section. */
export function frontendMembers(spec: Fields, ctx: MemberContext): Member[] {
  const out: Member[] = []
  const each = (source: string, make: (part: Fields, ctx: MemberContext) => unknown): void => {
    const part = asFields(spec[source])
    if (part) out.push({ source, name: source, part, value: make(part, ctx) })
  }
  each('tcp', part => {
    const alive = asFields(part.keepalive)
    return defined({ keepalives: alive && keepalives(alive) })
  })
  each('networkAuthorization', authorizationMember)
  each('connect', part => ({ mode: lower(part.mode) }))
  each('proxyProtocol', part => defined({ version: lower(part.version), mode: lower(part.mode) }))
  each('tls', tlsMember)
  each('http', httpMember)
  each('accessLog', accessLog)
  each('tracing', tracing)
  each('metrics', part => ({ add: byName(asFields(part.attributes)?.add, 'expression') }))
  return out
}

function tlsMember(part: Fields): Policies {
  const version = (value: unknown) => (value === undefined ? undefined : value === '1.3' ? 'TLS_V1_3' : 'TLS_V1_2')
  return defined({
    handshakeTimeout: part.handshakeTimeout,
    alpn: strings(part.alpnProtocols),
    minVersion: version(part.minProtocolVersion),
    maxVersion: version(part.maxProtocolVersion),
    cipherSuites: strings(part.cipherSuites),
    keyExchangeGroups: strings(part.keyExchangeGroups),
  })
}

const SIZES = ['maxBufferSize', 'http2WindowSize', 'http2ConnectionWindowSize', 'http2MaxHeaderSize', 'http2FrameSize']

function httpMember(part: Fields): Policies {
  const out: Policies = {}
  for (const [name, value] of Object.entries(part)) out[name] = SIZES.includes(name) ? (bytesOf(value) ?? value) : value
  out.http1HeaderCase = lower(part.http1HeaderCase)
  return defined(out)
}

function accessLog(part: Fields, ctx: MemberContext): Policies {
  const otlp = asFields(part.otlp)
  const target = otlp && ctx.target(otlp, 'failed to translate access log backend')
  if (otlp && !target) ctx.lose(otlp, 'entries are not sent: the collector cannot be called')
  return defined({
    filter: part.filter,
    ...changes(part.attributes),
    otlp:
      otlp &&
      target &&
      defined({
        ...target,
        protocol: lower(otlp.protocol === undefined ? 'grpc' : String(otlp.protocol).toLowerCase()),
        path: otlp.path ?? ctx.urlPath(otlp),
        filter: otlp.filter,
        fields: otlp.attributes && changes(otlp.attributes),
      }),
  })
}

function changes(value: unknown): Policies {
  const part = asFields(value)
  return part ? defined({ add: byName(part.add, 'expression'), remove: strings(part.remove) }) : {}
}

function tracing(part: Fields, ctx: MemberContext): Policies | undefined {
  const target = ctx.target(part, 'failed to translate tracing backend')
  const attributes = asFields(part.attributes)
  const out = {
    ...target,
    protocol: part.protocol === undefined ? 'grpc' : String(part.protocol).toLowerCase(),
    path: part.path ?? ctx.urlPath(part),
    attributes: attributes && byName(attributes.add, 'expression'),
    remove: attributes && strings(attributes.remove),
    resources: asItems(part.resources).length > 0 ? byName(part.resources, 'expression') : undefined,
    randomSampling: part.randomSampling,
    clientSampling: part.clientSampling,
    filter: part.filter,
  }
  return target && defined(out)
}
