import { keyOf } from '../../../diagnostics/diagnostic.ts'
import { trafficPolicies } from '../../../policies/index.ts'
import type { Snapshot } from '../../snapshot.ts'
import type { NamedBackend, TargetedPolicy } from '../../standalone/standalone.ts'
import { selectsListener, selectsRoute, type TargetedRoute } from '../../targeted-policies.ts'
import type { Lint, LintedFile } from '../lint.ts'

/** GW401: a policy whose target does not exist. GW523: one that a narrower policy replaces wherever it would apply. */
export const policyTargets: Lint = file => {
  if (file.config.policies.length === 0) return
  const effective = originsOf(file.snapshot)
  const routes = routesByName(file.snapshot)
  for (const policy of file.config.policies) {
    const kind = Object.keys(policy.target)[0]!
    if (!selects(policy, routes, file)) {
      file.report({
        code: 'GW401',
        message: `the policy \`${policy.name.name}\` selects nothing`,
        path: [...file.pathOf(policy.target), kind],
        at: 'key',
        label: 'no such object',
        help: helpFor(policy, file.snapshot),
      })
      continue
    }
    const name = Object.keys(policy.policy)[0]!
    const served = trafficPolicies.some(each => each.name === name && !('unserved' in each))
    const path = [...file.pathOf(policy.policy), name]
    const ofPart = policy.target.backend?.backend?.section !== undefined
    if (!served || ofPart || effective.size === 0 || effective.has(keyOf(file.document.origin(path)))) continue
    file.report({
      code: 'GW523',
      message: `the policy \`${policy.name.name}\` has no effect: a narrower \`${name}\` replaces it everywhere`,
      path,
      at: 'key',
      label: 'never applies',
      help: 'policies of one kind are not merged: the one closest to the request wins',
    })
  }
}

function originsOf(snapshot: Snapshot): Set<string> {
  const out = new Set<string>()
  const add = (steps: Snapshot['binds'][number]['listeners'][number]['pipeline']['steps']) => {
    for (const step of steps) for (const origin of step.origins) out.add(keyOf(origin))
  }
  for (const { listeners } of snapshot.binds) {
    for (const listener of listeners) {
      add(listener.pipeline.steps)
      for (const route of listener.routes) {
        add(route.pipeline.steps)
        for (const backend of route.backends) add(backend.pipeline.steps)
      }
      for (const route of listener.tcpRoutes) for (const backend of route.backends) add(backend.pipeline.steps)
    }
  }
  for (const backend of snapshot.backends.values()) add(backend.pipeline.steps)
  return out
}

function routesByName({ binds }: Snapshot): ReadonlyMap<string, readonly TargetedRoute[]> {
  const listeners = binds.flatMap(bind => bind.listeners)
  const http = listeners.flatMap(({ routes }) => routes.map(route => ({ ...named(route), kind: 'http' as const })))
  const tcp = listeners.flatMap(({ tcpRoutes }) => tcpRoutes.map(route => ({ ...named(route), kind: 'tcp' as const })))
  return Map.groupBy([...http, ...tcp], ({ name }) => name)
}

function named({ name, namespace, ruleName }: Omit<TargetedRoute, 'kind'>) {
  return { name, namespace, ruleName }
}

function selects(
  policy: TargetedPolicy,
  routes: ReadonlyMap<string, readonly TargetedRoute[]>,
  { snapshot, config }: LintedFile,
): boolean {
  const { gateway, route, backend } = policy.target
  if (gateway)
    return snapshot.binds.some(({ listeners, port }) =>
      listeners.some(({ gateway: name, name: listenerName }) =>
        selectsListener(policy, { gateway: name, listenerName, port }),
      ),
    )
  if (route) return routes.get(route.name)?.some(each => selectsRoute(policy, each)) === true
  const { backend: named, service } = backend ?? {}
  if (service)
    return config.services.some(
      each =>
        each.hostname === service.hostname &&
        each.namespace === service.namespace &&
        (service.port === undefined || each.ports[String(service.port)] !== undefined),
    )
  return config.backends.some(
    each =>
      each.name === named?.name &&
      (each.namespace ?? '') === named.namespace &&
      (named.section === undefined || partsOf(each).includes(named.section)),
  )
}

/** The parts that policies can target: LLM providers, and MCP servers called over HTTP. */
function partsOf({ ai, mcp }: NamedBackend): (string | undefined)[] {
  const providers = ai?.groups?.flatMap(group => group.providers) ?? []
  const servers = mcp?.targets.filter(target => target.stdio === undefined) ?? []
  return [ai?.name, ...[...providers, ...servers].map(({ name }) => name)]
}

function helpFor({ target }: TargetedPolicy, snapshot: Snapshot): string {
  const listeners = snapshot.binds.flatMap(bind => bind.listeners)
  const names = target.route
    ? listeners.flatMap(({ routes, tcpRoutes }) => [...routes, ...tcpRoutes].map(route => route.name))
    : target.gateway
      ? listeners.map(listener => listener.gateway)
      : [...snapshot.backends.keys()].map(key => key.slice(1))
  const shown = [...new Set(names)].slice(0, 8).map(name => `\`${name}\``)
  return shown.length === 0 ? 'there is none of this kind' : `there are: ${shown.join(', ')}`
}
