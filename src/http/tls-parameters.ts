/** Cipher suites by OpenSSL name: TLS 1.3, then TLS 1.2 with forward secrecy and AEAD. */
const SUITES: Readonly<Record<string, string>> = {
  TLS_AES_256_GCM_SHA384: 'TLS_AES_256_GCM_SHA384',
  TLS_AES_128_GCM_SHA256: 'TLS_AES_128_GCM_SHA256',
  TLS_CHACHA20_POLY1305_SHA256: 'TLS_CHACHA20_POLY1305_SHA256',
  TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384: 'ECDHE-ECDSA-AES256-GCM-SHA384',
  TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256: 'ECDHE-ECDSA-AES128-GCM-SHA256',
  TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256: 'ECDHE-ECDSA-CHACHA20-POLY1305',
  TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384: 'ECDHE-RSA-AES256-GCM-SHA384',
  TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256: 'ECDHE-RSA-AES128-GCM-SHA256',
  TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256: 'ECDHE-RSA-CHACHA20-POLY1305',
}
const BY_OPENSSL = new Set(Object.values(SUITES))

/** The names accepted in a configuration. */
export const CIPHER_SUITES: readonly string[] = Object.keys(SUITES)

/** Accepts the registered name (`TLS_…`), the `TLS13_` form and OpenSSL's own; undefined for any other suite. */
export function cipherSuite(name: string): string | undefined {
  const registered = name.startsWith('TLS13_') ? `TLS_${name.slice(6)}` : name
  if (Object.hasOwn(SUITES, registered)) return SUITES[registered]
  return BY_OPENSSL.has(name) ? name : undefined
}

/** OpenSSL's name for a configured key exchange group. */
export function keyExchangeGroup(name: string): string {
  return name === 'X25519_MLKEM768' ? 'X25519MLKEM768' : name
}

export type TlsVersion = 'TLSv1.2' | 'TLSv1.3'

/** Undefined for versions before 1.2, which are obsolete. */
export function tlsVersion(name: string): TlsVersion | undefined {
  if (name === 'TLS_V1_2') return 'TLSv1.2'
  return name === 'TLS_V1_3' ? 'TLSv1.3' : undefined
}
