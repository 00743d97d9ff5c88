import type { Engines } from '../../../config/engines.ts'
import type { Listener, Snapshot } from '../../../config/snapshot.ts'
import type { RouteFacts } from '../../../http/exchange.ts'
import type { Runtime } from '../../../runtime/runtime.ts'
import { asFields, asItems, type Fields } from '../../../schema/untyped.ts'
import { checkReferences } from '../../resources/check-references.ts'
import { labelsOf } from '../../resources/graph.ts'
import { labelOf, type Resource } from '../../resources/resource.ts'
import { attachRoutes } from '../attachment.ts'
import { ClusterView, idOf } from '../cluster-view.ts'
import { finish } from '../finish.ts'
import { findGateways } from '../listeners.ts'
import type { Status } from '../status/conditions.ts'
import { type Translated, translate } from '../translate.ts'
import { type DataEntry, type Faults, type LiveOptions, type TranslateOptions, Work } from '../work.ts'
import {
  type ById,
  type Change,
  type Concerned,
  concernedBy,
  isForRoutes,
  isRoute,
  Mentions,
  servicesOf,
} from './concerned.ts'

/** The current snapshot and the resources that it was compiled from. */
export interface Standing {
  readonly resources: ById
  readonly mentions: Mentions
  readonly faults: Faults
  readonly snapshot: Snapshot
}

export interface Surroundings {
  readonly runtime: Runtime
  readonly env: Readonly<Record<string, string | undefined>>
  /** Set when following a cluster. Mistakes in other objects have then been reported and affect only those. */
  readonly live?: LiveOptions
  /** What a file sets for the process. */
  readonly config?: Fields
  /** Made for this change when unset. */
  readonly engines?: Engines
}

export interface Recompiled {
  /** The previous one if the change affects nothing. */
  readonly snapshot: Snapshot
  /** Of the recompiled routes and policies. */
  readonly statuses: readonly Status[]
  /** Change in the number of attached routes, by the listener's owner and name. */
  readonly attached: ReadonlyMap<string, number>
}

/** Most routes that are recompiled separately; beyond this, everything is. */
const MAX_SEPARATE = 64

export function standingOf(resources: readonly Resource[], faults: Faults, snapshot: Snapshot): Standing {
  const known = resources.filter(({ name }) => name !== undefined)
  return { resources: new Map(known.map(each => [idOf(each), each])), mentions: new Mentions(known), faults, snapshot }
}

/**
 * The snapshot after changes that affect a few routes: only those are translated and compiled, with what they reference
 * and what applies to them, and replace the old ones. Undefined if the changes may reach further, or if there is
 * anything to report: then everything must be recompiled. `after`: all resources as they are now.
 */
export async function recompile(
  changes: readonly Change[],
  after: ById,
  standing: Standing,
  { live, config, ...world }: Surroundings,
): Promise<Recompiled | undefined> {
  const concerned = concernedBy(changes, after, standing.mentions, MAX_SEPARATE)
  if (!concerned) return undefined
  const { routes, policies } = concerned
  if (routes.size === 0 && policies.size === 0)
    return { snapshot: standing.snapshot, statuses: [], attached: new Map() }
  const around = surroundings(concerned, after, standing.mentions)
  if (!live && checkReferences(around, false).some(({ severity }) => severity === 'error')) return undefined
  const files = new Map<string, Buffer>()
  const options: TranslateOptions = {
    partial: false,
    withSecrets: true,
    allowUnguarded: false,
    ...(live ? { live } : {}),
    filePath: entry => keep(entry, files),
  }
  const translated = withConfig(translate(around, standing.faults, options), config)
  const made = new Set([...around.filter(isRoute), ...policies])
  const labels = new Set([...made].map(labelOf))
  const readReferenced = (path: string) => files.get(path)
  const file = around.find(isRoute)?.file ?? '<cluster>'
  const { loaded, losses } = await finish(translated, { ...world, file, readReferenced })
  const told = live ? losses.some(({ resource }) => labels.has(resource ?? '')) : losses.length > 0
  if (!loaded.runnable || !loaded.snapshot || told) return undefined
  const snapshot = spliced(standing.snapshot, loaded.snapshot, routes, policies)
  return {
    snapshot,
    statuses: translated.statuses.filter(({ resource }) => made.has(resource)),
    attached: concerned.reattached
      ? difference(
          counts(surroundings(concerned, standing.resources, standing.mentions), options),
          counts(around, options),
        )
      : new Map(),
  }
}

/** Adds what a file sets for the process. */
export function withConfig(translated: Translated, config: Fields = {}): Translated {
  if (Object.keys(config).length === 0) return translated
  return { ...translated, value: { ...translated.value, config: { ...config, ...asFields(translated.value.config) } } }
}

function keep({ kind, namespace, name, key, bytes }: DataEntry, files: Map<string, Buffer>): string {
  const path = `<memory>/${kind}/${namespace}/${name}/${key}`
  files.set(path, bytes)
  return path
}

