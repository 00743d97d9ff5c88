import { GATEWAY_GROUP, INFERENCE_GROUP } from '../../schema/resource-references.ts'
import { asFields, asList, asText } from '../../schema/untyped.ts'
import type { FoundReference } from './collect-references.ts'
import { canonical, type ReportResource, type ResourceGraph } from './graph.ts'
import type { Resource } from './resource.ts'
import { type Named, noPart, notFound, notPermitted } from './unresolved.ts'

/** Other kinds may belong to another implementation, which a partial input does not show. */
const KNOWN_GROUP = /^(agentgateway\.dev|(gateway|inference)\.networking\.k8s\.io)$/

/** A Service with its port, a ProxyBackend or an InferencePool; for HTTP routes also other routes and models. */
export function resolveBackend(
  ref: FoundReference,
  from: Resource,
  graph: ResourceGraph,
  report: ReportResource,
): void {
  const name = asText(ref.value.name)
  if (name === undefined) return
  const namespace = asText(ref.value.namespace) ?? from.namespace ?? 'default'
  const group = asText(ref.value.group) ?? ''
  const kindName = asText(ref.value.kind) ?? ref.refers.kind
  const to: Named = { group, kind: canonical(kindName), kindName, namespace, name }
  const refusal = unsuitable(to, from)
  const foreign = group !== '' && !KNOWN_GROUP.test(group)
  if (refusal !== undefined) {
    report({
      resource: from,
      unresolved: foreign,
      code: 'GW211',
      message: refusal,
      path: [...ref.path, 'kind' in ref.value ? 'kind' : 'name'],
      at: 'value',
    })
    return
  }
  if (isPattern(to)) return
  if (namespace !== from.namespace && !graph.permits(from, to) && !invites(to, from, graph)) {
    report(notPermitted(ref, from, to))
  }
  const target = graph.find(to.kind, namespace, name)
  if (!target) report(notFound(ref, from, to, graph))
  else if (to.kind === 'Service') checkPort(ref, from, target, report)
}

function unsuitable(to: Named, from: Resource): string | undefined {
  const { kind, group, kindName } = to
  if (kind === 'Service' && group === '') {
    return to.name.includes('.')
      ? `\`${to.name}\` is not a Service name: leave out the namespace and domain`
      : undefined
  }
  if (kind === 'ProxyBackend' && (kindName === kind ? group !== '' : group === 'agentgateway.dev')) return undefined
  if (kind === 'InferencePool' && group === INFERENCE_GROUP) return undefined
  if (from.kind.kind === 'HTTPRoute') {
    if (kind === 'HTTPRoute' && group === GATEWAY_GROUP) return undefined
    if (kind === 'ProxyModel' && group !== '' && to.name === '*') return undefined
  }
  const named = group === '' ? `\`${kindName}\` of the core group` : `\`${kindName}\` of group \`${group}\``
  return `${named} is not a backend: a Service, a ProxyBackend or an InferencePool is, each with its own group`
}

/** `*` and `label=value` select routes or models at run time. */
function isPattern({ kind, name }: Named): boolean {
  return (kind === 'HTTPRoute' && (name === '*' || name.includes('='))) || (kind === 'ProxyModel' && name === '*')
}

/** A route that names its parent route consents to it. */
function invites(to: Named, from: Resource, graph: ResourceGraph): boolean {
  if (to.kind !== 'HTTPRoute') return false
  const child = graph.find('HTTPRoute', to.namespace, to.name)
  return asList(asFields(child?.raw.spec)?.parentRefs).some(each => {
    const parent = asFields(each)
    return (
      parent?.kind === 'HTTPRoute' && parent.name === from.name && (parent.namespace ?? to.namespace) === from.namespace
    )
  })
}

function checkPort(ref: FoundReference, from: Resource, service: Resource, report: ReportResource): void {
  const port = portOf(ref.value.port)
  const spec = asFields(service.raw.spec)
  if (port === undefined || spec?.type === 'ExternalName') return
  const ports = asList(spec?.ports).flatMap(each => portOf(asFields(each)?.port) ?? [])
  if (ports.length === 0 || ports.includes(port)) return
  report(noPart(from, service, [...ref.path, 'port'], { what: 'port', value: port, known: ports }))
}

/** A number, or an object with one under `number`. */
function portOf(value: unknown): number | undefined {
  const port = asFields(value)?.number ?? value
  return typeof port === 'number' ? port : undefined
}
