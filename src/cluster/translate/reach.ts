import { asText, type Fields } from '../../schema/untyped.ts'
import { collectReferences } from '../resources/collect-references.ts'
import { canonical } from '../resources/graph.ts'
import type { Resource } from '../resources/resource.ts'
import { gatewaysOf, type RouteState } from './attachment.ts'
import { resolveRef } from './backend-refs.ts'
import { backendRefsOf, idOf, nameOf } from './cluster-view.ts'
import type { Delegation } from './delegation.ts'
import { allListeners, type GatewayState } from './listeners.ts'
import type { PolicyState } from './policy-targets.ts'
import type { Work } from './work.ts'

/** Which Gateways lead to which objects, through routes, policies and backends, at any depth. */
export class Reach {
  readonly #gateways = new Map<string, Set<string>>()
  readonly #edges = new Map<string, Set<string>>()

  of(id: string): readonly string[] {
    return [...(this.#gateways.get(id) ?? [])].sort()
  }

  start(id: string, gateways: Iterable<string>): void {
    const known = this.#gateways.get(id) ?? new Set()
    for (const gateway of gateways) known.add(gateway)
    this.#gateways.set(id, known)
  }

  edge(from: string, to: string): void {
    const known = this.#edges.get(from) ?? new Set()
    known.add(to)
    this.#edges.set(from, known)
  }

  /** Follows all edges to a fixed point, which cycles cannot prevent. */
  spread(): void {
    const queue = [...this.#gateways.keys()]
    for (let id = queue.shift(); id !== undefined; id = queue.shift()) {
      const here = this.#gateways.get(id) ?? new Set()
      for (const next of this.#edges.get(id) ?? []) {
        const there = this.#gateways.get(next) ?? new Set()
        const before = there.size
        for (const gateway of here) there.add(gateway)
        this.#gateways.set(next, there)
        if (there.size > before) queue.push(next)
      }
    }
  }
}

export interface Reached {
  readonly gateways: readonly GatewayState[]
  readonly routes: readonly RouteState[]
  readonly policies: readonly PolicyState[]
  readonly delegation: Delegation
}

export async function findReach({ gateways, routes, policies, delegation }: Reached, work: Work): Promise<Reach> {
  const reach = new Reach()
  for (const state of gateways) {
    reach.start(idOf(state.gateway), [nameOf(state.gateway)])
    for (const { set, listeners, refused } of state.sets) {
      if (refused === undefined && listeners.some(each => !each.conflicted))
        reach.start(idOf(set), [nameOf(state.gateway)])
    }
    for (const { owner } of allListeners(state)) reach.edge(idOf(state.gateway), idOf(owner))
  }
  for (const [parent, children] of delegation.links()) {
    for (const child of children) reach.edge(idOf(parent), idOf(child))
  }
  for (const state of routes) {
    const rest = work.options.pause?.()
    if (rest) await rest
    reach.start(idOf(state.route), gatewaysOf(state))
    for (const ref of backendRefsOf(state.route)) link(state.route, ref, reach, work)
  }
  for (const backend of [...work.cluster.list('ProxyBackend'), ...work.cluster.list('ProxyModel')]) {
    for (const { value, refers } of collectReferences(backend))
      if (refers.to === 'backend') link(backend, value, reach, work)
  }
  for (const { policy, targets } of policies) {
    for (const { object, problem } of targets)
      if (object && problem === undefined) reach.edge(idOf(object), idOf(policy))
    for (const { value, refers } of collectReferences(policy))
      if (refers.to === 'backend') link(policy, value, reach, work)
  }
  reach.spread()
  return reach
}

function link(from: Resource, ref: Fields, reach: Reach, work: Work): void {
  const to = resolveRef(ref, from, work)
  if (to.kind === 'problem') return
  const kind = canonical(asText(ref.kind) ?? 'Service')
  reach.edge(idOf(from), `${kind}/${asText(ref.namespace) ?? from.namespace}/${String(ref.name)}`)
}
