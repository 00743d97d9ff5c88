// Signature Version 4: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
import { createHash, createHmac } from 'node:crypto'

export interface AwsKeys {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string
}

export interface AwsScope {
  readonly region: string
  readonly service: string
  /** ms since the epoch. */
  readonly now: number
}

export interface Signable {
  readonly method: string
  /** As sent, including the query. */
  readonly path: string
  /** All fields to sign, including `host`: name, value, name, value. */
  readonly fields: readonly string[]
  readonly body: Buffer
}

/** The time and session fields, to be signed with the others; names in lower case. */
export function signingFields({ sessionToken }: AwsKeys, now: number): string[] {
  const session = sessionToken === undefined ? [] : ['x-amz-security-token', sessionToken]
  return ['x-amz-date', stamp(now), ...session]
}

/** The value of the `authorization` field. */
export function authorization(request: Signable, keys: AwsKeys, { region, service, now }: AwsScope): string {
  const time = stamp(now)
  const scope = `${time.slice(0, 8)}/${region}/${service}/aws4_request`
  const { canonical, signed } = canonicalRequest(request, service)
  const toSign = `AWS4-HMAC-SHA256\n${time}\n${scope}\n${sha256(canonical)}`
  const key = [time.slice(0, 8), region, service, 'aws4_request'].reduce<string | Buffer>(
    (secret, part) => hmac(secret, part),
    `AWS4${keys.secretAccessKey}`,
  )
  const signature = hmac(key, toSign).toString('hex')
  return `AWS4-HMAC-SHA256 Credential=${keys.accessKeyId}/${scope}, SignedHeaders=${signed}, Signature=${signature}`
}

export function sha256(data: string | Buffer): string {
  return createHash('sha256').update(data).digest('hex')
}

function canonicalRequest({ method, path, fields, body }: Signable, service: string) {
  const mark = path.indexOf('?')
  const byName = new Map<string, string[]>()
  for (let i = 0; i < fields.length; i += 2) {
    const name = (fields[i] as string).toLowerCase()
    const value = (fields[i + 1] as string).trim().replace(/ +/g, ' ')
    byName.set(name, [...(byName.get(name) ?? []), value])
  }
  const names = [...byName.keys()].sort()
  const signed = names.join(';')
  const canonical = [
    method,
    canonicalPath(mark < 0 ? path : path.slice(0, mark), service),
    mark < 0 ? '' : canonicalQuery(path.slice(mark + 1)),
    ...names.map(name => `${name}:${byName.get(name)?.join(',')}`),
    '',
    signed,
    sha256(body),
  ].join('\n')
  return { canonical, signed }
}

/** Every service but S3 removes dot segments and encodes the path a second time. */
function canonicalPath(path: string, service: string): string {
  if (service === 's3') return path
  const kept: string[] = []
  for (const segment of path.split('/')) {
    if (segment === '..') kept.pop()
    else if (segment !== '' && segment !== '.') kept.push(segment)
  }
  const tail = path.endsWith('/') && kept.length > 0 ? '/' : ''
  return `/${kept.map(encode).join('/')}${tail}`
}

function canonicalQuery(query: string): string {
  const pairs = query
    .split('&')
    .filter(pair => pair !== '')
    .map(pair => {
      const end = pair.indexOf('=')
      return end < 0 ? [recode(pair), ''] : [recode(pair.slice(0, end)), recode(pair.slice(end + 1))]
    })
  // By code points, names first; everything is ASCII by now.
  pairs.sort(([a = '', b = ''], [c = '', d = '']) => (a < c ? -1 : a > c ? 1 : b < d ? -1 : b > d ? 1 : 0))
  return pairs.map(([name, value]) => `${name}=${value}`).join('&')
}

function recode(text: string): string {
  try {
    return encode(decodeURIComponent(text))
  } catch {
    return encode(text)
  }
}

/** RFC 3986: encodes everything but unreserved characters. */
function encode(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, c => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)
}

/** `20150830T123600Z`. */
function stamp(now: number): string {
  return new Date(now).toISOString().replace(/[-:]|\.\d{3}/g, '')
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}
