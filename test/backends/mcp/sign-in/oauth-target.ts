import { createHash, randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'

interface Code {
  readonly account: string
  readonly challenge: string | null
  readonly redirect: string | null
  readonly scope: string
}

/** An MCP server that takes tokens of its own authorization server only, which registers clients and wants PKCE. */
export interface OAuthTarget {
  readonly url: string
  /** Bearer tokens of the calls that reached the server, undefined for none. */
  readonly bearers: (string | undefined)[]
  /** Tokens that are valid, and whose. */
  readonly tokens: Map<string, { readonly account: string; readonly scope: string }>
  readonly asked: { readonly path: string; readonly form: URLSearchParams; readonly body: string }[]
  /** What its documents say besides what the protocol wants. */
  metadata: Record<string, unknown>
  resource: Record<string, unknown>
  /** s. */
  lifetime: number | undefined
  /** The scope that calls need. */
  needs: string
  /** Refuses refresh tokens. */
  forgets: boolean
  /** As a browser in which `account` is signed in: the address that it is sent back to. */
  visit(page: string, account: string): Promise<string>
  close(): Promise<void>
}

export async function startOAuthTarget(label = 'files'): Promise<OAuthTarget> {
  const codes = new Map<string, Code>()
  const refreshes = new Map<string, { account: string; scope: string }>()
  const sessions = new Map<string, { transport: StreamableHTTPServerTransport; account: string }>()
  const http = createServer((req, res) => void serve(req, res).catch(error => res.destroy(error)))
  await new Promise<void>(done => http.listen(0, '127.0.0.1', done))
  const origin = `http://127.0.0.1:${(http.address() as AddressInfo).port}`
  const target: OAuthTarget = {
    url: `${origin}/mcp`,
    bearers: [],
    tokens: new Map(),
    asked: [],
    lifetime: 3600,
    needs: 'read',
    forgets: false,
    resource: { resource: `${origin}/mcp`, authorization_servers: [origin], scopes_supported: ['read'] },
    metadata: {
      issuer: origin,
      authorization_endpoint: `${origin}/authorize`,
      token_endpoint: `${origin}/token`,
      registration_endpoint: `${origin}/register`,
      response_types_supported: ['code'],
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['none'],
      authorization_response_iss_parameter_supported: true,
    },
    async visit(page, account) {
      const reply = await fetch(page, { redirect: 'manual', headers: { account } })
      return reply.headers.get('location') ?? ''
    },
    async close() {
      http.closeAllConnections()
      await new Promise(done => http.close(done))
    },
  }

  async function serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of req) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks).toString()
    const url = new URL(req.url ?? '/', origin)
    if (url.pathname === '/mcp') return await protect(req, res, body)
    target.asked.push({ path: url.pathname, form: new URLSearchParams(body || url.search), body })
    if (url.pathname === '/.well-known/oauth-protected-resource/mcp') return json(res, 200, target.resource)
    if (url.pathname === '/.well-known/oauth-authorization-server') return json(res, 200, target.metadata)
    if (url.pathname === '/register') return json(res, 201, { ...JSON.parse(body), client_id: 'registered' })
    if (url.pathname === '/authorize') return authorize(url.searchParams, String(req.headers.account), res)
    if (url.pathname === '/token') return token(new URLSearchParams(body), res)
    res.writeHead(404).end()
  }

  function authorize(query: URLSearchParams, account: string, res: ServerResponse): void {
    const code = randomUUID()
    const [redirect, scope] = [query.get('redirect_uri') ?? '', query.get('scope') ?? '']
    codes.set(code, { account, challenge: query.get('code_challenge'), redirect, scope })
    const back = new URL(redirect)
    for (const [name, value] of Object.entries({ code, state: query.get('state') ?? '', iss: origin }))
      back.searchParams.set(name, value)
    res.writeHead(302, { location: back.href }).end()
  }

  function token(form: URLSearchParams, res: ServerResponse): void {
    const refresh = form.get('refresh_token') ?? ''
    const again = target.forgets ? undefined : refreshes.get(refresh)
    refreshes.delete(refresh)
    const code = codes.get(form.get('code') ?? '')
    codes.delete(form.get('code') ?? '')
    const proof = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url')
    const fits = code && proof === code.challenge && form.get('redirect_uri') === code.redirect
    if (again) issue(again, res)
    else if (fits && form.get('resource') === target.url) issue(code, res)
    else json(res, 400, { error: 'invalid_grant' })
  }

  function issue({ account, scope }: { readonly account: string; readonly scope: string }, res: ServerResponse): void {
    const [bearer, refresh] = [`at-${randomUUID()}`, `rt-${randomUUID()}`]
    target.tokens.set(bearer, { account, scope })
    refreshes.set(refresh, { account, scope })
    const expires = target.lifetime === undefined ? {} : { expires_in: target.lifetime }
    json(res, 200, { access_token: bearer, token_type: 'Bearer', refresh_token: refresh, scope, ...expires })
  }

  async function protect(req: IncomingMessage, res: ServerResponse, body: string): Promise<void> {
    const bearer = req.headers.authorization?.replace(/^Bearer /, '')
    target.bearers.push(bearer)
    const known = target.tokens.get(bearer ?? '')
    const where = `resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`
    if (!known) {
      const why = bearer === undefined ? '' : 'error="invalid_token", '
      res.writeHead(401, { 'www-authenticate': `Bearer ${why}${where}, scope="read"` }).end('who are you?')
      return
    }
    if (!known.scope.split(' ').includes(target.needs)) {
      const why = `error="insufficient_scope", scope="${target.needs}"`
      res.writeHead(403, { 'www-authenticate': `Bearer ${why}, ${where}` }).end()
      return
    }
    const id = req.headers['mcp-session-id']
    const session = typeof id === 'string' ? sessions.get(id) : undefined
    // A session of somebody else is none.
    if (session?.account === known.account) return session.transport.handleRequest(req, res, JSON.parse(body || 'null'))
    if (id !== undefined) {
      res.writeHead(404).end()
      return
    }
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: started => {
        sessions.set(started, { transport, account: known.account })
      },
    })
    const server = new McpServer({ name: label, version: '1' })
    server.registerTool('whoami', {}, () => ({ content: [{ type: 'text', text: known.account }] }))
    await server.connect(transport)
    await transport.handleRequest(req, res, JSON.parse(body || 'null'))
  }

  return target
}

function json(res: ServerResponse, status: number, value: unknown): void {
  res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
}
