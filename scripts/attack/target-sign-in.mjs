import { createHash, randomUUID } from 'node:crypto'

const HASH = createHash('sha1').update('secret').digest('base64')
const linkIn = text => /http:\/\/a\.test(\/sign-in\?ticket=[\w-]+)/.exec(text)?.[1]

/**
 * An MCP target that is its own authorization server and signs in whoever asks, behind a gateway with two users.
 * long: server, browsers and clients share what has been issued
 */
async function open({ start, backend }) {
  const [codes, accounts] = [new Map(), new Map()]
  /** What the target says of itself. */
  const told = { servers: undefined }
  let origin
  const target = await backend((req, res) => {
    const url = new URL(req.url, origin)
    const json = value => res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value))
    if (url.pathname === '/.well-known/oauth-protected-resource/mcp')
      return json({ resource: `${origin}/mcp`, authorization_servers: told.servers ?? [origin] })
    if (url.pathname === '/.well-known/oauth-authorization-server')
      return json({
        issuer: origin,
        authorization_endpoint: `${origin}/page`,
        token_endpoint: `${origin}/token`,
        registration_endpoint: `${origin}/register`,
        code_challenge_methods_supported: ['S256'],
        token_endpoint_auth_methods_supported: ['none'],
        authorization_response_iss_parameter_supported: true,
      })
    if (url.pathname === '/register') return json({ client_id: 'gateway' })
    if (url.pathname === '/token') {
      const form = new URLSearchParams(req.body)
      const { account, challenge } = codes.get(form.get('code')) ?? {}
      codes.delete(form.get('code'))
      const proof = createHash('sha256')
        .update(`${form.get('code_verifier')}`)
        .digest('base64url')
      if (account === undefined || proof !== challenge) return res.writeHead(400).end('{"error":"invalid_grant"}')
      const token = randomUUID()
      accounts.set(token, account)
      return json({ access_token: token, token_type: 'Bearer', expires_in: 3600 })
    }
    const account = accounts.get(req.headers.authorization?.replace('Bearer ', ''))
    if (account === undefined) return res.writeHead(401, { 'www-authenticate': 'Bearer' }).end()
    const { id, method, params } = JSON.parse(req.body || '{}')
    if (id === undefined) return res.writeHead(202).end()
    if (method === 'initialize') {
      const { protocolVersion } = params
      return json({
        jsonrpc: '2.0',
        id,
        result: { protocolVersion, capabilities: {}, serverInfo: { name: 't', version: '1' } },
      })
    }
    return json({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: `you are ${account}` }] } })
  })
  origin = `http://${target.host}`
  const gateway = await start(
    port =>
      `binds: [{port: ${port}, listeners: [{routes: [{policies: {basicAuth: {htpasswd: "ann:{SHA}${HASH}\\nmallory:{SHA}${HASH}"}}, backends: [{mcp: {targets: [{name: files, mcp: {host: '${origin}/mcp'}, signIn: {redirectURI: 'http://a.test/sign-in'}}]}}]}]}]}]`,
  )
  const as = name => ({ authorization: `Basic ${Buffer.from(`${name}:secret`).toString('base64')}` })
  const ask = async (path, init) => {
    const reply = await fetch(`http://127.0.0.1:${gateway.port}${path}`, { redirect: 'manual', ...init })
    const cookie = reply.headers
      .getSetCookie()
      .map(line => line.split(';')[0])
      .filter(pair => !pair.endsWith('='))
      .join('; ')
    return { status: reply.status, text: await reply.text(), cookie, location: reply.headers.get('location') ?? '' }
  }
  const user = name => ({
    async call() {
      const headers = { ...as(name), 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
      const info = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'a', version: '1' } }
      const send = (method, params, more) =>
        fetch(`http://127.0.0.1:${gateway.port}/mcp`, {
          method: 'POST',
          headers: { ...headers, ...more },
          body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
        })
      this.session ??= (await send('initialize', info)).headers.get('mcp-session-id')
      return await (await send('tools/call', { name: 'who', arguments: {} }, { 'mcp-session-id': this.session })).text()
    },
    get: (path, cookie = '') => ask(path, { headers: { ...as(name), connection: 'close', cookie } }),
    press(page, cookie, more = {}) {
      const field = of => new RegExp(`name="${of}" value="([^"]*)"`).exec(page)?.[1] ?? ''
      const body = new URLSearchParams({ ticket: field('ticket'), proof: field('proof') })
      return ask('/sign-in', { method: 'POST', body, headers: { ...as(name), connection: 'close', cookie, ...more } })
    },
  })
  /** The address that the server sends a browser back to, in which `account` is signed in. */
  const visit = (location, account) => {
    const query = new URL(location).searchParams
    const code = randomUUID()
    codes.set(code, { account, challenge: query.get('code_challenge') })
    return `/sign-in?code=${code}&state=${query.get('state')}&iss=${encodeURIComponent(origin)}`
  }
  return { user, visit, told }
}

