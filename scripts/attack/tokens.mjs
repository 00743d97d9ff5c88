import { createHash, generateKeyPairSync, sign } from 'node:crypto'

const ISSUER = 'https://issuer.test'
const CLAIMS = { iss: ISSUER, sub: 'mallory', exp: 33_000_000_000 }
const encode = value => Buffer.from(JSON.stringify(value)).toString('base64url')
const jwkOf = key => ({ ...key.export({ format: 'jwk' }), kid: 'k' })

const guarded = (port, jwks) =>
  `binds: [{port: ${port}, listeners: [{routes: [{policies: {jwtAuth: {mode: strict, issuer: '${ISSUER}', jwks: ${jwks}}, directResponse: {status: 200, body: in}}}]}]}]`
const ask = (raw, port, field) =>
  raw(port, `GET / HTTP/1.1\r\nhost: a.test\r\nconnection: close\r\nauthorization: ${field}\r\n\r\n`)
const statusOf = reply => Number(reply.slice(9, 12))

/** Signatures that anybody can make, each with the key that it would verify with. */
function forgeries() {
  const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const start = alg => `${encode({ alg, kid: 'k' })}.${encode(CLAIMS)}`
  const digest = createHash('sha256').update(start('RS256')).digest('hex')
  const padded = `0001${'ff'.repeat(256 - 3 - 19 - 32)}003031300d060960864801650304020105000420${digest}`
  const identity = Buffer.concat([Buffer.of(1), Buffer.alloc(31)])
  return [
    [
      'RSA, exponent 1',
      { ...jwkOf(publicKey), e: 'AQ', alg: 'RS256' },
      `${start('RS256')}.${Buffer.from(padded, 'hex').toString('base64url')}`,
    ],
    [
      'Ed25519, a point of small order',
      { kty: 'OKP', crv: 'Ed25519', x: identity.toString('base64url'), kid: 'k' },
      `${start('EdDSA')}.${Buffer.concat([identity, Buffer.alloc(32)]).toString('base64url')}`,
    ],
  ]
}

/** @type {readonly import('./areas.mjs').Attack[]} */
export const tokens = [
  {
    name: 'Tokens forged for keys that a key set should not have: RSA with an exponent of 1, Ed25519 points of small order',
    defends: 'such keys are left out where the set is fetched, and an error where it stands in the file',
    async run({ start, backend, raw, cli, folder, holds }) {
      const cases = forgeries()
      for (const [what, key, token] of cases) {
        const set = JSON.stringify({ keys: [key] })
        const server = await backend((_, res) => res.end(set))
        const gateway = await start(port => guarded(port, `{url: 'http://${server.host}/keys'}`))
        const reply = await ask(raw, gateway.port, `Bearer ${token}`)
        holds(statusOf(reply) === 401, `${what}: ${JSON.stringify(reply.slice(0, 60))}`)
        const { code, stdout } = await cli(['validate', 'c.yaml'], {
          cwd: folder({ 'c.yaml': guarded(8080, `'${set}'`) }),
        })
        holds(code === 1 && stdout.includes('GW106'), `${what}: validate ends with ${code}`)
      }
      return `${cases.length} of ${cases.length} answered 401, and found by validate`
    },
  },
  {
    name: 'One signed token written in many ways: padding, bits behind the last byte, white space, the other alphabet',
    defends: 'one form is taken, the one of RFC 7515',
    async run({ start, raw, holds }) {
      const { publicKey, privateKey } = generateKeyPairSync('ed25519')
      const text = `${encode({ alg: 'EdDSA', kid: 'k' })}.${encode(CLAIMS)}`
      const signature = sign(null, Buffer.from(text), privateKey).toString('base64url')
      const [header, claims] = text.split('.')
      const gateway = await start(port => guarded(port, `'${JSON.stringify({ keys: [jwkOf(publicKey)] })}'`))
      const right = await ask(raw, gateway.port, `Bearer ${header}.${claims}.${signature}`)
      holds(statusOf(right) === 200, `the token itself: ${JSON.stringify(right.slice(0, 60))}`)
      const others = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
        .split('')
        .map(last => `${header}.${claims}.${signature.slice(0, -1)}${last}`)
        .filter(token => !token.endsWith(signature))
      others.push(
        `${header}.${claims}.${signature}==`,
        `${header}=.${claims}.${signature}`,
        `${header}.${claims}..${signature}`,
      )
      others.push(
        `${header}.${claims}.${signature.slice(0, 40)} ${signature.slice(40)}`,
        `${header}.${claims}.${signature}.`,
      )
      for (const token of others) {
        const reply = await ask(raw, gateway.port, `Bearer ${token}`)
        holds(statusOf(reply) === 401, `${token}: ${JSON.stringify(reply.slice(0, 60))}`)
      }
      return `${others.length} of ${others.length} answered 401`
    },
  },
  {
    name: 'Wrong passwords against bcrypt, many at once, to hold everybody else',
    defends: 'hashes are computed in threads; past 60 wrong ones in a minute an address is answered 429',
    async run({ start, raw, holds }) {
      const hash = '$2y$10$$abcdefghijklmnopqrstuuKkqQjTFSxMZ1yEGkzo9G/5mW2gvlEJe'
      const policies = `basicAuth: {htpasswd: 'alice:${hash}'}, directResponse: {status: 200, body: in}`
      const gateway = await start(
        port =>
          `binds: [{port: ${port}, listeners: [{routes: [{matches: [{path: {exact: /in}}], policies: {${policies}}}, {policies: {directResponse: {status: 200, body: open}}}]}]}]`,
      )
      const guess = i =>
        raw(
          gateway.port,
          `GET /in HTTP/1.1\r\nhost: a.test\r\nconnection: close\r\nauthorization: Basic ${btoa(`alice:${i}`)}\r\n\r\n`,
          { quiet: 20_000 },
        )
      const guesses = Array.from({ length: 200 }, (_, i) => guess(i))
      let slowest = 0
      for (let i = 0; i < 20; i++) {
        const from = performance.now()
        const reply = await raw(gateway.port, 'GET / HTTP/1.1\r\nhost: a.test\r\nconnection: close\r\n\r\n', {
          quiet: 20_000,
        })
        holds(statusOf(reply) === 200, `another route: ${JSON.stringify(reply.slice(0, 60))}`)
        slowest = Math.max(slowest, performance.now() - from)
      }
      const statuses = (await Promise.all(guesses)).map(statusOf)
      holds(
        statuses.every(status => [401, 429, 503].includes(status)),
        `answered ${[...new Set(statuses)].join(', ')}`,
      )
      const checked = statuses.filter(status => status === 401).length
      holds(checked <= 60, `${checked} passwords were checked`)
      return `${checked} of 200 were checked; the slowest other request took ${Math.round(slowest)} ms`
    },
  },
]
