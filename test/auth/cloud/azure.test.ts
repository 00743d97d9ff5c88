import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { ManualClock } from '../../engine/manual-clock.ts'
import { type EntraServer, startEntraServer } from '../../helpers/entra-server.ts'
import { startGateway } from '../../helpers/gateway.ts'
import { startUpstream } from '../../helpers/upstream.ts'

/** Tells which credential has come. */
const startBackend = () => startUpstream((req, res) => res.end(req.headers.authorization ?? 'none'))

const file = (host: string, azure: unknown) =>
  JSON.stringify({
    frontendPolicies: { http: { http1IdleTimeout: '24h' } },
    binds: [{ port: 8080, listeners: [{ routes: [{ backends: [{ host, policies: { backendAuth: { azure } } }] }] }] }],
  })
const SECRET = { clientSecret: { tenant_id: 'tenant', client_id: 'app', client_secret: 'app+secret' } }
const ask = async (url: string, init?: RequestInit) => (await fetch(url, init)).text()
const SCOPE = 'https://cognitiveservices.azure.com/.default'
const RESOURCE = 'https://cognitiveservices.azure.com'

/** The folder that holds these files, for the time of the test. */
async function folderWith(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'azure-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
  return folder
}

const login = (entra: EntraServer) => ({ AZURE_AUTHORITY_HOST: `http://${entra.host}/` })
const machine = (entra: EntraServer) => ({ AZURE_POD_IDENTITY_AUTHORITY_HOST: `http://${entra.host}` })
const app = (entra: EntraServer) => ({
  IDENTITY_ENDPOINT: `http://${entra.host}/msi/token?x=1`,
  IDENTITY_HEADER: 'pass',
})
const federated = async () => ({
  AZURE_TENANT_ID: 'tenant',
  AZURE_CLIENT_ID: 'pod',
  AZURE_FEDERATED_TOKEN_FILE: join(await folderWith({ token: 'the.projected.token\n' }), 'token'),
})
const byCli = async () => ({
  AZURE_CONFIG_DIR: await folderWith({
    'msal_token_cache.json': JSON.stringify({
      RefreshToken: { x: { client_id: 'cli', secret: 'refresh-me', environment: 'login.microsoftonline.com' } },
    }),
    'azureProfile.json': `\uFEFF${JSON.stringify({
      subscriptions: [{ tenantId: 'other' }, { tenantId: 'mine', isDefault: true }],
    })}`,
  }),
})

type Env = (entra: EntraServer) => Promise<Record<string, string>>
const user = (userAssignedIdentity: object) => ({ explicitConfig: { managedIdentity: { userAssignedIdentity } } })

