import { expect, test } from 'vitest'
import { main } from '../../src/cli/main.ts'
import { memoryIo } from '../cli/memory-io.ts'
import { startKubeServer } from '../helpers/kube-server.ts'

const API = 'gateway.networking.k8s.io/v1'
const OWN = 'agentgateway.dev/v1alpha1'
const KINDS = {
  v1: { Service: 'services' },
  [API]: { Gateway: 'gateways', GatewayClass: 'gatewayclasses', HTTPRoute: 'httproutes' },
  [OWN]: { AgentgatewayPolicy: 'agentgatewaypolicies' },
}
const gateway = (name: string, gatewayClassName: string) => ({
  apiVersion: API,
  kind: 'Gateway',
  metadata: { name, namespace: 'prod' },
  spec: { gatewayClassName, listeners: [{ name: 'http', port: 80, protocol: 'HTTP' }] },
})
const prefix = (value: string) => ({ matches: [{ path: { type: 'PathPrefix', value } }] })
const ITEMS = [
  {
    apiVersion: API,
    kind: 'GatewayClass',
    metadata: { name: 'ours' },
    spec: { controllerName: 'agentgateway.dev/agentgateway' },
  },
  gateway('edge', 'ours'),
  gateway('other', 'theirs'),
  {
    apiVersion: API,
    kind: 'HTTPRoute',
    metadata: { name: 'chat', namespace: 'prod' },
    spec: {
      parentRefs: [{ name: 'edge' }],
      rules: [
        { ...prefix('/gone'), backendRefs: [{ name: 'missing', port: 80 }] },
        { ...prefix('/broken'), name: 'moved', filters: [{ type: 'RequestRedirect', requestRedirect: { port: 81 } }] },
      ],
    },
  },
  {
    apiVersion: OWN,
    kind: 'AgentgatewayPolicy',
    metadata: { name: 'wrong', namespace: 'prod' },
    spec: {
      targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name: 'chat', sectionName: 'moved' }],
      traffic: { authorization: { action: 'Allow', policy: { matchExpressions: ['request.pth =='] } } },
    },
  },
]

async function route(...argv: string[]) {
  await using server = await startKubeServer({ kinds: KINDS, items: ITEMS })
  const config = {
    'current-context': 'main',
    clusters: [{ name: 'c', cluster: { server: server.url, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'u', user: { token: 'secret-token' } }],
    contexts: [{ name: 'main', context: { cluster: 'c', user: 'u', namespace: 'prod' } }],
  }
  const io = memoryIo({ cwd: '/', env: {}, stdin: JSON.stringify(config) })
  const args = ['route', '--from-cluster', '--kubeconfig', '-', '--gateway-class', 'ours', ...argv]
  const code = await main(args, io, new URL('../../', import.meta.url))
  return { code, out: io.stdout.text, err: io.stderr.text }
}

test('a request through a cluster meets what its replicas serve, at places that are resources', async () => {
  const gone = await route('http://edge.example/gone')
  expect(gone.code).toBe(1)
  expect(gone.out).toContain('backend does not exist')
  expect(gone.out).toMatch(/route +prod\/chat {2}HTTPRoute prod\/chat rule 0\n/)
  const broken = await route('http://edge.example/broken')
  expect(broken.code).toBe(1)
  expect(broken.out).toContain('403 from the gateway')
  expect(broken.out).toMatch(/authorization .* {2}AgentgatewayPolicy prod\/wrong\n/)
})

test('one Gateway of several is named; one that is not there is reported', async () => {
  expect((await route('--gateway', 'prod/edge', 'http://edge.example/gone')).out).toContain('prod.edge.80')
  const { code, err } = await route('--gateway', 'prod/egde', 'http://edge.example/gone')
  expect([code, err]).toEqual([3, expect.stringContaining('did you mean')])
})
