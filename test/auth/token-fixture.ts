import { exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'

export interface Signer {
  readonly kid: string
  readonly algorithm: string
  readonly jwk: JWK
  /** Issued now for an hour unless `claims` say otherwise. */
  sign(claims: Record<string, unknown>, header?: Record<string, unknown>): Promise<string>
}

/** s since the epoch: when the tests' clock starts. */
export const NOW = Date.UTC(2026, 0, 15, 12, 0, 0) / 1000

export async function createSigner(kid: string, algorithm: string, jwkExtra: Partial<JWK> = {}): Promise<Signer> {
  const { publicKey, privateKey } = await generateKeyPair(algorithm, { extractable: true })
  return {
    kid,
    algorithm,
    jwk: { ...(await exportJWK(publicKey)), kid, ...jwkExtra },
    sign: (claims, header = {}) =>
      new SignJWT({ iss: 'https://issuer.example', exp: NOW + 3600, ...claims })
        .setProtectedHeader({ alg: algorithm, kid, ...header })
        .sign(privateKey),
  }
}

export function keySet(...signers: readonly Signer[]): string {
  return JSON.stringify({ keys: signers.map(signer => signer.jwk) })
}

/** A token with any header and signature, well-formed or not. */
export function forge(header: unknown, claims: unknown, signature = ''): string {
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  return `${encode(header)}.${encode(claims)}.${signature}`
}
