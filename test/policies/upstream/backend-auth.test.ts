import { describe, expect, test } from 'vitest'
import type { Attempt } from '../../../src/http/exchange.ts'
import { backendAuth } from '../../../src/policies/upstream/backend-auth.ts'
import { compile, exchange, fields, type Given, hooksOf } from '../policy-fixture.ts'

const AUTHORITY = { host: 'a:1', clientAuth: { method: 'clientSecretPost', clientId: 'c' } }
const CROSSING = { identityProvider: AUTHORITY, resourceAuthorizationServer: AUTHORITY, audience: 'x' }
const ATTEMPT: Attempt = { index: 0, target: 'b', startedAt: 0 }

/** What the backend gets: its path, then its header fields. */
function sent(spec: unknown, given: Given = {}, rawToken?: string): string[] {
  const x = exchange(given)
  if (rawToken !== undefined) x.auth.rawToken = rawToken
  const hooks = hooksOf(backendAuth, spec)
  // A retry runs the hook again over what the first one left.
  for (let i = 0; i < 2; i++) expect(hooks.attempt?.(x, ATTEMPT)).toBe(undefined)
  return [x.request.path, ...fields(x.request.headers.raw)]
}

describe('a fixed key', () => {
  test.each<[string, unknown, Given, string[]]>([
    ['as a plain string', { key: 'k' }, {}, ['/', 'authorization: Bearer k']],
    ['in a value field', { key: { value: 'k' } }, {}, ['/', 'authorization: Bearer k']],
    [
      'instead of the client’s',
      { key: 'k' },
      { headers: ['Authorization', 'Basic x'] },
      ['/', 'authorization: Bearer k'],
    ],
    [
      'in a separate header, without a prefix',
      { key: { value: 'k', location: { header: { name: 'X-Api-Key' } } } },
      { headers: ['x-api-key', 'client'] },
      ['/', 'x-api-key: k'],
    ],
    [
      'with another prefix',
      { key: { value: 'k', location: { header: { name: 'authorization', prefix: 'Token ' } } } },
      {},
      ['/', 'authorization: Token k'],
    ],
    [
      'in the query, encoded, in place of the client’s',
      { key: { value: 'a&b', location: { queryParameter: { name: 'key' } } } },
      { path: '/p?key=client&q=1' },
      ['/p?q=1&key=a%26b'],
    ],
    [
      'as the only query parameter',
      { key: { value: 'k', location: { queryParameter: { name: 'key' } } } },
      { path: '/p' },
      ['/p?key=k'],
    ],
    [
      'in a cookie, alongside the others',
      { key: { value: 'k', location: { cookie: { name: 's' } } } },
      { headers: ['cookie', 'a=1; s=client', 'cookie', 'b=2'] },
      ['/', 'cookie: a=1; b=2; s=k'],
    ],
  ])('%s', (_what, spec, given, expected) => expect(sent(spec, given)).toEqual(expected))

  test('can be read from a file, trimmed of whitespace', () => {
    for (const key of [{ file: 'k' }, { value: { file: 'k' } }]) {
      const { hooks, findings } = compile(backendAuth, { key }, undefined, { k: ' secret\n' })
      const x = exchange()
      hooks.attempt?.(x, ATTEMPT)
      expect(findings).toEqual([])
      expect(fields(x.request.headers.raw)).toEqual(['authorization: Bearer secret'])
    }
  })

  test('from an empty file is a finding', () => {
    const { findings } = compile(backendAuth, { key: { file: 'k' } }, undefined, { k: '\n' })
    expect(findings).toEqual(['GW207 key.file the file `k` is empty'])
  })

  test('from a missing file sends the request without a credential', () => {
    const { hooks } = compile(backendAuth, { key: { file: 'k' } })
    const x = exchange()
    expect(hooks.attempt?.(x, ATTEMPT)).toBe(undefined)
    expect(x.request.headers.raw).toEqual([])
  })
})

