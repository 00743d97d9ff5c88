import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { decodeProtectedHeader, importSPKI, jwtVerify } from 'jose'
import { describe, expect, test } from 'vitest'
import { ManualClock } from '../engine/manual-clock.ts'
import { startGateway } from '../helpers/gateway.ts'
import { startUpstream } from '../helpers/upstream.ts'

const pairOf = ({ publicKey, privateKey }: { readonly publicKey: KeyObject; readonly privateKey: KeyObject }) => ({
  public: publicKey.export({ type: 'spki', format: 'pem' }) as string,
  private: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
})
const rsa = pairOf(generateKeyPairSync('rsa', { modulusLength: 2048 }))
const weak = pairOf(generateKeyPairSync('rsa', { modulusLength: 1024 }))
const p256 = pairOf(generateKeyPairSync('ec', { namedCurve: 'P-256' }))
const p384 = pairOf(generateKeyPairSync('ec', { namedCurve: 'P-384' }))

async function open(settings: string, key: string, clock?: ManualClock) {
  const upstream = await startUpstream((req, res) => res.end(JSON.stringify({ headers: req.headers, path: req.url })))
  const gateway = await startGateway(
    `binds:
- port: 8080
  listeners:
  - routes:
    - backends:
      - host: ${upstream.host}
        policies: {backendAuth: {jwtSign: {signingKey: {file: key.pem}, ${settings}}}}
`,
    { files: { 'key.pem': key }, ...(clock ? { clock } : {}) },
  ).catch(async error => {
    await upstream[Symbol.asyncDispose]()
    throw error
  })
  return {
    gateway,
    async ask(headers: Record<string, string> = {}) {
      const reply = await fetch(gateway.url(8080), { headers })
      const body = await reply.text()
      return { status: reply.status, ...(reply.ok ? JSON.parse(body) : { body }) }
    },
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]()
      await upstream[Symbol.asyncDispose]()
    },
  }
}

test.each([
  ['RS256', rsa],
  ['RS384', rsa],
  ['RS512', rsa],
  ['PS256', rsa],
  ['ES256', p256],
  ['ES384', p384],
])('%s: the backend can verify the token', async (alg, key) => {
  await using open_ = await open(`alg: ${alg}, kid: k1, claims: {sub: '"gw"', path: request.path}`, key.private)
  const { headers } = await open_.ask({ authorization: 'Bearer of-the-client' })
  const token = headers.authorization.replace(/^Bearer /, '')
  expect(decodeProtectedHeader(token)).toEqual({ alg, typ: 'JWT', kid: 'k1' })
  const { payload } = await jwtVerify(token, await importSPKI(key.public, alg))
  expect(payload).toMatchObject({ sub: 'gw', path: '/' })
  expect(payload.exp! - payload.iat!).toBe(300)
})

test('a token is reused for half its lifetime with the same claims', async () => {
  const clock = new ManualClock()
  await using open_ = await open(`ttl: 60s, claims: {who: 'request.headers["x-who"]'}`, rsa.private, clock)
  const token = async (who: string) => (await open_.ask({ 'x-who': who })).headers.authorization
  const first = await token('a')
  expect(await token('a')).toBe(first)
  expect(await token('b')).not.toBe(first)
  clock.advance(29_999)
  expect(await token('a')).toBe(first)
  clock.advance(2)
  expect(await token('a')).not.toBe(first)
})

test('the token can go in another header and is never logged', async () => {
  await using open_ = await open('location: {header: {name: x-proof}}', rsa.private)
  const { headers } = await open_.ask()
  expect(headers['x-proof']).toMatch(/^ey/)
  expect(headers.authorization).toBeUndefined()
  expect(open_.gateway.logged.join('')).not.toContain(headers['x-proof'])
})

test('a claim that cannot be evaluated fails the call', async () => {
  await using open_ = await open(`claims: {who: 'jwt.sub'}`, rsa.private)
  expect((await open_.ask()).status).toBe(500)
})

describe('is rejected at startup', () => {
  test.each([
    ['a key of another type', 'alg: ES256', rsa.private, 'needs an EC key on P-256'],
    ['a key on another curve', 'alg: ES384', p256.private, 'needs an EC key on P-384'],
    ['an EC key for RSA', 'alg: RS256', p256.private, 'needs an RSA key'],
    ['a short key', 'alg: RS256', weak.private, 'fewer than 2048 bits'],
    ['text that is not a key', 'alg: RS256', 'hello', 'not a PEM private key'],
    ['a public key', 'alg: RS256', rsa.public, 'not a PEM private key'],
    ['a claim set by the gateway', `claims: {exp: '1'}`, rsa.private, 'set by the gateway itself'],
  ])('%s', async (_what, settings, key, words) => {
    await expect(open(settings, key)).rejects.toThrow(words)
  })
})
