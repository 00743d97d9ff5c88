import {
  cel,
  def,
  integer,
  list,
  type ObjectProblem,
  object,
  oneOf,
  opt,
  parsed,
  req,
  type Schema,
  serverRule,
} from '../../../schema/builder.ts'
import { absolutePath, byteQuantity, resourceDuration } from '../../../schema/resource-scalars.ts'
import { shortString, tinyString } from '../../../schema/scalars.ts'
import { problem } from '../resource.ts'
import { authorization, KEY_EXCHANGE_GROUPS, keepalive } from './backend-sections.ts'
import { endpoint, hasPath } from './object-references.ts'

const tcp = object(
  'TCP settings',
  { keepalive: opt(keepalive, 'Probes on idle connections.') },
  { atLeastOneOf: [['keepalive']] },
)
const proxyProtocol = object('PROXY protocol', {
  version: def(oneOf(['V1', 'V2', 'All']), 'V2', 'The versions to take.'),
  mode: def(oneOf(['Strict', 'Optional']), 'Strict', 'Whether a connection may come without.'),
})
const CIPHER_SUITES = [
  'TLS13_AES_256_GCM_SHA384',
  'TLS13_AES_128_GCM_SHA256',
  'TLS13_CHACHA20_POLY1305_SHA256',
  'TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384',
  'TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256',
  'TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256',
  'TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384',
  'TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256',
  'TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256',
] as const
const tlsVersion = oneOf(['1.2', '1.3'])
const tlsFields = {
  handshakeTimeout: opt(resourceDuration(100), 'How long a handshake may take.'),
  alpnProtocols: opt(list(tinyString, { min: 1, max: 16 }), 'Protocols offered.'),
  minProtocolVersion: opt(tlsVersion, 'The oldest TLS version to take.'),
  maxProtocolVersion: opt(tlsVersion, 'The newest TLS version to take.'),
  cipherSuites: opt(list(oneOf(CIPHER_SUITES)), 'Cipher suites to take.'),
  keyExchangeGroups: opt(list(oneOf(KEY_EXCHANGE_GROUPS)), 'Key exchange groups, the preferred first.'),
}
const tls = object('TLS settings', tlsFields, {
  atLeastOneOf: [Object.keys(tlsFields)],
  check: value =>
    value.minProtocolVersion === '1.3' && value.maxProtocolVersion === '1.2'
      ? [problem(['minProtocolVersion'], '`minProtocolVersion` is above `maxProtocolVersion`', { at: 'value' })]
      : [],
  rules: [
    serverRule(
      "!has(self.minProtocolVersion) || !has(self.maxProtocolVersion) || self.minProtocolVersion == '1.2' || self.maxProtocolVersion == '1.3'",
      'minProtocolVersion must not be above maxProtocolVersion',
    ),
  ],
})

const FRAME = { min: 16_384, max: 1_677_215 }
const frameSize: Schema<number> = parsed(
  byteQuantity,
  `a size of ${FRAME.min} to ${FRAME.max} bytes`,
  bytes =>
    bytes >= FRAME.min && bytes <= FRAME.max
      ? { value: bytes }
      : { problem: { message: `${bytes} bytes is out of range: must be ${FRAME.min} to ${FRAME.max}` } },
  FRAME.min,
  undefined,
  [
    serverRule(
      `type(self) == int ? self >= ${FRAME.min} && self <= ${FRAME.max} : quantity(self).compareTo(quantity('${FRAME.min}')) >= 0 && quantity(self).compareTo(quantity('${FRAME.max}')) <= 0`,
      `must be ${FRAME.min} to ${FRAME.max} bytes`,
    ),
  ],
)
const httpFields = {
  maxBufferSize: opt(byteQuantity, 'The largest body that is taken in whole.'),
  http1MaxHeaders: opt(integer(1, 4096), 'Header fields that a request may have.'),
  http1IdleTimeout: opt(resourceDuration(1000), 'How long an idle connection stays open.'),
  http1HeaderCase: opt(oneOf(['Lowercase', 'Preserve']), 'How header names are written.'),
  http2WindowSize: opt(byteQuantity, 'Flow-control window of a stream.'),
  http2ConnectionWindowSize: opt(byteQuantity, 'Flow-control window of a connection.'),
  http2MaxHeaderSize: opt(byteQuantity, 'The largest header.'),
  http2FrameSize: opt(frameSize, 'The largest frame.'),
  http2KeepaliveInterval: opt(resourceDuration(1000), 'Time between pings.'),
  http2KeepaliveTimeout: opt(resourceDuration(1000), 'How long a ping may go without an answer.'),
  maxConnectionDuration: opt(resourceDuration(1000), 'How long a connection may live.'),
}
const http = object('HTTP settings', httpFields, { atLeastOneOf: [Object.keys(httpFields)] })

