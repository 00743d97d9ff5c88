import type { Policies } from '../../policies/parts/cluster-form.ts'
import { asFields, asItems, asText, type Fields } from '../../schema/untyped.ts'
import { canonical } from '../resources/graph.ts'
import type { Resource } from '../resources/resource.ts'
import { GATEWAY_GROUP, INFERENCE_GROUP, specOf } from './cluster-view.ts'
import { type Condition, isFalse, notAccessible } from './status/conditions.ts'
import type { Work } from './work.ts'

export interface ServicePort {
  readonly kind: 'Service'
  readonly service: Resource | undefined
  readonly namespace: string
  readonly name: string
  readonly port: number
}

/** The object that a backend reference resolves to. */
export type ResolvedRef =
  | ServicePort
  | { readonly kind: 'ProxyBackend'; readonly backend: Resource }
  | { readonly kind: 'InferencePool'; readonly pool: Resource }
  | { readonly kind: 'HTTPRoute'; readonly namespace: string; readonly name: string }
  | { readonly kind: 'ProxyModel' }
  /** `hard`: a controller drops all rules of the route. */
  | { readonly kind: 'problem'; readonly condition: Condition; readonly hard?: boolean }

export function resolveRef(ref: Fields, from: Resource, work: Work): ResolvedRef {
  const kind = canonical(asText(ref.kind) ?? 'Service')
  const group = typeof ref.group === 'string' ? ref.group : ''
  const name = asText(ref.name) ?? ''
  const namespace = asText(ref.namespace) ?? from.namespace ?? ''
  if (kind === 'ProxyModel' && group !== '' && name === '*' && from.kind.kind === 'HTTPRoute') return { kind }
  const known = isKnown(kind, group, from)
  if (!known) {
    const message = `referencing unsupported backendRef: group "${group}" kind "${asText(ref.kind) ?? 'Service'}"`
    return problem('InvalidKind', message)
  }
  if (kind === 'HTTPRoute') return { kind, namespace, name }
  if (namespace !== from.namespace && !work.cluster.permits(from, { group, kind, namespace, name })) {
    return problem('RefNotPermitted', notAccessible('backendRef', `${namespace}/${name}`, from))
  }
  if (kind === 'Service') return resolveService(ref, namespace, name, work)
  const found = work.cluster.find(kind, namespace, name)
  if (!found) return problem('BackendNotFound', `unable to find the ${asText(ref.kind) ?? kind} ${namespace}/${name}`)
  return kind === 'ProxyBackend' ? { kind, backend: found } : { kind: 'InferencePool', pool: found }
}

function isKnown(kind: string, group: string, from: Resource): boolean {
  if (kind === 'Service') return group === ''
  if (kind === 'ProxyBackend') return group !== ''
  if (kind === 'InferencePool') return group === INFERENCE_GROUP
  return kind === 'HTTPRoute' && group === GATEWAY_GROUP && from.kind.kind === 'HTTPRoute'
}

function problem(reason: string, message: string, hard = false): ResolvedRef {
  return { kind: 'problem', condition: isFalse('ResolvedRefs', reason, message), hard }
}

function resolveService(ref: Fields, namespace: string, name: string, work: Work): ResolvedRef {
  const port = typeof ref.port === 'number' ? ref.port : Number(asFields(ref.port)?.number ?? Number.NaN)
  if (Number.isNaN(port)) return problem('UnsupportedValue', 'port is required in backendRef', true)
  if (name.includes('.'))
    return problem(
      'UnsupportedValue',
      'service name invalid; the name of the Service must be used, not the hostname.',
      true,
    )
  const service = work.cluster.find('Service', namespace, name)
  if (!service && !work.options.partial) {
    return problem('BackendNotFound', `backend(${serviceHost(namespace, name)}) not found`)
  }
  return { kind: 'Service', service, namespace, name, port }
}

export function serviceHost(namespace: string, name: string): string {
  return `${name}.${namespace}.svc.cluster.local`
}

/** `host:port` of the ready endpoints of a Service's port; the Service's own name without EndpointSlices. */
export function addressesOf(to: ServicePort, work: Work, protocol: 'TCP' | 'UDP' = 'TCP'): readonly string[] {
  const spec = to.service ? specOf(to.service) : {}
  if (spec.type === 'ExternalName') return [`${String(spec.externalName)}:${to.port}`]
  const ports = asItems(spec.ports).filter(each => each.port === to.port)
  const port = ports.find(each => (asText(each.protocol) ?? 'TCP') === protocol) ?? ports[0]
  const found = work.cluster
    .endpointSlices(to.namespace, to.name)
    .flatMap(slice => addressesIn(slice, asText(port?.name) ?? ''))
    .sort()
  const fallback = `${serviceHost(to.namespace, to.name)}:${to.port}`
  return found.length === 0 ? [fallback] : [...new Set(found)]
}

function addressesIn({ raw }: Resource, portName: string): string[] {
  const ports = asItems(raw.ports)
  const port = ports.find(each => (asText(each.name) ?? '') === portName) ?? (ports.length === 1 ? ports[0] : undefined)
  if (typeof port?.port !== 'number') return []
  return asItems(raw.endpoints).flatMap(endpoint => {
    if (asFields(endpoint.conditions)?.ready === false) return []
    const addresses = Array.isArray(endpoint.addresses) ? endpoint.addresses.map(String) : []
    return addresses.map(each => (each.includes(':') ? `[${each}]:${port.port}` : `${each}:${port.port}`))
  })
}

/** The `appProtocol` of the referenced port. */
export function appProtocolOf(to: ServicePort): string | undefined {
  const port = to.service && asItems(specOf(to.service).ports).find(each => each.port === to.port)
  return asText(port?.appProtocol)
}

/** The policies that the `appProtocol` implies. */
export function protocolPolicies(to: ServicePort): Policies {
  const protocol = appProtocolOf(to)
  if (protocol === 'kubernetes.io/h2c') return { http: { version: 'HTTP/2.0' } }
  return protocol !== undefined && /\/a2a$/.test(protocol) ? { a2a: {} } : {}
}
