import { once } from 'node:events'
import { createServer as createHttps } from 'node:https'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer, connect as tlsConnect } from 'node:tls'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createAuthority, createCertificate } from '../helpers/certificates.ts'
import { startGateway, type TestGateway } from '../helpers/gateway.ts'
import { echo, startUpstream } from '../helpers/upstream.ts'

const authority = createAuthority('test authority')
const proxyCert = createCertificate(authority, ['proxy.test'])
const targetCert = createCertificate(authority, ['target.test'])
const files = { 'ca.pem': authority.cert }

interface Proxy extends AsyncDisposable {
  readonly port: number
  /** The heads of CONNECT requests. */
  readonly asked: string[]
}

/** A CONNECT proxy; `answer` refuses instead, or misbehaves. `lead` overrides the address that it connects to. */
async function startProxy(options: { secure?: boolean; answer?: string; port?: number } = {}): Promise<Proxy> {
  const asked: string[] = []
  const sockets = new Set<Socket>()
  const accept = (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.once('data', head => {
      asked.push(head.toString('latin1'))
      if (options.answer !== undefined) {
        socket.end(options.answer)
        return
      }
      const [, host, port] = /^CONNECT (.*):(\d+) /.exec(head.toString('latin1'))!
      const to = connect(options.port ?? Number(port), host!.endsWith('.test') ? '127.0.0.1' : host!)
      sockets.add(to)
      to.on('error', () => socket.destroy())
      to.on('connect', () => {
        socket.write('HTTP/1.1 200 Connection established\r\nx-proxy: 1\r\n\r\n')
        socket.pipe(to).pipe(socket)
      })
    })
  }
  const server: Server = options.secure
    ? createTlsServer({ cert: proxyCert.cert, key: proxyCert.key }, accept)
    : createServer(accept)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    asked,
    [Symbol.asyncDispose]: () =>
      new Promise(resolve => {
        for (const socket of sockets) socket.destroy()
        server.close(() => resolve())
      }),
  }
}

const file = (host: string, policies: string, more = '') =>
  `binds: [{port: 8080, listeners: [{routes: [{backends: [{host: '${host}', policies: {${policies}}}]}]}]}]\n${more}`

describe('a plain backend behind a proxy', () => {
  test('is reached through a tunnel, which is reused', async () => {
    await using upstream = await startUpstream(echo)
    await using proxy = await startProxy()
    const tunnel = `backendTunnel: {proxy: {host: '127.0.0.1:${proxy.port}'}}`
    await using gateway = await startGateway(file(upstream.host, tunnel))
    for (const body of ['one', 'two']) {
      const response = await fetch(gateway.url(8080), { method: 'POST', body })
      expect(((await response.json()) as { body: string }).body).toBe(body)
    }
    expect(proxy.asked).toEqual([`CONNECT ${upstream.host} HTTP/1.1\r\nhost: ${upstream.host}\r\n\r\n`])
  })

  test('large bodies pass in both directions', async () => {
    await using upstream = await startUpstream(echo)
    await using proxy = await startProxy()
    const tunnel = `backendTunnel: {proxy: {host: '127.0.0.1:${proxy.port}'}}`
    await using gateway = await startGateway(file(upstream.host, tunnel))
    const body = 'x'.repeat(3 << 20)
    const response = await fetch(gateway.url(8080), { method: 'POST', body })
    expect(((await response.json()) as { body: string }).body.length).toBe(body.length)
  })

  test('the proxy resolves the backend name', async () => {
    await using upstream = await startUpstream(echo)
    await using proxy = await startProxy({ port: upstream.port })
    const tunnel = `backendTunnel: {proxy: {host: '127.0.0.1:${proxy.port}'}}`
    await using gateway = await startGateway(file('only-the-proxy-knows.test:80', tunnel))
    expect((await fetch(gateway.url(8080))).status).toBe(200)
    expect(proxy.asked[0]).toMatch(/^CONNECT only-the-proxy-knows\.test:80 /)
  })

  test('the proxy may be a named backend and require a credential', async () => {
    await using upstream = await startUpstream(echo)
    await using proxy = await startProxy()
    const auth = `backendAuth: {key: {value: secret, location: {header: {name: proxy-authorization, prefix: 'Bearer '}}}}`
    const backends = `backends: [{name: p, host: '127.0.0.1:${proxy.port}', policies: {${auth}}}]`
    await using gateway = await startGateway(file(upstream.host, 'backendTunnel: {proxy: {backend: /p}}', backends))
    const seen = await (await fetch(gateway.url(8080))).text()
    expect(proxy.asked[0]).toContain('\r\nproxy-authorization: Bearer secret\r\n')
    expect(seen).not.toContain('secret')
  })

  test('a reload with another proxy closes the tunnels through the old one', async () => {
    await using upstream = await startUpstream(echo)
    await using one = await startProxy()
    await using two = await startProxy()
    const through = ({ port }: Proxy) =>
      file(upstream.host, 'backendTunnel: {proxy: {backend: /p}}', `backends: [{name: p, host: '127.0.0.1:${port}'}]`)
    await using gateway = await startGateway(through(one))
    await (await fetch(gateway.url(8080))).text()
    expect(await gateway.reload(through(two))).toEqual([])
    await (await fetch(gateway.url(8080))).text()
    expect([one.asked.length, two.asked.length]).toEqual([1, 1])
  })

  test('an upgrade passes through', async () => {
    await using upstream = await startUpstream(() => {})
    upstream.server.on('upgrade', (_req, socket) => {
      // The client may be cut off with bytes under way.
      socket.on('error', () => {})
      socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n')
      socket.pipe(socket)
    })
    await using proxy = await startProxy()
    const tunnel = `backendTunnel: {proxy: {host: '127.0.0.1:${proxy.port}'}}`
    await using gateway = await startGateway(file(upstream.host, tunnel))
    const socket = connect(Number(new URL(gateway.url(8080)).port), '127.0.0.1')
    socket.write('GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n')
    let text = ''
    for await (const chunk of socket) {
      text += chunk
      if (text.endsWith('\r\n\r\n')) socket.write('ping')
      if (text.endsWith('ping')) break
    }
    expect(text).toMatch(/^HTTP\/1\.1 101 [\s\S]*ping$/)
  })
})

