// node bench/jwt.mjs: processor time that `jwtAuth` takes for a token, fresh and seen before, over what the verification
// of its signature alone takes. All threads count; medians of rounds.
import { generateKeyPairSync, sign, verify } from 'node:crypto'
import { JwtVerifier } from '../src/auth/jwt.ts'
import { parseKeySet } from '../src/auth/key-set.ts'

const COUNT = 2000
const ROUNDS = 7
const encode = value => Buffer.from(JSON.stringify(value)).toString('base64url')
const KEYS = {
  RS256: generateKeyPairSync('rsa', { modulusLength: 2048 }),
  ES256: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
}

for (const [alg, { publicKey, privateKey }] of Object.entries(KEYS)) {
  const jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'k', alg }
  const { keys } = parseKeySet(JSON.stringify({ keys: [jwk] }))
  const source = { keys: () => keys, trustedFor: undefined, refresh: () => undefined }
  const provider = { issuer: 'https://issuer.test', audiences: ['api'], requiredClaims: ['exp'], keys: source }
  const rounds = []
  for (let round = 0; round < ROUNDS; round++) {
    const tokens = Array.from({ length: COUNT }, (_, i) => tokenOf(alg, privateKey, `${round} ${i}`))
    const verifier = new JwtVerifier([provider], { now: () => Date.now(), mono: () => performance.now() })
    await verifier.verify(tokens[0])
    const bare = await spent(() => {
      for (const token of tokens) checkSignature(token, publicKey)
    })
    const fresh = await spent(async () => {
      for (const token of tokens) await verifier.verify(token)
    })
    const seen = await spent(() => {
      for (const token of tokens) verifier.known(token)
    })
    rounds.push({ bare, fresh, seen })
  }
  const median = name =>
    rounds
      .map(each => each[name])
      .sort((a, b) => a - b)
      [ROUNDS >> 1].toFixed(1)
  process.stdout.write(
    `${alg}: signature ${median('bare')} µs, fresh ${median('fresh')} µs, seen ${median('seen')} µs\n`,
  )
}

/** µs for each token. */
async function spent(work) {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / COUNT
}

function tokenOf(alg, key, jti) {
  const claims = { iss: 'https://issuer.test', aud: 'api', sub: 'ann', exp: 33_000_000_000, jti, scope: 'read write' }
  const text = `${encode({ alg, kid: 'k', typ: 'JWT' })}.${encode(claims)}`
  return `${text}.${sign('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`
}

function checkSignature(token, key) {
  const at = token.lastIndexOf('.')
  const signature = Buffer.from(token.slice(at + 1), 'base64url')
  return verify('sha256', Buffer.from(token.slice(0, at)), { key, dsaEncoding: 'ieee-p1363' }, signature)
}
