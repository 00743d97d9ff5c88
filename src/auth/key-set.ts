import { createPublicKey, type JsonWebKeyInput, type KeyObject } from 'node:crypto'
import { bytesOf } from './base64url.ts'
import { hasSmallFactor, isRocaWeak } from './rsa-modulus.ts'

/** A verification key and the algorithms that may use it. */
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
/** Beyond this, each verification becomes noticeably slow, and OpenSSL refuses. */
const MAX_RSA_BITS = 16_384
/** Coordinate size in bytes. */
const WIDTHS: Readonly<Record<string, number>> = { 'P-256': 32, 'P-384': 48, 'P-521': 66, Ed25519: 32 }
/**
 * Encodings of Ed25519's small-order points, without their sign: with one of them as the key, anyone can forge
 * signatures. Hexadecimal, little-endian.
 */
const SMALL_ORDER: ReadonlySet<string> = new Set([
  '0000000000000000000000000000000000000000000000000000000000000000',
  '0100000000000000000000000000000000000000000000000000000000000000',
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
])
/** Algorithms of keys that encrypt: identity providers publish them in the same set. */
const ENCRYPTION = /^(RSA1_5|RSA-OAEP|ECDH-ES)/

/**
 * Parses a JSON Web Key Set (RFC 7517). Keys that cannot be used safely are skipped and reported in `problems`;
 * encryption keys are skipped silently.
 */
export function parseKeySet(text: string): { readonly keys: KeySet; readonly problems: readonly string[] } {
  const entries = readEntries(text)
  if (typeof entries === 'string') return { keys: NO_KEYS, problems: [entries] }
  const keys = new Map<string, VerificationKey[]>()
  const problems: string[] = []
  for (const [i, entry] of entries.entries()) {
    if (isForEncryption(entry)) continue
    const read = readKey(entry)
    const others = typeof read === 'string' ? [] : (keys.get(read.kid) ?? [])
    if (typeof read === 'string') problems.push(`key ${i + 1} of the set ${read}`)
    else if (others.some(({ algorithms }) => algorithms.some(each => read.algorithms.includes(each)))) {
      problems.push(`key ${i + 1} of the set has the \`kid\` of an earlier key for the same algorithm: \`${read.kid}\``)
    } else keys.set(read.kid, [...others, read])
  }
  return { keys, problems }
}

type Entry = Readonly<Record<string, unknown>>

function readEntries(text: string): readonly Entry[] | string {
  if (text.trimStart().startsWith('-----BEGIN')) return 'expected a JSON Web Key Set, found PEM'
  if (/^\s*https?:/.test(text)) return 'this is an address: write `{url: …}`'
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

/** For another purpose, and nothing suggests signatures; `purposeProblem` reports contradictions. */
function isForEncryption({ use, alg, key_ops: operations }: Entry): boolean {
  if (use === 'sig' || (Array.isArray(operations) && operations.some(each => SIGNING.has(each)))) return false
  return use !== undefined || Array.isArray(operations) || (typeof alg === 'string' && ENCRYPTION.test(alg))
}

const SIGNING: ReadonlySet<unknown> = new Set(['sign', 'verify'])

/** Why `use`, `key_ops` and `alg` rule out verification, or contradict each other (RFC 7517, 4.2 to 4.4). */
function purposeProblem({ use, alg, key_ops: operations }: Entry): string | undefined {
  if (use !== undefined && use !== 'sig') return `is for signatures by its \`key_ops\` and not by its \`use\``
  if (alg !== undefined && typeof alg !== 'string') return 'has an `alg` that is not a string'
  if (operations === undefined) return undefined
  if (!Array.isArray(operations)) return 'has a `key_ops` that is not a list'
  if (new Set(operations).size < operations.length) return 'has the same value twice in `key_ops`'
  if (!operations.includes('verify') && !operations.includes('sign'))
    return 'is for signatures by its `use` and not by its `key_ops`'
  return operations.every(each => SIGNING.has(each))
    ? undefined
    : 'is for signatures and for encryption by its `key_ops`'
}

function readKey(entry: Entry): VerificationKey | string {
  const { kid, kty, alg } = entry
  if (kty === 'oct') return 'is symmetric: anyone who can verify with it can also sign, so it is refused'
  if (typeof kid !== 'string' || kid === '') return 'has no `kid`: tokens name the key they were signed with'
  const contradiction = purposeProblem(entry)
  if (contradiction !== undefined) return `(\`${kid}\`) ${contradiction}`
  const family = algorithmsOf(entry)
  if (family === undefined) return `(\`${kid}\`) has a type or curve that is not supported: ${typeOf(entry)}`
  if (alg !== undefined && !family.includes(alg as string)) {
    return `(\`${kid}\`) has the algorithm \`${String(alg)}\`, which a key of type ${typeOf(entry)} cannot verify`
  }
  const weakness = kty === 'RSA' ? rsaProblem(entry) : pointProblem(entry)
  if (weakness !== undefined) return `(\`${kid}\`) ${weakness}`
  const key = importKey(entry)
  if (key === undefined) return `(\`${kid}\`) is not a valid key`
  return { kid, algorithms: alg === undefined ? family : [alg as string], key }
}

/** Why signatures of an RSA key would be forgeable, or their verification expensive. */
function rsaProblem({ n, e }: Entry): string | undefined {
  const modulus = numberIn(n)
  const exponent = numberIn(e)
  if (modulus === undefined || exponent === undefined) return 'is not a valid key'
  const bits = modulus.toString(2).length
  if (bits < MIN_RSA_BITS) return `has ${bits} bits: RSA keys need at least ${MIN_RSA_BITS}`
  if (bits > MAX_RSA_BITS) return `has ${bits} bits: RSA keys have at most ${MAX_RSA_BITS}`
  if (exponent < 3n || exponent % 2n === 0n || exponent >= 2n ** 32n) {
    return 'has a public exponent that makes signatures forgeable: it must be odd, and from 3 to 2^32'
  }
  if (hasSmallFactor(modulus)) return 'has a modulus with a small factor: it is not a valid RSA key'
  return isRocaWeak(modulus) ? 'has the weakness ROCA (CVE-2017-15361): its private key can be computed' : undefined
}

function numberIn(member: unknown): bigint | undefined {
  const bytes = bytesOf(member)
  return bytes === undefined || bytes.length === 0 ? undefined : BigInt(`0x${bytes.toString('hex')}`)
}

/** Whether the point is on its curve is checked on import. */
function pointProblem({ crv, x, y }: Entry): string | undefined {
  const width = WIDTHS[crv as string]
  const coordinates = crv === 'Ed25519' ? [bytesOf(x)] : [bytesOf(x), bytesOf(y)]
  if (coordinates.some(bytes => bytes?.length !== width)) return 'is not a valid key'
  if (crv !== 'Ed25519') return undefined
  const point = Buffer.from(coordinates[0] as Buffer)
  point[31] = (point[31] as number) & 0x7f
  return SMALL_ORDER.has(point.toString('hex')) ? 'has a point of small order: anybody could sign for it' : undefined
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

/** Public members only: a private key in the set is not retained. */
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
