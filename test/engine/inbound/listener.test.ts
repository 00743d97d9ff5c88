import { once } from 'node:events'
import { connect } from 'node:net'
import tls from 'node:tls'
import { describe, expect, test } from 'vitest'
import { load } from '../../../src/config/load.ts'
import type { Step } from '../../../src/config/snapshot.ts'
import type { Hooks } from '../../../src/policies/policy.ts'
import { createAuthority, createCertificate } from '../../helpers/certificates.ts'
import { startGateway, type TestGateway } from '../../helpers/gateway.ts'
import { closeOf } from '../../helpers/upstream.ts'

const { cert, key } = createCertificate(createAuthority('test authority'), ['a.test'])
const files = { 'a.pem': cert, 'a.key': key }
const ROUTES = 'routes: [{policies: {directResponse: {status: 200, body: served}}}]'
const CONFIG = `binds:
- {port: 8080, listeners: [{${ROUTES}}]}
- {port: 8443, listeners: [{protocol: HTTPS, tls: {cert: a.pem, key: a.key}, ${ROUTES}}]}`

/** Serves `CONFIG` with a policy over connections that no file can ask for. */
async function underPolicy(connection: NonNullable<Hooks['connection']>): Promise<TestGateway> {
  const test = await startGateway(CONFIG, { files })
  const { gateway } = test
  gateway.state.begin()
  const { snapshot } = await load('test.yaml', CONFIG, {
    env: {},
    tier: 'env',
    runtime: gateway.runtime,
    readReferenced: path => Buffer.from(files[path as keyof typeof files]),
  })
  const step: Step = { policy: 'test', origins: [], spec: undefined, hooks: { connection } }
  await gateway.apply({ ...snapshot!, binds: snapshot!.binds.map(bind => ({ ...bind, connection: [step] })) })
  return test
}

describe('a failing connection policy', () => {
  test.each([
    ['at once', 8080],
    ['at once', 8443],
    ['later', 8080],
    ['later', 8443],
  ])('%s refuses the connection on port %i and no other', async (when, port) => {
    let healthy = false
    await using gateway = await underPolicy(() => {
      if (healthy) return true
      if (when === 'later') return Promise.reject(new Error('broken policy'))
      throw new Error('broken policy')
    })
    const to = { host: '127.0.0.1', port: gateway.gateway.portOf(port)! }
    const open = () => (port === 8443 ? tls.connect({ ...to, rejectUnauthorized: false }) : connect(to))
    const refused = open()
    await closeOf(refused)
    expect(gateway.logged.join('')).toMatch(/\tconnection refused\treason="broken policy" /)
    healthy = true
    const socket = open()
    socket.write('GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n')
    let text = ''
    socket.on('data', chunk => {
      text += chunk
    })
    await once(socket, 'end')
    expect(text).toMatch(/^HTTP\/1\.1 200 [\s\S]*served$/)
    socket.destroy()
  })
})
