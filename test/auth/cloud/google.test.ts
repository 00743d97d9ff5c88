import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { TraceEvent } from '../../../src/trace/trace-event.ts'
import { ManualClock } from '../../engine/manual-clock.ts'
import { startGateway } from '../../helpers/gateway.ts'
import {
  audienceOf,
  type GoogleServer,
  serviceAccount,
  startGoogleServer,
  userLogin,
} from '../../helpers/google-server.ts'
import { startUpstream } from '../../helpers/upstream.ts'

/** Tells which credential has come. */
const startBackend = () => startUpstream((req, res) => res.end(req.headers.authorization ?? 'none'))

const file = (host: string, gcp: unknown) =>
  JSON.stringify({
    frontendPolicies: { http: { http1IdleTimeout: '24h' } },
    binds: [{ port: 8080, listeners: [{ routes: [{ backends: [{ host, policies: { backendAuth: { gcp } } }] }] }] }],
  })
const ask = async (url: string, init?: RequestInit) => (await fetch(url, init)).text()
/** On no machine of Google. */
const nowhere = (google: GoogleServer) => ({ GCE_METADATA_HOST: google.host })

/** The path of a file with this text, for the time of the test. */
async function written(text: string, ...path: string[]): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'google-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const name = join(folder, ...(path.length === 0 ? ['file'] : path))
  await mkdir(join(name, '..'), { recursive: true })
  await writeFile(name, text)
  return path.length === 0 ? name : folder
}

describe('access tokens', () => {
  test('for a service account whose key file is named in the configuration', async () => {
    await using google = await startGoogleServer()
    await using backend = await startBackend()
    const files = { 'key.json': JSON.stringify(serviceAccount(google)) }
    await using gateway = await startGateway(file(backend.host, { credential: { file: 'key.json' } }), { files })
    const headers = { authorization: 'Bearer of-the-client' }
    expect(await ask(gateway.url(8080), { headers })).toBe('Bearer token-1')
    expect(await ask(gateway.url(8080))).toBe('Bearer token-1')
    expect(google.asked).toEqual(['robot@p.iam.gserviceaccount.com'])
  })

  test('for a service account key inlined in the configuration, which is never exposed', async () => {
    await using google = await startGoogleServer()
    await using backend = await startBackend()
    const credential = JSON.stringify(serviceAccount(google))
    await using gateway = await startGateway(file(backend.host, { credential }), { logFilter: 'trace' })
    const watch = gateway.trace.watch({ requests: 1 })
    if (watch === undefined || 'problem' in watch) throw new Error('nobody watches')
    expect(await ask(gateway.url(8080))).toBe('Bearer token-1')
    const events: TraceEvent[] = []
    await expect
      .poll(() => {
        for (let event = watch.next(); event; event = watch.next()) events.push(event)
        return watch.finished
      })
      .toBe(true)
    expect(events.map(({ message }) => message)).toContainEqual(
      expect.objectContaining({ type: 'callStart', target: google.host, purpose: 'credentials' }),
    )
    const shown = JSON.stringify([gateway.gateway.snapshot, gateway.logged, events])
    for (const secret of ['PRIVATE KEY', 'token-1', 'assertion']) expect(shown).not.toContain(secret)
  })

  test('from the file named by the environment or written by gcloud', async () => {
    await using google = await startGoogleServer()
    await using backend = await startBackend()
    const named = await written(JSON.stringify(serviceAccount(google)))
    {
      await using gateway = await startGateway(file(backend.host, {}), {
        env: { GOOGLE_APPLICATION_CREDENTIALS: named },
      })
      expect(await ask(gateway.url(8080))).toBe('Bearer token-1')
    }
    const HOME = await written(
      JSON.stringify(userLogin(google)),
      '.config',
      'gcloud',
      'application_default_credentials.json',
    )
    await using gateway = await startGateway(file(backend.host, null), { env: { HOME } })
    expect(await ask(gateway.url(8080))).toBe('Bearer user-token')
  })

  test('from the metadata server', async () => {
    await using google = await startGoogleServer()
    await using backend = await startBackend()
    await using gateway = await startGateway(file(backend.host, {}), { env: nowhere(google) })
    expect(await ask(gateway.url(8080))).toBe('Bearer machine-token')
  })

  test('for an external workload, using a subject token from a file or a URL', async () => {
    await using google = await startGoogleServer()
    await using backend = await startBackend()
    await using issuer = await startUpstream((req, res) => {
      res.end(req.headers['x-key'] === 'k' ? JSON.stringify({ value: 'subject-of-url' }) : 'no')
    })
    const subject = await written('subject-of-file\n')
    const external = {
      type: 'external_account',
      audience: '//iam.googleapis.com/pool',
      subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
      token_url: `http://${google.host}/sts`,
    }
    const source = (credential_source: object, more = {}) => JSON.stringify({ ...external, ...more, credential_source })
    const url = {
      url: `http://${issuer.host}/token`,
      headers: { 'X-Key': 'k' },
      format: { type: 'json', subject_token_field_name: 'value' },
    }
    const impersonation = `http://${google.host}/v1/projects/-/serviceAccounts/other:generateAccessToken`
    for (const [credential, token] of [
      [source({ file: subject }), 'federated-token'],
      [source(url, { client_id: 'c', client_secret: 's' }), 'federated-token'],
      [source({ file: subject }, { service_account_impersonation_url: impersonation }), 'impersonated-token'],
    ]) {
      await using gateway = await startGateway(file(backend.host, { credential }))
      expect(await ask(gateway.url(8080))).toBe(`Bearer ${token}`)
    }
    const kind = 'urn:ietf:params:oauth:token-type:jwt //iam.googleapis.com/pool'
    expect(google.asked).toEqual([
      `subject-of-file ${kind}`,
      `subject-of-url ${kind} Basic ${Buffer.from('c:s').toString('base64')}`,
      `subject-of-file ${kind}`,
      'Bearer federated-token as /v1/projects/-/serviceAccounts/other:generateAccessToken',
    ])
  })

  test('for an impersonated service account', async () => {
    await using google = await startGoogleServer()
    await using backend = await startBackend()
    const credential = JSON.stringify({
      type: 'impersonated_service_account',
      service_account_impersonation_url: `http://${google.host}/v1/projects/-/serviceAccounts/other:generateAccessToken`,
      delegates: ['between'],
      source_credentials: userLogin(google),
    })
    await using gateway = await startGateway(file(backend.host, { credential }))
    expect(await ask(gateway.url(8080))).toBe('Bearer impersonated-token')
    expect(google.asked[1]).toBe(
      'Bearer user-token as /v1/projects/-/serviceAccounts/other:generateAccessToken by between',
    )
  })
})

