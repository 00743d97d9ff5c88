// Encrypts what cookies hold. Loaded with the first request: checking a file does without cryptography.
const crypto = () => process.getBuiltinModule('node:crypto')

const NONCE_BYTES = 12
const TAG_BYTES = 16

/**
 * Seals texts with AES-256-GCM. The first key seals, any of them opens, so that keys can be changed without signing
 * everybody out. `context` is what a text was sealed for: elsewhere it does not open.
 */
export class CookieSeal {
  readonly #secrets: readonly Buffer[]
  #keys: readonly Buffer[] | undefined

  constructor(secrets: readonly Buffer[]) {
    this.#secrets = secrets
  }

  /** `unique`: a text that has never been given before. */
  seal(text: string, context: string, unique: string): string {
    const nonce = crypto().createHash('sha256').update(unique).digest().subarray(0, NONCE_BYTES)
    const cipher = crypto().createCipheriv('aes-256-gcm', this.#derived()[0]!, nonce)
    cipher.setAAD(Buffer.from(context))
    return Buffer.concat([nonce, cipher.update(text), cipher.final(), cipher.getAuthTag()]).toString('base64url')
  }

  /** Undefined for what was not sealed here, or for something else. */
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
        // Of another key, or none of ours.
      }
    }
    return undefined
  }

  /** The secret may serve for something else too. */
  #derived(): readonly Buffer[] {
    this.#keys ??= this.#secrets.map(secret =>
      Buffer.from(crypto().hkdfSync('sha256', secret, Buffer.alloc(0), 'gwctl oidc cookies', 32)),
    )
    return this.#keys
  }
}

/** A key that the workers of this replica share, made by whichever needs it first; `memory`: 32 bytes. */
export function sharedKey(memory: ArrayBufferLike): Buffer {
  const words = new BigInt64Array(memory)
  const made = new BigInt64Array(Uint8Array.from(crypto().randomBytes(words.byteLength)).buffer)
  for (let i = 0; i < words.length; i++) Atomics.compareExchange(words, i, 0n, made[i]!)
  return Buffer.from(BigInt64Array.from(words).buffer)
}
