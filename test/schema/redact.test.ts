import { describe, expect, test } from 'vitest'
import { standalone } from '../../src/config/standalone/standalone.ts'
import { headerChangeFields } from '../../src/policies/parts/header-changes.ts'
import { json, lazy, list, map, object, opt, type Schema, secret, shapes, string } from '../../src/schema/builder.ts'
import { Placeholder } from '../../src/schema/placeholder.ts'
import { REDACTED, redact } from '../../src/schema/redact.ts'
import { fileOrInline } from '../../src/schema/scalars.ts'
import { sample } from './sample.ts'

const SECRET = 's3cr3t-canary'
const PLAIN = 'plain-text'

describe('a complete config', () => {
  test.each([1, 2, 3, 4, 5])('redacts every secret and nothing else (variant %i)', seed => {
    let plain = 0
    let secrets = 0
    const document = sample(standalone as Schema<unknown>, seed, leaf => {
      if (leaf.secret) secrets++
      else plain++
      return leaf.secret ? SECRET : PLAIN
    })
    const shown = JSON.stringify(redact(standalone as Schema<unknown>, document))
    expect(secrets).toBeGreaterThan(20)
    expect(shown.split(SECRET)).toHaveLength(1)
    expect(shown.split(REDACTED)).toHaveLength(secrets + 1)
    expect(shown.split(PLAIN)).toHaveLength(plain + 1)
  })

  test('declares all known secrets as secret', () => {
    const found = new Set<string>()
    for (let seed = 1; seed <= 12; seed++) {
      sample(standalone as Schema<unknown>, seed, leaf => {
        if (leaf.secret) found.add(leaf.path.slice(-2).join('.'))
        return ''
      })
    }
    expect([...found]).toEqual(
      expect.arrayContaining([
        'session.key',
        'backendAuth.key',
        'key.value',
        '[].key',
        'aws.secretAccessKey',
        'clientSecret.client_secret',
        'jwtSign.signingKey',
        'clientAuth.clientSecret',
        'oidc.clientSecret',
        'mcpAuthentication.clientSecret',
        'basicAuth.htpasswd',
        'params.apiKey',
        'env.{}',
      ]),
    )
  })
})

test('redacts credential headers set by a header modifier', () => {
  const { add, set } = headerChangeFields
  const schema = object('modifier', { add, set }) as Schema<unknown>
  const shown = redact(schema, {
    set: { Authorization: `Bearer ${SECRET}`, 'x-team': PLAIN, 'X-API-Key': SECRET },
    add: { cookie: SECRET, via: new Placeholder('VIA', 'gw') },
  })
  expect(shown).toEqual({
    set: { Authorization: REDACTED, 'x-team': PLAIN, 'X-API-Key': REDACTED },
    add: { cookie: REDACTED, via: 'gw' },
  })
})

describe('values that do not match the schema', () => {
  const schema = object('thing', {
    name: opt(string(), 'Name.'),
    key: opt(secret(), 'Key.', { aliases: ['apiKey'] }),
    file: opt(fileOrInline({ secret: true }), 'Key.'),
    any: opt(json, 'Any.'),
    each: opt(map(secret()), 'Each.'),
    many: opt(list(secret()), 'Many.'),
  })

  test.each<[string, unknown, unknown]>([
    ['another spelling', { apiKey: SECRET }, { apiKey: REDACTED }],
    ['a misspelt key', { kye: SECRET }, { kye: REDACTED }],
    ['a secret of another type', { key: 12_345 }, { key: REDACTED }],
    ['a secret in a list', { key: [SECRET] }, { key: REDACTED }],
    ['a map where text belongs', { name: { nested: SECRET } }, { name: REDACTED }],
    ['text where a map belongs', { each: SECRET }, { each: REDACTED }],
    ['text where a list belongs', { many: SECRET }, { many: REDACTED }],
    ['a list where an object belongs', [SECRET], REDACTED],
    ['a path stays, an inline key does not', { file: { file: 'key.txt' } }, { file: { file: 'key.txt' } }],
    ['an inline key', { file: SECRET }, { file: REDACTED }],
    ['a value of a map', { each: { a: SECRET } }, { each: { a: REDACTED } }],
    ['free-form values stay', { any: { a: [1, 'x', null] } }, { any: { a: [1, 'x', null] } }],
    ['null values', { key: null, name: null }, { key: null, name: null }],
    [
      'an unset variable',
      { key: new Placeholder('K', '$K'), name: new Placeholder('N', '$N') },
      { key: REDACTED, name: '$N' },
    ],
  ])('%s', (_what, value, expected) => expect(redact(schema, value)).toEqual(expected))

  test('a form missing from the schema', () => {
    expect(redact(shapes({ number: { node: { kind: 'integer', min: 0, max: 9 } } }), SECRET)).toBe(REDACTED)
  })

  test('inherited object keys', () => {
    const shown = redact(schema, JSON.parse(`{"__proto__": "${SECRET}", "constructor": "${SECRET}"}`)) as object
    expect(Object.keys(shown)).toEqual(['__proto__', 'constructor'])
    expect(JSON.stringify(shown)).not.toContain(SECRET)
  })

  test('a recursive schema', () => {
    const tree: Schema<unknown> = object('tree', {
      key: opt(secret(), 'K.'),
      in: opt(
        lazy('Tree', () => tree),
        'In.',
      ),
    })
    expect(redact(tree, { in: { in: { key: SECRET } } })).toEqual({ in: { in: { key: REDACTED } } })
  })

  test('the original document is not modified', () => {
    const document = { key: SECRET }
    redact(schema, document)
    expect(document).toEqual({ key: SECRET })
  })
})
