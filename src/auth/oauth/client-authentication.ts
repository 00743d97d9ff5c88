import { createHash, type KeyObject, X509Certificate } from 'node:crypto'
import type { SigningAlgorithm } from '../signing-algorithms.ts'
import { signToken } from '../token-signer.ts'

/**
 * The gateway's identity at an authorization server, and how it authenticates (RFC 6749 section 2.3, RFC 7523 section
 * 2.2).
 */
export type OAuthClient =
  | { readonly method: 'clientSecretBasic'; readonly id: string; readonly secret: string }
  /** Without a secret, a public client. */
  | { readonly method: 'clientSecretPost'; readonly id: string; readonly secret: string | undefined }
  | { readonly method: 'privateKeyJwt'; readonly id: string; readonly assertion: AssertionSettings }

export interface AssertionSettings {
  readonly key: KeyObject
  readonly alg: SigningAlgorithm
  readonly kid: string | undefined
  readonly audience: string
  /** `x5c` or `x5t#S256`. */
  readonly certificate: Readonly<Record<string, unknown>>
}

/** `methods`: those that the server supports (RFC 8414), if it says so. */
export function clientFor(
  { id, secret }: { readonly id: string; readonly secret: string | undefined },
  methods: unknown,
): OAuthClient {
  if (secret === undefined) return { method: 'clientSecretPost', id, secret }
  const known: readonly unknown[] = Array.isArray(methods) ? methods : ['client_secret_basic']
  const usual = known.includes('client_secret_basic') || !known.includes('client_secret_post')
  return { method: usual ? 'clientSecretBasic' : 'clientSecretPost', id, secret }
}

/** s; short, since the server reads an assertion at once. */
const ASSERTION_LIFE = 300
const JWT_BEARER = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

/** Adds client authentication to the form and returns the header fields that go with it. `id`: must be unique. */
export function proveClient(client: OAuthClient, form: URLSearchParams, id: string, now: number): string[] {
  if (client.method === 'clientSecretBasic') {
    const pair = `${formEncoded(client.id)}:${formEncoded(client.secret)}`
    return ['authorization', `Basic ${Buffer.from(pair).toString('base64')}`]
  }
  form.append('client_id', client.id)
  if (client.method === 'clientSecretPost') {
    if (client.secret !== undefined) form.append('client_secret', client.secret)
    return []
  }
  form.append('client_assertion_type', JWT_BEARER)
  form.append('client_assertion', assertionOf(client.id, client.assertion, id, now))
  return []
}

function assertionOf(
  client: string,
  { key, alg, kid, audience, certificate }: AssertionSettings,
  id: string,
  now: number,
): string {
  const iat = Math.floor(now / 1000)
  const claims = { iss: client, sub: client, aud: audience, jti: id, iat, nbf: iat, exp: iat + ASSERTION_LIFE }
  const header = { alg, typ: 'JWT', ...(kid === undefined ? {} : { kid }), ...certificate }
  return signToken(header, JSON.stringify(claims), key)
}

function formEncoded(text: string): string {
  return new URLSearchParams({ '': text }).toString().slice(1)
}

const PEM = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/** The header member that identifies the certificate of `key`, or what is wrong with it. */
export function certificateHeader(pem: string, form: 'x5c' | 'x5t#S256', key: KeyObject): object | string {
  let chain: X509Certificate[]
  try {
    chain = (pem.match(PEM) ?? []).map(each => new X509Certificate(each))
  } catch {
    return 'it is not a PEM certificate'
  }
  const [own] = chain
  if (own === undefined) return 'it is not a PEM certificate'
  if (!own.checkPrivateKey(key)) return 'it belongs to another key'
  if (form === 'x5c') return { x5c: chain.map(({ raw }) => raw.toString('base64')) }
  return { 'x5t#S256': createHash('sha256').update(own.raw).digest('base64url') }
}
