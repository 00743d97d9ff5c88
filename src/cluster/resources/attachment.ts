import { GATEWAY_GROUP } from '../../schema/resource-references.ts'
import { asFields, asItems, asList, asText, type Fields, textOf } from '../../schema/untyped.ts'
import type { LabelSelector } from '../kinds/resource.ts'
import { canonical, labelsOf, type ResourceGraph, selects } from './graph.ts'
import type { Resource } from './resource.ts'

const KINDS_BY_PROTOCOL: Readonly<Record<string, readonly string[]>> = {
  HTTP: ['HTTPRoute', 'GRPCRoute'],
  HTTPS: ['HTTPRoute', 'GRPCRoute'],
  TLS: ['TLSRoute', 'TCPRoute'],
  TCP: ['TCPRoute'],
  UDP: ['UDPRoute'],
}

/** Why a Gateway rejects a ListenerSet. Undefined if it accepts it. */
export function listenersRefusal(set: Resource, gateway: Resource, graph: ResourceGraph): string | undefined {
  const allowed = asFields(asFields(asFields(gateway.raw.spec)?.allowedListeners)?.namespaces) ?? {}
  if ((asText(allowed.from) ?? 'None') === 'None') return 'the Gateway takes no ListenerSets: set `allowedListeners`'
  return allowsNamespace(allowed, set, gateway, graph)
    ? undefined
    : `the Gateway takes no ListenerSets from namespace \`${set.namespace}\``
}

/** Why a listener rejects a route. Undefined if it accepts it. Whatever the input lacks is assumed to fit. */
export function refusal(route: Resource, parent: Resource, listener: Fields, graph: ResourceGraph): string | undefined {
  const name = `listener \`${textOf(listener.name)}\``
  const hosts = asList(asFields(route.raw.spec)?.hostnames).filter(host => typeof host === 'string')
  const own = asText(listener.hostname)
  if (own !== undefined && hosts.length > 0 && !hosts.some(host => intersects(host, own))) {
    return `${name} takes the host name \`${own}\` only`
  }
  const allowed = asFields(listener.allowedRoutes) ?? {}
  if (!allowsNamespace(asFields(allowed.namespaces) ?? {}, route, parent, graph)) {
    return `${name} takes no routes from namespace \`${route.namespace}\``
  }
  const kinds = allowedKinds(allowed, textOf(listener.protocol))
  return kinds.includes(route.kind.kind)
    ? undefined
    : `${name} takes ${kinds.join(', ') || 'no routes'}, not ${route.kindName}`
}

function allowedKinds(allowed: Fields, protocol: string): readonly string[] {
  const listed = asItems(allowed.kinds)
  const supported = KINDS_BY_PROTOCOL[protocol]
  // Other protocols belong to other implementations.
  if (!supported) return ['HTTPRoute', 'GRPCRoute', 'TCPRoute', 'TLSRoute', 'UDPRoute', 'ProxyModel']
  if (listed.length === 0) return supported
  return listed.flatMap(({ group = GATEWAY_GROUP, kind }) => {
    const named = canonical(textOf(kind))
    return (group === GATEWAY_GROUP && supported.includes(named)) || named === 'ProxyModel' ? [named] : []
  })
}

function allowsNamespace(namespaces: Fields, route: Resource, parent: Resource, graph: ResourceGraph): boolean {
  const from = asText(namespaces.from) ?? 'Same'
  if (from === 'All') return true
  if (from !== 'Selector') return route.namespace === parent.namespace
  const namespace = graph.find('Namespace', undefined, route.namespace ?? '')
  if (!namespace || namespace.mistakes.length > 0) return true
  const labels = { ...labelsOf(namespace), 'kubernetes.io/metadata.name': route.namespace }
  return selects((asFields(namespaces.selector) ?? {}) as LabelSelector, labels)
}

/** Whether some host matches both; `*.` stands for one or more labels. */
function intersects(a: string, b: string): boolean {
  if (a === b) return true
  if (a.startsWith('*.') && b.startsWith('*.')) return a.endsWith(b.slice(1)) || b.endsWith(a.slice(1))
  if (a.startsWith('*.')) return b.endsWith(a.slice(1))
  return b.startsWith('*.') && a.endsWith(b.slice(1))
}
