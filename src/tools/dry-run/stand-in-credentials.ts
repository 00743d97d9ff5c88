import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import type { Claims } from '../../auth/jwt.ts'
import type { StandIns } from '../../http/runtime.ts'

/** Credentials that the gateways of one dry run accept: nobody else has the key, and it is gone with the process. */
export class StandInCredentials implements StandIns {
  #pair: { readonly publicKey: KeyObject; readonly privateKey: KeyObject } | undefined

  jwksFor(issuer: string): string {
    const key = { ...this.#keys.publicKey.export({ format: 'jwk' }), kid: kidOf(issuer), alg: 'EdDSA' }
    return JSON.stringify({ keys: [key] })
  }

  apiKeyFor(digest: string): string {
    return `dry-run-${digest}`
  }

  /** A token of that issuer, which `claims` say all about. */
  tokenFor(issuer: string, claims: Claims): string {
    const header = { alg: 'EdDSA', typ: 'JWT', kid: kidOf(issuer) }
    const signed = [header, claims].map(part => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
    return `${signed}.${sign(null, Buffer.from(signed), this.#keys.privateKey).toString('base64url')}`
  }

  get #keys() {
    this.#pair ??= generateKeyPairSync('ed25519')
    return this.#pair
  }
}

/** The key names the issuer, as no key of its own does. */
function kidOf(issuer: string): string {
  return `dry-run ${issuer}`
}
