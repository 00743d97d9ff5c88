import { randomUUID } from 'node:crypto'
import { makeIssuer } from './forged-tokens.mjs'

const statusOf = reply => Number(/^HTTP\/1\.1 (\d{3})/.exec(reply)?.[1])
const fieldsOf = (reply, name) => [...reply.matchAll(new RegExp(`^${name}: (.*)\r$`, 'gim'))].map(([, value]) => value)

/** A provider that signs in whoever asks, a gateway in front of a backend, and browsers. */
async function open({ start, backend, raw }) {
  let issuer
  const nonces = new Map()
  const provider = await backend((req, res) => {
    const url = new URL(req.url, issuer.url)
    const json = value => res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value))
    if (url.pathname === '/.well-known/openid-configuration')
      return json({
        issuer: issuer.url,
        authorization_endpoint: `${issuer.url}/page`,
        token_endpoint: `${issuer.url}/token`,
        jwks_uri: `${issuer.url}/keys`,
      })
    if (url.pathname === '/keys') return res.end(issuer.keys.jwks)
    const { nonce, sub } = nonces.get(new URLSearchParams(req.body).get('code')) ?? {}
    nonces.delete(new URLSearchParams(req.body).get('code'))
    if (nonce === undefined) return res.writeHead(400).end('{"error":"invalid_grant"}')
    const iat = Math.floor(Date.now() / 1000)
    return json({ id_token: issuer.keys.token({ aud: 'web', nonce, sub, iat, exp: iat + 3600 }), expires_in: 3600 })
  })
  issuer = { url: `http://${provider.host}`, keys: makeIssuer({ issuer: `http://${provider.host}` }) }
  const behind = await backend((req, res) => res.end(`hello ${req.headers['x-sub']}`))
  const gateway = await start(
    port =>
      `binds: [{port: ${port}, listeners: [{routes: [{policies: {oidc: {issuer: '${issuer.url}', clientId: web, clientSecret: s, redirectURI: 'http://a.test/callback'}, transformations: {request: {set: {x-sub: jwt.sub}}}}, backends: [{host: '${behind.host}'}]}]}]}]`,
  )
  const get = (target, cookies = '', fields = '', host = 'a.test') =>
    raw(
      gateway.port,
      `GET ${target} HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\naccept: text/html\r\n${cookies && `cookie: ${cookies}\r\n`}${fields}\r\n`,
      { quiet: 5000 },
    )
  const pairsIn = reply => fieldsOf(reply, 'set-cookie').map(line => line.split(';')[0])
  return {
    get,
    /** Somebody at the provider's page: the cookie of the sign-in, and the address that the page sends them back to. */
    async begin(target, sub) {
      const reply = await get(target)
      const page = new URL(fieldsOf(reply, 'location')[0] ?? 'http://none.test/')
      const code = randomUUID()
      nonces.set(code, { nonce: page.searchParams.get('nonce'), sub })
      const state = page.searchParams.get('state')
      return { reply, page, state, cookie: pairsIn(reply).join('; '), back: `/callback?code=${code}&state=${state}` }
    },
    cookiesOf: reply =>
      pairsIn(reply)
        .filter(pair => !pair.endsWith('='))
        .join('; '),
  }
}

const ELSEWHERE = [
  '//evil.test/',
  '/\\evil.test',
  '/\\/evil.test',
  '/%5Cevil.test',
  '/%2F%2Fevil.test',
  '/.//evil.test',
  '/..//evil.test',
  '/%2e/%2e//evil.test',
  '/a/..//evil.test/',
  '/@evil.test',
  '/%0d%0alocation:%20http://evil.test',
  '/callback?state=x&code=y&returnTo=http://evil.test',
  '/?next=http://evil.test',
  '/;//evil.test',
  '/%09//evil.test',
]

