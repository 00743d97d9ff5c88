import { backendTlsPolicy } from './backend-tls-policy.ts'
import { configMap } from './config-map.ts'
import { endpointSlice } from './endpoint-slice.ts'
import { gateway } from './gateway.ts'
import { gatewayClass } from './gateway-class.ts'
import { grpcRoute } from './grpc-route.ts'
import { httpRoute } from './http-route.ts'
import { inferencePool } from './inference-pool.ts'
import { listenerSet } from './listener-set.ts'
import { namespace } from './namespace.ts'
import { proxyBackend } from './proxy-backend.ts'
import { proxyModel } from './proxy-model.ts'
import { proxyParameters } from './proxy-parameters.ts'
import { proxyPolicy } from './proxy-policy.ts'
import { referenceGrant } from './reference-grant.ts'
import type { ResourceKind } from './resource.ts'
import { secret } from './secret.ts'
import { service } from './service.ts'
import { tcpRoute, udpRoute } from './tcp-route.ts'
import { tlsRoute } from './tls-route.ts'

/** All supported kinds: ours, then the Gateway API's, then those of Kubernetes that they reference. */
export const KINDS: readonly ResourceKind[] = [
  proxyBackend,
  proxyModel,
  proxyPolicy,
  proxyParameters,
  gatewayClass,
  gateway,
  listenerSet,
  httpRoute,
  grpcRoute,
  tcpRoute,
  tlsRoute,
  udpRoute,
  referenceGrant,
  backendTlsPolicy,
  inferencePool,
  service,
  endpointSlice,
  secret,
  configMap,
  namespace,
]

/** The kind for a document's group and kind, in any version. */
export function kindFor(group: string, kind: string): ResourceKind | undefined {
  return KINDS.find(({ group: own, kind: name, own: ours }) =>
    ours ? kind === name || (kind === ours.alias && group === ours.aliasGroup) : kind === name && group === own,
  )
}

/** Kind names that documents of these groups may use, for suggestions. */
export function kindNamesOf(group: string): readonly string[] {
  return KINDS.flatMap(({ kind, group: own, own: ours }) => {
    if (ours) return group === ours.aliasGroup ? [ours.alias, kind] : [kind]
    return own === group ? [kind] : []
  })
}
