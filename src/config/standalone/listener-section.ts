import { listenerPolicyFields } from '../../policies/index.ts'
import {
  def,
  type Infer,
  integer,
  list,
  map,
  type ObjectProblem,
  object,
  oneOf,
  opt,
  req,
  string,
} from '../../schema/builder.ts'
import { missing } from '../../schema/rules.ts'
import { ipAddress, port } from '../../schema/scalars.ts'
import {
  cipherSuitesSchema,
  keyExchangeGroupsSchema,
  tlsVersionSchema,
  versionsInOrder,
} from '../../schema/tls-fields.ts'
import { hostname, routeSection, tcpRouteSection } from './route-section.ts'

export const tlsSection = object(
  'TLS settings',
  {
    mode: def(
      oneOf(['static', 'dynamicCa']),
      'static',
      '`static`: the certificate given. `dynamicCa`: one issued per server name, signed by the CA that `cert` and `key` give.',
    ),
    cert: opt(string({ min: 1 }), 'Path of the PEM certificate chain.'),
    key: opt(string({ min: 1 }), 'Path of the PEM private key.'),
    root: opt(
      string({ min: 1 }),
      'Path of the PEM bundle that client certificates must chain to; set: clients must present one.',
    ),
    clientCertificate: def(
      oneOf(['required', 'optional']),
      'required',
      'With `root`: whether clients without a certificate that chains to it are refused, or accepted as if they had none.',
    ),
    spiffe: opt(object('SPIFFE settings', {}, { open: true }), 'Identity from a SPIFFE workload API.', {
      unserved: 'Certificates from a SPIFFE workload API are not served yet.',
    }),
    cipherSuites: opt(cipherSuitesSchema, 'Accepted cipher suites.'),
    minTLSVersion: opt(tlsVersionSchema, 'Oldest accepted TLS version.', { aliases: ['minTlsVersion'] }),
    maxTLSVersion: opt(tlsVersionSchema, 'Newest accepted TLS version.', { aliases: ['maxTlsVersion'] }),
    keyExchangeGroups: opt(keyExchangeGroupsSchema, 'Key exchange groups in order of preference.'),
  },
  {
    check: v => {
      const missing = v.spiffe === undefined ? ['cert', 'key'].filter(field => v[field] === undefined) : []
      if (missing.length === 0) return versionsInOrder(v.minTLSVersion, v.maxTLSVersion, 'maxTLSVersion')
      return missing.map(field => ({
        code: 'GW103',
        path: [],
        at: 'parent',
        message: `TLS settings lack the required field \`${field}\``,
        label: `\`${field}\` is missing`,
      }))
    },
  },
)
export type TlsSection = Infer<typeof tlsSection>

function httpsNeedsTls({ protocol, tls }: { readonly protocol?: unknown; readonly tls?: unknown }): ObjectProblem[] {
  if (protocol !== 'HTTPS' || tls !== undefined) return []
  return [
    {
      path: ['protocol'],
      at: 'value',
      message: 'HTTPS needs `tls` with a certificate',
      label: '`tls` is missing',
      help: 'add `tls: {cert: server.pem, key: server-key.pem}`, or write `protocol: HTTP`',
    },
  ]
}

const listenerPolicies = object('listener policies', listenerPolicyFields)

const listenerSection = object(
  'listener',
  {
    name: opt(string({ min: 1 }), 'Name in logs, metrics and dumps; `listener<index>` when unset.'),
    namespace: opt(string({ min: 1 }), 'Namespace in logs, metrics and dumps.'),
    hostname: opt(hostname, 'Host that the listener serves, `*.` allowed; every host when unset.'),
    protocol: def(oneOf(['HTTP', 'HTTPS', 'TLS', 'TCP', 'UDP', 'HBONE']), 'HTTP', 'Protocol spoken on the port.'),
    tls: opt(
      tlsSection,
      'Certificates; required for HTTPS. TLS without them passes the connection through by server name.',
    ),
    routes: opt(list(routeSection, { isolate: true }), 'HTTP routes.'),
    tcpRoutes: opt(list(tcpRouteSection, { isolate: true }), 'Routes of connections, and of datagrams for UDP.'),
    policies: opt(listenerPolicies, 'Policies that run before a route is chosen.'),
  },
  {
    atMostOneOf: [['routes', 'tcpRoutes']],
    check: l => {
      const http = l.protocol === 'HTTP' || l.protocol === 'HTTPS'
      const tcp = l.protocol === 'TLS' || l.protocol === 'TCP' || l.protocol === 'UDP'
      if (http && l.routes === undefined)
        return [
          {
            path: [],
            at: 'parent',
            message: `protocol ${l.protocol} requires \`routes\``,
            label: 'write `routes: []` for none',
          },
        ]
      if (tcp && l.tcpRoutes === undefined)
        return [
          {
            path: [],
            at: 'parent',
            message: `protocol ${l.protocol} requires \`tcpRoutes\``,
            label: 'write `tcpRoutes: []` for none',
          },
        ]
      return httpsNeedsTls(l)
    },
  },
)
export type ListenerSection = Infer<typeof listenerSection>

const ADDRESS = 'IP address of this machine to listen on; all when unset.'

export const bindSection = object(
  'bind',
  {
    port: opt(integer(0, 65535), 'Port to listen on.'),
    address: opt(ipAddress, ADDRESS),
    listeners: req(list(listenerSection, { isolate: true }), 'What is served on the port, by host name.'),
    tunnelProtocol: def(
      oneOf(['direct', 'proxy', 'hboneWaypoint', 'hboneGateway', 'connect']),
      'direct',
      'Protocol that precedes the listener’s own.',
    ),
    mode: def(oneOf(['standard', 'internal']), 'standard', '`internal` opens no socket.'),
  },
  {
    check: b =>
      b.mode === 'standard' && b.port === undefined ? [missing('port', 'bind lacks the required field `port`')] : [],
  },
)
export type BindSection = Infer<typeof bindSection>

const gatewayListener = object(
  'gateway listener',
  {
    name: opt(string({ min: 1 }), 'Name, for `gateway/listener` references.'),
    hostname: opt(hostname, 'Host that the listener serves.'),
    protocol: opt(oneOf(['HTTP', 'HTTPS', 'TCP', 'TLS', 'UDP']), 'HTTPS with `tls`, HTTP otherwise.'),
    tls: opt(tlsSection, 'Certificates.'),
    ...listenerPolicyFields,
  },
  { check: httpsNeedsTls },
)
const gatewaySection = object(
  'gateway',
  {
    port: req(port, 'Port to listen on.'),
    address: opt(ipAddress, ADDRESS),
    protocol: opt(oneOf(['HTTP', 'HTTPS', 'TCP', 'TLS', 'UDP']), 'HTTPS with `tls`, HTTP otherwise.'),
    tls: opt(tlsSection, 'Certificates.'),
    listeners: opt(
      list(gatewayListener, { isolate: true }),
      'Several listeners on one port; only `port` and `address` can be set beside them.',
    ),
    ...listenerPolicyFields,
  },
  { check: httpsNeedsTls },
)
export type GatewaySection = Infer<typeof gatewaySection>
export const gatewaysSection = map(gatewaySection, { isolate: true })
