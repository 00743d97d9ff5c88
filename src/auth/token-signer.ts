import { constants, createPrivateKey, type KeyObject, sign } from 'node:crypto'
import type { SigningAlgorithm } from './signing-algorithms.ts'

/** Cached tokens, by claims. */
const MAX_CACHED = 256
const MIN_RSA_BITS = 2048

/** A key that fits the algorithm, or what is wrong with it, without quoting its text. */
export function readSigningKey(pem: string, alg: SigningAlgorithm): KeyObject | string {
  let key: KeyObject
  try {
    key = createPrivateKey(pem)
  } catch {
    return 'it is not a PEM private key'
  }
  const { modulusLength, namedCurve } = key.asymmetricKeyDetails ?? {}
  if (alg.startsWith('ES')) {
    const curve = alg === 'ES256' ? 'prime256v1' : 'secp384r1'
    return namedCurve === curve ? key : `\`${alg}\` needs an EC key on ${alg === 'ES256' ? 'P-256' : 'P-384'}`
  }
  if (key.asymmetricKeyType !== 'rsa') return `\`${alg}\` needs an RSA key`
  return (modulusLength ?? 0) >= MIN_RSA_BITS ? key : `the RSA key has fewer than ${MIN_RSA_BITS} bits`
}

export interface SignerSettings {
  readonly key: KeyObject
  readonly alg: SigningAlgorithm
  readonly kid: string | undefined
  /** ms. */
  readonly ttl: number
}

/** Signs JSON Web Tokens (RFC 7519); a token is reused for the same claims until half of its lifetime is over. */
export class TokenSigner {
  readonly #settings: SignerSettings
  readonly #header: string
  readonly #tokens = new Map<string, { readonly token: string; readonly until: number }>()

  constructor(settings: SignerSettings) {
    this.#settings = settings
    const { alg, kid } = settings
    this.#header = encoded(JSON.stringify({ alg, typ: 'JWT', ...(kid === undefined ? {} : { kid }) }))
  }

  /** `claims`: members of a JSON object, without braces; may be empty. `now`: ms since the epoch. */
  sign(claims: string, now: number): string {
    const known = this.#tokens.get(claims)
    if (known && now < known.until) return known.token
    this.#tokens.delete(claims)
    const { key, alg, ttl } = this.#settings
    const issued = Math.floor(now / 1000)
    const own = `"iat":${issued},"exp":${issued + Math.ceil(ttl / 1000)}`
    const token = signedText(`${this.#header}.${encoded(`{${claims === '' ? own : `${claims},${own}`}}`)}`, alg, key)
    if (this.#tokens.size >= MAX_CACHED) this.#tokens.delete(this.#tokens.keys().next().value as string)
    this.#tokens.set(claims, { token, until: now + ttl / 2 })
    return token
  }
}

/** A single-use token. `claims`: a JSON object. */
export function signToken(header: { readonly alg: SigningAlgorithm }, claims: string, key: KeyObject): string {
  return signedText(`${encoded(JSON.stringify(header))}.${encoded(claims)}`, header.alg, key)
}

function signedText(text: string, alg: SigningAlgorithm, key: KeyObject): string {
  const padding = alg.startsWith('PS')
    ? { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST }
    : {}
  const signature = sign(`sha${alg.slice(2)}`, Buffer.from(text), { key, dsaEncoding: 'ieee-p1363', ...padding })
  return `${text}.${signature.toString('base64url')}`
}

function encoded(text: string): string {
  return Buffer.from(text).toString('base64url')
}