test('sends the proxy a token with each tunnel, and opens no tunnel without one', async () => {
  await using google = await startGoogleServer()
  await using backend = await startBackend()
  const tunnels: unknown[] = []
  const proxy = createServer().on('connect', (req, socket) => {
    tunnels.push([req.url, req.headers.authorization])
    const up = connect(backend.port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      up.pipe(socket).pipe(up)
    })
    for (const each of [up, socket]) each.on('error', () => {})
  })
  await new Promise<void>(done => proxy.listen(0, '127.0.0.1', done))
  onTestFinished(() => void proxy.close())
  const host = `127.0.0.1:${(proxy.address() as AddressInfo).port}`
  const gcp = { credential: JSON.stringify(serviceAccount(google)) }
  const backendTunnel = { proxy: { host }, policies: { backendAuth: { gcp } } }
  const route = { backends: [{ host: 'inside.test:80', policies: { backendTunnel } }] }
  google.answer = res => res.writeHead(503).end()
  await using gateway = await startGateway(
    JSON.stringify({ binds: [{ port: 8080, listeners: [{ routes: [route] }] }] }),
  )
  expect((await fetch(gateway.url(8080))).status).toBe(500)
  expect(tunnels).toEqual([])
  google.answer = undefined
  expect(await ask(gateway.url(8080))).toBe('none')
  expect(tunnels).toEqual([['inside.test:80', 'Bearer token-1']])
})

