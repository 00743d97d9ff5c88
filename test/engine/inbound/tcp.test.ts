import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import tls from 'node:tls'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createAuthority, createCertificate } from '../../helpers/certificates.ts'
import { startGateway, type TestGateway } from '../../helpers/gateway.ts'
import { ENDLESS, standstill } from '../../helpers/own-sockets.ts'

const authority = createAuthority('test authority')
const server = createCertificate(authority, ['a.test'])
const files = { 'a.pem': server.cert, 'a.key': server.key, 'ca.pem': authority.cert }

/** A server of plain sockets, half-open as the client asks for. */
async function listen(
  serve: (socket: Socket) => void,
  secured?: tls.TlsOptions,
): Promise<{ host: string; server: Server }> {
  const sockets = new Set<Socket>()
  const accept = (socket: Socket): void => {
    sockets.add(socket)
    socket.on('error', () => {})
    serve(socket)
  }
  const made = secured ? tls.createServer(secured, accept) : createServer({ allowHalfOpen: true }, accept)
  if (secured) made.on('tlsClientError', () => {})
  await new Promise<void>(resolve => made.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    made.close()
  })
  return { host: `127.0.0.1:${(made.address() as AddressInfo).port}`, server: made }
}

const named = (name: string) => listen(socket => socket.end(name))

function dial(gateway: TestGateway, port = 9000): Socket {
  const socket = connect({ port: gateway.gateway.portOf(port)!, host: '127.0.0.1', allowHalfOpen: true })
  socket.on('error', () => {})
  onTestFinished(() => void socket.destroy())
  return socket
}

async function textOf(socket: Socket): Promise<string> {
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  await new Promise(resolve => socket.once('end', resolve).once('close', resolve))
  return Buffer.concat(chunks).toString()
}

const closeOf = (socket: Socket) => new Promise(resolve => socket.once('close', resolve))

const tcp = (routes: string, frontend = '') =>
  `${frontend}\nbinds: [{port: 9000, listeners: [{name: raw, protocol: TCP, tcpRoutes: [${routes}]}]}]`
const to = (host: string, more = '') => `{name: r, backends: [{host: '${host}'${more}}]}`

