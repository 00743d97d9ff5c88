import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterAll, describe, expect, test } from 'vitest'
import { Failure } from '../../../src/diagnostics/failure.ts'
import { renderTranslation, translateTexts } from '../../../src/tools/input/translate-resources.ts'
import { type ClusterRequest, readCluster } from '../../../src/tools/kube-api/read-cluster.ts'
import { startConnectProxy } from '../../helpers/connect-proxy.ts'
import { type KubeServerOptions, startKubeServer } from '../../helpers/kube-server.ts'

const GATEWAY = 'gateway.networking.k8s.io/v1'
const OWN = 'agentgateway.dev/v1alpha1'
const KINDS = {
  v1: { Service: 'services', Secret: 'secrets', ConfigMap: 'configmaps', Namespace: 'namespaces' },
  [GATEWAY]: { Gateway: 'gateways', GatewayClass: 'gatewayclasses', HTTPRoute: 'httproutes' },
  [OWN]: { AgentgatewayPolicy: 'agentgatewaypolicies' },
}
const named = (name: string, namespace?: string) => ({ name, ...(namespace === undefined ? {} : { namespace }) })
const route = (name: string, namespace = 'shop') => ({
  apiVersion: GATEWAY,
  kind: 'HTTPRoute',
  metadata: { ...named(name, namespace), managedFields: [{ manager: 'kubectl' }], uid: 'u', resourceVersion: '7' },
  spec: {
    parentRefs: [{ name: 'edge' }],
    rules: [
      {
        matches: [{ path: { type: 'PathPrefix', value: `/${name}` } }],
        filters: [{ type: 'RequestRedirect', requestRedirect: { hostname: 'a.example', statusCode: 302 } }],
      },
    ],
  },
})
const ITEMS = [
  {
    apiVersion: GATEWAY,
    kind: 'GatewayClass',
    metadata: named('agentgateway'),
    spec: { controllerName: 'agentgateway.dev/agentgateway' },
  },
  {
    apiVersion: GATEWAY,
    kind: 'Gateway',
    metadata: named('edge', 'shop'),
    spec: { gatewayClassName: 'agentgateway', listeners: [{ name: 'http', port: 8080, protocol: 'HTTP' }] },
  },
  ...['a', 'b', 'c', 'd', 'e'].map(name => route(name)),
  route('z', 'other'),
  {
    apiVersion: OWN,
    kind: 'AgentgatewayPolicy',
    metadata: {
      ...named('slow', 'shop'),
      annotations: { 'kubectl.kubernetes.io/last-applied-configuration': '{"spec":"hunter2"}' },
    },
    spec: {
      targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name: 'a' }],
      traffic: { timeouts: { request: '5s' } },
    },
  },
]
const folder = mkdtempSync(join(tmpdir(), 'kubeconfig-'))
afterAll(() => rmSync(folder, { recursive: true }))

type Running = Awaited<ReturnType<typeof startKubeServer>>
const start = (more: Partial<KubeServerOptions> = {}) => startKubeServer({ kinds: KINDS, items: ITEMS, ...more })
const base64 = (text: string) => Buffer.from(text).toString('base64')

function kubeconfig(server: Running, user: object, cluster: object = {}): string {
  const trust = { 'certificate-authority-data': base64(server.authority) }
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'main',
    clusters: [{ name: 'c', cluster: { server: server.url, ...trust, ...cluster } }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'main', context: { cluster: 'c', user: 'u', namespace: 'shop' } }],
  })
}

interface Told {
  readonly notes: string[]
  readonly env?: Record<string, string>
  readonly account?: string
  readonly timeout?: number
  readonly maxAnswer?: number
}

/** Reads with a kubeconfig that comes through stdin. */
function read(text: string, request: Partial<ClusterRequest> = {}, told: Told = { notes: [] }) {
  const place = {
    cwd: folder,
    env: told.env ?? {},
    stdin: Readable.from([text]),
    ...(told.account === undefined ? {} : { account: told.account }),
  }
  const stdin = text === '' ? {} : { kubeconfig: '-' }
  return readCluster({ allNamespaces: false, ...stdin, ...request }, place, {
    note: note => told.notes.push(note),
    progress: () => {},
    ...(told.timeout === undefined ? {} : { timeout: told.timeout }),
    ...(told.maxAnswer === undefined ? {} : { maxAnswer: told.maxAnswer }),
  })
}
const TOKEN = { token: 'secret-token' }

async function failure(of: Promise<unknown>): Promise<Failure> {
  const error = await of.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(Failure)
  expect(`${(error as Failure).message} ${(error as Failure).help}`).not.toContain('secret-token')
  return error as Failure
}

