import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { EDGE, GATEWAY_API, KubePlace, OF_EDGE, POD, pod, resource } from './kube-place.ts'

let place: KubePlace
beforeEach(() => {
  place = new KubePlace()
})
afterEach(() => place[Symbol.asyncDispose]())

describe('pod selection', () => {
  const deployment = resource('apps/v1', 'Deployment', 'edge', { selector: { matchLabels: { app: 'edge' } } })
  const expressions = [
    { key: 'app', operator: 'In', values: ['edge', 'other'] },
    { key: 'track', operator: 'DoesNotExist' },
    { key: 'app', operator: 'NotIn', values: ['canary'] },
    { key: 'app', operator: 'Exists' },
  ]
  const all = [
    EDGE,
    POD,
    pod('canary', { labels: { app: 'edge', track: 'canary' } }),
    pod('other', { labels: { app: 'nobody' } }),
    deployment,
    resource('apps/v1', 'ReplicaSet', 'edge-7d', { selector: { matchExpressions: expressions } }),
    resource('apps/v1', 'StatefulSet', 'edge', {
      selector: { matchLabels: { app: 'edge' }, matchExpressions: expressions },
    }),
    resource('apps/v1', 'DaemonSet', 'edge', { selector: { matchExpressions: expressions } }),
    resource('v1', 'Service', 'edge', { selector: { ...OF_EDGE } }),
  ]
  test.each([
    ['--kube'],
    ['--kube', 'edge'],
    ['--kube', 'gateway/edge.shop'],
    ['--kube', 'gtw/edge', '-n', 'shop'],
    ['--kube', 'pod/edge-1.shop', '-n', 'shop'],
    ['--kube', 'po/edge-1'],
    ['--kube', 'svc/edge'],
    ['--kube', 'deploy/edge', '--pod', 'edge-1'],
    ['--kube', 'replicaset/edge-7d'],
    ['--kube', 'StatefulSet/edge'],
    ['--kube=ds/edge'],
  ])('%s %s %s %s', async (...flags) => {
    await using cluster = await place.cluster(all)
    const { code, out, err } = await place.gwctl(cluster, 'health', ...flags)
    expect([out, code]).toEqual(['ready\n', 0])
    expect(err).toContain('Asking pod shop/edge-1')
    expect(cluster.requests.at(-1)).toBe('/api/v1/namespaces/shop/pods/edge-1/portforward?ports=15000')
  })

  test('picks the first ready pod of several, and says so', async () => {
    const several = [
      pod('a', { ready: false }),
      pod('b', { leaving: true }),
      pod('d'),
      pod('c'),
      pod('0', { phase: 'Failed' }),
    ]
    await using cluster = await place.cluster([EDGE, ...several])
    const { err } = await place.gwctl(cluster, 'health', '--kube')
    expect(err).toBe('Asking pod shop/c, one of 4 of Gateway shop/edge (2 ready); --pod names another.\n')
    expect((await place.gwctl(cluster, 'health', '--kube', '-q', '--pod', 'a')).err).toBe('')
    expect(cluster.requests.at(-1)).toContain('/pods/a/portforward')
  })

  test('a name with dots, with the namespace given separately', async () => {
    await using cluster = await place.cluster([pod('edge.v1')])
    expect((await place.gwctl(cluster, 'health', '--kube', 'pod/edge.v1', '-n', 'shop')).code).toBe(0)
  })

  const twoGateways = [EDGE, resource(GATEWAY_API, 'Gateway', 'inner')]
  test.each<[string, readonly object[], readonly string[], number, readonly string[]]>([
    ['several Gateways', twoGateways, ['--kube'], 2, ['has 2 Gateways', 'Name one with --kube NAME: edge, inner.']],
    ['no Gateway', [], ['--kube'], 4, ['namespace shop has no Gateway.', '-n']],
    [
      'no such Gateway',
      [EDGE],
      ['--kube', 'egde'],
      4,
      ['has no Gateway egde: did you mean `edge`?', 'It has: edge; for other resources name the type too'],
    ],
    ['no such pod', [POD], ['--kube', 'pod/edge-2'], 4, ['did you mean `edge-1`?', 'It has: edge-1.']],
    [
      'no such pod of the Gateway',
      [EDGE, POD],
      ['--kube', '--pod', 'edg-1'],
      4,
      ['Gateway shop/edge has no running pod edg-1: did you mean `edge-1`?'],
    ],
    ['no pods', [EDGE], ['--kube', 'edge'], 4, ['Gateway shop/edge has no running pod.']],
    ['no running pods', [EDGE, pod('x', { phase: 'Pending' })], ['--kube'], 4, ['has no running pod: x is Pending.']],
    [
      'a completed pod',
      [pod('x', { phase: 'Succeeded' })],
      ['--kube', 'pod/x'],
      4,
      ['Pod shop/x does not run: it is Succeeded.'],
    ],
    [
      'a Service without pods',
      [resource('v1', 'Service', 'ext')],
      ['--kube', 'svc/ext'],
      4,
      ['Service shop/ext selects no pods.'],
    ],
    ['an unknown type', [], ['--kube', 'deplyment/x'], 2, ['did you mean `deployment`?', 'Types: pod, gateway, ']],
    ['a path as a name', [], ['--kube', 'pod/../../x'], 2, ['names no resource']],
    ['cluster flags without --kube', [], ['--pod', 'x'], 2, ['--pod is for use with --kube only']],
    ['two targets at once', [], ['--kube', 'x', '--local'], 2, ['--kube']],
  ])('%s', async (_what, items, flags, code, words) => {
    await using cluster = await place.cluster(items)
    const told = await place.gwctl(cluster, 'health', ...flags)
    for (const each of words) expect(told.err).toContain(each)
    expect(told.code).toBe(code)
  })

  test.each([
    ['pods', ['--kube', 'edge'], 'list on pods there'],
    ['gateways', ['--kube'], 'list on gateways.gateway.networking.k8s.io there'],
    ['deployments', ['--kube', 'deploy/edge'], 'get on deployments.apps there'],
    ['pods/portforward', ['--kube', 'edge'], 'verbs create and get on pods/portforward in namespace shop'],
  ])('missing permission: %s', async (forbidden, flags, words) => {
    await using cluster = await place.cluster(all, { forbidden: [forbidden] })
    const { code, err } = await place.gwctl(cluster, 'health', ...flags)
    expect(err).toContain(words)
    expect(err).toContain('docs/cluster-access.md')
    expect(code).toBe(4)
  })
})
