import { createHash, randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'
import { startUpstream, type Upstream } from './upstream.ts'

export interface ProviderOptions {
  /** Path of the issuer, such as `/realms/one`. */
  readonly path?: string
  /** s since the epoch. */
  readonly now?: () => number
  readonly algorithm?: 'RS256' | 'ES256'
  readonly clientId?: string
  readonly clientSecret?: string
  /** s. */
  readonly lifetime?: number
}

export interface Asked {
  readonly method: string
  readonly path: string
  readonly form: URLSearchParams
  readonly body: string
  readonly authorization: string | undefined
}

interface Grant {
  readonly nonce: string | null
  readonly challenge: string | null
  readonly redirect: string | null
}

type Answer = (req: IncomingMessage, res: ServerResponse) => boolean | undefined

/** An OpenID provider that signs everybody in at once as `alice`, with real keys, codes that work once, and PKCE. */
export interface IdentityProvider extends AsyncDisposable {
  readonly issuer: string
  readonly upstream: Upstream
  readonly asked: Asked[]
  /** What is true of the next tokens besides what the protocol says. */
  claims: Record<string, unknown>
  /** In place of the usual answer, where it returns true. */
  answer: Answer
  metadata: Record<string, unknown>
  /** The members of token replies. */
  tokens: Record<string, unknown>
  token(claims?: Record<string, unknown>): Promise<string>
  /** New keys; the old ones are gone. */
  rotate(): Promise<void>
}

export async function startIdentityProvider(options: ProviderOptions = {}): Promise<IdentityProvider> {
  const { path = '', algorithm = 'RS256', clientId = 'web', clientSecret = 's3cret', lifetime = 3600 } = options
  const now = options.now ?? (() => Math.floor(Date.now() / 1000))
  const grants = new Map<string, Grant>()
  const refreshes = new Set<string>()
  let key = await makeKey(algorithm)
  const upstream = await startUpstream((req, res) => {
    const chunks: Buffer[] = []
    req.on('data', chunk => chunks.push(chunk))
    req.on('end', () => {
      void serve(req, res, Buffer.concat(chunks).toString()).catch(error => res.destroy(error))
    })
  })
  const issuer = `http://${upstream.host}${path}`
  const sign = (claims: Record<string, unknown>) =>
    new SignJWT({ iss: issuer, sub: 'alice', aud: clientId, iat: now(), exp: now() + lifetime, ...claims })
      .setProtectedHeader({ alg: algorithm, kid: key.kid })
      .sign(key.privateKey)
  const provider: IdentityProvider = {
    issuer,
    upstream,
    asked: [],
    claims: {},
    tokens: {},
    answer: () => undefined,
    metadata: {
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/jwks`,
      registration_endpoint: `${issuer}/register`,
      end_session_endpoint: `${issuer}/logout`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: [algorithm],
      code_challenge_methods_supported: ['S256'],
    },
    token: sign,
    rotate: async () => {
      key = await makeKey(algorithm)
    },
    [Symbol.asyncDispose]: () => upstream[Symbol.asyncDispose](),
  }

  async function serve(req: IncomingMessage, res: ServerResponse, body: string): Promise<void> {
    const url = new URL(req.url ?? '/', issuer)
    const form = new URLSearchParams(body)
    const { method = '', headers } = req
    provider.asked.push({ method, path: url.pathname + url.search, form, body, authorization: headers.authorization })
    if (provider.answer(req, res)) return
    const documents = [
      `${path}/.well-known/openid-configuration`,
      `/.well-known/oauth-authorization-server${path}`,
      `/.well-known/openid-configuration${path}`,
    ]
    if (documents.includes(url.pathname)) return json(res, 200, provider.metadata)
    switch (url.pathname.slice(path.length)) {
      case '/jwks':
        return json(res, 200, { keys: [key.jwk] })
      case '/authorize':
        return authorize(url.searchParams, res)
      case '/token':
        return await token(form, headers.authorization, res)
      case '/register':
        return json(res, 201, { ...JSON.parse(body), client_id: `made-${randomUUID()}` })
      default:
        return json(res, 404, { error: 'not_found' })
    }
  }

  function authorize(asked: URLSearchParams, res: ServerResponse): void {
    const code = randomUUID()
    const redirect = asked.get('redirect_uri')
    grants.set(code, { nonce: asked.get('nonce'), challenge: asked.get('code_challenge'), redirect })
    const back = new URL(redirect ?? '')
    back.searchParams.set('code', code)
    back.searchParams.set('state', asked.get('state') ?? '')
    back.searchParams.set('iss', issuer)
    res.writeHead(302, { location: back.href }).end()
  }

  async function token(form: URLSearchParams, authorization: string | undefined, res: ServerResponse): Promise<void> {
    const basic =
      authorization &&
      Buffer.from(authorization.replace(/^Basic /, ''), 'base64')
        .toString()
        .split(':')
    const [id, secret] = basic ? basic.map(decodeURIComponent) : [form.get('client_id'), form.get('client_secret')]
    if (id !== clientId || secret !== clientSecret) return json(res, 401, { error: 'invalid_client' })
    if (form.get('grant_type') === 'refresh_token') {
      const given = form.get('refresh_token') ?? ''
      if (!refreshes.delete(given)) return json(res, 400, { error: 'invalid_grant' })
      return await issue(undefined, res)
    }
    const grant = grants.get(form.get('code') ?? '')
    grants.delete(form.get('code') ?? '')
    const proof = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url')
    if (!grant || proof !== grant.challenge || form.get('redirect_uri') !== grant.redirect)
      return json(res, 400, { error: 'invalid_grant' })
    return await issue(grant.nonce ?? undefined, res)
  }

  async function issue(nonce: string | undefined, res: ServerResponse): Promise<void> {
    const refresh = randomUUID()
    refreshes.add(refresh)
    const idToken = await sign({ ...(nonce === undefined ? {} : { nonce }), ...provider.claims })
    json(res, 200, {
      access_token: `at-${randomUUID()}`,
      token_type: 'Bearer',
      expires_in: lifetime,
      refresh_token: refresh,
      id_token: idToken,
      ...provider.tokens,
    })
  }

  return provider
}

interface Key {
  readonly kid: string
  readonly jwk: JWK
  readonly privateKey: Parameters<SignJWT['sign']>[0]
}

async function makeKey(algorithm: string): Promise<Key> {
  const { publicKey, privateKey } = await generateKeyPair(algorithm, { extractable: true })
  const kid = randomUUID()
  return { kid, jwk: { ...(await exportJWK(publicKey)), kid, use: 'sig', alg: algorithm }, privateKey }
}

function json(res: ServerResponse, status: number, value: unknown): void {
  res.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' }).end(JSON.stringify(value))
}
