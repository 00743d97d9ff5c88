import { createHmac, generateKeyPairSync, sign } from 'node:crypto'

const ISSUER = 'https://issuer.test'
const FAR = 33_000_000_000
const encode = value => Buffer.from(JSON.stringify(value)).toString('base64url')
const statusOf = reply => Number(reply.slice(9, 12))

/** A key of the issuer, and tokens of it. */
export function makeIssuer({ kid = 'k', issuer = ISSUER } = {}) {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const jwk = { ...publicKey.export({ format: 'jwk' }), kid }
  return {
    publicKey,
    jwk,
    jwks: JSON.stringify({ keys: [jwk] }),
    token(claims = {}, header = {}) {
      const text = `${encode({ alg: 'EdDSA', kid, ...header })}.${encode({ iss: issuer, sub: 'ann', exp: FAR, ...claims })}`
      return `${text}.${sign(null, Buffer.from(text), privateKey).toString('base64url')}`
    },
  }
}

const guarded = (port, jwks, more = '') =>
  `binds: [{port: ${port}, listeners: [{routes: [{policies: {jwtAuth: {mode: strict, issuer: '${ISSUER}', audiences: [api], jwks: ${jwks}${more}}, directResponse: {status: 200, body: in}}}]}]}]`

const ask = (raw, port, fields, target = '/') =>
  raw(port, `GET ${target} HTTP/1.1\r\nhost: a.test\r\nconnection: close\r\n${fields}\r\n`)

/** What an attacker makes who knows all that is public: the key set, an address of their own, and the format. */
function confusions({ publicKey, jwk, token }, elsewhere) {
  const mallory = makeIssuer({ kid: 'k' })
  const claims = { aud: 'api' }
  const body = encode({ iss: ISSUER, sub: 'ann', exp: FAR, aud: 'api' })
  const pem = publicKey.export({ type: 'spki', format: 'pem' })
  const hmac = (alg, secret) => {
    const text = `${encode({ alg, kid: 'k' })}.${body}`
    return `${text}.${createHmac(`sha${alg.slice(2)}`, secret)
      .update(text)
      .digest('base64url')}`
  }
  const [, , signature] = token(claims).split('.')
  return {
    'HMAC with the public key': [pem, jwk.x, JSON.stringify(jwk), ''].flatMap(secret =>
      ['HS256', 'HS384', 'HS512'].map(alg => hmac(alg, secret)),
    ),
    'no algorithm': ['none', 'None', 'NONE', 'nOnE', '', null, 0, ['EdDSA'], undefined].flatMap(alg =>
      ['', signature].map(end => `${encode({ alg, kid: 'k' })}.${body}.${end}`),
    ),
    'another algorithm of the same signature': ['RS256', 'ES256', 'PS256', 'Ed448', 'eddsa'].map(alg =>
      token(claims, { alg }),
    ),
    'keys in the header': [
      mallory.token(claims),
      mallory.token(claims, { jwk: mallory.jwk }),
      ...['jku', 'x5u'].map(name => mallory.token(claims, { [name]: `http://${elsewhere}/keys` })),
      mallory.token(claims, { x5c: [pem.replace(/-----[^-]+-----|\s/g, '')] }),
    ],
    'a `kid` that is no name': [
      '../../../../etc/passwd',
      '/dev/null',
      "k' OR '1'='1",
      'k; cat /etc/passwd',
      'k\u0000',
      'K',
      '__proto__',
      'constructor',
      `http://${elsewhere}/keys`,
      'x'.repeat(10_000),
      '',
      null,
      0,
      ['k'],
      { k: 'k' },
    ].map(kid => mallory.token(claims, { kid })),
  }
}

/** Tokens that the issuer has signed itself, and that say something else than they should. */
function misfits({ token }) {
  const claims = { aud: 'api' }
  return {
    'what has to be understood and is not': [
      token(claims, { crit: ['exp'] }),
      token(claims, { crit: ['b64'], b64: false }),
      token(claims, { b64: false, crit: [] }),
    ],
    'times that do not hold': [
      { exp: 1 },
      { exp: Math.floor(Date.now() / 1000) - 120 },
      { exp: null },
      { exp: String(FAR) },
      { exp: -1 },
      { exp: [FAR] },
      { nbf: FAR },
      { nbf: String(0) },
    ].map(times => token({ ...claims, ...times })),
    'another issuer or audience': [
      { iss: 'https://issuer.test/' },
      { iss: 'https://ISSUER.test' },
      { iss: [ISSUER] },
      { iss: undefined },
      { aud: 'API' },
      { aud: 'api ' },
      { aud: ['other'] },
      { aud: { api: true } },
      { aud: undefined },
    ].map(other => token({ ...claims, ...other })),
  }
}

