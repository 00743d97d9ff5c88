import { createPublicKey, type JsonWebKeyInput, type KeyObject } from 'node:crypto'

/** A key that signatures are verified with, and the algorithms that may use it. */
export interface VerificationKey {
  readonly kid: string
  readonly algorithms: readonly string[]
  readonly key: KeyObject
}

/** Keys by `kid`; one `kid` may name keys of several types. */
export type KeySet = ReadonlyMap<string, readonly VerificationKey[]>
export const NO_KEYS: KeySet = new Map()

const RSA = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512']
const CURVES: Readonly<Record<string, readonly string[]>> = {
  'P-256': ['ES256'],
  'P-384': ['ES384'],
  'P-521': ['ES512'],
  Ed25519: ['EdDSA', 'Ed25519'],
}
const MIN_RSA_BITS = 2048
/** Algorithms of keys that encrypt: identity providers publish them in the same set. */
const ENCRYPTION = /^(RSA1_5|RSA-OAEP|ECDH-ES)/

/**
 * Reads a JSON Web Key Set (RFC 7517). Keys that cannot be used safely are left out and named in `problems`; keys for
 * encryption are left out silently.
 */
export function parseKeySet(text: string): { readonly keys: KeySet; readonly problems: readonly string[] } {
  const entries = readEntries(text)
  if (typeof entries === 'string') return { keys: NO_KEYS, problems: [entries] }
  const keys = new Map<string, VerificationKey[]>()
  const problems: string[] = []
  for (const [i, entry] of entries.entries()) {
    if (isForEncryption(entry)) continue
    const read = readKey(entry)
    if (typeof read === 'string') problems.push(`key ${i + 1} of the set ${read}`)
    else keys.set(read.kid, [...(keys.get(read.kid) ?? []), read])
  }
  return { keys, problems }
}

type Entry = Readonly<Record<string, unknown>>

function readEntries(text: string): readonly Entry[] | string {
  if (text.trimStart().startsWith('-----BEGIN')) return 'a JSON Web Key Set is needed, and this is PEM'
  let set: unknown
  try {
    set = JSON.parse(text)
  } catch {
    return 'the key set is not valid JSON'
  }
  if (!isObject(set)) return 'the key set must be a JSON object with the member `keys`'
  if (!Array.isArray(set.keys)) {
    return 'kty' in set
      ? 'this is a single key: a key set has it in a list, {"keys": [...]}'
      : 'the key set has no list `keys`'
  }
  return set.keys.map(entry => (isObject(entry) ? entry : {}))
}

function isForEncryption({ use, alg, key_ops }: Entry): boolean {
  if (use !== undefined && use !== 'sig') return true
  if (Array.isArray(key_ops) && !key_ops.includes('verify') && !key_ops.includes('sign')) return true
  return typeof alg === 'string' && ENCRYPTION.test(alg)
}

function readKey(entry: Entry): VerificationKey | string {
  const { kid, kty, alg } = entry
  if (kty === 'oct') return 'is symmetric: whoever can verify with it can also sign, so it is refused'
  if (typeof kid !== 'string' || kid === '') return 'has no `kid`: tokens name the key they were signed with'
  const family = algorithmsOf(entry)
  if (family === undefined) return `(\`${kid}\`) has a type or curve that is not supported: ${typeOf(entry)}`
  if (alg !== undefined && !family.includes(alg as string)) {
    return `(\`${kid}\`) has the algorithm \`${String(alg)}\`, which a key of type ${typeOf(entry)} cannot verify`
  }
  const key = importKey(entry)
  if (key === undefined) return `(\`${kid}\`) is not a valid key`
  const bits = key.asymmetricKeyDetails?.modulusLength ?? MIN_RSA_BITS
  if (bits < MIN_RSA_BITS) return `(\`${kid}\`) has ${bits} bits: RSA keys need at least ${MIN_RSA_BITS}`
  return { kid, algorithms: alg === undefined ? family : [alg as string], key }
}

function algorithmsOf({ kty, crv }: Entry): readonly string[] | undefined {
  if (kty === 'RSA') return RSA
  const curve = typeof crv === 'string' && Object.hasOwn(CURVES, crv) ? crv : undefined
  if (curve === undefined || kty !== (curve === 'Ed25519' ? 'OKP' : 'EC')) return undefined
  return CURVES[curve]
}

function typeOf({ kty, crv }: Entry): string {
  const type = typeof kty === 'string' ? kty : 'unknown'
  return typeof crv === 'string' ? `${type} ${crv}` : type
}

/** The public members only: a private key in the set is not kept. */
function importKey({ kty, n, e, crv, x, y }: Entry): KeyObject | undefined {
  try {
    return createPublicKey({ key: { kty, n, e, crv, x, y } as JsonWebKeyInput['key'], format: 'jwk' })
  } catch {
    return undefined
  }
}

function isObject(value: unknown): value is Entry {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
