import { createPrivateKey, generateKeyPairSync, type KeyObject, randomBytes, sign, X509Certificate } from 'node:crypto'
import { type Algorithm, signingAlgorithm } from './certificate-algorithms.ts'
import { type Element, elements, encode, encodeTime, oid, sequence, TAG } from './der.ts'

/** A certificate with its chain, and its key, as PEM. */
export interface IssuedCertificate {
  readonly cert: string
  readonly key: string
  /** ms; the certificate is valid for longer. */
  readonly renewAt: number
}

/** Clients may have a clock that is behind. */
const BACKDATED = 24 * 60 * 60 * 1000
/** ms. Some clients refuse certificates that are valid for longer than 47 days. */
const LIFETIME = 30 * 24 * 60 * 60 * 1000
const RENEWED_AFTER = 24 * 60 * 60 * 1000

const SUBJECT_KEY_ID = oid('2.5.29.14')
const COMMON_NAME = oid('2.5.4.3')

/** Issues server certificates in the name of an authority, all for one key that never leaves the process. */
export class CertificateIssuer {
  readonly #chain: string
  readonly #authority: { readonly name: Buffer; readonly keyId: Buffer | undefined; readonly until: number }
  readonly #signingKey: KeyObject
  readonly #algorithm: Algorithm
  readonly #key: string
  readonly #publicKey: Buffer

  /** PEM: the authority's certificate, with its chain if it is not a root, and its key. */
  constructor(cert: Buffer, key: Buffer) {
    const certificate = new X509Certificate(cert)
    this.#chain = cert.toString('latin1')
    this.#authority = authorityOf(certificate)
    this.#signingKey = createPrivateKey(key)
    const algorithm = signingAlgorithm(this.#signingKey)
    if (algorithm === undefined) throw new Error('the key of the authority cannot sign certificates')
    this.#algorithm = algorithm
    const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    this.#key = pair.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
    this.#publicKey = pair.publicKey.export({ type: 'spki', format: 'der' })
  }

  /** `name`: a host name in lower case. `now`: ms. */
  issue(name: string, now: number): IssuedCertificate {
    const { id, digest } = this.#algorithm
    const until = Math.min(now + LIFETIME, this.#authority.until)
    const subject = sequence(encode(TAG.set, sequence(COMMON_NAME, encode(TAG.utf8, Buffer.from(name.slice(0, 64))))))
    const body = sequence(
      encode(0xa0, encode(TAG.integer, Buffer.from([2]))),
      // Positive, and random as the CA/Browser Forum requires.
      encode(TAG.integer, Buffer.from([1]), randomBytes(15)),
      id,
      this.#authority.name,
      sequence(encodeTime(now - BACKDATED), encodeTime(until)),
      subject,
      this.#publicKey,
      encode(0xa3, sequence(...this.#extensions(name))),
    )
    const signature = sign(digest, body, this.#signingKey)
    const der = sequence(body, id, encode(TAG.bitString, Buffer.from([0]), signature))
    return { cert: `${pem(der)}${this.#chain}`, key: this.#key, renewAt: Math.min(now + RENEWED_AFTER, until) }
  }

  #extensions(name: string): Buffer[] {
    const { keyId } = this.#authority
    const authorityKey = keyId && [extension('2.5.29.35', sequence(encode(0x80, keyId)))]
    return [
      extension('2.5.29.17', sequence(encode(0x82, Buffer.from(name)))),
      extension('2.5.29.19', sequence(), true),
      // Digital signature.
      extension('2.5.29.15', encode(TAG.bitString, Buffer.from([7, 0x80])), true),
      // TLS servers.
      extension('2.5.29.37', sequence(oid('1.3.6.1.5.5.7.3.1'))),
      ...(authorityKey ?? []),
    ]
  }
}

function extension(id: string, value: Buffer, critical = false): Buffer {
  const marked = critical ? [encode(TAG.boolean, Buffer.from([0xff]))] : []
  return sequence(oid(id), ...marked, encode(TAG.octetString, value))
}

/** Its name and key identifier as encoded: clients compare them byte by byte (RFC 5280 section 4.1 for the fields). */
function authorityOf({ raw, validTo }: X509Certificate) {
  const inner = ({ start, end }: Element) => elements(raw, start, end)
  const [certificate] = elements(raw, 0, raw.length)
  const [body] = inner(certificate!)
  const fields = inner(body!)
  // Version, serial, algorithm, issuer, validity, subject.
  const subject = fields[5]!
  const extensions = fields.find(({ tag }) => tag === 0xa3)
  const [list] = extensions ? inner(extensions) : []
  const keyId = (list ? inner(list) : []).map(inner).find(([id]) => {
    return raw.subarray(id!.start, id!.end).equals(SUBJECT_KEY_ID.subarray(2))
  })
  const [id] = keyId ? inner(keyId.at(-1)!) : []
  return {
    name: sequence(raw.subarray(subject.start, subject.end)),
    keyId: id && raw.subarray(id.start, id.end),
    until: Date.parse(validTo),
  }
}

function pem(der: Buffer): string {
  const lines = der.toString('base64').replaceAll(/.{1,64}/g, '$&\n')
  return `-----BEGIN CERTIFICATE-----\n${lines}-----END CERTIFICATE-----\n`
}