describe('an Entra ID token', () => {
  test.each<[string, unknown, Env, string, string]>([
    [
      'for an application with a secret',
      { explicitConfig: SECRET },
      async e => login(e),
      'secret-token',
      `tenant app ${SCOPE}`,
    ],
    [
      'for the pod',
      { explicitConfig: { workloadIdentity: {} } },
      async e => ({ ...login(e), ...(await federated()) }),
      'workload-token',
      `tenant pod ${SCOPE}`,
    ],
    [
      'for the machine',
      { explicitConfig: { managedIdentity: {} } },
      async e => machine(e),
      'instance-token',
      `instance ${RESOURCE} {}`,
    ],
    [
      'for the machine, by client ID',
      user({ clientId: 'c' }),
      async e => machine(e),
      'instance-token',
      `instance ${RESOURCE} {"client_id":"c"}`,
    ],
    [
      'for the machine, by object ID',
      user({ objectId: 'o' }),
      async e => machine(e),
      'instance-token',
      `instance ${RESOURCE} {"object_id":"o"}`,
    ],
    [
      'for the machine, by resource ID',
      user({ resourceId: '/subscriptions/s' }),
      async e => machine(e),
      'instance-token',
      `instance ${RESOURCE} {"msi_res_id":"/subscriptions/s"}`,
    ],
    [
      'for the app',
      { explicitConfig: { managedIdentity: {} } },
      async e => app(e),
      'app-token',
      `app ${RESOURCE} {"x":"1"}`,
    ],
    [
      'for the app, by resource ID',
      user({ resourceId: '/subscriptions/s' }),
      async e => app(e),
      'app-token',
      `app ${RESOURCE} {"x":"1","mi_res_id":"/subscriptions/s"}`,
    ],
    [
      'for the signed-in developer',
      { developerImplicit: {} },
      async e => ({ ...login(e), ...(await byCli()) }),
      'developer-token',
      `mine cli ${SCOPE}`,
    ],
    [
      'from the environment: a service principal',
      { implicit: {} },
      async e => ({
        ...login(e),
        ...machine(e),
        AZURE_TENANT_ID: 'tenant',
        AZURE_CLIENT_ID: 'app',
        AZURE_CLIENT_SECRET: 'app+secret',
      }),
      'secret-token',
      `tenant app ${SCOPE}`,
    ],
    [
      'from the environment: a workload',
      { implicit: {} },
      async e => ({ ...login(e), ...machine(e), ...(await federated()) }),
      'workload-token',
      `tenant pod ${SCOPE}`,
    ],
    [
      'from the environment: an app',
      { implicit: {} },
      async e => ({ ...app(e), AZURE_CLIENT_ID: 'c' }),
      'app-token',
      `app ${RESOURCE} {"x":"1","client_id":"c"}`,
    ],
    [
      'from the environment: a machine',
      { implicit: {} },
      async e => machine(e),
      'instance-token',
      `instance ${RESOURCE} {}`,
    ],
  ])('%s', async (_what, azure, env, token, line) => {
    await using entra = await startEntraServer()
    await using backend = await startBackend()
    await using gateway = await startGateway(file(backend.host, azure), { env: await env(entra) })
    const headers = { authorization: 'Bearer of-the-client' }
    expect(await ask(gateway.url(8080), { headers })).toBe(`Bearer ${token}`)
    await ask(gateway.url(8080))
    expect(entra.asked).toEqual([line])
  })

  test('of the developer is used when no managed identity answers', async () => {
    await using entra = await startEntraServer()
    await using nothing = await startUpstream((_req, res) => res.writeHead(404).end())
    await using backend = await startBackend()
    const env = {
      ...login(entra),
      ...(await byCli()),
      AZURE_POD_IDENTITY_AUTHORITY_HOST: `http://${nothing.host}`,
    }
    await using gateway = await startGateway(file(backend.host, { implicit: {} }), { env })
    expect(await ask(gateway.url(8080))).toBe('Bearer developer-token')
  })

  test('that is unavailable fails the call and says which sources were tried', async () => {
    await using nothing = await startUpstream((_req, res) => res.writeHead(404).end())
    await using backend = await startBackend()
    const env = { AZURE_POD_IDENTITY_AUTHORITY_HOST: `http://${nothing.host}` }
    for (const [azure, reason] of [
      [{ implicit: {} }, /: no Azure credentials: .* answered 404; not signed in: run `az login`$/],
      [{ explicitConfig: { workloadIdentity: {} } }, /needs AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_FEDERATED/],
    ] as const) {
      await using gateway = await startGateway(file(backend.host, azure), { env })
      expect(await ask(gateway.url(8080))).toMatch(reason)
    }
    expect(backend.connections).toBe(0)
  })

  test('is requested once for all waiting calls, renewed before it expires and never exposed', async () => {
    const clock = new ManualClock()
    await using entra = await startEntraServer()
    await using backend = await startBackend()
    const config = file(backend.host, { explicitConfig: SECRET })
    await using gateway = await startGateway(config, { env: login(entra), clock, logFilter: 'trace' })
    const all = await Promise.all(Array.from({ length: 100 }, () => ask(gateway.url(8080))))
    expect([new Set(all), entra.asked.length]).toEqual([new Set(['Bearer secret-token']), 1])
    clock.advance(56 * 60_000)
    entra.answer = res => res.writeHead(500).end()
    expect(await ask(gateway.url(8080))).toBe('Bearer secret-token')
    clock.advance(5 * 60_000)
    expect(await ask(gateway.url(8080))).toMatch(/ answered 500$/)
    entra.answer = undefined
    expect(await ask(gateway.url(8080))).toBe('Bearer secret-token')
    const shown = JSON.stringify([gateway.gateway.snapshot, gateway.logged])
    for (const secret of ['app+secret', 'secret-token']) expect(shown).not.toContain(secret)
  })

  test('that is refused reports the reason without leaking what was sent', async () => {
    await using entra = await startEntraServer()
    await using backend = await startBackend()
    const wrong = { explicitConfig: { clientSecret: { tenantId: 't', clientId: 'a', clientSecret: 'wrong' } } }
    await using gateway = await startGateway(file(backend.host, wrong), { env: login(entra) })
    expect(await ask(gateway.url(8080))).toBe(
      `backend authentication failed: ${entra.host} answered 400 (invalid_request)`,
    )
  })
})