/** @type {readonly import('./areas.mjs').Attack[]} */
export const targetSignIn = [
  {
    name: 'The token of somebody else at an MCP target with `signIn`: links and forms sent to the victim, replayed, forged and mixed-up returns, calls in between',
    defends:
      'a link signs in its own user, in the browser that opened it, once; calls carry the token of whoever makes them',
    async run(arena) {
      const { holds } = arena
      const { user, visit } = await open(arena)
      const [ann, mallory] = [user('ann'), user('mallory')]
      let refused = 0
      const refuses = async (what, reply, ...statuses) => {
        const { status } = await reply
        holds(statuses.includes(status), `${what}: ${status}`)
        refused++
      }
      const bait = linkIn(await mallory.call())
      holds(bait, 'mallory gets no link')
      await refuses('the attacker’s link in the browser of the victim', ann.get(bait), 403)
      const theirs = await mallory.get(bait)
      await refuses('the attacker’s form in the browser of the victim', ann.press(theirs.text, theirs.cookie), 403)
      const asked = await ann.get(linkIn(await ann.call()))
      await refuses(
        'a form from another site',
        ann.press(asked.text, asked.cookie, { origin: 'https://evil.test' }),
        400,
      )
      await refuses('a form without the cookie', ann.press(asked.text, ''), 400)
      const sent = await ann.press(asked.text, asked.cookie)
      const back = visit(sent.location, 'ann')
      await refuses('the return in another browser', mallory.get(back, ''), 400)
      await refuses('a forged state', ann.get(back.replace(/state=\w{4}/, 'state=0000'), sent.cookie), 400)
      const began = await mallory.press(theirs.text, theirs.cookie)
      await refuses(
        'the code of the attacker with an own state',
        ann.get(visit(began.location, 'mallory').replace(/state=\w+/, /state=\w+/.exec(back)[0]), sent.cookie),
        400,
      )
      // That attempt has ended the sign-in, so that codes cannot be tried.
      await refuses('the return after such an attempt', ann.get(back, sent.cookie), 400)
      const page = await ann.get(linkIn(await ann.call()))
      const begun = await ann.press(page.text, page.cookie)
      const good = visit(begun.location, 'ann')
      await refuses(
        'a return that another server answers',
        mallory.get(visit(began.location, 'mallory').replace(/iss=.*/, 'iss=http://evil.test'), began.cookie),
        400,
      )
      holds((await ann.get(good, begun.cookie)).status === 200, 'ann cannot sign in')
      await refuses('the return twice', ann.get(good, begun.cookie), 400)
      const said = await Promise.all(Array.from({ length: 40 }, (_, i) => (i % 2 ? ann : mallory).call()))
      const wrong = said.filter((text, i) => text.includes('you are ann') !== (i % 2 === 1))
      holds(wrong.length === 0, `${wrong.length} of 40 calls carry another token: ${wrong[0]}`)
      return `${refused} of ${refused} refused, 40 of 40 calls with the own token or none`
    },
  },
  {
    name: 'An MCP target that leads the gateway to addresses inside the network, and browsers to `javascript:` and plain HTTP',
    defends: 'only https servers outside are called on the word of a target, and its own host',
    async run(arena) {
      const inside = await arena.backend()
      const servers = [
        `http://localhost:${inside.port}`,
        `https://127.0.0.2:${inside.port}`,
        `https://[::ffff:127.0.0.1]:${inside.port}`,
        'https://169.254.169.254',
        'file:///etc/passwd',
        'javascript:alert(1)',
      ]
      for (const server of servers) {
        // What a target has said is used for five minutes, so each is one of its own.
        const { user, told } = await open(arena)
        told.servers = [server]
        const one = user('ann')
        const asked = await one.get(linkIn(await one.call()))
        const { status, location } = await one.press(asked.text, asked.cookie)
        arena.holds(status === 502 && location === '', `${server}: ${status} ${location}`)
      }
      arena.holds(inside.requests.length === 0, `${inside.requests.length} calls inside`)
      return `${servers.length} of ${servers.length} not followed`
    },
  },
]
