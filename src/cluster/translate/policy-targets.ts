import { asFields, asItems, asText, type Fields } from '../../schema/untyped.ts'
import { canonical, labelsOf, selects } from '../resources/graph.ts'
import type { Resource } from '../resources/resource.ts'
import { nameOf, specOf } from './cluster-view.ts'
import { markRead } from './origin/tracked.ts'
import type { Work } from './work.ts'

/** One object that a policy selects. */
export interface PolicyTarget {
  readonly ref: Fields
  /** The kind as the policy names it. */
  readonly kindName: string
  /** Undefined if it does not exist. */
  readonly object: Resource | undefined
  readonly section: string | undefined
  readonly port: number | undefined
  /** Why the policy does not apply to it. */
  readonly problem: string | undefined
}

export interface PolicyState {
  readonly policy: Resource
  readonly targets: readonly PolicyTarget[]
  /** Mistakes in its content. */
  readonly errors: string[]
  /** Part of it was converted. */
  produced: boolean
}

export function findTargets(policy: Resource, work: Work): PolicyState {
  const spec = work.spec(policy)
  const named = asItems(spec.targetRefs).map(ref => namedBy(ref, policy, work))
  const selected = asItems(spec.targetSelectors).flatMap(ref => selectedBy(ref, policy, work))
  return { policy, targets: [...named, ...selected], errors: [], produced: false }
}

function namedBy(ref: Fields, policy: Resource, work: Work): PolicyTarget {
  const kindName = String(ref.kind)
  markRead(ref, 'group')
  const object = work.cluster.find(canonical(kindName), policy.namespace, String(ref.name))
  return target(ref, kindName, object, `${policy.namespace}/${String(ref.name)}`)
}

function selectedBy(ref: Fields, policy: Resource, work: Work): PolicyTarget[] {
  const kindName = String(ref.kind)
  markRead(ref, 'group')
  const matchLabels = { ...asFields(ref.matchLabels) } as Record<string, string>
  const found = work.cluster
    .list(canonical(kindName))
    .filter(each => each.namespace === policy.namespace && selects({ matchLabels }, labelsOf(each)))
  if (found.length > 0) return found.map(object => target(ref, kindName, object, nameOf(object)))
  const problem = `no ${kindName} matching selector found in namespace ${policy.namespace}`
  return [{ ref, kindName, object: undefined, section: undefined, port: undefined, problem }]
}

function target(ref: Fields, kindName: string, object: Resource | undefined, name: string): PolicyTarget {
  const section = asText(ref.sectionName)
  const port = typeof ref.port === 'number' ? ref.port : undefined
  return { ref, kindName, object, section, port, problem: problemOf(object, section, port, `${kindName} ${name}`) }
}

function problemOf(object: Resource | undefined, section: string | undefined, port: number | undefined, label: string) {
  if (!object) return `${label} not found`
  if (section !== undefined) {
    const service = object.kind.kind === 'Service'
    if (sectionsOf(object)?.includes(section) === false) {
      return service ? `port ${section} not found in ${label}` : `sectionName "${section}" not found in ${label}`
    }
  }
  if (port === undefined || object.kind.kind !== 'Gateway') return undefined
  const ports = asItems(specOf(object).listeners).map(each => each.port)
  return ports.includes(port) ? undefined : `port ${port} not found in ${label}`
}

function sectionsOf(object: Resource): readonly string[] | undefined {
  const spec = specOf(object)
  const names = (items: unknown) => asItems(items).map(({ name }) => String(name))
  switch (object.kind.kind) {
    case 'Gateway':
    case 'ListenerSet':
      return names(spec.listeners)
    case 'HTTPRoute':
    case 'GRPCRoute':
      return names(spec.rules)
    case 'Service':
      return asItems(spec.ports).map(({ port }) => String(port))
    case 'ProxyBackend': {
      const groups = asItems(asFields(spec.ai)?.groups).flatMap(group => names(group.providers))
      const single = asFields(spec.ai)?.provider === undefined ? [] : ['backend']
      return [...names(asFields(spec.mcp)?.targets), ...groups, ...single]
    }
    default:
      return undefined
  }
}
