import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import { asFields, asText, type Fields } from '../../schema/untyped.ts'
import type { Resource } from '../resources/resource.ts'
import { specOf } from '../translate/cluster-view.ts'
import { safeName } from './names.ts'
import type { Parameters } from './parameters.ts'

export type Report = (diagnostic: Diagnostic) => void

/** An object for the API server. */
export interface KubeObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: Fields & { readonly name: string }
  readonly [field: string]: unknown
}

/** Common to all objects of one Gateway. */
export interface Replica {
  readonly gateway: Resource
  readonly namespace: string
  /** The name of every object: the Gateway's, or one that is valid for every kind. */
  readonly name: string
  readonly parameters: Parameters
  /** Selects the Pods. */
  readonly selector: Fields
  readonly labels: Fields
  readonly podLabels: Fields
  /** Annotations that `spec.infrastructure` requests on every object. */
  readonly annotations: Fields
}

export function replicaOf(gateway: Resource, parameters: Parameters, version: string): Replica {
  const name = safeName(gateway.name ?? '')
  const infrastructure = asFields(specOf(gateway).infrastructure) ?? {}
  const asked = Object.entries(asFields(infrastructure.labels) ?? {})
  const selector = {
    'app.kubernetes.io/instance': name,
    'app.kubernetes.io/name': name,
    'gateway.networking.k8s.io/gateway-name': name,
  }
  const shared = {
    ...Object.fromEntries(asked.filter(([key]) => !key.startsWith('gateway.networking.k8s.io/'))),
    ...selector,
    'gateway.networking.k8s.io/gateway-class-name': safeName(asText(specOf(gateway).gatewayClassName) ?? ''),
  }
  return {
    gateway,
    namespace: gateway.namespace ?? 'default',
    name,
    parameters,
    selector,
    labels: { ...shared, 'app.kubernetes.io/managed-by': 'gwctl', 'app.kubernetes.io/version': version },
    podLabels: { ...shared, ...(meshOf(parameters) ? OUT_OF_THE_MESH : {}) },
    annotations: asFields(infrastructure.annotations) ?? {},
  }
}

/** The gateway handles mesh traffic by itself: no sidecar or node proxy. */
const OUT_OF_THE_MESH = { 'istio.io/dataplane-mode': 'none', 'sidecar.istio.io/inject': 'false' }

/** The mesh settings, unless disabled. */
export function meshOf({ spec }: Parameters) {
  return spec.istio && spec.istio.enabled !== false ? spec.istio : undefined
}

/** An object in the Gateway's namespace, owned by the Gateway. */
export function namespaced(
  replica: Replica,
  apiVersion: string,
  kind: string,
  rest: Fields,
  name = replica.name,
): KubeObject {
  const { namespace, labels, annotations } = replica
  const metadata = {
    name,
    namespace,
    labels,
    ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
    ...ownedBy(replica),
  }
  return { apiVersion, kind, metadata, ...rest }
}

/** Owner references require a uid, which a Gateway has only if it was read from a server. */
function ownedBy({ gateway }: Replica): Fields {
  const uid = asText(asFields(gateway.raw.metadata)?.uid)
  if (uid === undefined) return {}
  const { apiVersion, kind } = gateway.raw
  return {
    ownerReferences: [{ apiVersion, kind, name: gateway.name, uid, controller: true, blockOwnerDeletion: true }],
  }
}
