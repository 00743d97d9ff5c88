import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { expect, test } from 'vitest'
import { parseKeySet } from '../../src/auth/key-set.ts'

const rsa = jwkOf('rsa', { modulusLength: 2048 })
const ec = jwkOf('ec', { namedCurve: 'P-256' })
const ed = jwkOf('ed25519')

function jwkOf(type: 'rsa' | 'ec' | 'ed25519', options: object = {}): Record<string, unknown> & { kid: string } {
  const make = generateKeyPairSync as unknown as (type: string, options: object) => { publicKey: KeyObject }
  return { ...make(type, options).publicKey.export({ format: 'jwk' }), kid: 'a' }
}

const problemsOf = (...keys: unknown[]) => parseKeySet(JSON.stringify({ keys }))
const base64url = (hex: string) =>
  Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex').toString('base64url')
const number = (text: unknown) => BigInt(`0x${Buffer.from(text as string, 'base64url').toString('hex')}`)
const EXPONENT = 'has a public exponent that makes signatures forgeable: it must be odd, and from 3 to 2^32'

/** A number with the fingerprint of the weak generator, of 2048 bits. */
function rocaModulus(): string {
  const primes = Array.from({ length: 167 }, (_, i) => i).filter(
    n => n > 2 && ![2, 3, 5, 7, 11].some(p => n !== p && n % p === 0),
  )
  const product = primes.reduce((all, prime) => all * BigInt(prime), 167n)
  let value = 65537n ** 9n % product
  value += product * (2n ** 2047n / product + 1n)
  return base64url((value % 2n === 0n ? value + product : value).toString(16))
}

test.each<[string, Record<string, unknown>, string]>([
  ['exponent 1', { ...rsa, e: 'AQ' }, EXPONENT],
  ['exponent 2', { ...rsa, e: 'Ag' }, EXPONENT],
  ['an even exponent', { ...rsa, e: 'AQAA' }, EXPONENT],
  ['exponent 0', { ...rsa, e: 'AA' }, EXPONENT],
  ['a huge exponent', { ...rsa, e: rsa.n }, EXPONENT],
  ['exponent 1 after leading zeros', { ...rsa, e: 'AAAB' }, EXPONENT],
  ['no exponent', { ...rsa, e: undefined }, 'is not a valid key'],
  ['a padded exponent', { ...rsa, e: 'AQ==' }, 'is not a valid key'],
  ['a short modulus', jwkOf('rsa', { modulusLength: 1024 }), 'has 1024 bits: RSA keys need at least 2048'],
  [
    'a short modulus after leading zeros',
    { ...rsa, n: base64url(`${'00'.repeat(200)}${'ff'.repeat(60)}`) },
    'has 480 bits: RSA keys need at least 2048',
  ],
  ['an oversized modulus', { ...rsa, n: base64url('ff'.repeat(4096)) }, 'has 32768 bits: RSA keys have at most 16384'],
  [
    'an even modulus',
    { ...rsa, n: base64url((number(rsa.n) + 1n).toString(16)) },
    'has a modulus with a small factor: it is not a valid RSA key',
  ],
  [
    'the ROCA fingerprint',
    { ...rsa, n: rocaModulus() },
    'has the weakness ROCA (CVE-2017-15361): its private key can be computed',
  ],
  ['a point off its curve', { ...ec, y: ec.x }, 'is not a valid key'],
  ['a coordinate that is too short', { ...ec, x: 'AQ' }, 'is not a valid key'],
  [
    'the point at infinity',
    { ...ec, x: base64url('00'.repeat(32)), y: base64url('00'.repeat(32)) },
    'is not a valid key',
  ],
  [
    'a point of order 1',
    { ...ed, x: base64url(`01${'00'.repeat(31)}`) },
    'has a point of small order: anybody could sign for it',
  ],
  [
    'a point of order 1 with the sign bit set',
    { ...ed, x: base64url(`01${'00'.repeat(30)}80`) },
    'has a point of small order: anybody could sign for it',
  ],
  [
    'a point of order 8',
    { ...ed, x: base64url('c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa') },
    'has a point of small order: anybody could sign for it',
  ],
  [
    'a use that contradicts key_ops',
    { ...rsa, use: 'enc', key_ops: ['verify'] },
    'is for signatures by its `key_ops` and not by its `use`',
  ],
  [
    'key_ops that contradict use',
    { ...rsa, use: 'sig', key_ops: ['encrypt'] },
    'is for signatures by its `use` and not by its `key_ops`',
  ],
  [
    'key_ops for both purposes',
    { ...rsa, key_ops: ['verify', 'encrypt'] },
    'is for signatures and for encryption by its `key_ops`',
  ],
  ['a duplicate operation', { ...rsa, key_ops: ['verify', 'verify'] }, 'has the same value twice in `key_ops`'],
  ['key_ops as a string', { ...rsa, key_ops: 'verify' }, 'has a `key_ops` that is not a list'],
  [
    'an encryption algorithm',
    { ...rsa, use: 'sig', alg: 'RSA-OAEP' },
    'has the algorithm `RSA-OAEP`, which a key of type RSA cannot verify',
  ],
  [
    'an algorithm for another curve',
    { ...ec, alg: 'ES384' },
    'has the algorithm `ES384`, which a key of type EC P-256 cannot verify',
  ],
])('skips a key with %s', (_, key, reason) => {
  const { keys, problems } = problemsOf(key)
  expect(keys.size).toBe(0)
  expect(problems).toEqual([`key 1 of the set (\`a\`) ${reason}`])
})

test('silently skips encryption keys', () => {
  const { keys, problems } = problemsOf(
    { ...rsa, use: 'enc' },
    { ...ec, key_ops: ['deriveKey'] },
    { ...rsa, alg: 'RSA-OAEP' },
  )
  expect([keys.size, problems]).toEqual([0, []])
})

test('reports a duplicate key ID for the same algorithm', () => {
  const { keys, problems } = problemsOf(rsa, ec, { ...rsa, n: jwkOf('rsa', { modulusLength: 2048 }).n })
  expect(keys.get('a')).toHaveLength(2)
  expect(problems).toEqual(['key 3 of the set has the `kid` of an earlier key for the same algorithm: `a`'])
})

test.each([
  ['RSA', { ...rsa, e: 'Aw' }],
  ['EC', { ...ec, use: 'sig', key_ops: ['verify'] }],
  ['OKP', ed],
])('accepts a valid %s key', (_, key) => {
  expect(problemsOf(key).problems).toEqual([])
})
