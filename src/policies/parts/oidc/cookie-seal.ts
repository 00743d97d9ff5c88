// Cookie encryption. Loaded with the first request: validating a configuration needs no cryptography.
const crypto = () => process.getBuiltinModule('node:crypto')

const NONCE_BYTES = 12
const TAG_BYTES = 16

/**
 * Seals texts with AES-256-GCM. The first key seals and any key opens, so that keys can be rotated without signing
 * everybody out. `context` binds a text to its purpose: it does not open in any other.
 */
export class CookieSeal {
  readonly #secrets: readonly Buffer[]
  #keys: readonly Buffer[] | undefined

  constructor(secrets: readonly Buffer[]) {
    this.#secrets = secrets
  }

  /** `unique`: never passed before. */
  seal(text: string, context: string, unique: string): string {
    const nonce = crypto().createHash('sha256').update(unique).digest().subarray(0, NONCE_BYTES)
    const cipher = crypto().createCipheriv('aes-256-gcm', this.#derived()[0]!, nonce)
    cipher.setAAD(Buffer.from(context))
    return Buffer.concat([nonce, cipher.update(text), cipher.final(), cipher.getAuthTag()]).toString('base64url')
  }

  /** Undefined if it was not sealed here, or for another context. */
  open(sealed: string, context: string): string | undefined {
    const bytes = Buffer.from(sealed, 'base64url')
    const tagAt = bytes.length - TAG_BYTES
    if (tagAt < NONCE_BYTES || bytes.toString('base64url') !== sealed) return undefined
    for (const key of this.#derived()) {
      const nonce = bytes.subarray(0, NONCE_BYTES)
      const decipher = crypto().createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES })
      decipher.setAAD(Buffer.from(context))
      decipher.setAuthTag(bytes.subarray(tagAt))
      try {
        return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, tagAt)), decipher.final()]).toString('utf8')
      } catch {
        // Sealed with another key, or forged.
      }
    }
    return undefined
  }

  /** Derived, since the secret may also be used elsewhere. */
  #derived(): readonly Buffer[] {
    this.#keys ??= this.#secrets.map(secret =>
      Buffer.from(crypto().hkdfSync('sha256', secret, Buffer.alloc(0), 'gwctl oidc cookies', 32)),
    )
    return this.#keys
  }
}

/** A key shared by the workers of this replica, created by the first that needs it; `memory`: 32 bytes. */
export function sharedKey(memory: ArrayBufferLike): Buffer {
  const words = new BigInt64Array(memory)
  const made = new BigInt64Array(Uint8Array.from(crypto().randomBytes(words.byteLength)).buffer)
  for (let i = 0; i < words.length; i++) Atomics.compareExchange(words, i, 0n, made[i]!)
  return Buffer.from(BigInt64Array.from(words).buffer)
}
