import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'

export interface Certificate {
  /** PEM. */
  readonly cert: string
  readonly key: string
  readonly subject: Buffer
  readonly privateKey: KeyObject
  readonly keyId: Buffer
}

/** An authority that signs itself. */
export function createAuthority(name: string): Certificate {
  return issue(name, undefined, [
    extension('2.5.29.19', sequence(Buffer.from([1, 1, 0xff])), true),
    extension('2.5.29.15', tlv(3, Buffer.from([1, 6])), true),
  ])
}

/** A certificate for DNS names and URIs (`spiffe://…`; `DNS:spiffe://…` is a name all the same), of a server or of a client. */
export function createCertificate(authority: Certificate, names: readonly string[]): Certificate {
  const general = names.map(name =>
    name.includes('://') && !name.startsWith('DNS:')
      ? tlv(0x86, Buffer.from(name))
      : tlv(0x82, Buffer.from(name.replace(/^DNS:/, ''))),
  )
  return issue(names[0]!, authority, [extension('2.5.29.17', sequence(...general))])
}

function issue(commonName: string, issuer: Certificate | undefined, extensions: Buffer[]): Certificate {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const info = publicKey.export({ type: 'spki', format: 'der' })
  const keyId = createHash('sha1').update(info.subarray(-65)).digest()
  const subject = sequence(tlv(0x31, sequence(oid('2.5.4.3'), tlv(0x0c, Buffer.from(commonName)))))
  const algorithm = sequence(oid('1.2.840.10045.4.3.2'))
  const body = sequence(
    tlv(0xa0, tlv(2, Buffer.from([2]))),
    tlv(2, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    algorithm,
    issuer?.subject ?? subject,
    sequence(time(Date.now() - 86_400_000), time(Date.now() + 86_400_000)),
    subject,
    info,
    tlv(
      0xa3,
      sequence(
        ...extensions,
        extension('2.5.29.14', tlv(4, keyId)),
        extension('2.5.29.35', sequence(tlv(0x80, issuer?.keyId ?? keyId))),
      ),
    ),
  )
  const signature = sign('sha256', body, issuer?.privateKey ?? privateKey)
  const der = sequence(body, algorithm, tlv(3, Buffer.concat([Buffer.from([0]), signature])))
  const lines = der.toString('base64').match(/.{1,64}/g)!
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    subject,
    privateKey,
    keyId,
  }
}

function tlv(tag: number, content: Buffer): Buffer {
  const { length } = content
  const head =
    length < 0x80 ? [tag, length] : length < 0x100 ? [tag, 0x81, length] : [tag, 0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from(head), content])
}

function sequence(...parts: Buffer[]): Buffer {
  return tlv(0x30, Buffer.concat(parts))
}

function oid(text: string): Buffer {
  const [first, second, ...rest] = text.split('.').map(Number)
  const bytes = [first! * 40 + second!]
  for (const part of rest) {
    const groups = [part & 0x7f]
    for (let left = part >> 7; left > 0; left >>= 7) groups.unshift((left & 0x7f) | 0x80)
    bytes.push(...groups)
  }
  return tlv(6, Buffer.from(bytes))
}

function extension(id: string, value: Buffer, critical = false): Buffer {
  return sequence(oid(id), ...(critical ? [Buffer.from([1, 1, 0xff])] : []), tlv(4, value))
}

function time(ms: number): Buffer {
  return tlv(0x17, Buffer.from(`${new Date(ms).toISOString().slice(2, 19).replaceAll(/[-T:]/g, '')}Z`))
}
