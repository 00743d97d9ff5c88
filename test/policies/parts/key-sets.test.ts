import { createServer } from 'node:https'
import { expect, test } from 'vitest'
import { createSigner, keySet, NOW } from '../../auth/token-fixture.ts'
import { ManualClock } from '../../engine/manual-clock.ts'
import { createAuthority, createCertificate } from '../../helpers/certificates.ts'
import { startGateway } from '../../helpers/gateway.ts'
import { echo, portOf, startUpstream } from '../../helpers/upstream.ts'

/** Trusts the authority of the identity provider, which answers at an address that its certificate does not have. */
const TLS = 'backendTLS: {root: ca.pem, hostname: login.test}'
const HTML = { accept: 'text/html' }

test.each([
  [
    'a key set',
    (at: string, tls: string) => `jwtAuth: {issuer: '${at}', jwks: {url: '${at}/keys'${tls}}}`,
    '/',
    [200, 401],
  ],
  [
    'an introspection endpoint',
    (at: string, tls: string) =>
      `jwtAuth: {issuer: '${at}', introspection: {url: '${at}/introspect', clientId: a, clientSecret: b${tls}}}`,
    '/',
    [200, 503],
  ],
  [
    'an OIDC provider',
    (at: string, tls: string) =>
      `oidc: {issuer: '${at}', clientId: a, clientSecret: b, redirectURI: 'http://gw.test/back'${tls}}`,
    '/',
    [302, 500],
  ],
  [
    'an MCP authorization server',
    (at: string, tls: string) => `mcpAuthentication: {issuer: '${at}', audiences: [], clientId: a${tls}}`,
    '/.well-known/oauth-authorization-server/mcp',
    [200, 502],
  ],
])('trusts a configured CA for %s', async (_, policy, path, [good, bad]) => {
  const signer = await createSigner('k', 'ES256')
  const authority = createAuthority('our own')
  const { cert, key } = createCertificate(authority, ['login.test'])
  const server = createServer({ cert, key }, (req, res) => {
    if (req.url === '/keys') return res.end(keySet(signer))
    if (req.url === '/introspect') return res.end(JSON.stringify({ active: true, sub: 'ann' }))
    const endpoints = { authorization_endpoint: `${issuer}/sign-in`, token_endpoint: `${issuer}/token` }
    return res.end(JSON.stringify({ issuer, ...endpoints, jwks_uri: `${issuer}/keys` }))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const issuer = `https://127.0.0.1:${portOf(server)}`
  await using backend = await startUpstream(echo)
  const authorization = `Bearer ${await signer.sign({ sub: 'ann', iss: issuer })}`
  const statuses: number[] = []
  for (const tls of [`, ${TLS}`, '', ', backendTLS: {root: ca.pem}']) {
    await using gateway = await startGateway(
      `binds: [{port: 8080, listeners: [{routes: [{backends: [{host: '${backend.host}'}], policies: {${policy(issuer, tls)}}}]}]}]`,
      { files: { 'ca.pem': authority.cert }, clock: new ManualClock(NOW * 1000) },
    )
    const headers = { ...HTML, authorization }
    const { status } = await fetch(gateway.url(8080) + path, { headers, redirect: 'manual' })
    statuses.push(status)
  }
  expect(statuses).toEqual([good, bad, bad])
  server.closeAllConnections()
  server.close()
})
