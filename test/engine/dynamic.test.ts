import { connect } from 'node:net'
import { describe, expect, test } from 'vitest'
import { startGateway } from '../helpers/gateway.ts'
import { echo, rawRequest, startUpstream } from '../helpers/upstream.ts'

const file = (dynamic = '{}', policies = '{}') =>
  `binds: [{port: 8080, listeners: [{routes: [{backends: [{dynamic: ${dynamic}, policies: ${policies}}]}]}]}]`
const LOOPBACK = '{allow: [127.0.0.0/8, "::1/128"]}'

const ask = async (url: string, target: string, host: string) => {
  const answer = await rawRequest(url, `GET ${target} HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`)
  return { status: Number(answer.slice(9, 12)), body: answer.slice(answer.indexOf('\r\n\r\n') + 4) }
}

describe('the destination', () => {
  test('is the host the client requests', async () => {
    await using upstream = await startUpstream(echo)
    await using gateway = await startGateway(file(LOOPBACK))
    const { body } = await ask(gateway.url(8080), '/p?q=1', `localhost:${upstream.port}`)
    expect(body).toContain('"url":"/p?q=1"')
    expect(body.toLowerCase()).toContain(`"host","localhost:${upstream.port}"`)
  })

  test('is the authority of an absolute target, whatever the Host header says', async () => {
    await using upstream = await startUpstream(echo)
    await using gateway = await startGateway(file(LOOPBACK))
    const { body } = await ask(gateway.url(8080), `http://${upstream.host}/abs`, 'elsewhere.test')
    expect(body).toContain('"url":"/abs"')
    expect(body).not.toContain('elsewhere')
  })

  test('can come from an expression', async () => {
    await using upstream = await startUpstream(echo)
    const target = `{allow: [127.0.0.0/8], target: '"127.0.0.1:" + request.headers["x-port"]'}`
    await using gateway = await startGateway(file(target))
    const response = await fetch(gateway.url(8080), { headers: { 'x-port': String(upstream.port) } })
    expect(response.status).toBe(200)
    const without = await fetch(gateway.url(8080))
    expect([without.status, await without.text()]).toEqual([
      503,
      'processing failed: the target expression does not evaluate to host:port',
    ])
  })

  test.each(['a b', 'user@host', 'host:0', 'host:99999', 'host/path', '[::1', 'a:1:2'])(
    'cannot be %s',
    async destination => {
      await using gateway = await startGateway(file(`{target: 'request.headers["x-to"]'}`))
      const response = await fetch(gateway.url(8080), { headers: { 'x-to': destination } })
      expect(response.status).toBe(503)
    },
  )

  test('without an address yields a 503', async () => {
    await using gateway = await startGateway(file())
    const { status, body } = await ask(gateway.url(8080), '/', 'nothing.invalid')
    expect([status, body]).toEqual([503, 'backends required DNS resolution which failed'])
  })

  test('CONNECT remains rejected', async () => {
    await using upstream = await startUpstream(echo)
    await using gateway = await startGateway(file(LOOPBACK))
    const url = gateway.url(8080)
    const answer = await rawRequest(url, `CONNECT ${upstream.host} HTTP/1.1\r\nhost: ${upstream.host}\r\n\r\n`)
    expect(answer).toMatch(/^HTTP\/1\.1 405 /)
  })
})

describe('internal addresses', () => {
  test.each([
    '127.0.0.1',
    '127.8.9.10',
    'localhost',
    '0.0.0.0',
    '0',
    '2130706433',
    '0x7f000001',
    '127.1',
    '[::1]',
    '[::]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[64:ff9b::7f00:1]',
    '[2002:7f00:1::]',
    '169.254.169.254',
    '[::ffff:169.254.169.254]',
    '[fe80::1]',
    '[fd00:ec2::254]',
    '100.100.100.200',
    '224.0.0.1',
  ])('%s is rejected before any connection', async host => {
    await using upstream = await startUpstream(echo)
    await using gateway = await startGateway(file())
    const { status, body } = await ask(gateway.url(8080), '/', `${host}:${upstream.port}`)
    // Some resolvers know no short forms of addresses: no connection either way.
    expect([403, 503]).toContain(status)
    expect(body).toMatch(/^(destination not allowed|backends required DNS resolution which failed)$/)
    expect(upstream.connections).toBe(0)
  })

  test('an allowed range allows nothing else', async () => {
    await using upstream = await startUpstream(echo)
    await using gateway = await startGateway(file('{allow: [127.0.0.1/32]}'))
    expect((await ask(gateway.url(8080), '/', upstream.host)).status).toBe(200)
    expect((await ask(gateway.url(8080), '/', `127.0.0.2:${upstream.port}`)).status).toBe(403)
    expect((await ask(gateway.url(8080), '/', '169.254.169.254')).status).toBe(403)
  })

  test('a connection opened for an allowed request is not reused for a disallowed one', async () => {
    await using upstream = await startUpstream(echo)
    const routes = (allow: string) => `
binds: [{port: 8080, listeners: [{routes: [
  {matches: [{path: {pathPrefix: /open}}], backends: [{dynamic: {allow: [127.0.0.0/8]}}]},
  {backends: [{dynamic: {${allow}}}]}]}]}]`
    await using gateway = await startGateway(routes(''))
    expect((await ask(gateway.url(8080), '/open', upstream.host)).status).toBe(200)
    expect((await ask(gateway.url(8080), '/', upstream.host)).status).toBe(403)
  })

  test.each(['127.0.0.1', 'localhost'])(
    'a connection to %s opened by a configured backend is not reused',
    async host => {
      await using upstream = await startUpstream(echo)
      const address = `${host}:${upstream.port}`
      await using gateway = await startGateway(`
binds: [{port: 8080, listeners: [{routes: [
  {matches: [{path: {pathPrefix: /own}}], backends: [{host: '${address}'}]},
  {backends: [{dynamic: {}}]}]}]}]`)
      expect((await ask(gateway.url(8080), '/own', 'a')).status).toBe(200)
      expect((await ask(gateway.url(8080), '/', address)).status).toBe(403)
    },
  )

  test('an invalid range is a finding', async () => {
    await expect(startGateway(file('{allow: [10.0.0.1]}'))).rejects.toThrow(/GW106 .* is not an address range/)
  })
})

test('the port defaults to that of the scheme', async () => {
  await using gateway = await startGateway(file('{allow: ["127.0.0.0/8"]}'))
  const refused = await new Promise<boolean>(resolve => {
    const probe = connect(80, '127.0.0.1', () => resolve(false))
    probe.on('error', () => resolve(true))
    probe.on('connect', () => probe.destroy())
  })
  const { status, body } = await ask(gateway.url(8080), '/', '127.0.0.1')
  if (refused) expect([status, body]).toEqual([503, 'upstream call failed: connection refused'])
  else expect(status).not.toBe(403)
})
