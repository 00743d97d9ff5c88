import { cel, def, integer, list, object, oneOf, opt, serverRule, string } from '../../../schema/builder.ts'
import { caCertificateRef, endpoint, secretRef } from '../../../schema/resource-references.ts'
import { resourceDuration } from '../../../schema/resource-scalars.ts'
import { problem, type Rule } from '../../../schema/rules.ts'
import { shortString, tinyString } from '../../../schema/scalars.ts'
import { asFields, asItems, type Fields } from '../../../schema/untyped.ts'
import { type ClusterContext, defined, type Policies, pick, strings } from '../../parts/cluster-form.ts'

// Backend connection settings in resources, and their translation.

export const keepalive = object('keepalive', {
  retries: def(integer(1, 64), 9, 'Unanswered probes after which the connection is closed.'),
  time: def(resourceDuration(1000), '180s', 'Idle time before the first probe.'),
  interval: def(resourceDuration(1000), '180s', 'Time between probes.'),
})
const tcp = object('TCP settings', {
  connectTimeout: opt(resourceDuration(100), 'Timeout for opening a connection.'),
  keepalive: opt(keepalive, 'Probes on idle connections.'),
})
const http = object('HTTP settings', {
  version: opt(oneOf(['HTTP1', 'HTTP2']), 'The HTTP version to use.'),
  requestTimeout: opt(resourceDuration(1), 'Timeout for the whole reply.'),
})

export const KEY_EXCHANGE_GROUPS = ['P-256', 'P-384', 'X25519', 'X25519_MLKEM768'] as const
const serverName = string({
  min: 1,
  max: 253,
  pattern: /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/,
  form: 'a host name of lower-case labels',
})
const INLINE_CERTIFICATES = ['mtlsCertificateRef', 'caCertificateRefs', 'insecureSkipVerify']
const tlsRules: Rule = value => {
  if (value.insecureSkipVerify === 'All' && value.caCertificateRefs) {
    return [problem(['caCertificateRefs'], '`caCertificateRefs` has no effect beside `insecureSkipVerify: All`')]
  }
  if (value.certificateSource !== 'SPIFFE') return []
  return INLINE_CERTIFICATES.filter(name => value[name] !== undefined).map(name =>
    problem([name], `\`${name}\` cannot be combined with \`certificateSource: SPIFFE\``),
  )
}
export const tls = object(
  'TLS settings',
  {
    mtlsCertificateRef: opt(
      list(secretRef({ keys: [['tls.crt'], ['tls.key']] }), { max: 1 }),
      'A Secret with the client certificate: `tls.crt`, `tls.key`, optionally `ca.cert`.',
    ),
    caCertificateRefs: opt(
      list(caCertificateRef, { max: 1 }),
      'The certificates to trust; those of the system when unset.',
    ),
    insecureSkipVerify: opt(oneOf(['All', 'Hostname']), 'What is not verified.'),
    sni: opt(serverName, 'The server name sent; the destination’s host name when unset.'),
    verifySubjectAltNames: opt(list(shortString, { min: 1, max: 16 }), 'Accepted names in the certificate.'),
    alpnProtocols: opt(list(tinyString, { min: 1, max: 16 }), 'Protocols to offer; `h2` and `http/1.1` when unset.'),
    keyExchangeGroups: opt(list(oneOf(KEY_EXCHANGE_GROUPS)), 'Key exchange groups in order of preference.'),
    certificateSource: def(oneOf(['Inline', 'SPIFFE']), 'Inline', 'Where the certificates come from.'),
  },
  {
    atMostOneOf: [['verifySubjectAltNames', 'insecureSkipVerify']],
    check: tlsRules,
    rules: [
      serverRule(
        "!has(self.insecureSkipVerify) || self.insecureSkipVerify != 'All' || !has(self.caCertificateRefs)",
        'caCertificateRefs has no effect beside insecureSkipVerify All',
      ),
      serverRule(
        `self.certificateSource != 'SPIFFE' || !(${INLINE_CERTIFICATES.map(name => `has(self.${name})`).join(' || ')})`,
        `certificateSource SPIFFE takes no ${INLINE_CERTIFICATES.join(', ')}`,
      ),
    ],
  },
)

const proxyServer = endpoint({ urlPath: false, what: 'The proxy server' })
export const tunnel = object('tunnel', proxyServer.fields, { exactlyOneOf: [proxyServer.group] })

const eviction = object('eviction', {
  duration: def(resourceDuration(1000), '3s', 'How long the backend is evicted.'),
  restoreHealth: opt(integer(0, 100), 'Health in percent after the eviction.'),
  consecutiveFailures: opt(integer(0), 'Consecutive unhealthy responses that cause eviction.'),
  healthThreshold: opt(integer(0, 100), 'Health in percent below which it is evicted.'),
})
export const health = object('health policy', {
  unhealthyCondition: opt(
    cel('response', 'bool'),
    'True marks a response as unhealthy; any 5xx or connection failure when unset.',
  ),
  eviction: opt(eviction, 'Evicts unhealthy backends for a while.'),
})

/** Also accepted by policies on guard services. */
export const connectionFields = {
  tcp: opt(tcp, 'TCP connections to the backend.'),
  tls: opt(tls, 'TLS to the backend; setting it enables TLS.'),
  http: opt(http, 'HTTP to the backend.'),
  tunnel: opt(tunnel, 'A proxy server in front of the backend.'),
}

export function convertTcp(part: Fields): Policies {
  const alive = asFields(part.keepalive)
  return defined({ connectTimeout: part.connectTimeout, keepalives: alive && convertKeepalive(alive) })
}

export function convertHttp(part: Fields): Policies {
  const version = part.version === 'HTTP2' ? 'HTTP/2.0' : part.version === undefined ? undefined : 'HTTP/1.1'
  return defined({ version, requestTimeout: part.requestTimeout })
}

/** If the intended CAs are unknown, trust none. */
const NOBODY = '/dev/null'

export function convertTls(part: Fields, ctx: ClusterContext): Policies {
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
    const before = ctx.errors.length
    const found = authority.kind === 'Secret' ? ctx.secrets.secret(name) : ctx.secrets.configMap(name)
    if (found) out.root = ctx.file(authority, found, 'ca.crt')
    if (ctx.errors.length > before) out.root = NOBODY
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

export function convertTunnel(part: Fields, ctx: ClusterContext): Policies | undefined {
  const proxy = ctx.target(part, 'failed to build tunnel')
  return proxy && { proxy }
}

export function convertHealth(part: Fields): Policies {
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

export function convertKeepalive(part: Fields): Policies {
  return { time: part.time ?? '180s', interval: part.interval ?? '180s', retries: part.retries ?? 9 }
}
