import { describe, expect, test } from 'vitest'
import { dumpOf } from '../../../src/config/dump.ts'
import { offlineRuntime } from '../../../src/config/offline-runtime.ts'
import { ReloadableState } from '../../../src/engine/state-store.ts'
import { InputLoader } from '../../../src/tools/input/input-loader.ts'

const route = (name: string, spec: string, kind = 'HTTPRoute') => `apiVersion: gateway.networking.k8s.io/v1
kind: ${kind}
metadata: {name: ${name}, namespace: shop, labels: {app: ${name}}}
spec:
  parentRefs: [{name: edge}]
  ${spec}
`
const RULE = 'rules: [{name: only, backendRefs: [{name: web, port: 80}], timeouts: {request: 1s}}]'
const CHANGED = RULE.replace('1s', '2s')
const policy = (
  name: string,
  target: string,
  more = 'timeouts: {request: 9s}',
) => `apiVersion: agentgateway.dev/v1alpha1
kind: ProxyPolicy
metadata: {name: ${name}, namespace: shop}
spec:
  ${target}
  traffic: {${more}}
`
const to = (name: string) => `targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: ${name}}]`
const LIMIT = 'rateLimit: {local: [{requests: 5, unit: Hours}]}'
const BASE = `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: shop}
spec:
  gatewayClassName: agentgateway
  listeners: [{name: http, port: 8080, protocol: HTTP}, {name: other, port: 8081, protocol: HTTP, hostname: '*.b.example'}]
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {ports: [{port: 80}]}
`
const OPTIONS = { cwd: '/', env: {}, tier: 'env' } as const

function start() {
  const state = new ReloadableState()
  const runtime = { ...offlineRuntime(), state }
  const loader = new InputLoader(state)
  const load = (...documents: readonly string[]) =>
    loader.load([{ file: 'all.yaml', text: documents.join('---\n') }], OPTIONS, runtime)
  return { state, loader, load }
}

/** After the first documents the second are loaded: whether that was quick, and whether it is what they come to. */
async function change(before: readonly string[], after: readonly string[]) {
  const { loader, load } = start()
  expect((await load(BASE, ...before)).runnable).toBe(true)
  const now = await load(BASE, ...after)
  const whole = await start().load(BASE, ...after)
  expect(now.runnable).toBe(whole.runnable)
  const shown = (loaded: typeof now) =>
    loaded.snapshot && {
      ...dumpOf(loaded.snapshot, '0'),
      at: loaded.snapshot.binds.flatMap(({ listeners }) =>
        listeners.map(each => each.routes.map(({ origin, key }) => [key, origin])),
      ),
    }
  expect(shown(now)).toEqual(shown(whole))
  return loader.quick
}

const A = route('a', RULE)
const B = route('b', RULE)

describe('one route is enough', () => {
  test.each<[string, readonly string[], readonly string[]]>([
    ['its rules', [A, B], [A, route('b', CHANGED)]],
    ['the first of several', [A, B], [route('a', CHANGED), B]],
    ['its last document grows', [A, B], [A, `${B}    # more\n`]],
    [
      'a host that the second listener takes',
      [A, B],
      [A, route('b', RULE).replace('rules:', 'hostnames: [x.b.example]\n  rules:')],
    ],
    [
      'under a policy of its own',
      [A, B, policy('p', to('b'), LIMIT)],
      [A, route('b', CHANGED), policy('p', to('b'), LIMIT)],
    ],
    ['beside a policy of another', [A, B, policy('p', to('a'))], [A, route('b', CHANGED), policy('p', to('a'))]],
    [
      'under a policy that chose it by label',
      [
        A,
        B,
        policy('p', 'targetSelectors: [{group: gateway.networking.k8s.io, kind: HTTPRoute, matchLabels: {app: b}}]'),
      ],
      [
        A,
        route('b', CHANGED),
        policy('p', 'targetSelectors: [{group: gateway.networking.k8s.io, kind: HTTPRoute, matchLabels: {app: b}}]'),
      ],
    ],
    [
      'a call of gRPC',
      [A, route('g', 'rules: [{backendRefs: [{name: web, port: 80}]}]', 'GRPCRoute')],
      [A, route('g', 'rules: [{backendRefs: [{name: web, port: 80, weight: 3}]}]', 'GRPCRoute')],
    ],
    ['a policy of a route', [A, policy('p', to('a'))], [A, policy('p', to('a'), 'timeouts: {request: 8s}')]],
    [
      'a policy of this route and another',
      [
        A,
        B,
        policy(
          'p',
          'targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: a}, {group: gateway.networking.k8s.io, kind: HTTPRoute, name: b}]',
        ),
      ],
      [
        A,
        route('b', CHANGED),
        policy(
          'p',
          'targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: a}, {group: gateway.networking.k8s.io, kind: HTTPRoute, name: b}]',
        ),
      ],
    ],
  ])('%s', async (_what, before, after) => {
    // Where a host is added, the lines after it move, unless it is the last document.
    expect(await change(before, after)).toBe(true)
  })
})

describe('all of it is done again', () => {
  test.each<[string, readonly string[], readonly string[]]>([
    ['two routes', [A, B], [route('a', CHANGED), route('b', CHANGED)]],
    ['a new route', [A], [A, B]],
    ['lines that move', [A, B], [`# one more\n${A}`, B]],
    ['labels', [A, B], [A, B.replace('app: b', 'app: c')]],
    ['a mistake', [A, B], [A, route('b', RULE.replace('1s', 'soon'))]],
    ['a backend that is not there', [A, B], [A, route('b', RULE.replace('web', 'gone'))]],
    [
      'a rule that a policy aims at',
      [A, B, policy('p', to('b').replace('name: b', 'name: b, sectionName: only'))],
      [
        A,
        route('b', RULE.replace('only', 'once')),
        policy('p', to('b').replace('name: b', 'name: b, sectionName: only')),
      ],
    ],
    [
      'a GRPCRoute of its name',
      [A, route('a', 'rules: [{backendRefs: [{name: web, port: 80}]}]', 'GRPCRoute')],
      [route('a', CHANGED), route('a', 'rules: [{backendRefs: [{name: web, port: 80}]}]', 'GRPCRoute')],
    ],
    [
      'a route that hands over',
      [A, B],
      [A, route('b', 'rules: [{backendRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: a}]}]')],
    ],
  ])('%s', async (_what, before, after) => {
    expect(await change(before, after)).toBe(false)
  })
})

test('what the others hold stays, and so does what the changed one still asks for', async () => {
  const { state, loader, load } = start()
  const all = (a: string) => [BASE, a, B, policy('p', to('a'), LIMIT), policy('q', to('b'), LIMIT)]
  await load(...all(A))
  state.commit()
  const held = () => new Set(state.keys())
  const before = held()
  expect(before.size).toBeGreaterThan(1)
  await load(...all(route('a', CHANGED)))
  expect(loader.quick).toBe(true)
  state.commit()
  for (const key of before) expect(held()).toContain(key)
})
