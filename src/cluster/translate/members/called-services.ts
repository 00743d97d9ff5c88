// Services that are called by more than the rules of a route: by policies, and as providers and MCP targets.
import { labelOf } from '../../resources/resource.ts'
import { addressesOf, type ServicePort } from '../backend-refs.ts'
import type { Work } from '../work.ts'
import type { MemberContext } from './member-context.ts'
import { authoritiesOf, tlsPolicies, tlsPolicyFor } from './tls-policies.ts'

/** `host:port` of the only endpoint that is called; others are reported as a loss. */
export function firstAddress(to: ServicePort, part: unknown, ctx: MemberContext): string {
  const addresses = addressesOf(to, ctx.work)
  if (addresses.length > 1)
    ctx.lose(part, `one of ${addresses.length} endpoints of Service ${to.namespace}/${to.name} is called`)
  return addresses[0]!
}

/** Whether policies target the Service, and why it cannot be called under them. */
export function aimedAt(to: ServicePort, work: Work): { readonly any: boolean; readonly problem?: string } {
  const id = `Service/${to.namespace}/${to.name}`
  const tls = tlsPolicyFor(to.namespace, to.name, to.port, work)
  if (!tls) return { any: work.aimedAt.has(id) || work.aimedAt.has(`${id}#${to.port}`) }
  const authorities = authoritiesOf(tls, work)
  return { any: true, ...('reason' in authorities ? { problem: `${labelOf(tls)}: ${authorities.message}` } : {}) }
}

/** The `backendTLS` of the Service; undefined also if it trusts no authority, which is a `problem` of `aimedAt`. */
export function tlsOf(to: ServicePort, work: Work): unknown {
  const policy = tlsPolicyFor(to.namespace, to.name, to.port, work)
  if (policy) return tlsPolicies(policy, work)?.backendTLS
  const id = `Service/${to.namespace}/${to.name}`
  return work.tlsOfBackends.get(`${id}#${to.port}`) ?? work.tlsOfBackends.get(id)
}

/** The backend of the file that stands for a Service with policies: they apply whoever calls it. */
export function backendFor(to: ServicePort, work: Work): string {
  const name = `${to.namespace}/${to.name}:${to.port}`
  work.called.set(name, to)
  return name
}
