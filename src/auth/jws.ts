import { constants, type KeyObject, type SigningOptions, verify } from 'node:crypto'
import { isBase64Url } from './base64url.ts'

/** A signed token in compact form (RFC 7515, 7.1), parsed but not verified. */
export interface CompactJws {
  readonly header: Readonly<Record<string, unknown>>
  /** Undefined if its text is not JSON. */
  readonly payload: unknown
  readonly signature: Buffer
  /** The signing input. */
  readonly signed: string
}

/**
 * Undefined for anything else. Padding and leftover bits are rejected, since lenient decoding would give one token many
 * spellings.
 */
export function readCompact(token: string): CompactJws | undefined {
  const parts = token.split('.', 4)
  const [header = '', payload = '', signature = ''] = parts
  if (parts.length !== 3 || !parts.every(isBase64Url)) return undefined
  const read = jsonIn(header)
  if (typeof read !== 'object' || read === null || Array.isArray(read)) return undefined
  return {
    header: read as Record<string, unknown>,
    payload: jsonIn(payload),
    signature: Buffer.from(signature, 'base64url'),
    signed: token.slice(0, header.length + 1 + payload.length),
  }
}

function jsonIn(part: string): unknown {
  try {
    return JSON.parse(Buffer.from(part, 'base64url').toString('utf8'))
  } catch {
    return undefined
  }
}

interface Scheme {
  /** Undefined if the algorithm implies it. */
  readonly digest: string | undefined
  readonly options: SigningOptions
  /** Bytes, if the key does not determine it. */
  readonly length?: number
}

const PSS = { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST }
const POINTS = { dsaEncoding: 'ieee-p1363' } as const

/** RFC 7518, 3.1 and RFC 8037, 3.1: algorithms verified with a public key. */
const SCHEMES: Readonly<Record<string, Scheme>> = {
  RS256: { digest: 'sha256', options: {} },
  RS384: { digest: 'sha384', options: {} },
  RS512: { digest: 'sha512', options: {} },
  PS256: { digest: 'sha256', options: PSS },
  PS384: { digest: 'sha384', options: PSS },
  PS512: { digest: 'sha512', options: PSS },
  ES256: { digest: 'sha256', options: POINTS, length: 64 },
  ES384: { digest: 'sha384', options: POINTS, length: 96 },
  ES512: { digest: 'sha512', options: POINTS, length: 132 },
  EdDSA: { digest: undefined, options: {}, length: 64 },
  Ed25519: { digest: undefined, options: {}, length: 64 },
}

/** `algorithm`: one allowed for the key. Synchronous, since handing it to a thread takes longer than the check. */
export function signatureFits({ signed, signature }: CompactJws, algorithm: string, key: KeyObject): boolean {
  const scheme = Object.hasOwn(SCHEMES, algorithm) ? SCHEMES[algorithm] : undefined
  if (scheme === undefined || (scheme.length !== undefined && signature.length !== scheme.length)) return false
  try {
    return verify(scheme.digest, Buffer.from(signed), { key, ...scheme.options }, signature)
  } catch {
    return false
  }
}
