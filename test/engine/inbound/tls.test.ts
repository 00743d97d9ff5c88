import { once } from 'node:events'
import { request as httpsRequest } from 'node:https'
import tls, { type ConnectionOptions, type TLSSocket } from 'node:tls'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Certificate, createAuthority, createCertificate } from '../../helpers/certificates.ts'
import { startGateway, type TestGateway } from '../../helpers/gateway.ts'
import { closeOf, echo, startUpstream } from '../../helpers/upstream.ts'
import { ManualClock } from '../manual-clock.ts'

const authority = createAuthority('test authority')
const other = createAuthority('another authority')
const pem = (name: string, { cert, key }: Certificate) => ({ [`${name}.pem`]: cert, [`${name}.key`]: key })
const files = {
  ...pem('a', createCertificate(authority, ['a.test'])),
  ...pem('wild', createCertificate(authority, ['*.c.test'])),
  ...pem('deep', createCertificate(authority, ['*.d.c.test'])),
  ...pem('any', createCertificate(authority, ['any.test'])),
  'ca.pem': authority.cert,
}
const client = createCertificate(authority, ['client.test', 'spiffe://td/ns/default/sa/web'])
const stranger = createCertificate(other, ['client.test'])

const listener = (name: string, hostname: string, more = '', policies = '') =>
  `{name: ${name}, hostname: '${hostname}', protocol: HTTPS, tls: {cert: ${name}.pem, key: ${name}.key${more}}, routes: [{policies: {directResponse: {status: 200, body: ${name}}${policies}}}]}`

/** The certificate that a handshake shows, and the reply to one request on that connection. */
async function ask(port: number, options: ConnectionOptions & { host?: string; hostHeader?: string } = {}) {
  const { hostHeader = options.servername ?? 'none.test', ...rest } = options
  const socket = tls.connect({ host: '127.0.0.1', port, rejectUnauthorized: false, ...rest })
  try {
    await once(socket, 'secureConnect')
    const shown = socket.getPeerX509Certificate()!.subjectAltName
    socket.write(`GET / HTTP/1.1\r\nHost: ${hostHeader}\r\nConnection: close\r\n\r\n`)
    const text = await readAll(socket)
    return { shown, status: Number(text.slice(9, 12)), body: text.slice(text.indexOf('\r\n\r\n') + 4) }
  } finally {
    socket.destroy()
  }
}

async function readAll(socket: TLSSocket): Promise<string> {
  let text = ''
  for await (const chunk of socket) text += chunk
  return text
}

const portOf = (gateway: TestGateway, port = 8443) => gateway.gateway.portOf(port)!

describe('several certificates on one port', () => {
  let gateway: TestGateway
  beforeAll(async () => {
    gateway = await startGateway(
      `binds: [{port: 8443, listeners: [${listener('a', 'a.test')}, ${listener('wild', '*.c.test')}, ${listener('deep', '*.d.c.test')}]},
        {port: 8444, listeners: [${listener('a', 'a.test')}, ${listener('any', '')}]}]`,
      { files },
    )
  })
  afterAll(() => gateway[Symbol.asyncDispose]())

  test.each([
    ['a.test', 'DNS:a.test', 'a'],
    ['A.TEST', 'DNS:a.test', 'a'],
    ['x.c.test', 'DNS:*.c.test', 'wild'],
    ['x.d.c.test', 'DNS:*.d.c.test', 'deep'],
  ])('%s gets the certificate %s', async (servername, shown, body) => {
    expect(await ask(portOf(gateway), { servername })).toMatchObject({ shown, body, status: 200 })
  })

  test('a server name without a listener fails the handshake with unrecognized_name', async () => {
    await expect(ask(portOf(gateway), { servername: 'nope.test' })).rejects.toThrow(/unrecognized name/)
    await expect(ask(portOf(gateway))).rejects.toThrow(/unrecognized name/)
  })

  test('a listener without a hostname serves all other names and clients without SNI', async () => {
    expect(await ask(portOf(gateway, 8444), { servername: 'nope.test' })).toMatchObject({ body: 'any' })
    expect(await ask(portOf(gateway, 8444))).toMatchObject({ body: 'any' })
    expect(await ask(portOf(gateway, 8444), { servername: 'a.test' })).toMatchObject({ body: 'a' })
  })

  test('a host of another listener gets 421, an unknown host 404', async () => {
    const at = (hostHeader: string) => ask(portOf(gateway), { servername: 'a.test', hostHeader })
    expect(await at('x.c.test')).toMatchObject({ status: 421, body: 'misdirected request' })
    expect(await at('other.test')).toMatchObject({ status: 404, body: 'route not found' })
    expect(await ask(portOf(gateway), { servername: 'x.c.test', hostHeader: 'y.c.test' })).toMatchObject({
      body: 'wild',
    })
    expect(await ask(portOf(gateway), { servername: 'x.c.test', hostHeader: 'y.d.c.test' })).toMatchObject({
      status: 421,
    })
    expect(await ask(portOf(gateway, 8444), { servername: 'x.test', hostHeader: 'y.test' })).toMatchObject({
      body: 'any',
    })
  })

  test('plaintext on a TLS port is disconnected without a response', async () => {
    const response = fetch(`http://127.0.0.1:${portOf(gateway)}`)
    await expect(response).rejects.toThrow()
  })

  test('logs only the reason for a failed handshake', async () => {
    await expect(ask(portOf(gateway), { servername: 'a.test', ALPNProtocols: ['none'] })).rejects.toThrow()
    await expect
      .poll(() => gateway.logged.join(''))
      .toContain('reason="TLS handshake failed: no application protocol" ')
  })
})

