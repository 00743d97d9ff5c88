import type { Policies } from '../../policies/parts/cluster-form.ts'
import { asItems, asText, type Fields } from '../../schema/untyped.ts'
import { labelsOf } from '../resources/graph.ts'
import type { Resource } from '../resources/resource.ts'
import { hostnamesOf, type ParentState, type RouteState, shownRef } from './attachment.ts'
import { GATEWAY_GROUP, idOf, nameOf, specOf } from './cluster-view.ts'
import { commonHosts } from './hostnames.ts'
import type { GatewayListener } from './listeners.ts'
import { bothMatch } from './matches.ts'
import { type EmittedRoute, type Entry, listenerRef } from './output.ts'
import { isFalse, isTrue } from './status/conditions.ts'
import { at, type Work } from './work.ts'

/** Tracks which routes delegate to which. */
export class Delegation {
  /** Cycles that have been reported. */
  readonly circles = new Set<string>()
  readonly #states: ReadonlyMap<string, RouteState>
  readonly #work: Work
  #links: ReadonlyMap<Resource, ReadonlySet<Resource>> | undefined

  constructor(states: readonly RouteState[], work: Work) {
    this.#states = new Map(states.map(state => [idOf(state.route), state]))
    this.#work = work
  }

  state(route: Resource): RouteState | undefined {
    return this.#states.get(idOf(route))
  }

  /** The routes that a reference of `parent` selects, oldest first. */
  children(parent: Resource, ref: Fields): Resource[] {
    const namespace = asText(ref.namespace) ?? parent.namespace
    const name = asText(ref.name) ?? ''
    const agreeing = (route: Resource) => this.#agrees(route, parent)
    const [, key, value] = /^([^=]+)=(.*)$/.exec(name) ?? []
    if (name !== '*' && key === undefined) {
      const route = this.#work.cluster.find('HTTPRoute', namespace, name)
      return route && agreeing(route) ? [route] : []
    }
    return this.#work.cluster
      .list('HTTPRoute')
      .filter(route => route.namespace === namespace && (key === undefined || labelsOf(route)[key] === value))
      .filter(agreeing)
  }

  /** A child must name this parent, or name none and permit references. */
  #agrees(child: Resource, parent: Resource): boolean {
    const refs = asItems(specOf(child).parentRefs)
    if (refs.length > 0) return refs.some(ref => namesRoute(ref, child, parent))
    if (child.namespace === parent.namespace) return child !== parent
    const to = { group: GATEWAY_GROUP, kind: 'HTTPRoute', namespace: child.namespace ?? '', name: child.name ?? '' }
    return this.#work.cluster.permits(parent, to)
  }

  /** Every delegating route, with the routes that it delegates to. */
  links(): ReadonlyMap<Resource, ReadonlySet<Resource>> {
    this.#links ??= new Map(
      this.#work.cluster.list('HTTPRoute').map(parent => {
        const refs = asItems(specOf(parent).rules).flatMap(rule => asItems(rule.backendRefs).filter(isRouteRef))
        return [parent, new Set(refs.flatMap(ref => this.children(parent, ref)))]
      }),
    )
    return this.#links
  }
}

export function isRouteRef(ref: Fields): boolean {
  return ref.kind === 'HTTPRoute' && ref.group === GATEWAY_GROUP
}

function namesRoute(ref: Fields, child: Resource, parent: Resource): boolean {
  return isRouteRef(ref) && ref.name === parent.name && (asText(ref.namespace) ?? child.namespace) === parent.namespace
}

/** The statuses of child routes for the parent routes that they name. */
export function childParents(state: RouteState, delegation: Delegation, work: Work): ParentState[] {
  const { route } = state
  return asItems(specOf(route).parentRefs)
    .filter(isRouteRef)
    .flatMap(ref => {
      const parent = work.cluster.find('HTTPRoute', asText(ref.namespace) ?? route.namespace, String(ref.name))
      if (!parent || (delegation.state(parent)?.parents.length ?? 0) === 0) return []
      const delegates = delegation.links().get(parent)?.has(route)
      const accepted = delegates
        ? isTrue('Accepted', 'Accepted')
        : isFalse('Accepted', 'NoMatchingParent', `HTTPRoute ${nameOf(parent)} does not delegate to this route`)
      return [{ ref, shown: shownRef(ref, route), accepted, listeners: [] }]
    })
}

interface Rule {
  readonly entry: Entry
  readonly policies: Policies
  readonly children: readonly Fields[]
  readonly route: Resource
  readonly rule: Fields
  readonly index: number
  readonly listeners: readonly GatewayListener[]
}

type MakeRule = (
  state: RouteState,
  rule: Fields,
  index: number,
) => { readonly entry: Entry; readonly policies: Policies; readonly children: readonly Fields[] } | undefined

