import { once } from 'node:events'
import { connect } from 'node:net'
import tls from 'node:tls'
import { expect, test } from 'vitest'
import { createAuthority, createCertificate } from '../../helpers/certificates.ts'
import { startGateway, type TestGateway } from '../../helpers/gateway.ts'
import { rawRequest, startUpstream } from '../../helpers/upstream.ts'
import { parseExposition } from './exposition.ts'
import { until } from './until.ts'

const config = (host: string) => `
binds:
- port: 3000
  listeners: [{routes: [{backends: [{host: "${host}"}]}]}]
- port: 4000
  listeners: [{name: db, protocol: TCP, tcpRoutes: [{backends: [{host: "${host}"}]}]}]`

function value(gateway: TestGateway, name: string, labels: Readonly<Record<string, string>>): number | undefined {
  const { samples } = parseExposition(gateway.gateway.metrics.render(), 'prometheus')
  const found = samples.filter(
    sample =>
      sample.name === `agentgateway_${name}` &&
      Object.entries(labels).every(([label, text]) => sample.labels[label] === text),
  )
  return found[0]?.value
}

test('counts client connections, their bytes and backend connections', async () => {
  await using upstream = await startUpstream((_req, res) => res.end('hello'))
  await using gateway = await startGateway(config(upstream.host))
  const idle = connect(gateway.gateway.portOf(3000)!, '127.0.0.1')
  const request = 'GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n'
  const [first, second] = [
    await rawRequest(gateway.url(3000), request),
    await rawRequest(gateway.url(3000), request),
  ] as const
  const place = { bind: 'bind/3000', gateway: 'unknown', listener: 'unknown', protocol: 'http' }
  expect(value(gateway, 'downstream_connections_total', place)).toBe(3)
  await until(() => value(gateway, 'downstream_connections_active', place) === 1)
  idle.destroy()
  await until(() => value(gateway, 'downstream_connections_active', place) === 0)
  await until(() => value(gateway, 'downstream_received_bytes_total', place) === 2 * request.length)
  expect(value(gateway, 'downstream_sent_bytes_total', place)).toBe(first.length + second.length)
  expect(value(gateway, 'upstream_connect_duration_seconds_count', { transport: 'plaintext' })).toBe(1)
})

test('passthrough connections yield a log record', async () => {
  await using upstream = await startUpstream((_req, res) => res.end('hello'))
  await using gateway = await startGateway(config(upstream.host))
  const socket = connect(gateway.gateway.portOf(4000)!, '127.0.0.1')
  socket.end('GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n')
  socket.resume()
  await once(socket, 'close')
  await until(() => gateway.logged.join('').includes('protocol=tcp'))
  expect(value(gateway, 'downstream_connections_total', { bind: 'bind/4000', protocol: 'tcp' })).toBe(1)
})

test('counts TLS handshakes by the listener selected by SNI', async () => {
  const { cert, key } = createCertificate(createAuthority('test'), ['a.test'])
  const text = `
binds:
- port: 8443
  listeners:
  - {name: secure, hostname: a.test, protocol: HTTPS, tls: {cert: a.pem, key: a.key}, routes: [{policies: {directResponse: {status: 200}}}]}`
  await using gateway = await startGateway(text, { files: { 'a.pem': cert, 'a.key': key } })
  const socket = tls.connect({
    host: '127.0.0.1',
    port: gateway.gateway.portOf(8443)!,
    servername: 'a.test',
    rejectUnauthorized: false,
  })
  await once(socket, 'secureConnect')
  const place = { bind: 'bind/8443', protocol: 'https' }
  const secure = { ...place, gateway: 'default/default', listener: 'secure' }
  await until(() => value(gateway, 'tls_handshake_duration_seconds_count', secure) === 1)
  socket.destroy()
  await until(() => (value(gateway, 'downstream_received_bytes_total', place) ?? 0) > 100)
  expect(value(gateway, 'downstream_sent_bytes_total', place)).toBeGreaterThan(100)
})
