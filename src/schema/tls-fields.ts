import { CIPHER_SUITES, cipherSuite, keyExchangeGroup, type TlsVersion, tlsVersion } from '../http/tls-parameters.ts'
import { list, type ObjectProblem, oneOf, parsed, type Schema, string } from './builder.ts'

const version: Schema<TlsVersion> = parsed(
  oneOf(['TLS_V1_2', 'TLS_V1_3', 'TLS_V1_0', 'TLS_V1_1']),
  'a TLS version',
  name => {
    const value = tlsVersion(name)
    if (value) return { value }
    return { problem: { message: `\`${name}\` is not spoken`, help: 'TLS_V1_2 is the oldest version' } }
  },
  'TLSv1.2',
)

const suite: Schema<string> = parsed(
  string({ min: 1 }),
  'the name of a cipher suite',
  name => {
    const value = cipherSuite(name)
    if (value) return { value }
    return {
      problem: {
        message: `\`${name}\` is not a cipher suite that gwctl speaks`,
        help: `one of ${CIPHER_SUITES.join(', ')}`,
      },
    }
  },
  'TLS_AES_128_GCM_SHA256',
)

const group: Schema<string> = parsed(
  oneOf(['X25519', 'P-256', 'P-384', 'X25519_MLKEM768']),
  'a key exchange group',
  name => ({ value: keyExchangeGroup(name) }),
  'X25519',
)

/** TLS settings shared by listeners and frontend policies; decoded to OpenSSL's terms. */
export const tlsVersionSchema = version
export const cipherSuitesSchema = list(suite, { min: 1 })
export const keyExchangeGroupsSchema = list(group, { min: 1 })

/** `newest` must not be older than `oldest`; `field` is the name of the newer one in the configuration. */
export function versionsInOrder(oldest: unknown, newest: unknown, field: string): readonly ObjectProblem[] {
  if (oldest !== 'TLSv1.3' || newest !== 'TLSv1.2') return []
  return [
    {
      path: [field],
      at: 'value',
      message: 'the newest TLS version is older than the oldest one',
      label: 'no client could connect',
    },
  ]
}