describe('a TLS backend behind a proxy', () => {
  test.each([false, true])('is verified end to end, with the proxy over TLS: %s', async secure => {
    const target = createHttps({ cert: targetCert.cert, key: targetCert.key }, (_req, res) => res.end('target'))
    target.listen(0, '127.0.0.1')
    await once(target, 'listening')
    await using proxy = await startProxy({ secure, port: (target.address() as AddressInfo).port })
    const policies = secure ? ', policies: {backendTLS: {root: ca.pem, hostname: proxy.test}}' : ''
    const tunnel = `backendTunnel: {proxy: {host: '127.0.0.1:${proxy.port}'}${policies}}, backendTLS: {root: ca.pem}`
    await using gateway = await startGateway(file('target.test:443', tunnel), { files })
    expect(await (await fetch(gateway.url(8080))).text()).toBe('target')
    await using wrong = await startGateway(file('other.test:443', tunnel), { files })
    const refused = await fetch(wrong.url(8080))
    expect(await refused.text()).toBe('upstream call failed: certificate does not match the host name')
    target.close()
    target.closeAllConnections()
  })

  test('a proxy with the wrong identity gets no request', async () => {
    await using proxy = await startProxy({ secure: true })
    const policies = 'policies: {backendTLS: {root: ca.pem, hostname: someone.test}}'
    const tunnel = `backendTunnel: {proxy: {host: '127.0.0.1:${proxy.port}'}, ${policies}}`
    await using gateway = await startGateway(file('127.0.0.1:1', tunnel), { files })
    expect((await fetch(gateway.url(8080))).status).toBe(503)
    expect(proxy.asked).toEqual([])
  })
})

describe('a proxy that does not open a tunnel', () => {
  test.each([
    ['HTTP/1.1 407 Proxy Authentication Required\r\n\r\n', 'status 407'],
    ['HTTP/1.1 502 Bad Gateway\r\ncontent-length: 5\r\n\r\noops!', 'status 502'],
    ['SSH-2.0-nonsense\r\n\r\n', 'its answer is not HTTP'],
    ['', 'the connection was closed'],
    ['HTTP/1.1 200 OK\r\nx: ', 'the connection was closed'],
    [`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(20_000)}`, 'its answer is too long'],
  ])('%j', async (answer, detail) => {
    await using proxy = await startProxy({ answer })
    const tunnel = `backendTunnel: {proxy: {host: '127.0.0.1:${proxy.port}'}}`
    await using gateway = await startGateway(file('127.0.0.1:1', tunnel))
    const response = await fetch(gateway.url(8080))
    const text = await response.text()
    expect([response.status, text]).toEqual([503, `upstream call failed: the proxy refused the tunnel: ${detail}`])
  })

  test('because the connection is refused', async () => {
    const tunnel = `backendTunnel: {proxy: {host: '127.0.0.1:1'}}`
    await using gateway = await startGateway(file('127.0.0.1:1', tunnel))
    expect(await (await fetch(gateway.url(8080))).text()).toBe('upstream call failed: connection refused')
  })

  test('a backend that is its own proxy is a finding', async () => {
    const backends = `backends: [{name: p, host: '127.0.0.1:1', policies: {backendTunnel: {proxy: {backend: /p}}}}]`
    const config = file('127.0.0.1:1', 'backendTunnel: {proxy: {backend: /p}}', backends)
    await expect(startGateway(config)).rejects.toThrow(/GW210 calls to `\/p` need `\/p` itself/)
  })
})

describe('a forward proxy for TLS connections', () => {
  const forward = (proxy: Proxy) => `
binds: [{port: 8443, listeners: [{protocol: TLS, tcpRoutes: [{backends: [
  {dynamic: {}, policies: {backendTunnel: {proxy: {host: '127.0.0.1:${proxy.port}'}}}}]}]}]}]`
  const connectTo = (gateway: TestGateway, servername: string) =>
    tlsConnect({ port: Number(new URL(gateway.url(8443)).port), host: '127.0.0.1', servername, ca: authority.cert })

  test('connects to port 443 of the server name the client requests', async () => {
    const upstream = createTlsServer({ cert: targetCert.cert, key: targetCert.key }, socket =>
      socket.on('error', () => {}),
    )
    upstream.listen(0, '127.0.0.1')
    await once(upstream, 'listening')
    onTestFinished(() => void upstream.close())
    await using proxy = await startProxy({ port: (upstream.address() as AddressInfo).port })
    await using gateway = await startGateway(forward(proxy))
    const client = connectTo(gateway, 'target.test')
    await once(client, 'secureConnect')
    expect(client.getPeerCertificate().subject.CN).toBe('target.test')
    expect(proxy.asked[0]).toMatch(/^CONNECT target\.test:443 /)
    client.destroy()
  })

  test.each(['', 'target.test:22'])('does not connect to the name `%s`', async name => {
    await using proxy = await startProxy()
    await using gateway = await startGateway(forward(proxy))
    const client = connectTo(gateway, name)
    await once(client, 'close').catch(() => {})
    expect(proxy.asked).toEqual([])
  })
})