/** @type {readonly import('./areas.mjs').Attack[]} */
export const signIn = [
  {
    name: 'Sign-ins that begin at `//evil`, `/\\evil`, encoded forms of them, or with an absolute address, so that the browser ends elsewhere',
    defends: 'a browser goes back to a path of the own host, or to its root',
    async run(arena) {
      const at = await open(arena)
      const absolute = ['http://evil.test/', 'http://evil.test//a.test/']
      let sent = 0
      for (const target of [...ELSEWHERE, ...absolute]) {
        const one = await at.begin(target, 'ann')
        if (one.state === null) continue
        arena.holds(one.page.searchParams.get('redirect_uri') === 'http://a.test/callback', `${target}: ${one.page}`)
        const [location] = fieldsOf(await at.get(one.back, one.cookie), 'location')
        const ended = URL.canParse(location, 'http://a.test/') ? new URL(location, 'http://a.test/').host : 'nowhere'
        arena.holds(ended === 'a.test' && !/^\/[/\\]/.test(location), `${target} ends at ${location}`)
        sent++
      }
      arena.holds(sent > 5, `only ${sent} sign-ins began`)
      return `${sent} of ${sent} stay`
    },
  },
  {
    name: 'Session fixation, cookie tossing and replay: cookies, codes and states of the attacker in the browser of somebody else, a callback twice, cookies for another purpose, name or host',
    defends: 'what a browser has not begun itself does not end in it, and a cookie opens for its name and host alone',
    async run(arena) {
      const at = await open(arena)
      const { holds } = arena
      const mallory = await at.begin('/', 'mallory')
      const ann = await at.begin('/a', 'ann')
      const back = state => ann.back.replace(/state=.*/, `state=${state}`)
      const refused = async (what, target, cookie) => {
        const status = statusOf(await at.get(target, cookie))
        holds(status === 400 || status === 302, `${what}: ${status}`)
        return status
      }
      const attempts = {
        'the attacker’s callback in another browser': [mallory.back, ''],
        'the attacker’s callback beside an own sign-in': [mallory.back, ann.cookie],
        'the attacker’s code with an own state': [
          mallory.back.replace(/state=.*/, `state=${ann.state}`),
          mallory.cookie,
        ],
        'an own code with the attacker’s state': [back(mallory.state), ann.cookie],
        'a renamed cookie': [
          mallory.back.replace(/state=.*/, `state=${ann.state}`),
          mallory.cookie.replace(mallory.state, ann.state),
        ],
        'a state twice': [`${ann.back}&state=${mallory.state}`, ann.cookie],
        'a code twice': [`${ann.back}&code=x`, ann.cookie],
      }
      for (const [what, [target, cookie]] of Object.entries(attempts))
        holds((await refused(what, target, cookie)) === 400, `${what}: it is taken`)
      const done = await at.get(ann.back, ann.cookie)
      const session = at.cookiesOf(done)
      holds(statusOf(done) === 302 && session !== '', `an own sign-in: ${JSON.stringify(done.slice(0, 80))}`)
      holds((await at.get('/a', session)).endsWith('hello ann'), 'the session does not serve')
      holds((await refused('the callback again', ann.back, ann.cookie)) === 400, 'a callback works twice')
      const theirs = at.cookiesOf(await at.get((await at.begin('/', 'mallory')).back, ''))
      holds(theirs === '', 'a browser without the cookie is signed in')
      const second = await at.begin('/', 'mallory')
      const other = at.cookiesOf(await at.get(second.back, second.cookie))
      holds(other !== '', 'mallory cannot sign in')
      const tossed = {
        'two sessions, the attacker’s first': `${other}; ${session}`,
        'two sessions, the attacker’s last': `${session}; ${other}`,
        'a sign-in as a session': session.replace(/=.*/, `=${ann.cookie.replace(/^[^=]*=/, '')}`),
        'another prefix': other.replace(/^/, '__Host-'),
        'a changed session': session.replace(/.$/, last => (last === 'A' ? 'B' : 'A')),
      }
      for (const [what, cookie] of Object.entries(tossed)) {
        const reply = await at.get('/a', cookie)
        holds(statusOf(reply) === 302 && !reply.includes('hello'), `${what}: ${JSON.stringify(reply.slice(0, 60))}`)
      }
      const elsewhere = await at.get('/a', session, 'x-forwarded-host: a.test\r\n', 'b.test')
      holds(!elsewhere.includes('hello'), 'a session of another host is taken')
      const count = Object.keys(attempts).length + Object.keys(tossed).length + 3
      return `${count} of ${count} refused`
    },
  },
]
