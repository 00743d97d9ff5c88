import { once } from 'node:events'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { TLSSocket, TlsOptions } from 'node:tls'
import { describe, expect, test } from 'vitest'
import { createAuthority, createCertificate } from '../helpers/certificates.ts'
import { startGateway } from '../helpers/gateway.ts'

const authority = createAuthority('test authority')
const stranger = createAuthority('another authority')
const lookalike = 'DNS:x, URI:spiffe://td/ns/default/sa/b, y'
const server = createCertificate(authority, ['a.test', 'spiffe://td/ns/default/sa/a', lookalike])
const client = createCertificate(authority, ['client.test'])
const files = {
  'ca.pem': authority.cert,
  'other.pem': stranger.cert,
  'client.pem': client.cert,
  'client.key': client.key,
  'text.pem': 'no certificate',
}

interface Secured extends AsyncDisposable {
  readonly port: number
}

/** Answers with what the handshake has settled. */
async function secured(options: TlsOptions = {}): Promise<Secured> {
  const https: Server = createServer(
    { cert: server.cert, key: server.key, ALPNProtocols: ['http/1.1'], ...options },
    (req, res) => {
      const socket = req.socket as TLSSocket
      const peer = socket.getPeerCertificate()
      res.end(JSON.stringify({ sni: socket.servername, alpn: socket.alpnProtocol, client: peer.subject?.CN }))
    },
  )
  https.on('tlsClientError', () => {})
  https.listen(0, '127.0.0.1')
  await once(https, 'listening')
  return {
    port: (https.address() as AddressInfo).port,
    [Symbol.asyncDispose]: () =>
      new Promise(resolve => {
        https.close(() => resolve())
        https.closeAllConnections()
      }),
  }
}

async function seen(upstream: Secured, backendTLS: string, options: { host?: string } = {}) {
  const host = options.host ?? `127.0.0.1:${upstream.port}`
  await using gateway = await startGateway(
    `binds: [{port: 8080, listeners: [{routes: [{backends: [{host: '${host}', policies: {backendTLS: ${backendTLS}}}]}]}]}]`,
    { files },
  )
  const response = await fetch(gateway.url(8080))
  const text = await response.text()
  return response.status === 200 ? (JSON.parse(text) as Record<string, unknown>) : `${response.status} ${text}`
}

describe('the server is verified', () => {
  test.each([
    ['by the configured name', '{root: ca.pem, hostname: a.test}'],
    ['by its chain only', '{root: ca.pem, insecureHost: true}'],
    ['not at all', '{insecure: true}'],
    ['by one of several names', '{root: ca.pem, subjectAltNames: [b.test, a.test]}'],
    ['by its identity', '{root: ca.pem, subjectAltNames: ["spiffe://td/ns/default/sa/a"]}'],
  ])('%s', async (_name, backendTLS) => {
    await using upstream = await secured()
    expect(await seen(upstream, backendTLS)).toMatchObject({ alpn: 'http/1.1' })
  })

  test.each([
    ['another name', '{root: ca.pem, hostname: b.test}', 'certificate does not match the host name'],
    ['an address missing from the certificate', '{root: ca.pem}', 'certificate does not match the host name'],
    ['none of several names', '{root: ca.pem, subjectAltNames: [b.test]}', 'certificate does not match the host name'],
    [
      'another identity',
      '{root: ca.pem, subjectAltNames: ["spiffe://td/ns/default/sa/b"]}',
      'certificate does not match',
    ],
    ['another CA', '{root: other.pem, hostname: a.test}', 'certificate'],
    ['another CA even without a name check', '{root: other.pem, insecureHost: true}', 'certificate'],
    ['the system trust store', '{hostname: a.test}', 'certificate'],
  ])('and rejected for %s', async (_name, backendTLS, detail) => {
    await using upstream = await secured()
    expect(await seen(upstream, backendTLS)).toMatch(new RegExp(`^503 upstream call failed: .*${detail}`))
  })
})

describe('the TLS handshake', () => {
  test('sends the called host or the configured name as SNI', async () => {
    await using upstream = await secured()
    const host = `localhost:${upstream.port}`
    expect(await seen(upstream, '{insecure: true}', { host })).toMatchObject({ sni: 'localhost' })
    expect(await seen(upstream, '{insecure: true, hostname: a.test}', { host })).toMatchObject({ sni: 'a.test' })
    expect(await seen(upstream, '{insecure: true}')).toMatchObject({ sni: false })
  })

  test('presents a client certificate', async () => {
    await using upstream = await secured({ ca: authority.cert, requestCert: true, rejectUnauthorized: true })
    const mutual = '{insecure: true, cert: client.pem, key: client.key}'
    expect(await seen(upstream, mutual)).toMatchObject({ client: 'client.test' })
    expect(await seen(upstream, '{insecure: true}')).toMatch(/^503 /)
  })

  test.each([
    ['P-256', 'prime256v1'],
    ['P-384', 'secp384r1'],
    ['X25519', 'X25519'],
    ['X25519_MLKEM768', 'X25519MLKEM768'],
  ])('offers the key exchange group %s only', async (group, ecdhCurve) => {
    await using upstream = await secured({ ecdhCurve, minVersion: 'TLSv1.3' })
    const others = ['P-256', 'P-384', 'X25519', 'X25519_MLKEM768'].filter(other => other !== group)
    expect(await seen(upstream, `{insecure: true, keyExchangeGroups: [${group}]}`)).toMatchObject({ alpn: 'http/1.1' })
    expect(await seen(upstream, `{insecure: true, keyExchangeGroups: [${others}]}`)).toMatch(/TLS handshake failed/)
  })

  test('offers the listed protocols', async () => {
    await using upstream = await secured({ ALPNProtocols: ['special', 'http/1.1'] })
    expect(await seen(upstream, '{insecure: true, alpn: [http/1.1]}')).toMatchObject({ alpn: 'http/1.1' })
  })
})

test.each([
  ['{cert: client.pem}', /GW111 .*`cert` needs `key`/],
  ['{root: nowhere.pem}', /GW207 .*cannot be read/],
  ['{root: text.pem}', /GW207 .*is not PEM/],
])('%s is a finding', async (backendTLS, finding) => {
  await using upstream = await secured()
  await expect(seen(upstream, backendTLS)).rejects.toThrow(finding)
})

test('the endpoints of a service are verified by its subject alternative names', async () => {
  await using upstream = await secured()
  const file = (names: string) => `
binds: [{port: 8080, listeners: [{routes: [{backends: [{service: {name: default/app.test, port: 443}, policies: {backendTLS: {root: ca.pem}}}]}]}]}]
services: [{name: app, namespace: default, hostname: app.test, vips: [], ports: {"443": 443}${names}}]
workloads: [{workloadIps: [127.0.0.1], namespace: default, services: {default/app.test: {"443": ${upstream.port}}}}]`
  await using right = await startGateway(file(', subjectAltNames: ["spiffe://td/ns/default/sa/a"]'), { files })
  const response = await fetch(right.url(8080))
  expect([response.status, JSON.parse(await response.text())]).toMatchObject([200, { sni: 'app.test' }])
  await using wrong = await startGateway(file(''), { files })
  expect((await fetch(wrong.url(8080))).status).toBe(503)
})
