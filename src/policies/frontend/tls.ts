import { def, list, object, oneOf, opt, serverRule, string } from '../../schema/builder.ts'
import { resourceDuration } from '../../schema/resource-scalars.ts'
import { problem } from '../../schema/rules.ts'
import { duration, tinyString } from '../../schema/scalars.ts'
import {
  cipherSuitesSchema,
  keyExchangeGroupsSchema,
  tlsVersionSchema,
  versionsInOrder,
} from '../../schema/tls-fields.ts'
import type { Fields } from '../../schema/untyped.ts'
import { defined, type Policies, strings } from '../parts/cluster-form.ts'
import { definePolicy, type FrontendSettings } from '../policy.ts'
import { KEY_EXCHANGE_GROUPS } from '../upstream/cluster/connection.ts'

export const TLS_DEFAULTS: Pick<FrontendSettings, 'tls'> = { tls: { handshakeTimeout: 15_000, defaults: {} } }

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
  handshakeTimeout: opt(resourceDuration(100), 'Timeout for the TLS handshake.'),
  alpnProtocols: opt(list(tinyString, { min: 1, max: 16 }), 'Protocols offered.'),
  minProtocolVersion: opt(tlsVersion, 'Oldest accepted TLS version.'),
  maxProtocolVersion: opt(tlsVersion, 'Newest accepted TLS version.'),
  cipherSuites: opt(list(oneOf(CIPHER_SUITES)), 'Accepted cipher suites.'),
  keyExchangeGroups: opt(list(oneOf(KEY_EXCHANGE_GROUPS)), 'Key exchange groups in order of preference.'),
}
const inCluster = object('TLS settings', tlsFields, {
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

export const frontendTls = definePolicy({
  name: 'tls',
  doc: 'TLS settings of client connections; those of a listener take precedence.',
  cluster: [{ section: 'frontend', member: 'tls', field: opt(inCluster, 'TLS settings for clients.'), convert }],
  attach: ['frontend'],
  schema: object(
    'frontend TLS settings',
    {
      handshakeTimeout: def(duration, '15s', 'Time to finish the handshake.'),
      alpn: opt(
        list(string({ min: 1, max: 255 }), { min: 1 }),
        'Protocols to accept on HTTPS listeners; `h2` and `http/1.1` when unset.',
      ),
      minVersion: opt(tlsVersionSchema, 'Oldest accepted TLS version.'),
      maxVersion: opt(tlsVersionSchema, 'Newest accepted TLS version.'),
      cipherSuites: opt(cipherSuitesSchema, 'Accepted cipher suites.'),
      keyExchangeGroups: opt(keyExchangeGroupsSchema, 'Key exchange groups in order of preference.'),
    },
    { check: v => versionsInOrder(v.minVersion, v.maxVersion, 'maxVersion') },
  ),
  compile: ({ handshakeTimeout, alpn, minVersion, maxVersion, cipherSuites, keyExchangeGroups }) => ({
    frontend: {
      tls: {
        handshakeTimeout,
        defaults: {
          ...(alpn ? { alpn } : {}),
          ...(minVersion ? { minVersion } : {}),
          ...(maxVersion ? { maxVersion } : {}),
          ...(cipherSuites ? { ciphers: cipherSuites } : {}),
          ...(keyExchangeGroups ? { groups: keyExchangeGroups } : {}),
        },
      },
    },
  }),
})

function convert(part: Fields): Policies {
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