/** Expands a rule to routes of the file: itself, or those of the routes that it delegates to. */
export function expand(rule: Rule, delegation: Delegation, work: Work, make: MakeRule): EmittedRoute[] {
  const walk = new Expansion(delegation, work, make)
  return walk.rule(rule, [])
}

type Chain = EmittedRoute['chain']

class Expansion {
  readonly #delegation: Delegation
  readonly #work: Work
  readonly #make: MakeRule

  constructor(delegation: Delegation, work: Work, make: MakeRule) {
    this.#delegation = delegation
    this.#work = work
    this.#make = make
  }

  rule(rule: Rule, before: Chain): EmittedRoute[] {
    const { entry, policies, children, route, listeners } = rule
    const chain = [...before, { route, rule: asText(rule.rule.name) }]
    if (children.length === 0) return [this.#emit(entry, policies, chain, listeners)]
    const out = children.flatMap(ref => this.#child(ref, rule, chain))
    // Requests that no child matches get 404 instead of falling through to another route. Among equal matches the first
    // name wins, so this one sorts last.
    const last = { ...entry, name: `${String(entry.name)}~` }
    const rest = this.#work.origins.mark<Entry>(last, at(route, 'spec', 'rules', rule.index))
    delete rest.backends
    const answer = { ...policies, directResponse: { status: 404 } }
    return [...out, this.#emit(rest, answer, chain, listeners)]
  }

  #child(ref: Fields, rule: Rule, chain: Chain): EmittedRoute[] {
    const { route, listeners } = rule
    const from = this.#work.from(ref, route)
    const children = this.#delegation.children(route, ref)
    if (children.length === 0) {
      this.#work.lose(from, `no HTTPRoute agrees to take requests from ${nameOf(route)}: they are answered with 404`)
    }
    return children.flatMap(child => {
      if (chain.some(step => step.route === child)) {
        const names = [...chain.map(step => nameOf(step.route)), nameOf(child)].join(' → ')
        const circle = circleFrom(chain, child)
        // Reported once, at whichever route the cycle is entered.
        if (!this.#delegation.circles.has(circle))
          this.#work.lose(from, `the routes delegate in a circle: ${circle}`, { circular: true })
        this.#delegation.circles.add(circle)
        for (const step of chain) {
          const known = this.#delegation.state(step.route)
          if (known) known.resolved = isFalse('ResolvedRefs', 'RefNotPermitted', `delegation cycle: ${names}`)
        }
        return []
      }
      const inner = this.#delegation.state(child)
      const hosts = commonHosts((rule.entry.hostnames ?? []) as readonly string[], hostnamesOf(child))
      if (!inner || !hosts) return []
      return asItems(this.#work.spec(child).rules).flatMap((childRule, index) => {
        const made = this.#make(inner, childRule, index)
        const entry = made && this.#joined(rule, made.entry, hosts, index)
        if (!made || !entry) return []
        const policies = { ...rule.policies, ...made.policies }
        return this.rule({ ...made, entry, policies, route: child, rule: childRule, index, listeners }, chain)
      })
    })
  }

  /** The child's rule, restricted to the parent's. Undefined if they are disjoint. */
  #joined(parent: Rule, child: Entry, hosts: readonly string[], index: number): Entry | undefined {
    const pairs = (parent.entry.matches as Entry[]).flatMap(outer =>
      (child.matches as Entry[]).flatMap(inner => bothMatch(outer, inner) ?? []),
    )
    if (pairs.length === 0) return undefined
    const name = `${String(parent.entry.name)}.${parent.index}~${String(child.name)}`
    const entry: Entry = { ...child, name, matches: pairs }
    if (hosts.length > 0) entry.hostnames = hosts
    const from = this.#work.origins.own({}, '', child)
    return from ? this.#work.origins.mark(entry, { ...from, path: ['spec', 'rules', index] }) : entry
  }

  #emit(entry: Entry, policies: Policies, chain: Chain, listeners: readonly GatewayListener[]): EmittedRoute {
    const from = this.#work.origins.own({}, '', entry)
    const { backends, ...rest } = entry
    const whole: Entry = { gateways: listeners.map(listenerRef), ...rest }
    if (Object.keys(policies).length > 0) whole.policies = policies
    if (backends !== undefined && !policies.requestRedirect && !policies.directResponse) whole.backends = backends
    if (from) this.#work.origins.mark(whole, from)
    if (entry.hostnames) this.#work.origins.field(whole, 'hostnames', at(chain.at(-1)!.route, 'spec', 'hostnames'))
    return { entry: whole, chain, name: String(entry.name), namespace: String(entry.namespace), listeners }
  }
}

/** The routes of a cycle, from the first by name back to it. */
function circleFrom(chain: Chain, child: Resource): string {
  const names = chain.slice(chain.findIndex(({ route }) => route === child)).map(({ route }) => nameOf(route))
  const first = names.indexOf(names.toSorted()[0]!)
  const turned = [...names.slice(first), ...names.slice(0, first)]
  return [...turned, turned[0]].join(' → ')
}
