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
  ['one with characters that no name has', ['DNS:a\nURI:spiffe://td/admin', 'spiffe://td/\u0001']],
  ['an empty one', ['DNS:', 'b.test']],
])('names are read as they stand in the certificate: %s', (_name, given) => {
  expect(namesOf(...given)).toEqual(
    given.map(name => {
      const kind = name.startsWith('spiffe:') ? 'URI' : 'DNS'
      return { kind, name: name.replace(/^DNS:/, '') }
    }),
  )
})

test('a SPIFFE identity is a URI; a host that is called like one has none', () => {
  expect(spiffeIdOf(namesOf('DNS:spiffe://td/admin', 'spiffe://td/web'))).toBe('spiffe://td/web')
  expect(spiffeIdOf(namesOf('DNS:spiffe://td/admin', 'DNS:a, URI:spiffe://td/admin, b'))).toBeUndefined()
})

test('what is not of that form ends the names', () => {
  expect(altNames('DNS:a.test, DNS:"b, URI:spiffe://td/admin')).toEqual([{ kind: 'DNS', name: 'a.test' }])
  expect(altNames('')).toEqual([])
})
