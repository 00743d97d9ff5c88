import { asFields, asItems, asList, asText, type Fields } from '../../schema/untyped.ts'
import { canonical } from '../resources/graph.ts'
import type { Resource } from '../resources/resource.ts'
import { GATEWAY_GROUP, nameOf, specOf } from './cluster-view.ts'
import { hostsMeet } from './hostnames.ts'
import type { GatewayListener, GatewayState } from './listeners.ts'
import { type Condition, isFalse, isTrue } from './status/conditions.ts'
import type { Work } from './work.ts'

/** A parent of a route or model, and its listeners that accept it. */
export interface ParentState {
  readonly ref: Fields
  /** The reference with defaults filled in. */
  readonly shown: Fields
  readonly accepted: Condition
  readonly listeners: readonly GatewayListener[]
}

export interface RouteState {
  readonly route: Resource
  readonly parents: readonly ParentState[]
  /** The listeners of all parents that accept the route. */
  readonly listeners: readonly GatewayListener[]
  /** The last problem with its references wins. */
  resolved: Condition
}

const ROUTE_KINDS = ['HTTPRoute', 'GRPCRoute', 'TCPRoute', 'TLSRoute', 'UDPRoute', 'ProxyModel']

/** Attaches every route and model to the listeners that accept it, and counts it there. */
export function attachRoutes(gateways: readonly GatewayState[], work: Work): RouteState[] {
  const byName = new Map(gateways.map(state => [`Gateway/${nameOf(state.gateway)}`, allParents(state)]))
  for (const state of gateways) {
    for (const { set, listeners } of state.sets) byName.set(`ListenerSet/${nameOf(set)}`, listeners)
  }
  return ROUTE_KINDS.flatMap(kind => work.cluster.list(kind)).map(route => attach(route, byName, work))
}

/** A reference to a Gateway covers its own listeners. */
function allParents(state: GatewayState): readonly GatewayListener[] {
  return state.listeners
}

function attach(route: Resource, byName: ReadonlyMap<string, readonly GatewayListener[]>, work: Work): RouteState {
  const parents: ParentState[] = []
  for (const ref of asItems(specOf(route).parentRefs)) {
    const kind = asText(ref.kind) ?? 'Gateway'
    const group = typeof ref.group === 'string' ? ref.group : GATEWAY_GROUP
    const namespace = asText(ref.namespace) ?? route.namespace ?? ''
    const candidates = group === GATEWAY_GROUP ? byName.get(`${kind}/${namespace}/${String(ref.name)}`) : undefined
    if (!candidates) continue
    parents.push({ ref, shown: shownRef(ref, route), ...takers(route, ref, candidates, work) })
  }
  const listeners = [...new Set(parents.flatMap(parent => parent.listeners))]
  for (const listener of listeners) listener.attached++
  return { route, parents, listeners, resolved: isTrue('ResolvedRefs', 'ResolvedRefs') }
}

export function shownRef(ref: Fields, from: Resource): Fields {
  return {
    group: typeof ref.group === 'string' ? ref.group : GATEWAY_GROUP,
    kind: asText(ref.kind) ?? 'Gateway',
    name: ref.name,
    namespace: asText(ref.namespace) ?? from.namespace,
    ...(asText(ref.sectionName) === undefined ? {} : { sectionName: ref.sectionName }),
    ...(typeof ref.port === 'number' ? { port: ref.port } : {}),
  }
}

type Taken = Pick<ParentState, 'accepted' | 'listeners'>

/** The checks in a controller's order: the first one that leaves no listener is the reason. */
function takers(route: Resource, ref: Fields, candidates: readonly GatewayListener[], work: Work): Taken {
  const refuse = (reason: string, message: string): Taken => ({
    accepted: isFalse('Accepted', reason, message),
    listeners: [],
  })
  let left = candidates
  if (typeof ref.port === 'number') {
    left = left.filter(each => each.port === ref.port)
    if (left.length === 0) return refuse('NoMatchingParent', `port ${ref.port} not found`)
  }
  const section = asText(ref.sectionName)
  if (section !== undefined) {
    left = left.filter(each => each.name === section)
    if (left.length === 0) return refuse('NoMatchingParent', `sectionName "${section}" not found`)
  }
  const asked = left
  left = left.filter(each => meetsHosts(route, each))
  if (left.length === 0) {
    const hosts = asked.map(({ hostname }) => `"${hostname ?? '*'}"`).join(', ')
    return refuse('NoMatchingListenerHostname', `no hostnames matched parent hostname ${hosts}`)
  }
  left = left.filter(each => takesNamespace(route, each, work))
  if (left.length === 0)
    return refuse('NotAllowedByListeners', `namespace "${route.namespace}" is not allowed by the parent`)
  left = left.filter(each => takesKind(route, each))
  if (left.length === 0) {
    const { group, kindName } = route
    return refuse(
      'NotAllowedByListeners',
      `kind ${group}/${versionOf(route)}, Kind=${kindName} is not allowed by the parent`,
    )
  }
  const message = route.kind.kind === 'ProxyModel' ? `Successfully accepted ${route.kindName}` : ''
  return { accepted: isTrue('Accepted', 'Accepted', message), listeners: left }
}

function versionOf({ raw }: Resource): string {
  return String(raw.apiVersion).split('/').at(-1) ?? ''
}

function meetsHosts(route: Resource, listener: GatewayListener): boolean {
  if (['ProxyModel', 'TCPRoute', 'UDPRoute'].includes(route.kind.kind)) return true
  const hosts = hostnamesOf(route)
  return hosts.length === 0 || hosts.some(host => hostsMeet(host, listener.hostname))
}

export function hostnamesOf(route: Resource): readonly string[] {
  return asList(specOf(route).hostnames)
    .filter(host => typeof host === 'string')
    .map(host => (host as string).toLowerCase())
}

function takesNamespace(route: Resource, { raw, owner }: GatewayListener, work: Work): boolean {
  const namespaces = asFields(asFields(raw.allowedRoutes)?.namespaces) ?? {}
  return work.cluster.admits(namespaces, 'Same', owner.namespace, route.namespace)
}

function takesKind(route: Resource, { kinds }: GatewayListener): boolean {
  return kinds.some(({ kind }) => canonical(kind) === route.kind.kind)
}

/** `namespace/name` of the Gateways that accept a route. */
export function gatewaysOf(state: RouteState): string[] {
  return [...new Set(state.listeners.map(({ gateway }) => nameOf(gateway)))]
}
