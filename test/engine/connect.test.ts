import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { type AddressInfo, connect, createServer } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createAuthority, createCertificate } from '../helpers/certificates.ts'
import { startGateway, type TestGateway } from '../helpers/gateway.ts'

const { cert, key } = createCertificate(createAuthority('test authority'), ['a.test'])

const file = (mode: string, { policies = '{}', backend = '{dynamic: {allow: [127.0.0.0/8]}}' } = {}) => `
frontendPolicies: {connect: {mode: ${mode}}}
binds: [{port: 8080, listeners: [{routes: [{policies: ${policies}, backends: [${backend}]}]}]}]`

/** Says `hello`, then repeats what it hears. */
async function startEcho(secure = false): Promise<number> {
  const server = secure ? createTlsServer({ cert, key }) : createServer()
  server.on(secure ? 'secureConnection' : 'connection', socket => {
    socket.on('error', () => {})
    socket.write('hello ')
    socket.pipe(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return (server.address() as AddressInfo).port
}

/** Everything that comes back on one connection until `end` of it, or its end. */
async function say(gateway: TestGateway, text: string, end: string): Promise<string> {
  const socket = connect(Number(new URL(gateway.url(8080)).port), '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => {})
  socket.write(text)
  let heard = ''
  for await (const chunk of socket) {
    heard += String(chunk)
    if (heard.endsWith(end)) break
  }
  return heard
}

const ask = (authority: string, more = '') => `CONNECT ${authority} HTTP/1.1\r\nhost: ignored.test\r\n${more}\r\n`

describe('CONNECT', () => {
  test('opens a tunnel to the requested address and forwards data already sent', async () => {
    const port = await startEcho()
    await using gateway = await startGateway(file('route'))
    const heard = await say(gateway, `${ask(`127.0.0.1:${port}`)}early`, 'early')
    expect(heard).toBe('HTTP/1.1 200 Connection established\r\n\r\nhello early')
    await expect
      .poll(() => gateway.logged.join(''))
      .toContain(`http.method=CONNECT http.host=127.0.0.1 http.path=127.0.0.1:${port}`)
  })

  test('also works over HTTP/2', async () => {
    const port = await startEcho()
    await using gateway = await startGateway(file('route'))
    const session = connectHttp2(gateway.url(8080))
    onTestFinished(() => session.destroy())
    const stream = session.request({ ':method': 'CONNECT', ':authority': `127.0.0.1:${port}` })
    const [head] = await once(stream, 'response')
    stream.write('more')
    let heard = ''
    for await (const chunk of stream) {
      heard += String(chunk)
      if (heard.endsWith('more')) break
    }
    expect([head[':status'], heard]).toEqual([200, 'hello more'])
  })

  test('goes to the backend of the route, with TLS added by the gateway', async () => {
    const port = await startEcho(true)
    const backend = `{host: '127.0.0.1:${port}', policies: {backendTLS: {insecure: true}}}`
    await using gateway = await startGateway(file('route', { backend }))
    expect(await say(gateway, `${ask('any.test:443')}text`, 'text')).toMatch(/^HTTP\/1\.1 200 .*hello text$/s)
  })

  test('is subject to the route policies', async () => {
    const port = await startEcho()
    const policies = `{authorization: {rules: ['request.headers["x-user"] == "ann"']}}`
    await using gateway = await startGateway(file('route', { policies }))
    const as = async (user: string) =>
      (await say(gateway, ask(`127.0.0.1:${port}`, `x-user: ${user}\r\n`), ' ')).slice(9, 12)
    expect([await as('ann'), await as('bob')]).toEqual(['200', '403'])
  })

  test.each([
    ['without a port', 'a.test', 400],
    ['to an unreachable address', '127.0.0.1:1', 503],
    ['to a blocked address', '169.254.169.254:80', 403],
    ['to a name that does not resolve', 'nothing.invalid:80', 503],
  ])('%s is rejected', async (_, authority, status) => {
    await using gateway = await startGateway(file('route'))
    expect(await say(gateway, ask(authority), '\0')).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
  })

  test('is not mirrored, since a copied tunnel would have no client', async () => {
    const port = await startEcho()
    const policies = `{requestMirror: {percentage: 1, backend: {host: '127.0.0.1:${port}'}}}`
    await using gateway = await startGateway(file('route', { policies }))
    expect(await say(gateway, `${ask(`127.0.0.1:${port}`)}text`, 'text')).toMatch(/^HTTP\/1\.1 200 .*hello text$/s)
  })

  test('is rejected by default, and where configured', async () => {
    const port = await startEcho()
    for (const text of [file('deny'), file('deny').replace(/^frontendPolicies.*$/m, '')]) {
      await using gateway = await startGateway(text)
      expect(await say(gateway, ask(`127.0.0.1:${port}`), '\0')).toMatch(/^HTTP\/1\.1 405 /)
    }
  })
})