describe('client certificates', () => {
  const file = `
frontendPolicies: {accessLog: {}}
binds:
- port: 8443
  listeners:
  - ${listener('a', 'a.test', ', root: ca.pem', ', authorization: {rules: [{require: \'source.identity.serviceAccount == "web" && source.spiffeId.startsWith("spiffe://td/")\'}]}')}
  - ${listener('any', '')}
`
  test('are requested by a listener with a root, but not by another listener on the port', async () => {
    await using gateway = await startGateway(file, { files })
    const port = portOf(gateway)
    expect(await ask(port, { servername: 'a.test', cert: client.cert, key: client.key })).toMatchObject({ body: 'a' })
    await expect(ask(port, { servername: 'a.test' })).rejects.toThrow()
    // In TLS 1.3 a client learns that it was refused only after its own last word.
    expect(await ask(port, { servername: 'a.test', cert: stranger.cert, key: stranger.key })).toMatchObject({
      status: 0,
    })
    expect(await ask(port, { servername: 'b.test' })).toMatchObject({ body: 'any' })
  })

  test('authorize by identity', async () => {
    await using gateway = await startGateway(file, { files })
    const lookalike = 'DNS:spiffe://td/ns/default/sa/web'
    for (const names of [
      ['client.test'],
      ['client.test', lookalike],
      ['DNS:a, URI:spiffe://td/ns/default/sa/web, b'],
    ]) {
      const { cert, key } = createCertificate(authority, names)
      expect(await ask(portOf(gateway), { servername: 'a.test', cert, key })).toMatchObject({ status: 403 })
    }
    expect(gateway.logged.join('')).not.toContain('src.identity')
    await ask(portOf(gateway), { servername: 'a.test', cert: client.cert, key: client.key })
    await expect.poll(() => gateway.logged.join('')).toMatch(/src\.identity=spiffe:\/\/td\/\S+ http\.method/)
  })

  test('when optional, clients with a missing or untrusted certificate connect without an identity', async () => {
    const make = (policies: string) =>
      `binds: [{port: 8443, listeners: [${listener('a', 'a.test', ', root: ca.pem, clientCertificate: optional', policies)}, ${listener('any', '')}]}]`
    const guarded = make(`, authorization: {rules: [{require: 'source.spiffeId.startsWith("spiffe://td/")'}]}`)
    for (const [text, status] of [
      [make(''), 200],
      [guarded, 403],
    ] as const) {
      await using gateway = await startGateway(text, { files })
      const port = portOf(gateway)
      const known = { servername: 'a.test', cert: client.cert, key: client.key }
      expect(await ask(port, known)).toMatchObject({ status: 200 })
      expect(await ask(port, { servername: 'a.test' })).toMatchObject({ status })
      const identity = createCertificate(other, ['spiffe://td/ns/default/sa/web'])
      const claims = { servername: 'a.test', cert: identity.cert, key: identity.key }
      expect(await ask(port, claims)).toMatchObject({ status })
    }
  })

  test('are visible to connection rules', async () => {
    const rules = `frontendPolicies: {networkAuthorization: {rules: ['source.subjectAltNames.exists(n, n == "client.test")']}}`
    await using gateway = await startGateway(
      `${rules}\nbinds: [{port: 8443, listeners: [${listener('a', 'a.test', ', root: ca.pem')}]}]`,
      { files },
    )
    const port = portOf(gateway)
    const guest = createCertificate(authority, ['guest.test'])
    expect(await ask(port, { servername: 'a.test', cert: client.cert, key: client.key })).toMatchObject({ body: 'a' })
    expect(await ask(port, { servername: 'a.test', cert: guest.cert, key: guest.key })).toMatchObject({ status: 0 })
    expect(gateway.logged.join('')).toContain('refused by networkAuthorization')
  })

  test('are not bypassed by resuming a session from another listener', async () => {
    await using gateway = await startGateway(file, { files })
    const port = portOf(gateway)
    const first = tls.connect({ host: '127.0.0.1', port, servername: 'b.test', rejectUnauthorized: false })
    const [session] = (await once(first, 'session')) as [Buffer]
    first.destroy()
    await expect(ask(port, { servername: 'a.test', session })).rejects.toThrow()
  })
})

