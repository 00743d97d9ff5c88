import { createHash, createHmac } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

export interface Account {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string
}

/**
 * Checks a request as AWS does, from what has arrived alone. What is wrong, or undefined. Written apart from the code
 * under test, by the documentation.
 */
export function verifySignature(
  req: IncomingMessage,
  body: Buffer,
  account: Account,
  expected: { readonly region: string; readonly service: string },
): string | undefined {
  const header = req.headers.authorization ?? ''
  const parts = /^AWS4-HMAC-SHA256 Credential=([^,]+), SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/.exec(header)
  if (!parts) return `no signature: ${header}`
  const [, credential = '', signedHeaders = '', signature] = parts
  const [id, day, region, service, end] = credential.split('/')
  if (id !== account.accessKeyId) return `unknown key ${id}`
  if (region !== expected.region || service !== expected.service || end !== 'aws4_request') return `scope ${credential}`
  if (req.headers['x-amz-security-token'] !== account.sessionToken) return 'the session token differs'
  const names = signedHeaders.split(';')
  for (const needed of ['host', 'x-amz-date', ...(account.sessionToken ? ['x-amz-security-token'] : [])]) {
    if (!names.includes(needed)) return `${needed} is not signed`
  }
  const url = new URL(req.url ?? '/', 'http://any.test')
  const rfc3986 = (text: string) =>
    [...Buffer.from(text)]
      .map(byte =>
        /[A-Za-z0-9\-._~]/.test(String.fromCharCode(byte))
          ? String.fromCharCode(byte)
          : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`,
      )
      .join('')
  const query = [...url.searchParams]
    .map(([name, value]) => `${rfc3986(name)}=${rfc3986(value)}`)
    .sort()
    .join('&')
  const canonical = [
    req.method,
    url.pathname.split('/').map(rfc3986).join('/'),
    query,
    ...names.map(
      name =>
        `${name}:${String(req.headers[name] ?? '')
          .trim()
          .replace(/ {2,}/g, ' ')}`,
    ),
    '',
    signedHeaders,
    createHash('sha256').update(body).digest('hex'),
  ].join('\n')
  const date = String(req.headers['x-amz-date'])
  if (!date.startsWith(`${day}T`)) return 'the days differ'
  const text = ['AWS4-HMAC-SHA256', date, `${day}/${region}/${service}/aws4_request`]
    .concat(createHash('sha256').update(canonical).digest('hex'))
    .join('\n')
  let key = Buffer.from(`AWS4${account.secretAccessKey}`)
  for (const part of [day!, region!, service!, 'aws4_request']) key = createHmac('sha256', key).update(part).digest()
  const right = createHmac('sha256', key).update(text).digest('hex')
  return right === signature ? undefined : `the signature differs; canonical request:\n${canonical}`
}

export async function bodyOf(req: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of req) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}
