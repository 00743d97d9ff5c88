import { def, list, object, opt, string } from '../../schema/builder.ts'
import { duration } from '../../schema/scalars.ts'
import {
  cipherSuitesSchema,
  keyExchangeGroupsSchema,
  tlsVersionSchema,
  versionsInOrder,
} from '../../schema/tls-fields.ts'
import { definePolicy, type FrontendSettings } from '../policy.ts'

export const TLS_DEFAULTS: Pick<FrontendSettings, 'tls'> = { tls: { handshakeTimeout: 15_000, defaults: {} } }

export const frontendTls = definePolicy({
  name: 'tls',
  doc: 'TLS of client connections; what a listener says itself comes first.',
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
