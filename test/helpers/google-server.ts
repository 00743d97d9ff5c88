import { generateKeyPairSync, verify } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { startUpstream, type Upstream } from './upstream.ts'

const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const PRIVATE = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
const PUBLIC = publicKey

/** What Google's services have been asked, and what they answer. */
export interface GoogleServer extends AsyncDisposable {
  readonly host: string
  /** One line for each question that was in order. */
  readonly asked: string[]
  /** s. */
  life: number
  /** ms since the epoch, for ID tokens. */
  now: () => number
  /** In place of what the services say. */
  answer: ((res: import('node:http').ServerResponse) => void) | undefined
}

export const SCOPE = 'https://www.googleapis.com/auth/cloud-platform'

/** Google's token endpoint, its STS, its IAM credentials and a metadata server at one address. Written by their documentation. */
export async function startGoogleServer(): Promise<GoogleServer> {
  const asked: string[] = []
  const upstream: Upstream = await startUpstream(async (req, res) => {
    const body = await textOf(req)
    if (google.answer) return google.answer(res)
    try {
      const { line, reply, headers = {} } = answerTo(req, body, google)
      asked.push(line)
      res.writeHead(200, { 'content-type': 'application/json', ...headers })
      res.end(typeof reply === 'string' ? reply : JSON.stringify(reply))
    } catch (error) {
      res.writeHead(400, { 'content-type': 'application/json' })
      res.end(JSON.stringify({ error: 'invalid_grant', error_description: String(error) }))
    }
  })
  const google: GoogleServer = {
    host: upstream.host,
    asked,
    life: 3600,
    now: Date.now,
    answer: undefined,
    [Symbol.asyncDispose]: () => upstream[Symbol.asyncDispose](),
  }
  return google
}

export function serviceAccount(google: GoogleServer) {
  return {
    type: 'service_account',
    project_id: 'p',
    private_key_id: 'key-1',
    private_key: PRIVATE,
    client_email: 'robot@p.iam.gserviceaccount.com',
    client_id: '1',
    token_uri: `http://${google.host}/token`,
  }
}

export function userLogin(google: GoogleServer) {
  return {
    type: 'authorized_user',
    client_id: 'gcloud',
    client_secret: 'gcloud-secret',
    refresh_token: 'refresh-me',
    token_uri: `http://${google.host}/token`,
  }
}

interface Answer {
  readonly line: string
  readonly reply: unknown
  readonly headers?: Record<string, string>
}

function answerTo(req: IncomingMessage, body: string, google: GoogleServer): Answer {
  const { pathname, searchParams } = new URL(req.url ?? '/', 'http://google.test')
  const { life } = google
  const access = (access_token: string) => ({ access_token, expires_in: life, token_type: 'Bearer' })
  if (pathname.startsWith('/computeMetadata/v1/instance/service-accounts/default/')) {
    must(req.headers['metadata-flavor'] === 'Google', 'no flavor')
    const headers = { 'metadata-flavor': 'Google' }
    const audience = searchParams.get('audience')
    return pathname.endsWith('/token')
      ? { line: 'machine', reply: access('machine-token'), headers }
      : { line: `machine for ${audience}`, reply: identity(audience ?? '', google), headers }
  }
  must(req.method === 'POST', 'not a POST')
  if (pathname.includes('/serviceAccounts/')) {
    must(req.headers.authorization?.startsWith('Bearer ') === true, 'no token')
    const given = JSON.parse(body) as { audience?: string; scope?: string[]; delegates?: string[] }
    const line = `${req.headers.authorization} as ${pathname}${given.delegates ? ` by ${given.delegates}` : ''}`
    if (pathname.endsWith(':generateIdToken')) return { line, reply: { token: identity(given.audience ?? '', google) } }
    must(given.scope?.[0] === SCOPE, 'no scope')
    const expireTime = new Date(google.now() + life * 1000).toISOString()
    return { line, reply: { accessToken: 'impersonated-token', expireTime } }
  }
  must(req.headers['content-type'] === 'application/x-www-form-urlencoded', 'not a form')
  const form = Object.fromEntries(new URLSearchParams(body))
  if (pathname === '/sts') {
    must(form.grant_type === 'urn:ietf:params:oauth:grant-type:token-exchange', 'grant')
    must(form.requested_token_type === 'urn:ietf:params:oauth:token-type:access_token', 'requested type')
    must(form.scope === SCOPE, 'scope')
    const line = [form.subject_token, form.subject_token_type, form.audience, req.headers.authorization]
      .join(' ')
      .trim()
    return { line, reply: access('federated-token') }
  }
  must(pathname === '/token', 'no such path')
  if (form.grant_type === 'refresh_token') {
    must(form.client_secret === 'gcloud-secret' && form.refresh_token === 'refresh-me', 'not a login')
    return { line: 'user', reply: { ...access('user-token'), id_token: identity('gcloud', google) } }
  }
  must(form.grant_type === 'urn:ietf:params:oauth:grant-type:jwt-bearer', 'grant')
  const claims = claimsOf(form.assertion ?? '', `http://${google.host}/token`)
  const audience = claims.target_audience
  if (typeof audience === 'string') {
    return { line: `${claims.iss} for ${audience}`, reply: { id_token: identity(audience, google) } }
  }
  must(claims.scope === SCOPE, 'scope')
  return { line: String(claims.iss), reply: access(`token-${google.asked.length + 1}`) }
}

function claimsOf(assertion: string, audience: string): Record<string, unknown> {
  const [head = '', payload = '', signature = ''] = assertion.split('.')
  const header = decoded(head)
  must(header.alg === 'RS256' && header.typ === 'JWT' && header.kid === 'key-1', 'header')
  const text = Buffer.from(`${head}.${payload}`)
  must(verify('RSA-SHA256', text, PUBLIC, Buffer.from(signature, 'base64url')), 'signature')
  const claims = decoded(payload)
  must(claims.aud === audience, 'aud')
  must(Number(claims.exp) - Number(claims.iat) <= 3600, 'too long')
  return claims
}

function identity(audience: string, { now, life }: GoogleServer): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  return `${part({ alg: 'none' })}.${part({ aud: audience, exp: Math.floor(now() / 1000) + life })}.x`
}

/** The audience of a bearer token that is an ID token. */
export function audienceOf(authorization: string | undefined): unknown {
  return decoded(authorization?.split('.')[1] ?? '').aud
}

function decoded(part: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(part, 'base64url').toString()) as Record<string, unknown>
}

function must(holds: boolean, what: string): void {
  if (!holds) throw new Error(what)
}

async function textOf(req: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of req) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}