describe('versions, cipher suites and groups', () => {
  const at = async (more: string, options: ConnectionOptions, frontend = '') => {
    await using gateway = await startGateway(
      `${frontend}\nbinds: [{port: 8443, listeners: [${listener('any', '', more)}]}]`,
      { files },
    )
    const socket = tls.connect({ host: '127.0.0.1', port: portOf(gateway), rejectUnauthorized: false, ...options })
    try {
      await once(socket, 'secureConnect')
      return `${socket.getProtocol()} ${socket.getCipher().standardName}`
    } catch (error) {
      return (error as NodeJS.ErrnoException).code
    } finally {
      socket.destroy()
    }
  }

  test('a version outside the configured bounds is refused', async () => {
    expect(await at(', minTLSVersion: TLS_V1_3', { maxVersion: 'TLSv1.2' })).toMatch(/PROTOCOL_VERSION/)
    expect(await at(', maxTLSVersion: TLS_V1_2', {})).toMatch(/^TLSv1\.2 /)
    expect(await at('', { maxVersion: 'TLSv1.2' }, 'frontendPolicies: {tls: {minVersion: TLS_V1_3}}')).toMatch(
      /VERSION/,
    )
    expect(
      await at(
        ', minTLSVersion: TLS_V1_2',
        { maxVersion: 'TLSv1.2' },
        'frontendPolicies: {tls: {minVersion: TLS_V1_3}}',
      ),
    ).toMatch(/^TLSv1\.2 /)
  })

  test('only the configured cipher suites are negotiated', async () => {
    const one = ', cipherSuites: [TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256]'
    expect(await at(one, { maxVersion: 'TLSv1.2' })).toBe('TLSv1.2 TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256')
    expect(await at(one, { maxVersion: 'TLSv1.2', ciphers: 'ECDHE-ECDSA-AES256-GCM-SHA384' })).toMatch(
      /HANDSHAKE_FAILURE/,
    )
    expect(await at(', cipherSuites: [TLS13_AES_128_GCM_SHA256]', {})).toBe('TLSv1.3 TLS_AES_128_GCM_SHA256')
  })

  test('only the configured groups are negotiated', async () => {
    const groups = ', keyExchangeGroups: [X25519_MLKEM768]'
    expect(await at(groups, { ecdhCurve: 'P-256' })).toMatch(/HANDSHAKE_FAILURE/)
    expect(await at(groups, { ecdhCurve: 'X25519MLKEM768' })).toMatch(/^TLSv1\.3/)
  })

  test('an unsupported ALPN protocol ends the handshake', async () => {
    expect(await at('', { ALPNProtocols: ['foo'] })).toMatch(/NO_APPLICATION_PROTOCOL/)
    expect(await at('', { ALPNProtocols: ['h2'] }, "frontendPolicies: {tls: {alpn: ['http/1.1']}}")).toMatch(/NO_APPL/)
  })

  test('a handshake that exceeds its timeout is disconnected', async () => {
    const clock = new ManualClock()
    await using gateway = await startGateway(
      `frontendPolicies: {tls: {handshakeTimeout: 5s}}\nbinds: [{port: 8443, listeners: [${listener('any', '')}]}]`,
      { files, clock },
    )
    const { connect } = await import('node:net')
    const silent = connect(portOf(gateway), '127.0.0.1')
    const slow = connect(portOf(gateway), '127.0.0.1', () => slow.write(Buffer.from([0x16, 3, 1])))
    const cut = Promise.all([closeOf(silent), closeOf(slow)])
    await expect.poll(() => clock.armed.filter(ms => ms === 5000).length).toBe(2)
    clock.advance(5000)
    await cut
  })
})

