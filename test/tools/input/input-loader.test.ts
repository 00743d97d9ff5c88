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

describe('reloads only the changed route', () => {
  test.each<[string, readonly string[], readonly string[]]>([
    ['changed rules', [A, B], [A, route('b', CHANGED)]],
    ['the first of several routes', [A, B], [route('a', CHANGED), B]],
    ['lines added to the last document', [A, B], [A, `${B}    # more\n`]],
    [
      'a host accepted by the second listener',
      [A, B],
      [A, route('b', RULE).replace('rules:', 'hostnames: [x.b.example]\n  rules:')],
    ],
    ['with its own policy', [A, B, policy('p', to('b'), LIMIT)], [A, route('b', CHANGED), policy('p', to('b'), LIMIT)]],
    ['with a policy on another route', [A, B, policy('p', to('a'))], [A, route('b', CHANGED), policy('p', to('a'))]],
    [
      'with a policy that selects it by label',
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
      'a GRPCRoute',
      [A, route('g', 'rules: [{backendRefs: [{name: web, port: 80}]}]', 'GRPCRoute')],
      [A, route('g', 'rules: [{backendRefs: [{name: web, port: 80, weight: 3}]}]', 'GRPCRoute')],
    ],
    ['a changed policy of a route', [A, policy('p', to('a'))], [A, policy('p', to('a'), 'timeouts: {request: 8s}')]],
    [
      'with a policy of this route and another',
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

describe('reloads everything', () => {
  test.each<[string, readonly string[], readonly string[]]>([
    ['two changed routes', [A, B], [route('a', CHANGED), route('b', CHANGED)]],
    ['a new route', [A], [A, B]],
    ['shifted lines', [A, B], [`# one more\n${A}`, B]],
    ['changed labels', [A, B], [A, B.replace('app: b', 'app: c')]],
    ['an invalid value', [A, B], [A, route('b', RULE.replace('1s', 'soon'))]],
    ['a missing backend', [A, B], [A, route('b', RULE.replace('web', 'gone'))]],
    [
      'a rule targeted by a policy',
      [A, B, policy('p', to('b').replace('name: b', 'name: b, sectionName: only'))],
      [
        A,
        route('b', RULE.replace('only', 'once')),
        policy('p', to('b').replace('name: b', 'name: b, sectionName: only')),
      ],
    ],
    [
      'a GRPCRoute with the same name',
      [A, route('a', 'rules: [{backendRefs: [{name: web, port: 80}]}]', 'GRPCRoute')],
      [route('a', CHANGED), route('a', 'rules: [{backendRefs: [{name: web, port: 80}]}]', 'GRPCRoute')],
    ],
    [
      'a route that delegates',
      [A, B],
      [A, route('b', 'rules: [{backendRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: a}]}]')],
    ],
  ])('%s', async (_what, before, after) => {
    expect(await change(before, after)).toBe(false)
  })
})

test('keeps the state of other routes and what the changed route still uses', async () => {
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
