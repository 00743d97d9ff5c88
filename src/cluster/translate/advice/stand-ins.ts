import { parseSource } from '../../../diagnostics/source.ts'
import { asFields, asItems, asText, type Fields } from '../../../schema/untyped.ts'
import { kindFor } from '../../kinds/index.ts'
import { canonical, labelsOf, selects } from '../../resources/graph.ts'
import type { Resource } from '../../resources/resource.ts'
import { GATEWAY_GROUP, idOf, OWN_GROUP, specOf } from '../cluster-view.ts'

/** Identifies made-up resources among the real ones. */
const STAND_IN_FILE = '<stand-in>'

export function isStandIn({ file }: { readonly file: string }): boolean {
  return file === STAND_IN_FILE
}

/**
 * The objects that resources attach to and that the input lacks, so that a partial configuration can be translated and
 * linted in context.
 */
export function standIns(resources: readonly Resource[]): Resource[] {
  const known = new Map(resources.map(each => [idOf(each), each]))
  const made = new Made(known)
  for (const resource of resources) {
    for (const ref of parentsOf(resource)) made.parent(ref, resource)
    if (resource.kind.kind !== 'ProxyPolicy') continue
    for (const ref of asItems(specOf(resource).targetRefs)) made.target(ref, resource)
    for (const ref of asItems(specOf(resource).targetSelectors)) made.selected(ref, resource, resources)
  }
  const led = new Set(resources.flatMap(leadsTo))
  for (const resource of resources) {
    const orphan = resource.kind.kind === 'HTTPRoute' && parentsOf(resource).length === 0
    if (orphan && !led.has(idOf(resource))) made.parentOf(resource)
  }
  return made.all()
}

class Made {
  readonly #known: ReadonlyMap<string, Resource>
  readonly #gateways = new Map<string, Gateway>()
  readonly #others = new Map<string, Resource>()
  #port = 20_000

  constructor(known: ReadonlyMap<string, Resource>) {
    this.#known = known
  }

  /** The parent of a route, model or ListenerSet. */
  parent(ref: Fields, from: Resource): void {
    const kind = asText(ref.kind) ?? 'Gateway'
    if ((typeof ref.group === 'string' ? ref.group : GATEWAY_GROUP) !== GATEWAY_GROUP || kind !== 'Gateway') return
    this.#gateway(asText(ref.namespace) ?? from.namespace ?? '', String(ref.name), ref, PROTOCOLS[from.kind.kind])
  }

  /** The target of a policy. */
  target(ref: Fields, from: Resource): void {
    this.#target(canonical(String(ref.kind)), from.namespace ?? '', String(ref.name), ref)
  }

  /** An object for a policy's label selector that matches nothing. */
  selected(ref: Fields, from: Resource, among: readonly Resource[]): void {
    const kind = canonical(String(ref.kind))
    const matchLabels = (asFields(ref.matchLabels) ?? {}) as Record<string, string>
    const found = among.some(
      each => each.kind.kind === kind && each.namespace === from.namespace && selects({ matchLabels }, labelsOf(each)),
    )
    if (!found) this.#target(kind, from.namespace ?? '', `selected-by-${from.name}`, ref, matchLabels)
  }

  /** A route that delegates to this one. */
  parentOf({ group, kindName, namespace = '', name = '' }: Resource): void {
    this.#route(namespace, `parent-of-${name}`, { group, kind: kindName, name })
  }

  #target(kind: string, namespace: string, name: string, ref: Fields, labels: Fields = {}): void {
    if (this.#known.has(`${kind}/${namespace}/${name}`)) return
    if (kind === 'Gateway') {
      this.#gateway(namespace, name, ref, undefined, labels)
      // An unattached policy would not be compiled.
      this.#route(namespace, `on-${name}`, undefined, { parent: name })
    } else if (kind === 'HTTPRoute' || kind === 'GRPCRoute')
      this.#route(namespace, name, undefined, { kind, ref, labels })
    else if (kind === 'Service') {
      const port = typeof ref.port === 'number' ? ref.port : Number(asText(ref.sectionName) ?? 80) || 80
      this.#add('', 'v1', kind, namespace, name, { ports: [{ port }] }, labels)
      this.#route(namespace, `to-service-${name}`, { kind, name, port })
    }
  }