/** @type {readonly import('./areas.mjs').Attack[]} */
export const forgedTokens = [
  {
    name: 'Algorithm confusion (HMAC with the public key, `none`, other names), keys and addresses in the header (`jwk`, `jku`, `x5u`, `x5c`), `kid` injection, unknown `crit`, expired and future tokens, other issuers and audiences',
    defends: 'keys come from the key set alone, each with its own algorithms, and every claim has one reading',
    async run({ start, backend, raw, holds }) {
      const elsewhere = await backend((_req, res) => res.end('{"keys":[]}'))
      const issuer = makeIssuer()
      const gateway = await start(port => guarded(port, `'${issuer.jwks}'`))
      const field = token => `authorization: Bearer ${token}\r\n`
      const right = await ask(raw, gateway.port, field(issuer.token({ aud: 'api' })))
      holds(statusOf(right) === 200, `the token itself: ${JSON.stringify(right.slice(0, 60))}`)
      let count = 0
      for (const [what, tokens] of Object.entries({ ...confusions(issuer, elsewhere.host), ...misfits(issuer) })) {
        for (const token of tokens) {
          const status = statusOf(await ask(raw, gateway.port, field(token)))
          holds(status === 401 || status === 431, `${what}: ${token.slice(0, 120)}: ${status}`)
          count++
        }
      }
      holds(elsewhere.requests.length === 0, 'an address in a token was called')
      return `${count} of ${count} refused`
    },
  },
  {
    name: 'Two credentials in one request: the field, query parameter or cookie of a token or key twice, the valid one first or last, under another case or spelling',
    defends: 'a credential that stands there twice is none',
    async run({ start, raw, holds }) {
      const issuer = makeIssuer()
      const [good, bad] = [issuer.token({ aud: 'api' }), makeIssuer().token({ aud: 'api' })]
      const places = {
        header: [', location: {header: {name: x-token}}', (a, b) => [`x-token: ${a}\r\nX-Token: ${b}\r\n`, '/']],
        query: [
          ', location: {queryParameter: {name: token}}',
          (a, b) => ['', `/?token=${a}&token=${b}`],
          (a, b) => ['', `/?token=${a}&%74oken=${b}`],
        ],
        cookie: [
          ', location: {cookie: {name: token}}',
          (a, b) => [`cookie: token=${a}; token=${b}\r\n`, '/'],
          (a, b) => [`cookie: token=${a}\r\ncookie: token=${b}\r\n`, '/'],
        ],
        authorization: [
          '',
          (a, b) => [`authorization: Bearer ${a}\r\nAuthorization: Bearer ${b}\r\n`, '/'],
          (a, b) => [`authorization: Bearer ${a}, Bearer ${b}\r\n`, '/'],
        ],
      }
      let count = 0
      for (const [place, [location, ...forms]] of Object.entries(places)) {
        const gateway = await start(port => guarded(port, `'${issuer.jwks}'`, location))
        for (const form of forms) {
          for (const [first, second] of [
            [good, bad],
            [bad, good],
            [good, good],
          ]) {
            const reply = await ask(raw, gateway.port, ...form(first, second))
            holds(statusOf(reply) >= 400, `${place}: ${JSON.stringify(reply.slice(0, 60))}`)
            count++
          }
        }
      }
      return `${count} of ${count} refused`
    },
  },
  {
    name: 'A key set whose server serves pages, halves, 20 MB, other keys under known names, redirects or nothing at all',
    defends:
      'the keys that there were stay, new ones come from whole key sets of at most 1 MiB, and nobody waits for ever',
    async run({ start, backend, raw, holds }) {
      const issuer = makeIssuer()
      const fresh = makeIssuer({ kid: 'unknown' })
      const asks = { answer: res => res.end(issuer.jwks) }
      const server = await backend((_req, res) => asks.answer(res))
      const gateway = await start(port => guarded(port, `{url: 'http://${server.host}/keys', cacheDuration: 1s}`))
      const status = async of =>
        statusOf(
          await raw(
            gateway.port,
            `GET / HTTP/1.1\r\nhost: a.test\r\nconnection: close\r\nauthorization: Bearer ${of.token({ aud: 'api', jti: Math.random() })}\r\n\r\n`,
            {
              quiet: 20_000,
            },
          ),
        )
      holds((await status(issuer)) === 200, 'the first token is refused')
      const garbage = {
        'a page': res => res.end('<html>sign in</html>'),
        'half a set': res => res.end(issuer.jwks.slice(0, 40)),
        'too much': res => res.end(`{"keys":[${' '.repeat(20_000_000)}]}`),
        'a list': res => res.end('[]'),
        'no object': res => res.end('null'),
        'keys that are none': res => res.end('{"keys":[null,1,"x",{"kty":"oct","k":"AA","kid":"unknown"}]}'),
        'a redirect': res => res.writeHead(302, { location: `http://${server.host}/other` }).end(),
        500: res => res.writeHead(500).end(),
        'a cut connection': res => res.destroy(),
      }
      for (const [what, answer] of Object.entries(garbage)) {
        asks.answer = answer
        await new Promise(done => setTimeout(done, 1100))
        holds((await status(fresh)) === 401, `${what}: an unknown key passes`)
        holds((await status(issuer)) === 200, `${what}: the known key is refused`)
      }
      asks.answer = () => {}
      await new Promise(done => setTimeout(done, 1100))
      holds((await status(issuer)) === 200, 'silence: the known key is refused')
      return `${Object.keys(garbage).length + 1} of ${Object.keys(garbage).length + 1} changed nothing, ${server.requests.length} fetches`
    },
  },
]