describe('ID tokens', () => {
  const ID = { type: 'idToken', audience: 'https://run.test' }

  test.each<[string, (google: GoogleServer) => Promise<{ gcp: object; env?: Record<string, string> }>, string]>([
    [
      'for a service account',
      async google => ({ gcp: { ...ID, credential: JSON.stringify(serviceAccount(google)) } }),
      'https://run.test',
    ],
    ['for the machine', async google => ({ gcp: ID, env: nowhere(google) }), 'https://run.test'],
    [
      'for a user, only with the gcloud audience',
      async google => ({ gcp: { type: 'idToken', audience: 'gcloud', credential: JSON.stringify(userLogin(google)) } }),
      'gcloud',
    ],
  ])('%s', async (_what, make, audience) => {
    await using google = await startGoogleServer()
    await using backend = await startBackend()
    const { gcp, env = {} } = await make(google)
    await using gateway = await startGateway(file(backend.host, gcp), { env })
    expect(audienceOf(await ask(gateway.url(8080)))).toBe(audience)
    await ask(gateway.url(8080))
    expect(google.asked).toHaveLength(1)
  })

  test('default to the backend host as audience and need an explicit one for an IP address', async () => {
    await using google = await startGoogleServer()
    await using backend = await startBackend()
    const env = nowhere(google)
    await using gateway = await startGateway(file(`localhost:${backend.port}`, { type: 'idToken' }), { env })
    expect(audienceOf(await ask(gateway.url(8080)))).toBe('https://localhost')
    await using other = await startGateway(file(backend.host, { type: 'idToken' }), { env })
    expect(await ask(other.url(8080))).toBe(
      'backend authentication failed: an ID token for an address needs `audience`',
    )
  })
})

describe('an access token', () => {
  test('is fetched once for all waiting calls and shared across equal credentials', async () => {
    await using google = await startGoogleServer()
    await using backend = await startBackend()
    const gcp = { credential: JSON.stringify(serviceAccount(google)) }
    const route = (path: string) => ({
      matches: [{ path: { pathPrefix: path } }],
      backends: [{ host: backend.host, policies: { backendAuth: { gcp } } }],
    })
    const config = { binds: [{ port: 8080, listeners: [{ routes: [route('/a'), route('/b')] }] }] }
    await using gateway = await startGateway(JSON.stringify(config))
    const all = await Promise.all(
      Array.from({ length: 100 }, (_, i) => ask(gateway.url(8080) + (i % 2 === 0 ? '/a' : '/b'))),
    )
    expect(new Set(all)).toEqual(new Set(['Bearer token-1']))
    expect(google.asked).toHaveLength(1)
  })

  test('is renewed before it expires and kept through an outage until it does', async () => {
    const clock = new ManualClock()
    await using google = await startGoogleServer()
    await using backend = await startBackend()
    const credential = JSON.stringify(serviceAccount(google))
    await using gateway = await startGateway(file(backend.host, { credential }), { clock })
    expect(await ask(gateway.url(8080))).toBe('Bearer token-1')
    clock.advance(56 * 60_000)
    expect(await ask(gateway.url(8080))).toBe('Bearer token-1')
    await expect.poll(() => google.asked.length).toBe(2)
    await expect.poll(() => ask(gateway.url(8080))).toBe('Bearer token-2')
    google.answer = res => res.writeHead(503).end()
    clock.advance(59 * 60_000)
    expect(await ask(gateway.url(8080))).toBe('Bearer token-2')
    clock.advance(2 * 60_000)
    expect(await ask(gateway.url(8080))).toBe(`backend authentication failed: ${google.host} answered 503`)
    google.answer = undefined
    expect(await ask(gateway.url(8080))).toBe('Bearer token-3')
  })
})

test('a disconnecting client ends its own trace, but not a token request others may be waiting for', async () => {
  await using google = await startGoogleServer()
  await using backend = await startBackend()
  const asked = Promise.withResolvers<ServerResponse>()
  google.answer = res => asked.resolve(res)
  const credential = JSON.stringify(serviceAccount(google))
  await using gateway = await startGateway(file(backend.host, { credential }))
  const watch = gateway.trace.watch({ requests: 2 })
  if (watch === undefined || 'problem' in watch) throw new Error('nobody watches')
  const leaving = new AbortController()
  const left = fetch(gateway.url(8080), { signal: leaving.signal }).catch(() => 'left')
  const res = await asked.promise
  const staying = ask(gateway.url(8080))
  leaving.abort()
  expect(await left).toBe('left')
  const messages: TraceEvent['message'][] = []
  const read = () => {
    for (let event = watch.next(); event; event = watch.next()) messages.push(event.message)
    return messages.map(({ type }) => type)
  }
  await expect.poll(read).toContain('requestFinished')
  res.end('{"access_token": "late", "expires_in": 3600}')
  expect(await staying).toBe('Bearer late')
  await expect.poll(() => read().filter(type => type === 'requestFinished')).toHaveLength(2)
  const told = messages.flatMap(m => (m.type === 'callEnd' && m.target === google.host ? [m.error] : []))
  expect(told).toEqual(['the request was over first'])
  expect(backend.connections).toBe(1)
})

