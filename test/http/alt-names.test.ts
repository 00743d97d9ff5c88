import { X509Certificate } from 'node:crypto'
import { expect, test } from 'vitest'
import { altNames, spiffeIdOf } from '../../src/http/alt-names.ts'
import { createAuthority, createCertificate } from '../helpers/certificates.ts'

const authority = createAuthority('test authority')
const namesOf = (...names: readonly string[]) =>
  altNames(new X509Certificate(createCertificate(authority, names).cert).subjectAltName ?? '')

test.each([
  ['plain ones', ['a.test', 'spiffe://td/a']],
  ['one with a comma', ['DNS:a, URI:spiffe://td/admin, b', 'spiffe://td/a,b']],
  ['one with quotes and backslashes', ['DNS:a", URI:spiffe://td/admin, "', 'spiffe://td/\\"', 'DNS:\\']],
  ['one with characters that are invalid in names', ['DNS:a\nURI:spiffe://td/admin', 'spiffe://td/\u0001']],
  ['an empty one', ['DNS:', 'b.test']],
])('reads names exactly as written in the certificate: %s', (_name, given) => {
  expect(namesOf(...given)).toEqual(
    given.map(name => {
      const kind = name.startsWith('spiffe:') ? 'URI' : 'DNS'
      return { kind, name: name.replace(/^DNS:/, '') }
    }),
  )
})

test('only a URI is a SPIFFE identity, not a DNS name that looks like one', () => {
  expect(spiffeIdOf(namesOf('DNS:spiffe://td/admin', 'spiffe://td/web'))).toBe('spiffe://td/web')
  expect(spiffeIdOf(namesOf('DNS:spiffe://td/admin', 'DNS:a, URI:spiffe://td/admin, b'))).toBeUndefined()
})

test('stops at the first malformed name', () => {
  expect(altNames('DNS:a.test, DNS:"b, URI:spiffe://td/admin')).toEqual([{ kind: 'DNS', name: 'a.test' }])
  expect(altNames('')).toEqual([])
})
