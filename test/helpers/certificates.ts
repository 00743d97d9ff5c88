import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import { signingAlgorithm } from '../../src/auth/certificate-algorithms.ts'
import { encode, encodeTime, oid, sequence } from '../../src/auth/der.ts'

export interface Certificate {
  /** PEM. */
  readonly cert: string
  readonly key: string
  readonly subject: Buffer
  readonly privateKey: KeyObject
  readonly keyId: Buffer
}

/** An authority that signs itself. */
export function createAuthority(name: string, kind: KeyKind = 'P-256'): Certificate {
  return issue(
    name,
    undefined,
    [
      extension('2.5.29.19', sequence(Buffer.from([1, 1, 0xff])), true),
      extension('2.5.29.15', encode(3, Buffer.from([1, 6])), true),
    ],
    KEYS[kind],
  )
}

type KeyKind = 'P-256' | 'P-384' | 'Ed25519' | 'RSA'
type KeyPair = { readonly publicKey: KeyObject; readonly privateKey: KeyObject }
const KEYS: Readonly<Record<KeyKind, () => KeyPair>> = {
  'P-256': () => generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  'P-384': () => generateKeyPairSync('ec', { namedCurve: 'P-384' }),
  Ed25519: () => generateKeyPairSync('ed25519'),
  RSA: () => generateKeyPairSync('rsa', { modulusLength: 2048 }),
}

/** A certificate for DNS names and URIs (`spiffe://…`; `DNS:spiffe://…` is a name all the same), of a server or of a client. */
export function createCertificate(authority: Certificate, names: readonly string[]): Certificate {
  const general = names.map(name =>
    name.includes('://') && !name.startsWith('DNS:')
      ? encode(0x86, Buffer.from(name))
      : encode(0x82, Buffer.from(name.replace(/^DNS:/, ''))),
  )
  return issue(names[0]!, authority, [extension('2.5.29.17', sequence(...general))])
}

function issue(
  commonName: string,
  issuer: Certificate | undefined,
  extensions: Buffer[],
  generate = KEYS['P-256'],
): Certificate {
  const { publicKey, privateKey } = generate()
  const info = publicKey.export({ type: 'spki', format: 'der' })
  const keyId = createHash('sha1').update(info.subarray(-65)).digest()
  const subject = sequence(encode(0x31, sequence(oid('2.5.4.3'), encode(0x0c, Buffer.from(commonName)))))
  const { id: algorithm, digest } = signingAlgorithm(issuer?.privateKey ?? privateKey)!
  const body = sequence(
    encode(0xa0, encode(2, Buffer.from([2]))),
    encode(2, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    algorithm,
    issuer?.subject ?? subject,
    sequence(encodeTime(Date.now() - 86_400_000), encodeTime(Date.now() + 86_400_000)),
    subject,
    info,
    encode(
      0xa3,
      sequence(
        ...extensions,
        extension('2.5.29.14', encode(4, keyId)),
        extension('2.5.29.35', sequence(encode(0x80, issuer?.keyId ?? keyId))),
      ),
    ),
  )
  const signature = sign(digest, body, issuer?.privateKey ?? privateKey)
  const der = sequence(body, algorithm, encode(3, Buffer.concat([Buffer.from([0]), signature])))
  const lines = der.toString('base64').match(/.{1,64}/g)!
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    subject,
    privateKey,
    keyId,
  }
}

function extension(id: string, value: Buffer, critical = false): Buffer {
  return sequence(oid(id), ...(critical ? [Buffer.from([1, 1, 0xff])] : []), encode(4, value))
}