describe('passthrough', () => {
  test('restores the credential that a policy validated', () => {
    expect(sent({ passthrough: {} }, {}, 'jwt')).toEqual(['/', 'authorization: Bearer jwt'])
    expect(sent({ passthrough: { location: { header: { name: 'x-token' } } } }, {}, 'jwt')).toEqual([
      '/',
      'x-token: jwt',
    ])
  })
  test('does nothing without a validated credential', () => {
    expect(sent({ passthrough: {} }, { headers: ['authorization', 'Bearer x'] })).toEqual([
      '/',
      'authorization: Bearer x',
    ])
  })
})

test('additional credentials are sent in their own headers', () => {
  const credentials = [
    { location: { header: { name: 'x-one' } }, key: '1' },
    { location: { header: { name: 'x-two' } }, key: '2' },
  ]
  expect(sent({ key: 'k', credentials })).toEqual(['/', 'authorization: Bearer k', 'x-one: 1', 'x-two: 2'])
  expect(sent({ credentials })).toEqual(['/', 'x-one: 1', 'x-two: 2'])
})

describe('findings', () => {
  test.each<[unknown, string]>([
    [{}, 'GW107 key'],
    [{ key: 'k', passthrough: {} }, 'GW108 passthrough'],
    [{ key: { value: 'k', file: 'f' } }, 'GW108 key.file'],
    [{ key: { value: 'k', location: { header: { name: 'a b' } } } }, 'GW106 key.location.header.name'],
    [{ key: { value: 'k', location: { header: { name: 'a' }, cookie: { name: 'b' } } } }, 'GW108 key.location.cookie'],
    [{ key: { value: 'k', location: { expression: 'jwt.sub' } } }, 'GW102 key.location.expression'],
    [{ aws: { accessKeyId: 'a' } }, 'GW111 aws.accessKeyId'],
    [{ gcp: { audience: 'a' } }, 'GW111 gcp.audience'],
    [{ oauthTokenExchange: { host: 'a:1', clientAuth: { clientId: 'c' } } }, 'GW111 oauthTokenExchange.clientAuth.'],
    [
      { oauthTokenExchange: { host: 'a:1', requestedTokenType: 'urn:x:y' } },
      'GW104 oauthTokenExchange.requestedTokenType',
    ],
    [
      { oauthTokenExchange: { host: 'a:1', subjectToken: { tokenType: 'Opaque' } } },
      'GW106 oauthTokenExchange.subjectToken.tokenType',
    ],
    [
      { oauthTokenExchange: { host: 'a:1', requestedTokenType: 'IdJag' } },
      'GW111 oauthTokenExchange.requestedTokenType',
    ],
    [
      {
        oauthTokenExchange: { host: 'a:1', grantType: 'jwtBearer', actorToken: { source: { cookie: { name: 'a' } } } },
      },
      'GW111 oauthTokenExchange.actorToken',
    ],
    [
      { oauthTokenExchange: { host: 'a:1', actorToken: { source: { cookie: { name: 'a' } }, enforceMayAct: true } } },
      'GW111 oauthTokenExchange.actorToken',
    ],
    [
      { oauthTokenExchange: { host: 'a:1', additionalParams: { scope: '"admin"' } } },
      'GW106 oauthTokenExchange.additionalParams.scope',
    ],
    [
      { crossAppAccess: { ...CROSSING, subjectToken: { tokenType: 'IdJag' } } },
      'GW111 crossAppAccess.subjectToken.tokenType',
    ],
    [
      { crossAppAccess: { ...CROSSING, identityProvider: { host: 'a:1' } } },
      'GW103 crossAppAccess.identityProvider.clientAuth',
    ],
  ])('%j', (spec, finding) => {
    const found = compile(backendAuth, spec).findings
    expect(found.map(each => each.split(' ').slice(0, 2).join(' '))).toEqual([finding])
  })

  test('never show the key', () => {
    const { findings } = compile(backendAuth, { key: { vlaue: 's3cr3t', value: 's3cr3t', file: 's3cr3t' } })
    expect(findings.length).toBeGreaterThan(0)
    expect(findings.join()).not.toContain('s3cr3t')
  })
})
