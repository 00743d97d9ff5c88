import { describe, expect, test } from 'vitest'
import { backendTLS } from '../../../src/policies/upstream/backend-tls.ts'
import { http } from '../../../src/policies/upstream/http.ts'
import { tcp } from '../../../src/policies/upstream/tcp.ts'
import { compile, hooksOf } from '../policy-fixture.ts'

const PEM = '-----BEGIN CERTIFICATE-----\nMII=\n-----END CERTIFICATE-----\n'

describe('TLS', () => {
  test('verifies against the system’s CAs by default', () => {
    expect(hooksOf(backendTLS, {}).upstream).toEqual({ tls: {} })
  })

  test.each([
    [{ hostname: 'a.example.com' }, { servername: 'a.example.com' }],
    [{ insecure: true }, { insecureSkipVerify: 'All' }],
    [{ insecureHost: true }, { insecureSkipVerify: 'Hostname' }],
    [{ insecure: true, insecureHost: true }, { insecureSkipVerify: 'All' }],
    [{ insecure: false }, {}],
    [
      { alpn: ['h2'], subjectAltNames: ['b.example.com'], keyExchangeGroups: ['P-256'] },
      { alpn: ['h2'], subjectAltNames: ['b.example.com'], groups: ['P-256'] },
    ],
  ])('%j', (spec, tls) => expect(hooksOf(backendTLS, spec).upstream).toEqual({ tls }))

  test('reads certificates and keys from files', () => {
    const files = { ca: PEM, crt: PEM, key: PEM.replaceAll('CERTIFICATE', 'PRIVATE KEY') }
    const { hooks, findings } = compile(backendTLS, { root: 'ca', cert: 'crt', key: 'key' }, undefined, files)
    expect(findings).toEqual([])
    expect(hooks.upstream).toEqual({ tls: { ca: files.ca, cert: files.crt, key: files.key } })
  })

  test.each<[object, string]>([
    [{ root: 'der' }, 'GW207 root the file `der` is not PEM'],
    [{ cert: 'pem' }, 'GW111 cert `cert` needs `key`'],
    [{ key: 'pem' }, 'GW111 key `key` needs `cert`'],
  ])('%j', (spec, finding) => {
    expect(compile(backendTLS, spec, undefined, { der: '0\u0082', pem: PEM }).findings).toEqual([finding])
  })
})

test('HTTP version and request timeout', () => {
  expect(hooksOf(http, {}).upstream).toEqual({})
  expect(hooksOf(http, { version: 'HTTP/1.1' }).upstream).toEqual({ version: '1.1' })
  expect(hooksOf(http, { version: 'HTTP/2.0', requestTimeout: '2s' }).upstream).toEqual({
    version: '2',
    requestTimeout: 2000,
  })
})

test('TCP connect timeout and keepalives', () => {
  expect(hooksOf(tcp, { connectTimeout: '500ms' }).upstream).toEqual({ connectTimeout: 500 })
  expect(hooksOf(tcp, { keepalives: {} }).upstream).toEqual({
    keepAlive: { time: 180_000, interval: 180_000, retries: 9 },
  })
  expect(hooksOf(tcp, { keepalives: { time: '30s', interval: '5s', retries: 3 } }).upstream).toEqual({
    keepAlive: { time: 30_000, interval: 5000, retries: 3 },
  })
  expect(hooksOf(tcp, { keepalives: { enabled: false } }).upstream).toEqual({ keepAlive: false })
})
