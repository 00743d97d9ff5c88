import { def, list, object, oneOf, opt, string } from '../../schema/builder.ts'
import { duration } from '../../schema/scalars.ts'
import { definePolicy } from '../policy.ts'

const version = oneOf(['TLS_V1_2', 'TLS_V1_3', 'TLS_V1_0', 'TLS_V1_1'])

export const frontendTls = definePolicy({
  name: 'tls',
  doc: 'TLS of client connections.',
  attach: ['frontend'],
  unserved: 'These TLS settings are not applied yet; `tls` of a listener takes versions and cipher suites.',
  schema: object('frontend TLS settings', {
    handshakeTimeout: def(duration, '15s', 'Time to finish the handshake.'),
    alpn: opt(list(string({ min: 1, max: 255 })), 'Protocols to accept.'),
    minVersion: opt(version, 'Oldest accepted TLS version.'),
    maxVersion: opt(version, 'Newest accepted TLS version.'),
    cipherSuites: opt(list(string({ min: 1 })), 'Accepted cipher suites.'),
    keyExchangeGroups: opt(
      list(oneOf(['X25519', 'P-256', 'P-384', 'X25519_MLKEM768'])),
      'Key exchange groups in order of preference.',
    ),
  }),
  compile: () => ({}),
})