describe('plain connections', () => {
  test('bytes pass in both directions, and each side can half-close', async () => {
    const echo = await listen(socket => {
      let got = ''
      socket.on('data', chunk => {
        got += chunk
      })
      // Only after the client has ended its side is there an answer: both halves must be kept apart.
      socket.on('end', () => socket.end(`you said ${got}`))
    })
    await using gateway = await startGateway(tcp(to(echo.host)))
    const socket = dial(gateway)
    socket.end('hello')
    expect(await textOf(socket)).toBe('you said hello')
    socket.destroy()
    await expect.poll(() => gateway.logged.join('')).toContain('protocol=tcp')
    expect(gateway.logged.join('')).toMatch(
      /request gateway=default\/default listener=raw route=default\/r endpoint=127\.0\.0\.1:\d+ src\.addr=127\.0\.0\.1:\d+ protocol=tcp .*duration=\d+ms/,
    )
  })

  test('a server that speaks first reaches the client', async () => {
    const greeter = await listen(socket => socket.write('220 ready\r\n'))
    await using gateway = await startGateway(tcp(to(greeter.host)))
    const [greeting] = await once(dial(gateway), 'data')
    expect(String(greeting)).toBe('220 ready\r\n')
  })

  test('a paused reader stops the sender', async () => {
    let written = 0
    const source = await listen(socket => {
      const block = Buffer.alloc(64 * 1024)
      const fill = (): void => {
        while (written < ENDLESS) {
          written += block.length
          if (!socket.write(block)) return
        }
      }
      socket.on('drain', fill)
      fill()
    })
    await using gateway = await startGateway(tcp(to(source.host)))
    const socket = dial(gateway)
    await once(socket, 'data')
    socket.pause()
    expect(await standstill(() => written)).toBeLessThan(ENDLESS)
  })

  test('weights split connections', async () => {
    const [a, b] = [await named('a'), await named('b')]
    let turn = 0
    await using gateway = await startGateway(
      tcp(`{backends: [{host: '${a.host}', weight: 3}, {host: '${b.host}', weight: 1}]}`),
      { random: () => (turn++ % 4) / 4 },
    )
    const seen: string[] = []
    for (let i = 0; i < 4; i++) seen.push(await textOf(dial(gateway)))
    expect(seen.toSorted()).toEqual(['a', 'a', 'a', 'b'])
  })

  test('a missing route, a missing backend and a refused connection close the client and are logged', async () => {
    for (const [routes, error] of [
      ['', 'route not found'],
      ['{backends: []}', 'no valid backends'],
      [to('127.0.0.1:1'), 'connection refused'],
    ]) {
      await using gateway = await startGateway(tcp(routes!))
      expect(await textOf(dial(gateway))).toBe('')
      await expect.poll(() => gateway.logged.join('')).toContain(error)
    }
  })

  test('a reset from the client resets the backend connection, and vice versa', async () => {
    let seen: Socket | undefined
    const upstream = await listen(socket => {
      seen = socket
      socket.resume().write('x')
    })
    await using gateway = await startGateway(tcp(to(upstream.host)))
    const first = dial(gateway)
    await once(first, 'data')
    first.resetAndDestroy()
    await closeOf(seen!)
    const second = dial(gateway)
    await once(second, 'data')
    seen!.resetAndDestroy()
    await closeOf(second.resume())
  })

  test('a graceful stop waits for open connections, up to its limit', async () => {
    const upstream = await listen(socket => {
      socket.resume().on('end', () => socket.end())
      socket.write('x')
    })
    await using gateway = await startGateway(tcp(to(upstream.host)))
    const socket = dial(gateway)
    await once(socket, 'data')
    let stopped = false
    const stop = gateway.gateway.stop({ min: 0, max: 10_000 }).then(() => {
      stopped = true
    })
    await new Promise(resolve => setImmediate(resolve))
    expect(stopped).toBe(false)
    socket.destroy()
    await stop
  })

  test('top-level routes attach to a gateway', async () => {
    const a = await named('a')
    await using gateway = await startGateway(
      `gateways: {raw: {port: 9000, protocol: TCP}}\ntcpRoutes: [{gateways: raw, backends: [{host: '${a.host}'}]}]`,
    )
    expect(await textOf(dial(gateway))).toBe('a')
  })

  test('after a reload new connections use the new backend, open ones keep the old one', async () => {
    const a = await listen(socket => socket.on('data', data => socket.write(`a${data}`)))
    const b = await listen(socket => socket.on('data', data => socket.write(`b${data}`)))
    await using gateway = await startGateway(tcp(to(a.host)))
    const ask = async (socket: Socket): Promise<string> => {
      socket.write('?')
      return String((await once(socket, 'data'))[0])
    }
    const old = dial(gateway)
    expect(await ask(old)).toBe('a?')
    await gateway.reload(tcp(to(b.host)))
    expect(await ask(old)).toBe('a?')
    expect(await ask(dial(gateway))).toBe('b?')
  })
})