describe('configuration', () => {
  const findings = async (more: string, given: Record<string, string>) => {
    try {
      await using _ = await startGateway(`binds: [{port: 8443, listeners: [${more}]}]`, { files: given })
      return 'none'
    } catch (error) {
      return (error as Error).message
    }
  }
  test.each([
    [
      'a key for another certificate',
      { ...files, 'any.key': (files as Record<string, string>)['a.key'] },
      /GW207.*does not belong/,
    ],
    ['no certificate in the file', { ...files, 'any.pem': 'nothing' }, /GW207.*no certificate/],
    ['no key in the file', { ...files, 'any.key': 'nothing' }, /GW207.*no private key/],
  ])('%s is reported before the port opens', async (_name, given, expected) => {
    expect(await findings(listener('any', ''), given as Record<string, string>)).toMatch(expected)
  })
  test('an unsupported cipher suite or version is a finding', async () => {
    expect(await findings(listener('any', '', ', cipherSuites: [TLS_RSA_WITH_RC4_128_MD5]'), files)).toMatch(
      /cipher suite/,
    )
    expect(await findings(listener('any', '', ', minTLSVersion: TLS_V1_0'), files)).toMatch(/TLS_V1_0/)
    expect(await findings(listener('any', '', ', minTLSVersion: TLS_V1_3, maxTLSVersion: TLS_V1_2'), files)).toMatch(
      /older/,
    )
    expect(await findings(`{protocol: HTTPS, tls: {cert: any.pem}, routes: []}`, files)).toMatch(/`key`/)
  })
})

test('a new certificate is used for new connections and leaves open ones alone', async () => {
  await using upstream = await startUpstream(echo)
  const given: Record<string, string> = { ...files }
  const file = `binds: [{port: 8443, listeners: [{protocol: HTTPS, tls: {cert: any.pem, key: any.key}, routes: [{backends: [{host: '${upstream.host}'}]}]}]}]`
  await using gateway = await startGateway(file, { files: given })
  const { Agent } = await import('node:https')
  const agent = new Agent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false, maxCachedSessions: 0 })
  const names = async (): Promise<string | undefined> => {
    const req = httpsRequest({ port: portOf(gateway), host: '127.0.0.1', servername: 'any.test', agent })
    req.end()
    const [res] = await once(req, 'response')
    const shown = (res.socket as TLSSocket).getPeerX509Certificate()?.serialNumber
    res.resume()
    await once(res, 'end')
    return shown
  }
  const before = await names()
  Object.assign(given, pem('any', createCertificate(authority, ['any.test'])))
  expect(await gateway.reload(file)).toEqual([])
  expect(await names()).toBe(before)
  agent.destroy()
  expect(await names()).not.toBe(before)
  agent.destroy()
})

test('a session can be resumed after a reload that keeps its listener', async () => {
  const given: Record<string, string> = { ...files }
  const file = (body: string) =>
    `binds: [{port: 8443, listeners: [{protocol: HTTPS, tls: {cert: any.pem, key: any.key}, routes: [{policies: {directResponse: {status: 200, body: ${body}}}}]}]}]`
  await using gateway = await startGateway(file('before'), { files: given })
  const visit = async (session?: Buffer): Promise<{ reused: boolean; session: Buffer | undefined }> => {
    const socket = tls.connect({
      host: '127.0.0.1',
      port: portOf(gateway),
      servername: 'any.test',
      rejectUnauthorized: false,
      ...(session ? { session } : {}),
    })
    let next: Buffer | undefined
    socket.on('session', given => {
      next = given
    })
    await once(socket, 'secureConnect')
    const reused = socket.isSessionReused()
    socket.write('GET / HTTP/1.1\r\nHost: any.test\r\nConnection: close\r\n\r\n')
    await readAll(socket)
    return { reused, session: next }
  }
  const first = await visit()
  expect(first.reused).toBe(false)
  expect(await gateway.reload(file('after'))).toEqual([])
  expect((await visit(first.session)).reused).toBe(true)
  Object.assign(given, pem('any', createCertificate(authority, ['any.test'])))
  expect(await gateway.reload(file('other'))).toEqual([])
  expect((await visit(first.session)).reused).toBe(false)
})
