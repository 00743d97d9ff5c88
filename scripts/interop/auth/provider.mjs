// oidc-provider as a process: started where it is installed, with its address and the gateway's callback.
import { createServer } from 'node:http'
import { Provider } from 'oidc-provider'

const [port, callback] = process.argv.slice(2)
/** Tokens that are about to end: the gateway forgives a minute, and refreshes what is older. */
const BEHIND = 58_000
const now = Date.now
Date.now = () => now() - BEHIND

const issuer = `http://127.0.0.1:${port}`
const provider = new Provider(issuer, {
  clients: [
    {
      client_id: 'web',
      client_secret: 'a-secret-of-the-client-that-nobody-knows',
      redirect_uris: [callback],
      post_logout_redirect_uris: [`${new URL(callback).origin}/`],
      grant_types: ['authorization_code', 'refresh_token'],
    },
  ],
  claims: { email: ['email'] },
  conformIdTokenClaims: false,
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, email: `${id}@example.com` }) }),
  issueRefreshToken: () => true,
  ttl: { IdToken: 3, AccessToken: 3, Grant: 3600, Session: 3600, Interaction: 3600, RefreshToken: 3600 },
})
let refreshes = 0
provider.on('grant.success', ({ oidc }) => {
  if (oidc.params.grant_type === 'refresh_token') refreshes++
})
const handle = provider.callback()
createServer((req, res) => {
  if (req.url === '/refreshes') res.end(String(refreshes))
  else handle(req, res)
}).listen(Number(port), '127.0.0.1')