describe('TLS', () => {
  const secure = (gateway: TestGateway, servername?: string) => {
    const socket = tls.connect({
      port: gateway.gateway.portOf(9000)!,
      host: '127.0.0.1',
      rejectUnauthorized: false,
      ...(servername === undefined ? {} : { servername }),
    })
    socket.on('error', () => {})
    onTestFinished(() => void socket.destroy())
    return socket
  }

  test('is passed through by SNI without being terminated', async () => {
    const [a, wild, rest] = await Promise.all(
      ['a', 'wild', 'rest'].map(name => listen(socket => socket.end(name), { cert: server.cert, key: server.key })),
    )
    await using gateway = await startGateway(`
binds:
- port: 9000
  listeners:
  - {name: one, hostname: '*.test', protocol: TLS, tcpRoutes: [
      {name: wild, hostnames: ['*.b.test'], backends: [{host: '${wild!.host}'}]},
      {name: a, hostnames: [a.test], backends: [{host: '${a!.host}'}]},
      {name: rest, backends: [{host: '${rest!.host}'}]}]}
`)
    expect(await textOf(secure(gateway, 'a.test'))).toBe('a')
    expect(await textOf(secure(gateway, 'x.b.test'))).toBe('wild')
    expect(await textOf(secure(gateway, 'other.test'))).toBe('rest')
    const refused = secure(gateway, 'other.example')
    // Whoever passes TLS on says nothing in it.
    const [error] = await once(refused, 'error')
    expect(String(error)).toMatch(/disconnected before|ECONNRESET|EPIPE/)
    await expect.poll(() => gateway.logged.join('')).toContain('tls.sni=x.b.test protocol=tcp')
  })

  test('is terminated here, and the plaintext is forwarded', async () => {
    const a = await listen(socket => socket.on('data', data => socket.end(`plain ${data}`)))
    await using gateway = await startGateway(
      `binds: [{port: 9000, listeners: [{protocol: TLS, tls: {cert: a.pem, key: a.key}, tcpRoutes: [${to(a.host)}]}]}]`,
      { files },
    )
    const socket = secure(gateway, 'a.test')
    socket.write('hello')
    expect(await textOf(socket)).toBe('plain hello')
  })

  test('is originated to the backend and verified', async () => {
    const a = await listen(socket => socket.on('data', data => socket.end(`secret ${data}`)), {
      cert: server.cert,
      key: server.key,
    })
    const file = (more: string) => tcp(to(a.host, `, policies: {backendTLS: {root: ca.pem${more}}}`))
    await using gateway = await startGateway(file(', hostname: a.test'), { files })
    const socket = dial(gateway)
    socket.write('hello')
    expect(await textOf(socket)).toBe('secret hello')
    await using wrong = await startGateway(file(', hostname: b.test'), { files })
    expect(await textOf(dial(wrong))).toBe('')
    await expect.poll(() => wrong.logged.join('')).toContain('certificate does not match')
  })

  test.each([
    ['one byte at a time', (bytes: Buffer) => [...bytes].map(byte => Buffer.from([byte]))],
    ['in records of ten bytes', (bytes: Buffer) => [inRecords(bytes, 10)]],
  ])('parses a ClientHello sent %s', async (_name, cut) => {
    const a = await listen(socket => socket.on('data', data => socket.end(`got ${data.length}`)))
    await using gateway = await startGateway(
      `binds: [{port: 9000, listeners: [{protocol: TLS, hostname: a.test, tcpRoutes: [${to(a.host)}]}]}]`,
    )
    const hello = await clientHello('a.test')
    const socket = dial(gateway)
    socket.setNoDelay(true)
    for (const part of cut(hello)) {
      socket.write(part)
      await new Promise(resolve => setImmediate(resolve))
    }
    expect(await textOf(socket)).toMatch(/^got \d+/)
  })

  test('disconnects a client whose first bytes are not a ClientHello', async () => {
    await using gateway = await startGateway(
      `frontendPolicies: {tls: {handshakeTimeout: 100ms}}
binds: [{port: 9000, listeners: [{protocol: TLS, tcpRoutes: [${to('127.0.0.1:1')}]}]}]`,
    )
    const hello = await clientHello('a.test')
    const damaged = Buffer.from(hello)
    damaged.writeUInt16BE(0xffff, 5 + 4 + 34)
    for (const bytes of [
      Buffer.from('GET / HTTP/1.1\r\n\r\n'),
      Buffer.from([0x16, 3, 1, 0, 0]),
      Buffer.from([0x16, 3, 1, 0xff, 0xff, 1]),
      Buffer.from([0x16, 3, 1, 0, 4, 1, 0xff, 0xff, 0xff]),
      damaged,
      hello.subarray(0, 40),
    ]) {
      const socket = dial(gateway)
      socket.write(bytes)
      expect(await textOf(socket)).toBe('')
    }
  })
})

/** What a client sends first. */
async function clientHello(servername: string): Promise<Buffer> {
  const catcher = createServer()
  await new Promise<void>(resolve => catcher.listen(0, '127.0.0.1', resolve))
  const socket = tls.connect({ port: (catcher.address() as AddressInfo).port, host: '127.0.0.1', servername })
  socket.on('error', () => {})
  const [peer] = (await once(catcher, 'connection')) as [Socket]
  const [bytes] = (await once(peer, 'data')) as [Buffer]
  peer.destroy()
  socket.destroy()
  catcher.close()
  return bytes
}

/** The same handshake message, cut into small records. */
function inRecords(hello: Buffer, size: number): Buffer {
  const parts: Buffer[] = []
  for (let at = 5; at < hello.length; at += size) {
    const part = hello.subarray(at, at + size)
    parts.push(Buffer.from([0x16, 3, 1, part.length >> 8, part.length & 255]), part)
  }
  return Buffer.concat(parts)
}