describe('resources read from a cluster', () => {
  test('compile to the same config as the same resources on disk', async () => {
    await using server = await start({ page: 2 })
    const texts = await read(kubeconfig(server, TOKEN))
    const options = { partial: false, withSecrets: false, allowUnguarded: false }
    const held = ITEMS.filter(({ metadata }) => metadata.namespace !== 'other')
    const files = held.map((item, i) => ({ file: `${i}.json`, text: JSON.stringify(item) }))
    const of = async (inputs: typeof texts) =>
      renderTranslation(await translateTexts(inputs, '/', options), 'yaml', false)
    expect(await of(texts)).toBe(await of(files))
    expect(await of(texts)).toContain('requestTimeout: "5s"')
  })

  test('come from the context’s namespace, a named one or all', async () => {
    await using server = await start()
    const config = kubeconfig(server, TOKEN)
    const routes = async (request: Partial<ClusterRequest>) =>
      (await read(config, request)).filter(({ file }) => file.includes('HTTPRoute')).map(({ file }) => file)
    expect(await routes({})).toHaveLength(5)
    expect(await routes({ namespace: 'other' })).toEqual(['cluster:HTTPRoute/other/z'])
    expect(await routes({ allNamespaces: true })).toHaveLength(6)
  })

  test('are listed in pages, or all at once after the page token expires', async () => {
    await using server = await start({ page: 2, expires: 'httproutes' })
    const texts = await read(kubeconfig(server, TOKEN))
    expect(texts.filter(({ file }) => file.includes('HTTPRoute'))).toHaveLength(5)
    const asked = server.requests.filter(path => path.includes('httproutes'))
    expect(asked.map(path => path.replace(/.*\?/, ''))).toEqual(['limit=500', 'limit=500&continue=2', 'limit=0'])
  })

  test('omit managed fields and copies of the last applied config', async () => {
    await using server = await start()
    const all = (await read(kubeconfig(server, TOKEN))).map(({ text }) => text).join('')
    expect(all).not.toContain('managedFields')
    expect(all).not.toContain('hunter2')
  })

  test('skip kinds that may not be listed, with a note', async () => {
    await using server = await start({ forbidden: ['secrets'] })
    const notes: string[] = []
    expect(await read(kubeconfig(server, TOKEN), {}, { notes })).not.toHaveLength(0)
    expect(notes).toContain('secrets are left out: these credentials may not list them in namespace shop.')
    expect(notes.find(note => note.startsWith('Not installed'))).toContain('GRPCRoute')
  })

  test('are an error when nothing may be listed or nothing exists', async () => {
    const all = Object.values(KINDS).flatMap(kinds => Object.values(kinds))
    await using closed = await start({ forbidden: all })
    expect((await failure(read(kubeconfig(closed, TOKEN)))).kind).toBe('unreachable')
    await using empty = await start({ items: [] })
    expect((await failure(read(kubeconfig(empty, TOKEN)))).message).toContain('namespace shop')
  })

  test('are requested again when the server is busy', async () => {
    await using server = await start({ busy: 2 })
    expect(await read(kubeconfig(server, TOKEN))).not.toHaveLength(0)
  })
})

