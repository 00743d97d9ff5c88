// An MCP server whose users sign in with oidc-provider, in one process: started where that is installed.
import { createServer } from 'node:http'
import { Provider } from 'oidc-provider'

const [port] = process.argv.slice(2)
const issuer = `http://127.0.0.1:${port}`
const resource = `${issuer}/mcp`
const provider = new Provider(issuer, {
  features: {
    registration: { enabled: true },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: () => ({
        scope: 'read',
        audience: resource,
        accessTokenFormat: 'opaque',
        accessTokenTTL: 3,
      }),
    },
  },
  scopes: ['openid', 'offline_access', 'read'],
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  ttl: { Grant: 3600, Session: 3600, Interaction: 3600, RefreshToken: 3600 },
})
let refreshes = 0
provider.on('grant.success', ({ oidc }) => {
  if (oidc.params.grant_type === 'refresh_token') refreshes++
})
const handle = provider.callback()

createServer(async (req, res) => {
  if (req.url === '/refreshes') res.end(String(refreshes))
  else if (req.url === '/.well-known/oauth-protected-resource/mcp')
    json(res, { resource, authorization_servers: [issuer], scopes_supported: ['read'] })
  else if (req.url === '/mcp') await serve(req, res)
  else handle(req, res)
}).listen(Number(port), '127.0.0.1')

async function serve(req, res) {
  const token = req.headers.authorization?.replace('Bearer ', '')
  const known = token && (await provider.AccessToken.find(token))
  if (!known?.isValid || known.aud !== resource) {
    const where = `resource_metadata="${issuer}/.well-known/oauth-protected-resource/mcp"`
    res.writeHead(401, { 'www-authenticate': `Bearer ${where}` }).end()
    return
  }
  const chunks = []
  for await (const chunk of req) chunks.push(chunk)
  const { id, method, params } = JSON.parse(Buffer.concat(chunks).toString() || '{}')
  if (id === undefined) return res.writeHead(202).end()
  json(res, { jsonrpc: '2.0', id, result: resultOf(method, params, known.accountId) })
}

function resultOf(method, params, account) {
  if (method === 'initialize')
    return {
      protocolVersion: params.protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: 'files', version: '1' },
    }
  if (method === 'tools/call') return { content: [{ type: 'text', text: account }] }
  return { tools: [{ name: 'whoami', inputSchema: { type: 'object' } }] }
}

function json(res, value) {
  res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value))
}