/** All resources except unrelated ones. */
function surroundings({ routes, policies }: Concerned, all: ById, mentions: Mentions): readonly Resource[] {
  const services = new Set(
    [...routes].flatMap(id => {
      const route = all.get(id)
      return route ? servicesOf(route) : []
    }),
  )
  const isNear = (each: Resource, service = each.name) =>
    services.has(`Service/${each.namespace}/${service}`) || mentions.isMentioned({ kind: each.kind, name: service })
  return [...all.values()].filter(each => {
    switch (each.kind.kind) {
      case 'ProxyModel':
        return false
      case 'ProxyPolicy':
        return policies.has(each) || !isForRoutes(each)
      case 'Service':
        return isNear(each)
      case 'EndpointSlice':
        return isNear(each, String(labelsOf(each)['kubernetes.io/service-name']))
      case 'Secret':
      case 'ConfigMap':
        return mentions.isMentioned(each)
      default:
        return !isRoute(each) || routes.has(idOf(each))
    }
  })
}

/** Number of the routes attached to each listener. */
function counts(resources: readonly Resource[], options: TranslateOptions): ReadonlyMap<string, number> {
  const work = new Work(new ClusterView(resources), options)
  const out = new Map<string, number>()
  for (const { listeners } of attachRoutes(findGateways(work), work)) {
    for (const { owner, name } of listeners) {
      const key = `${idOf(owner)}#${name}`
      out.set(key, (out.get(key) ?? 0) + 1)
    }
  }
  return out
}

function difference(before: ReadonlyMap<string, number>, after: ReadonlyMap<string, number>): Map<string, number> {
  const keys = new Set([...before.keys(), ...after.keys()])
  const changed = [...keys].map(key => [key, (after.get(key) ?? 0) - (before.get(key) ?? 0)] as const)
  return new Map(changed.filter(([, by]) => by !== 0))
}

/** The status of a Gateway or ListenerSet after a change in its attached routes. */
export function withAttached(status: Status, attached: ReadonlyMap<string, number>): Status {
  const listeners = asItems(status.status.listeners).map(listener => {
    const more = attached.get(`${idOf(status.resource)}#${String(listener.name)}`) ?? 0
    return more === 0 ? listener : { ...listener, attachedRoutes: Number(listener.attachedRoutes) + more }
  })
  return { ...status, status: { ...status.status, listeners } }
}

/** The whole snapshot with some resources' routes replaced in place; new ones come last. */
function spliced(whole: Snapshot, part: Snapshot, ids: ReadonlySet<string>, policies: ReadonlySet<Resource>): Snapshot {
  const own = new Set([...ids].map(id => id.slice(id.indexOf('/') + 1)))
  const made = new Map(part.binds.flatMap(({ listeners }) => listeners.map(each => [each.key, each] as const)))
  const replaced = (listener: Listener): Listener => {
    const { routes = [], tcpRoutes = [] } = made.get(listener.key) ?? {}
    return {
      ...listener,
      routes: inPlace(listener.routes, routes, own),
      tcpRoutes: inPlace(listener.tcpRoutes, tcpRoutes, own),
    }
  }
  const binds = whole.binds.map(bind => ({ ...bind, listeners: bind.listeners.map(replaced) }))
  part.credentials.addAll(whole.credentials)
  const redacted = policies.size === 0 ? whole.redacted : withPolicies(whole.redacted, part.redacted, policies)
  return { ...whole, binds, credentials: part.credentials, redacted }
}

function inPlace<R extends RouteFacts>(all: readonly R[], made: readonly R[], own: ReadonlySet<string>): readonly R[] {
  const nameOf = ({ namespace, name }: R) => `${namespace}/${name}`
  const isOwn = (route: R) => own.has(nameOf(route))
  const waiting = Map.groupBy(made.filter(isOwn), nameOf)
  if (waiting.size === 0 && !all.some(isOwn)) return all
  const kept = all.flatMap(route => {
    const name = nameOf(route)
    if (!own.has(name)) return [route]
    const found = waiting.get(name) ?? []
    waiting.delete(name)
    return found
  })
  return [...kept, ...[...waiting.values()].flat()]
}

/** Replaces the policies that dumps show. */
function withPolicies(whole: unknown, part: unknown, policies: ReadonlySet<Resource>): unknown {
  const names = new Set([...policies].map(({ namespace, name }) => `${namespace}/${name}`))
  const isOwn = ({ name }: Fields) => {
    const { namespace, name: of } = (name ?? {}) as Fields
    return names.has(`${String(namespace)}/${String(of)}`)
  }
  const listOf = (file: unknown) => asItems((file as Fields | undefined)?.policies)
  const kept = listOf(whole).filter(each => !isOwn(each))
  return { ...(whole as Fields), policies: [...kept, ...listOf(part).filter(isOwn)] }
}