const attribute = object('attribute', {
  name: req(shortString, 'The name.'),
  expression: req(cel('log', 'any'), 'Gives the value; a failure leaves the attribute out.'),
})
const attributes = object(
  'attributes',
  {
    remove: opt(list(tinyString, { min: 1, max: 32 }), 'Fields to leave out.'),
    add: opt(list(attribute, { min: 1, unique: ['name'] }), 'Fields to add.'),
  },
  { atLeastOneOf: [['remove', 'add']] },
)
const collector = endpoint({ urlPath: true, what: 'The collector' })
const exportFields = {
  ...collector.fields,
  protocol: def(oneOf(['GRPC', 'HTTP']), 'GRPC', 'How it is spoken to.'),
  path: opt(absolutePath, 'The path to send to, over HTTP.'),
}
function exportRules(value: Record<string, unknown>): readonly ObjectProblem[] {
  if (value.protocol === 'HTTP') return []
  if (value.path !== undefined) return [problem(['path'], '`path` goes only with `protocol: HTTP`')]
  return hasPath(value.url)
    ? [problem(['url'], 'a URL with a path goes only with `protocol: HTTP`', { at: 'value' })]
    : []
}
const EXPORT_RULES = [
  serverRule("self.protocol == 'HTTP' || !has(self.path)", 'path goes only with protocol HTTP'),
  serverRule(
    "self.protocol == 'HTTP' || !has(self.url) || !self.url.matches('^https?://[^/]+/')",
    'a url with a path goes only with protocol HTTP',
  ),
]
const filter = opt(cel('log', 'bool'), 'Which requests are recorded.')
const accessLog = object('access log', {
  filter,
  attributes: opt(attributes, 'Changes to the fields.'),
  otlp: opt(
    object(
      'log export',
      { ...exportFields, filter, attributes: opt(attributes, 'Changes to the fields.') },
      { exactlyOneOf: [collector.group], check: exportRules, rules: EXPORT_RULES },
    ),
    'Sends entries to a collector.',
  ),
})
const tracing = object(
  'tracing',
  {
    ...exportFields,
    attributes: opt(attributes, 'Changes to the attributes of spans.'),
    resources: opt(
      list(
        object('resource attribute', {
          name: req(shortString, 'The name.'),
          expression: req(cel('log', 'any'), 'Gives the value.'),
        }),
      ),
      'Attributes of the service.',
    ),
    randomSampling: opt(cel('request', 'sampling'), 'Which share of new traces is recorded; none when unset.'),
    clientSampling: opt(cel('request', 'sampling'), 'Which share of clients’ traces is recorded; all when unset.'),
    filter,
  },
  { exactlyOneOf: [collector.group], check: exportRules, rules: EXPORT_RULES },
)
const metrics = object('metrics', {
  attributes: req(
    object(
      'metric labels',
      { add: opt(list(attribute, { min: 1, max: 16, unique: ['name'] }), 'Labels to add.') },
      { atLeastOneOf: [['add']] },
    ),
    'Changes to the labels.',
  ),
})

const fields = {
  tcp: opt(tcp, 'TCP connections from clients.'),
  networkAuthorization: opt(authorization('connection'), 'Decides by expressions which connections are taken.'),
  connect: opt(
    object('CONNECT handling', { mode: req(oneOf(['Deny', 'Route', 'Tunnel']), 'What is done with it.') }),
    'Requests with the method CONNECT.',
  ),
  proxyProtocol: opt(proxyProtocol, 'The PROXY protocol in front of connections.'),
  tls: opt(tls, 'TLS with clients.'),
  http: opt(http, 'HTTP with clients.'),
  accessLog: opt(accessLog, 'What is logged about requests.'),
  tracing: opt(tracing, 'What is traced about requests.'),
  metrics: opt(metrics, 'What is counted about requests.'),
}
/** How incoming connections are handled. */
export const frontend = object('frontend', fields, { atLeastOneOf: [Object.keys(fields)] })
/** The members that may be set for one listener of a Gateway. */
export const PER_LISTENER = ['accessLog', 'tracing', 'metrics']
export const FOR_WHOLE_GATEWAY = Object.keys(fields).filter(name => !PER_LISTENER.includes(name))