describe('a token service that', () => {
  test.each<[string, NonNullable<GoogleServer['answer']>, RegExp]>([
    [
      'refuses the request',
      res => res.writeHead(401).end('{"error": "invalid_grant", "x": "robot"}'),
      / 401 \(invalid_grant\)$/,
    ],
    ['does not answer with JSON', res => res.end('<html>'), /: the answer of 127\.0\.0\.1:\d+ is not JSON$/],
    ['answers with a list', res => res.end('[]'), / is not a JSON object$/],
    ['returns no token', res => res.end('{}'), / has no token$/],
    [
      'returns a token with a line break',
      res => res.end('{"access_token": "a\\r\\nx: y", "expires_in": 9}'),
      / has no token$/,
    ],
    ['returns an expired token', res => res.end('{"access_token": "a", "expires_in": 0}'), / has ended already$/],
    ['returns an oversized response', res => res.end(Buffer.alloc(300_000)), /response body too large/],
    ['closes the connection', res => res.destroy(), /upstream call failed/],
  ])('%s fails the call but not the next one', async (_what, answer, expected) => {
    await using google = await startGoogleServer()
    await using backend = await startBackend()
    const credential = JSON.stringify(serviceAccount(google))
    await using gateway = await startGateway(file(backend.host, { credential }))
    google.answer = answer
    const reply = await fetch(gateway.url(8080))
    expect([reply.status, await reply.text()]).toEqual([500, expect.stringMatching(expected)])
    expect(backend.connections).toBe(0)
    google.answer = undefined
    expect(await ask(gateway.url(8080))).toBe('Bearer token-1')
  })

  test('does not answer times out after five seconds', async () => {
    const clock = new ManualClock()
    await using google = await startGoogleServer()
    await using backend = await startBackend()
    const asked = Promise.withResolvers<void>()
    google.answer = () => asked.resolve()
    const credential = JSON.stringify(serviceAccount(google))
    await using gateway = await startGateway(file(backend.host, { credential }), { clock })
    const reply = ask(gateway.url(8080))
    await asked.promise
    clock.advance(5000)
    expect(await reply).toMatch(/^backend authentication failed: 127\.0\.0\.1:\d+: upstream call timeout/)
  })

  test('is not a Google metadata server is not trusted', async () => {
    await using google = await startGoogleServer()
    await using backend = await startBackend()
    google.answer = res => res.end('{"access_token": "a", "expires_in": 9}')
    await using gateway = await startGateway(file(backend.host, {}), { env: nowhere(google) })
    expect(await ask(gateway.url(8080))).toMatch(/ is not a metadata server of Google$/)
  })
})

describe('an unusable credential is reported when the file is read', () => {
  test.each([
    ['{"type": "service_account"}', 'the Google credential has no `client_email`'],
    ['{"type": "teapot"}', 'the Google credential is of an unknown type'],
    ['{', 'the Google credential is not JSON'],
    [
      '{"type": "authorized_user", "client_id": "a", "client_secret": "s3cr3t", "refresh_token": "s3cr3t", "token_uri": "ftp://x"}',
      '`token_uri` of the Google credential is not a URL',
    ],
    [
      '{"type": "external_account", "credential_source": {"executable": {"command": "s3cr3t"}}}',
      'takes its subject token neither from a `file` nor from a `url`',
    ],
  ])('%s', async (credential, message) => {
    const failure = await startGateway(file('h:1', { credential })).catch((error: unknown) => String(error))
    expect(failure).toContain(message)
    expect(failure).toContain('GW106')
    expect(failure).not.toContain('s3cr3t')
    const files = { k: credential }
    const named = startGateway(file('h:1', { credential: { file: 'k' } }), { files })
    await expect(named).rejects.toThrow(/GW207/)
  })
})
