// Loads no cryptography: the checks of every file with TLS use this.
import type { KeyObject } from 'node:crypto'
import { encode, oid, sequence, TAG } from './der.ts'

export interface Algorithm {
  /** DER. */
  readonly id: Buffer
  /** Null where the algorithm includes it. */
  readonly digest: string | null
}
const RSA_SHA256 = sequence(oid('1.2.840.113549.1.1.11'), encode(TAG.null))
const CURVES: Readonly<Record<string, Algorithm>> = {
  prime256v1: { id: sequence(oid('1.2.840.10045.4.3.2')), digest: 'sha256' },
  secp384r1: { id: sequence(oid('1.2.840.10045.4.3.3')), digest: 'sha384' },
  secp521r1: { id: sequence(oid('1.2.840.10045.4.3.4')), digest: 'sha512' },
}

/** How this key signs certificates; undefined for keys that cannot. */
export function signingAlgorithm(key: KeyObject): Algorithm | undefined {
  switch (key.asymmetricKeyType) {
    case 'rsa':
      return { id: RSA_SHA256, digest: 'sha256' }
    case 'ed25519':
      return { id: sequence(oid('1.3.101.112')), digest: null }
    case 'ec':
      return CURVES[key.asymmetricKeyDetails?.namedCurve ?? '']
    default:
      return undefined
  }
}
