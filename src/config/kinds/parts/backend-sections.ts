import { credentialValue } from '../../../policies/parts/header-changes.ts'
import {
  type CelScope,
  cel,
  def,
  integer,
  list,
  map,
  object,
  oneOf,
  opt,
  req,
  serverRule,
  string,
} from '../../../schema/builder.ts'
import { plainHeaderName, pseudoHeaderName, resourceDuration, set } from '../../../schema/resource-scalars.ts'
import { shortString, tinyString } from '../../../schema/scalars.ts'
import { problem, type Rule } from '../resource.ts'
import { caCertificateRef, endpoint, secretRef } from './object-references.ts'

export const keepalive = object('keepalive', {
  retries: def(integer(1, 64), 9, 'Probes without an answer after which the connection is given up.'),
  time: def(resourceDuration(1000), '180s', 'Idle time before the first probe.'),
  interval: def(resourceDuration(1000), '180s', 'Time between probes.'),
})
const tcp = object('TCP settings', {
  connectTimeout: opt(resourceDuration(100), 'How long a connection may take to open.'),
  keepalive: opt(keepalive, 'Probes on idle connections.'),
})
const http = object('HTTP settings', {
  version: opt(oneOf(['HTTP1', 'HTTP2']), 'The HTTP version to speak.'),
  requestTimeout: opt(resourceDuration(1), 'How long the whole reply may take.'),
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
    problem([name], `\`${name}\` cannot stand beside \`certificateSource: SPIFFE\``),
  )
}
export const tls = object(
  'TLS settings',
  {
    mtlsCertificateRef: opt(
      list(secretRef({ keys: [['tls.crt'], ['tls.key']] }), { max: 1 }),
      'A Secret with the client certificate: `tls.crt`, `tls.key`, perhaps `ca.cert`.',
    ),
    caCertificateRefs: opt(
      list(caCertificateRef, { max: 1 }),
      'The certificates to trust; those of the system when unset.',
    ),
    insecureSkipVerify: opt(oneOf(['All', 'Hostname']), 'What is not verified.'),
    sni: opt(serverName, 'The server name sent; the destination’s host name when unset.'),
    verifySubjectAltNames: opt(list(shortString, { min: 1, max: 16 }), 'Names that the certificate may have.'),
    alpnProtocols: opt(list(tinyString, { min: 1, max: 16 }), 'Protocols offered; `h2` and `http/1.1` when unset.'),
    keyExchangeGroups: opt(list(oneOf(KEY_EXCHANGE_GROUPS)), 'Key exchange groups, the preferred first.'),
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
  duration: def(resourceDuration(1000), '3s', 'How long the backend gets no requests.'),
  restoreHealth: opt(integer(0, 100), 'Health in percent with which it comes back.'),
  consecutiveFailures: opt(integer(0), 'Unhealthy responses in a row that evict.'),
  healthThreshold: opt(integer(0, 100), 'Health in percent below which it is evicted.'),
})
export const health = object('health policy', {
  unhealthyCondition: opt(
    cel('response', 'bool'),
    'True marks a response as unhealthy; any 5xx or connection failure when unset.',
  ),
  eviction: opt(eviction, 'Takes unhealthy backends out for a while.'),
})

const headerValues = object(
  'header value',
  {
    name: req(plainHeaderName, 'The name of the header field.'),
    value: req(string({ min: 1, max: 4096 }), 'Its value.'),
  },
  { secretField: credentialValue },
)
const headerChanges = object('header changes', {
  set: opt(list(headerValues, { max: 16, unique: ['name'] }), 'Fields to replace.'),
  add: opt(list(headerValues, { max: 16, unique: ['name'] }), 'Fields to add.'),
  remove: opt(set(string(), { max: 16 }), 'Fields to remove.'),
})
export const headerModifiers = object(
  'header modifiers',
  {
    request: opt(headerChanges, 'Changes to the request’s header.'),
    response: opt(headerChanges, 'Changes to the response’s header.'),
  },
  { atLeastOneOf: [['request', 'response']] },
)

function transform(scope: CelScope) {
  const computed = object('computed header', {
    name: req(pseudoHeaderName, 'The name of the header field.'),
    value: req(cel(scope, 'any'), 'Its value.'),
  })
  const fields = list(computed, { min: 1, max: 16, unique: ['name'] })
  return object(
    'transform',
    {
      set: opt(fields, 'Fields to replace.'),
      add: opt(fields, 'Fields to add.'),
      remove: opt(set(pseudoHeaderName, { min: 1, max: 16 }), 'Fields to remove.'),
      body: opt(cel(scope, 'any'), 'The body.'),
      metadata: opt(
        map(cel(scope, 'any'), { min: 1, max: 16 }),
        'Values that later expressions find under `metadata`.',
      ),
    },
    { atLeastOneOf: [['set', 'add', 'remove', 'body', 'metadata']] },
  )
}
export const transformationFields = {
  request: opt(transform('request'), 'Changes to the request.'),
  response: opt(transform('response'), 'Changes to the response.'),
}
const transformation = object('transformation', transformationFields, { atLeastOneOf: [['request', 'response']] })

/** `scope`: where the expressions stand. */
export function authorization(scope: CelScope) {
  return object('authorization', {
    action: def(oneOf(['Allow', 'Deny', 'Require']), 'Allow', 'What a true expression means.'),
    policy: req(
      object('authorization policy', {
        matchExpressions: req(
          list(cel(scope, 'bool'), { min: 1, max: 256 }),
          'The expressions: one of them for Allow and Deny, all of them for Require.',
        ),
      }),
      'When the action applies.',
    ),
  })
}

/** What every set of backend policies has. */
export const connectionSections = {
  tcp: opt(tcp, 'TCP connections to the backend.'),
  tls: opt(tls, 'TLS to the backend; its presence turns TLS on.'),
  http: opt(http, 'HTTP to the backend.'),
  tunnel: opt(tunnel, 'A proxy server on the way to the backend.'),
}
export const responseSections = {
  health: opt(health, 'When the backend counts as unhealthy.'),
  transformation: opt(transformation, 'Changes to requests and responses.'),
}
