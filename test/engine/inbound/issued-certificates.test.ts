import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import tls, { type ConnectionOptions } from 'node:tls'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { load } from '../../../src/config/load.ts'
import { offlineRuntime } from '../../../src/config/offline-runtime.ts'
import { createAuthority, createCertificate } from '../../helpers/certificates.ts'
import { startGateway, type TestGateway } from '../../helpers/gateway.ts'
import { ManualClock } from '../manual-clock.ts'

const KINDS = ['P-256', 'P-384', 'Ed25519', 'RSA'] as const
const authorities = KINDS.map(kind => [kind, createAuthority(`authority with ${kind}`, kind)] as const)
const files = Object.fromEntries(
  authorities.flatMap(([kind, { cert, key }]) => [
    [`${kind}.pem`, cert],
    [`${kind}.key`, key],
  ]),
)
const clients = createAuthority('clients')
files['clients.pem'] = clients.cert
const DAY = 24 * 60 * 60 * 1000

const listener = (kind: string, hostname: string, more = '') =>
  `{hostname: '${hostname}', protocol: HTTPS, tls: {mode: dynamicCa, cert: ${kind}.pem, key: ${kind}.key${more}}, routes: [{policies: {directResponse: {status: 200}}}]}`

/** The certificate of a verified handshake. */
async function certificateFor(port: number, servername: string, ca: string, more: ConnectionOptions = {}) {
  const socket = tls.connect({ host: '127.0.0.1', port, servername, ca, ...more })
  try {
    await once(socket, 'secureConnect')
    return socket.getPeerX509Certificate()!
  } finally {
    socket.destroy()
  }
}

describe('a listener that issues its certificates', () => {
  // The client verifies by the real date.
  const clock = new ManualClock(Date.now() - DAY)
  let gateway: TestGateway
  const port = (number: number) => gateway.gateway.portOf(number)!
  beforeAll(async () => {
    const named = KINDS.map((kind, i) => listener(kind, `*.${i}.test`))
    gateway = await startGateway(
      `binds: [{port: 8443, listeners: [${named}, ${listener('RSA', 'mutual.test', ', root: clients.pem')}]}, {port: 8444, listeners: [${listener('P-256', '')}]}]`,
      { files, clock },
    )
  })
  afterAll(() => gateway[Symbol.asyncDispose]())

  test.each(authorities)('signs with a key of kind %s', async (kind, { cert }) => {
    const name = `www.${KINDS.indexOf(kind)}.test`
    const shown = await certificateFor(port(8443), name, cert)
    expect(shown.subjectAltName).toBe(`DNS:${name}`)
    expect(shown.verify(new X509Certificate(cert).publicKey)).toBe(true)
    expect(shown.ca).toBe(false)
    expect(shown.validTo).toBe(new X509Certificate(cert).validTo)
  })

  test('shows one certificate per name, and renews it within its lifetime', async () => {
    const ask = () => certificateFor(port(8444), 'b.test', files['P-256.pem']!)
    const first = await ask()
    expect((await ask()).serialNumber).toBe(first.serialNumber)
    expect((await certificateFor(port(8444), 'c.test', files['P-256.pem']!)).subjectAltName).toBe('DNS:c.test')
    clock.advance(DAY)
    expect((await ask()).serialNumber).not.toBe(first.serialNumber)
  })

  test('verifies client certificates', async () => {
    const { cert, key } = createCertificate(clients, ['client.test'])
    const options = { maxVersion: 'TLSv1.2' as const }
    const ask = (more: ConnectionOptions) =>
      certificateFor(port(8443), 'mutual.test', files['RSA.pem']!, { ...options, ...more })
    expect((await ask({ cert, key })).subjectAltName).toBe('DNS:mutual.test')
    await expect(ask({})).rejects.toThrow()
  })

  test.each([
    ['no server name', ''],
    ['a server name that is not a host name', 'a b.test'],
  ])('refuses clients with %s', async (_, servername) => {
    await expect(certificateFor(port(8444), servername, files['P-256.pem']!)).rejects.toThrow(
      /handshake failure|closed|disconnected|internal error|ECONNRESET/,
    )
  })
})

test.each([
  [
    'a server certificate',
    'leaf',
    'GW207 `leaf.pem` is not the certificate of an authority: clients would refuse what it issues',
  ],
  ['a CA certificate', 'P-256', undefined],
])('validate, with %s', async (_, name, finding) => {
  const { cert, key } = createCertificate(authorities[0]![1], ['leaf.test'])
  const all: Record<string, string> = { ...files, 'leaf.pem': cert, 'leaf.key': key }
  const { diagnostics } = await load('a.yaml', `binds: [{port: 8443, listeners: [${listener(name, '')}]}]`, {
    env: {},
    tier: 'env',
    runtime: offlineRuntime(),
    readReferenced: file => Buffer.from(all[file.split('/').at(-1)!]!),
  })
  expect(diagnostics.map(({ code, message }) => `${code} ${message}`)).toEqual(finding === undefined ? [] : [finding])
})