  #gateway(namespace: string, name: string, ref: Fields, protocol = 'HTTP', labels: Fields = {}): void {
    const id = `Gateway/${namespace}/${name}`
    if (this.#known.has(id)) return
    const gateway = this.#gateways.get(id) ?? { namespace, name, labels, listeners: new Map() }
    this.#gateways.set(id, gateway)
    const section = asText(ref.sectionName) ?? protocol.toLowerCase()
    if (gateway.listeners.has(section)) return
    const kinds = protocol === 'HTTP' ? { kinds: HTTP_KINDS } : {}
    gateway.listeners.set(section, {
      name: section,
      port: typeof ref.port === 'number' ? ref.port : this.#port++,
      protocol,
      ...(protocol === 'TLS' ? { tls: { mode: 'Passthrough' } } : {}),
      allowedRoutes: { namespaces: { from: 'All' }, ...kinds },
    })
  }

  #route(namespace: string, name: string, backendRef: Fields | undefined, options: RouteOptions = {}): void {
    const { kind = 'HTTPRoute', ref = {}, labels = {}, parent = 'stand-in' } = options
    if (parent === 'stand-in') this.#gateway(namespace, parent, {}, 'HTTP')
    const rule = { name: asText(ref.sectionName), backendRefs: backendRef === undefined ? [] : [backendRef] }
    const spec = { parentRefs: [{ name: parent }], hostnames: [`${name}.stand-in.test`], rules: [rule] }
    this.#add(GATEWAY_GROUP, 'v1', kind, namespace, name, spec, labels)
  }

  #add(group: string, version: string, kind: string, namespace: string, name: string, spec: Fields, labels: Fields) {
    const raw = {
      apiVersion: group === '' ? version : `${group}/${version}`,
      kind,
      metadata: { name, namespace, labels },
      spec: JSON.parse(JSON.stringify(spec)) as Fields,
    }
    const resource: Resource = {
      kind: kindFor(group, kind)!,
      group,
      kindName: kind,
      namespace,
      name,
      raw,
      file: STAND_IN_FILE,
      document: parseSource(STAND_IN_FILE, '').documents[0]!,
      path: [],
      mistakes: [],
    }
    this.#others.set(idOf(resource), resource)
  }

  all(): Resource[] {
    for (const { namespace, name, labels, listeners } of this.#gateways.values()) {
      const spec = { gatewayClassName: 'stand-in', listeners: [...listeners.values()] }
      this.#add(GATEWAY_GROUP, 'v1', 'Gateway', namespace, name, spec, labels)
    }
    return [...this.#others.values()]
  }
}

interface Gateway {
  readonly namespace: string
  readonly name: string
  readonly labels: Fields
  readonly listeners: Map<string, Fields>
}

interface RouteOptions {
  readonly kind?: string
  readonly ref?: Fields
  readonly labels?: Fields
  /** The Gateway in the same namespace. Unset: a made-up one. */
  readonly parent?: string
}

const PROTOCOLS: Readonly<Record<string, string>> = { TCPRoute: 'TCP', TLSRoute: 'TLS', UDPRoute: 'UDP' }
const HTTP_KINDS = [
  { group: GATEWAY_GROUP, kind: 'HTTPRoute' },
  { group: GATEWAY_GROUP, kind: 'GRPCRoute' },
  { group: OWN_GROUP, kind: 'ProxyModel' },
]

function parentsOf(resource: Resource): readonly Fields[] {
  const { parentRefs, parentRef } = specOf(resource)
  const single = asFields(parentRef)
  return single ? [single] : asItems(parentRefs)
}

/** All backends and routes that the rules of a route reference. */
function leadsTo(route: Resource): string[] {
  if (!route.kind.kind.endsWith('Route')) return []
  return asItems(specOf(route).rules).flatMap(rule =>
    asItems(rule.backendRefs).map(ref => {
      const namespace = asText(ref.namespace) ?? route.namespace ?? ''
      return `${canonical(asText(ref.kind) ?? 'Service')}/${namespace}/${String(ref.name)}`
    }),
  )
}
