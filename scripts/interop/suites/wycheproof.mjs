// Wycheproof's JSON web keys and signatures through the verifier of `jwtAuth`. Its payloads are not claims: a token that
// is refused for those alone counts as accepted, for that is looked at behind a signature that fits.
import { readFileSync } from 'node:fs'
import { JwtVerifier } from '../../../src/auth/jwt.ts'
import { parseKeySet } from '../../../src/auth/key-set.ts'
import { missingData, suiteFolder } from '../shared-suites.mjs'

export const name = 'wycheproof'
export const title = 'Wycheproof (C2SP/wycheproof), JSON web keys and signatures against jwtAuth'

const DIFFERENCES = [
  [({ keys }) => keys.every(({ kty }) => kty === 'oct'), 'symmetric keys are refused: who can verify could also sign'],
  [({ keys }) => keys.some(({ alg }) => alg === 'ES521'), '`ES521` is no algorithm: RFC 7518 calls it ES512'],
  [
    ({ keys, header }) => keys.some(({ alg }) => alg !== undefined && alg !== header.alg),
    'the key is for another algorithm than the token names',
  ],
]

export async function needs() {
  return missingData('wycheproof')
}

export async function run() {
  const outcome = { passed: 0, known: [], failed: [] }
  for (const file of ['json_web_key_test', 'json_web_signature_test']) {
    for (const group of JSON.parse(readFileSync(`${suiteFolder('wycheproof')}${file}.json`, 'utf8')).testGroups) {
      const given = read(group.public ?? group.private)
      const keys = given.keys ?? [given]
      for (const test of group.tests) {
        const refused = await refusal(test.jws, keys)
        const accepted = refused === undefined
        const id = `${file} ${test.tcId} ${test.comment}`
        const known =
          test.result === 'valid' && DIFFERENCES.find(([applies]) => applies({ keys, header: headerOf(test.jws) }))
        if (accepted === (test.result === 'valid')) outcome.passed++
        else if (known) outcome.known.push({ case: id, reason: known[1] })
        else outcome.failed.push({ case: id, reason: accepted ? 'accepted' : refused })
      }
    }
  }
  return outcome
}

function read(value) {
  return typeof value === 'string' ? JSON.parse(value) : value
}

function headerOf(jws) {
  try {
    return JSON.parse(Buffer.from(jws.split('.')[0], 'base64url').toString())
  } catch {
    return {}
  }
}

/** Why the signature is refused; undefined when it is accepted. */
async function refusal(jws, entries) {
  const { keys } = parseKeySet(JSON.stringify({ keys: entries }))
  const source = { keys: () => keys, trustedFor: undefined, refresh: () => undefined }
  const provider = { issuer: 'https://issuer.test', audiences: undefined, requiredClaims: [], keys: source }
  try {
    await new JwtVerifier([provider], { now: () => Date.now(), mono: () => performance.now() }).verify(jws)
    return undefined
  } catch (error) {
    return /its claims are not a JSON object|it has no claim/.test(error.message) ? undefined : error.message
  }
}
