import { asFields, asItems, asText, type Fields } from '../../../schema/untyped.ts'
import type { Resource } from '../../resources/resource.ts'
import { CONTROLLER, GATEWAY_GROUP, idOf, nameOf, specOf } from '../cluster-view.ts'
import type { GatewayState } from '../listeners.ts'
import { authoritiesOf } from '../members/tls-policies.ts'
import type { Reach } from '../reach.ts'
import type { Work } from '../work.ts'
import { type Condition, isFalse, isTrue, type Status } from './conditions.ts'
import { gatewayRef } from './status.ts'

const VALID = 'Configuration is valid'

/** The statuses of BackendTLSPolicies: one entry per Gateway of ours that may reach their Services. */
export function tlsPolicyStatuses(gateways: readonly GatewayState[], reach: Reach, work: Work): Status[] {
  const seen = new Map<string, Resource>()
  return work.cluster.list('BackendTLSPolicy').map(policy => {
    const targets = asItems(specOf(policy).targetRefs)
    const keys = targets.map(
      ref => `${String(ref.kind)}/${policy.namespace}/${String(ref.name)}#${asText(ref.sectionName) ?? ''}`,
    )
    const older = keys.map(key => seen.get(key)).find(each => each !== undefined)
    for (const key of keys) if (!seen.has(key)) seen.set(key, policy)
    const reached = new Set(
      targets.flatMap(ref => reach.of(`${String(ref.kind)}/${policy.namespace}/${String(ref.name)}`)),
    )
    const ancestors = gateways
      .filter(({ gateway }) => reached.size === 0 || reached.has(nameOf(gateway)))
      .map(state => ({
        ancestorRef: { group: GATEWAY_GROUP, kind: 'Gateway', name: state.gateway.name },
        controllerName: CONTROLLER,
        conditions: tlsConditions(policy, state, older, work),
      }))
    return { resource: policy, status: { ancestors } }
  })
}

/** Of several reasons to reject it, the Gateway's takes precedence, then an older policy, then the authorities. */
function tlsConditions(policy: Resource, state: GatewayState, older: Resource | undefined, work: Work): Condition[] {
  const authorities = authoritiesOf(policy, work)
  const untrusted = 'reason' in authorities ? authorities : undefined
  const resolved = untrusted
    ? isFalse('ResolvedRefs', untrusted.reason, untrusted.message)
    : isTrue('ResolvedRefs', 'ResolvedRefs', VALID)
  const refuse = (reason: string, message: string) => [isFalse('Accepted', reason, message), resolved]
  if (older) return refuse('Conflicted', `BackendTLSPolicy ${nameOf(older)} is older`)
  const certificate = 'Gateway.spec.tls.backend.clientCertificateRef'
  if (state.clientCertificate) return refuse('Invalid', `${certificate}: ${state.clientCertificate.message}`)
  if (untrusted) return refuse('NoValidCACertificate', untrusted.message)
  return [isTrue('Accepted', 'Accepted', VALID), resolved]
}

/** The statuses of InferencePools: one entry per Gateway that leads to them. */
export function poolStatuses(reach: Reach, gateways: readonly GatewayState[], work: Work): Status[] {
  return work.cluster.list('InferencePool').map(pool => {
    const problems = pickerProblems(pool, work)
    const reached = reach.of(idOf(pool))
    const all = reached.length > 0 ? reached : gateways.map(({ gateway }) => nameOf(gateway))
    const conditions = [
      isTrue('Accepted', 'Accepted', `InferencePool has been accepted by controller ${CONTROLLER}`),
      problems.length === 0
        ? isTrue('ResolvedRefs', 'ResolvedRefs', 'All InferencePool references have been resolved')
        : isFalse('ResolvedRefs', 'InvalidExtensionRef', `error: ${problems.join('; ')}`),
    ]
    const parents = all.map(gateway => ({ parentRef: gatewayRef(gateway), controllerName: CONTROLLER, conditions }))
    return { resource: pool, status: { parents } }
  })
}

/** Why the endpoint picker of an InferencePool cannot be asked. */
export function pickerProblems(pool: Resource, work: Work): string[] {
  const ref: Fields = asFields(specOf(pool).endpointPickerRef) ?? {}
  const problems: string[] = []
  const group = asText(ref.group) ?? ''
  const kind = asText(ref.kind) ?? 'Service'
  if (group) problems.push(`endpointPickerRef.group must be empty, got "${group}"`)
  if (kind !== 'Service') problems.push(`endpointPickerRef.kind must be "Service", got "${kind}"`)
  const port = asFields(ref.port)?.number
  if (port === undefined) problems.push('endpointPickerRef.port must be specified')
  if (problems.length > 0) return problems
  const service = work.cluster.find('Service', pool.namespace, String(ref.name))
  if (!service) return [`Service ${pool.namespace}/${String(ref.name)} not found`]
  const spec = specOf(service)
  if (spec.type === 'ExternalName') problems.push('endpointPickerRef must not name a Service of type ExternalName')
  const open = asItems(spec.ports).some(each => each.port === port && (asText(each.protocol) ?? 'TCP') === 'TCP')
  if (!open) problems.push(`Service ${nameOf(service)} has no TCP port ${String(port)}`)
  return problems
}
