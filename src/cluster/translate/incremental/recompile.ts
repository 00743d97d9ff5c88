import type { Engines } from '../../../config/engines.ts'
import { listenerNames } from '../../../config/match-order.ts'
import type { Listener, Snapshot } from '../../../config/snapshot.ts'
import type { RouteFacts } from '../../../http/exchange.ts'
import type { Pause } from '../../../runtime/pause.ts'
import type { Runtime } from '../../../runtime/runtime.ts'
import { asFields, asItems, type Fields } from '../../../schema/untyped.ts'
import { checkReferences } from '../../resources/check-references.ts'
import type { Resource } from '../../resources/resource.ts'
import { attachRoutes } from '../attachment.ts'
import { ClusterView, idOf, nameOf } from '../cluster-view.ts'
import { finish } from '../finish.ts'
import { findGateways } from '../listeners.ts'
import type { Status } from '../status/conditions.ts'
import { withRefusals } from '../status/refusals.ts'
import { type Translated, translate } from '../translate.ts'
import { type DataEntry, type Faults, type LiveOptions, type TranslateOptions, Work } from '../work.ts'
import { type Concerned, concernedBy } from './concerned.ts'
import { backendsOf, type Change, Inventory, isForRoutes, isRoute } from './inventory.ts'

/** The current snapshot and the resources that it was compiled from, which `recompile` updates. */
export interface Standing {
  readonly inventory: Inventory
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
  /** Set when the same thread serves requests. */
  readonly pause?: Pause
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
const MAX_SEPARATE = 500

export function standingOf(resources: readonly Resource[], faults: Faults, snapshot: Snapshot): Standing {
  return { inventory: new Inventory(resources.filter(({ name }) => name !== undefined)), faults, snapshot }
}

/**
 * The snapshot after changes that affect a few routes: only those are translated and compiled, with what they reference
 * and what applies to them, and replace the old ones. Undefined if the changes may reach further or cannot be served,
 * or without a cluster, if there is anything to report: then everything must be recompiled, and `standing` is void.
 */
export async function recompile(
  changes: readonly Change[],
  standing: Standing,
  { live, config, ...world }: Surroundings,
): Promise<Recompiled | undefined> {
  const { inventory } = standing
  for (const change of changes) inventory.put(change)
  const concerned = concernedBy(changes, inventory, MAX_SEPARATE)
  if (!concerned) return undefined
  const { routes, policies, backends } = concerned
  const around = surroundings(concerned, inventory)
  for (const change of changes) inventory.settle(change)
  if (routes.size === 0 && policies.size === 0 && backends.size === 0)
    return { snapshot: standing.snapshot, statuses: [], attached: new Map() }
  if (!live && checkReferences(around, false).some(({ severity }) => severity === 'error')) return undefined
  const files = new Map<string, Buffer>()
  const options: TranslateOptions = {
    partial: false,
    withSecrets: true,
    allowUnguarded: false,
    ...(live ? { live } : {}),
    ...(world.pause ? { pause: world.pause } : {}),
    filePath: entry => keep(entry, files),
  }
  const translated = withConfig(await translate(around, standing.faults, options), config)
  const made = new Set([...around.filter(isRoute), ...policies, ...backends])
  const readReferenced = (path: string) => files.get(path)
  const file = around.find(isRoute)?.file ?? '<cluster>'
  const finished = await finish(translated, { ...world, file, readReferenced })
  const { snapshot, runnable } = finished.loaded
  if (!runnable || !snapshot || (!live && finished.losses.length > 0)) return undefined
  return {
    snapshot: spliced(standing.snapshot, snapshot, concerned),
    statuses: withRefusals(finished).filter(({ resource }) => made.has(resource)),
    attached: concerned.reattached
      ? difference(counts(asBefore(around, changes), options), counts(around, options))
      : new Map(),
  }
}

function asBefore(around: readonly Resource[], changes: readonly Change[]): readonly Resource[] {
  const added = new Set(changes.map(({ after }) => after))
  return [...around.filter(each => !added.has(each)), ...changes.flatMap(({ before }) => before ?? [])]
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
function surroundings({ routes, policies }: Concerned, all: Inventory): readonly Resource[] {
  const out = [...all.rest(APART)]
  const led = new Set<string>()
  for (const id of routes) {
    const route = all.get(id)
    if (!route) continue
    out.push(route)
    for (const backend of backendsOf(route)) led.add(backend)
  }
  for (const policy of all.list('ProxyPolicy')) if (policies.has(policy) || !isForRoutes(policy)) out.push(policy)
  for (const service of all.list('Service'))
    if (led.has(idOf(service)) || all.isUsed(service)) out.push(service, ...all.slicesOf(service))
  for (const kind of ['Secret', 'ConfigMap']) for (const each of all.list(kind)) if (all.isUsed(each)) out.push(each)
  out.push(...all.list('Namespace'))
  return out
}

/** Models become a section of the file, which no route affects. */
const APART: ReadonlySet<string> = new Set(['ProxyModel', 'ProxyPolicy'])

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
function spliced(whole: Snapshot, part: Snapshot, { routes, policies, backends }: Concerned): Snapshot {
  const own = new Set([...routes].map(id => id.slice(id.indexOf('/') + 1)))
  const made = new Map(part.binds.flatMap(({ listeners }) => listeners.map(each => [each.key, each] as const)))
  const replaced = (listener: Listener): Listener => {
    const { routes = [], tcpRoutes = [] } = made.get(listener.key) ?? {}
    return {
      ...listener,
      routes: inPlace(listener.routes, routes, own),
      tcpRoutes: inPlace(listener.tcpRoutes, tcpRoutes, own),
    }
  }
  const binds = whole.binds.map(bind => {
    const listeners = bind.listeners.map(replaced)
    return { ...bind, listeners, listenerFor: listenerNames(listeners) }
  })
  part.credentials.addAll(whole.credentials)
  return {
    ...whole,
    binds,
    credentials: part.credentials,
    ...(policies.size === 0 ? {} : { redacted: withPolicies(whole.redacted, part.redacted, policies) }),
    ...(policies.size + backends.size === 0 ? {} : { backends: withBackends(whole, part, backends) }),
  }
}

function inPlace<R extends RouteFacts>(all: readonly R[], made: readonly R[], own: ReadonlySet<string>): readonly R[] {
  const names = new Set([...own].map(id => id.slice(id.indexOf('/') + 1)))
  const nameOf = ({ namespace, name }: R) => `${namespace}/${name}`
  const isOwn = (route: R) => names.has(route.name) && own.has(nameOf(route))
  const waiting = Map.groupBy(made.filter(isOwn), nameOf)
  if (waiting.size === 0 && !all.some(isOwn)) return all
  const kept: R[] = []
  for (const route of all) {
    if (!isOwn(route)) kept.push(route)
    else {
      kept.push(...(waiting.get(nameOf(route)) ?? []))
      waiting.delete(nameOf(route))
    }
  }
  return [...kept, ...[...waiting.values()].flat()]
}

/** Those that were left out of the file may be in it now, and the reverse. */
function withBackends(whole: Snapshot, part: Snapshot, changed: ReadonlySet<Resource>): Snapshot['backends'] {
  const names = new Set([...changed].map(nameOf))
  return new Map([...[...whole.backends].filter(([name]) => !names.has(name)), ...part.backends])
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
