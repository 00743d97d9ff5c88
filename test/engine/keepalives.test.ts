import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createServer as createSecure } from 'node:https'
import net, { type AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createAuthority, createCertificate } from '../helpers/certificates.ts'
import { startGateway } from '../helpers/gateway.ts'

const TIMER_OF_PROBES = '02'
const authority = createAuthority('test authority')
const { cert, key } = createCertificate(authority, ['a.test'])

/** Seconds until the next probe of the connections to or from a port, as Linux tells them; undefined: no probes. */
function secondsToProbe(end: 'local' | 'remote', port: number): (number | undefined)[] {
  const rows = readFileSync('/proc/self/net/tcp', 'utf8').trim().split('\n').slice(1)
  const established = rows.map(row => row.trim().split(/\s+/)).filter(row => row[3] === '01')
  const portIn = (address: string | undefined) => Number.parseInt(address?.split(':')[1] ?? '', 16)
  return established
    .filter(row => portIn(row[end === 'local' ? 1 : 2]) === port)
    .map(row => {
      const [kind, when] = row[5]!.split(':')
      return kind === TIMER_OF_PROBES ? Math.round(Number.parseInt(when!, 16) / 100) : undefined
    })
}

async function startUpstream(secure: boolean): Promise<number> {
  const server = secure ? createSecure({ cert, key }) : createServer()
  server.on('request', (_, response) => response.end('ok'))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return (server.address() as AddressInfo).port
}

const asked = (seconds: number | undefined) => seconds !== undefined && seconds <= 15

describe.skipIf(process.platform !== 'linux')('keepalive probes', () => {
  test.each([
    ['plain', false, ''],
    ['TLS', true, ', policies: {backendTLS: {insecure: true}}'],
  ])('are configured once for all backend connections: %s', async (_, secure, policies) => {
    const port = await startUpstream(secure)
    await using gateway = await startGateway(`
      config: {backend: {keepalives: {time: 15s}}}
      binds: [{port: 8080, listeners: [{routes: [{backends: [{host: '127.0.0.1:${port}'${policies}}]}]}]}]`)
    expect((await fetch(gateway.url(8080))).status).toBe(200)
    await expect
      .poll(() => secondsToProbe('remote', port))
      .toSatisfy((all: number[]) => all.length === 1 && all.every(asked))
  })

  test('can be disabled for one backend', async () => {
    const port = await startUpstream(false)
    await using gateway = await startGateway(`
      binds: [{port: 8080, listeners: [{routes: [{backends: [
        {host: '127.0.0.1:${port}', policies: {tcp: {keepalives: {enabled: false}}}}]}]}]}]`)
    expect((await fetch(gateway.url(8080))).status).toBe(200)
    await expect.poll(() => secondsToProbe('remote', port)).toEqual([undefined])
  })

  test('are set on both sides of a TCP route', async () => {
    const port = await startUpstream(false)
    await using gateway = await startGateway(`
      config: {backend: {keepalives: {time: 15s}}}
      frontendPolicies: {tcp: {keepalives: {time: 15s}}}
      binds: [{port: 8080, listeners: [{protocol: TCP, tcpRoutes: [{backends: [{host: '127.0.0.1:${port}'}]}]}]}]`)
    const listening = Number(new URL(gateway.url(8080)).port)
    const client = net.connect(listening, '127.0.0.1')
    onTestFinished(() => void client.destroy())
    client.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
    await once(client, 'data')
    await expect
      .poll(() => secondsToProbe('local', listening))
      .toSatisfy((all: number[]) => all.length === 1 && all.every(asked))
    await expect
      .poll(() => secondsToProbe('remote', port))
      .toSatisfy((all: number[]) => all.length === 1 && all.every(asked))
  })
})