describe('authentication', () => {
  test('uses a client certificate', async () => {
    await using server = await start()
    const user = { 'client-certificate-data': base64(server.client.cert), 'client-key-data': base64(server.client.key) }
    expect(await read(kubeconfig(server, user))).not.toHaveLength(0)
  })

  test('reads a token file relative to the kubeconfig', async () => {
    await using server = await start()
    writeFileSync(join(folder, 'token'), 'secret-token\n')
    writeFileSync(join(folder, 'config'), kubeconfig(server, { tokenFile: 'token' }))
    expect(await read('', { kubeconfig: join(folder, 'config') })).not.toHaveLength(0)
  })

  test('uses a token from an exec plugin', async () => {
    await using server = await start()
    const plugin = join(folder, 'plugin')
    const made = JSON.stringify({ kind: 'ExecCredential', status: { token: 'secret-token' } })
    // What it reads ends at once, and it knows which cluster it is asked for.
    const told = `cat && case "$KUBERNETES_EXEC_INFO" in *'"cluster":{"server":"${server.url}'*) ;; *) exit 1 ;; esac`
    writeFileSync(plugin, `#!/bin/sh\n${told}\n[ "$WHO" = me ] && [ "$1" = login ] && echo '${made}'\n`)
    chmodSync(plugin, 0o700)
    const apiVersion = 'client.authentication.k8s.io/v1'
    const env = [{ name: 'WHO', value: 'me' }]
    const exec = { apiVersion, command: './plugin', args: ['login'], env, provideClusterInfo: true }
    expect(await read(kubeconfig(server, { exec }))).not.toHaveLength(0)
    const missing = { exec: { apiVersion, command: 'gwctl-no-such-plugin', installHint: 'Install it.' } }
    expect(await failure(read(kubeconfig(server, missing)))).toMatchObject({ kind: 'unreachable', help: 'Install it.' })
  })

  test('has a plugin that fails, whose words stay its own', async () => {
    await using server = await start()
    const apiVersion = 'client.authentication.k8s.io/v1'
    const ran = async (script: string) => {
      const exec = { apiVersion, command: 'sh', args: ['-c', script] }
      return (await failure(read(kubeconfig(server, { exec })))).message
    }
    expect(await ran('exit 3')).toBe('the credential plugin sh of context main ended with an error.')
    expect(await ran('echo secret-token')).toBe('the credential plugin sh of context main returned no credential.')
    const old = { exec: { apiVersion: 'client.authentication.k8s.io/v1alpha1', command: 'sh' } }
    expect((await failure(read(kubeconfig(server, old)))).message).toContain('not v1 or v1beta1')
  })

  test('is nobody whose rights would be others than those that are written', async () => {
    await using server = await start()
    const refused = async (user: object) => (await failure(read(kubeconfig(server, { ...TOKEN, ...user })))).message
    expect(await refused({ as: 'reader', 'as-groups': ['few'] })).toContain('impersonates groups')
    expect(await refused({ 'auth-provider': { name: 'gcp' } })).toContain('which Kubernetes dropped')
    expect(server.requests).toEqual([])
  })

  test('uses the service account inside a pod', async () => {
    await using server = await start()
    writeFileSync(join(folder, 'token'), 'secret-token')
    writeFileSync(join(folder, 'ca.crt'), server.authority)
    writeFileSync(join(folder, 'namespace'), 'other')
    const env = {
      KUBERNETES_SERVICE_HOST: 'localhost',
      KUBERNETES_SERVICE_PORT: String(server.port),
      HOME: '/nonexistent',
    }
    const texts = await read('', {}, { notes: [], env, account: folder })
    expect(texts.map(({ file }) => file)).toContain('cluster:HTTPRoute/other/z')
  })

  test('connects through a proxy', async () => {
    await using server = await start()
    using proxy = await startConnectProxy(server.port)
    const texts = await read(kubeconfig(server, TOKEN, { 'proxy-url': proxy.url }))
    expect(texts).not.toHaveLength(0)
    expect(proxy.tunnels[0]).toBe(`localhost:${server.port}`)
  })
})

describe('failures', () => {
  test('a token that the server rejects', async () => {
    await using server = await start({ token: 'another' })
    const { kind, message } = await failure(read(kubeconfig(server, TOKEN)))
    expect(kind).toBe('unreachable')
    expect(message).toContain('(401)')
  })

  test('an untrusted certificate, unless verification is disabled', async () => {
    await using server = await start()
    const open = { 'certificate-authority-data': undefined }
    expect((await failure(read(kubeconfig(server, TOKEN, open)))).message).toContain('not signed by a CA')
    const insecure = { ...open, 'insecure-skip-tls-verify': true }
    expect(await read(kubeconfig(server, TOKEN, insecure))).not.toHaveLength(0)
  })

  test('a server that is unreachable or never responds', async () => {
    await using silent = await start({ hangs: true })
    const gone = kubeconfig({ ...silent, url: 'https://localhost:1' }, TOKEN)
    expect((await failure(read(gone))).message).toContain('connection refused')
    expect((await failure(read(kubeconfig(silent, TOKEN), {}, { notes: [], timeout: 50 }))).kind).toBe('timeout')
  })

  test('an endless response', async () => {
    await using server = await start({ padding: 300_000 })
    const told = { notes: [], maxAnswer: 200_000 }
    const { kind, message, help } = await failure(read(kubeconfig(server, TOKEN), {}, told))
    expect([kind, help]).toEqual(['unreachable', 'Read one namespace at a time with -n.'])
    expect(message).toContain('answered with more than 200000 bytes')
  })

  test('a kubeconfig that is invalid or lacks the requested context', async () => {
    await using server = await start()
    const config = kubeconfig(server, TOKEN)
    expect((await failure(read(config, { context: 'mian' }))).message).toContain('did you mean')
    expect((await failure(read('a: [secret-token', {}))).message).toContain('line 1')
    expect((await failure(read('kind: Pod', {}))).message).toContain('is not a kubeconfig')
    const nowhere = { notes: [], env: { HOME: '/nonexistent' } }
    expect((await failure(read('', {}, nowhere))).kind).toBe('unreachable')
  })
})

test('with several kubeconfig files the first definition wins', async () => {
  await using server = await start()
  writeFileSync(join(folder, 'one'), JSON.stringify({ users: [{ name: 'u', user: TOKEN }], 'current-context': 'main' }))
  writeFileSync(join(folder, 'two'), kubeconfig(server, { token: 'wrong' }))
  const env = { KUBECONFIG: [join(folder, 'none'), join(folder, 'one'), join(folder, 'two')].join(':') }
  expect(await read('', {}, { notes: [], env })).not.toHaveLength(0)
})
