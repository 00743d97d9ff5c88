import type { Listener, Route, Snapshot } from '../../config/snapshot.ts'
import type { Runtime } from '../../runtime/runtime.ts'
import { asFields, asItems, asText, type Fields } from '../../schema/untyped.ts'
import { checkReferences } from '../resources/check-references.ts'
import { selects } from '../resources/graph.ts'
import { labelOf, type Resource } from '../resources/resource.ts'
import { idOf, specOf } from './cluster-view.ts'
import { finish } from './finish.ts'
import type { Status } from './status/conditions.ts'
import { type Faults, translate } from './translate.ts'
import type { DataEntry, LiveOptions } from './work.ts'

/** The current snapshot and the resources that it was compiled from. */
export interface Standing {
  readonly resources: readonly Resource[]
  readonly faults: Faults
  readonly snapshot: Snapshot
}

export interface Surroundings {
  readonly runtime: Runtime
  readonly env: Readonly<Record<string, string | undefined>>
  /** Set when following a cluster. Mistakes in other objects have then been reported and affect only those. */
  readonly live?: LiveOptions
}

export interface Recompiled {
  readonly snapshot: Snapshot
  /** Of the route. */
  readonly statuses: readonly Status[]
}

/**
 * The snapshot after a change to one HTTPRoute or GRPCRoute: only that route is translated and compiled, with what it
 * references and what applies to it, and replaces the old one. Undefined if the change may reach further, or if there
 * is anything to report: then everything must be recompiled.
 */
export async function recompileRoute(
  before: Resource,
  after: Resource,
  standing: Standing,
  { runtime, env, live }: Surroundings,
): Promise<Recompiled | undefined> {
  if (!standsAlone(before, after, standing.resources)) return undefined
  if (live && !attachesAlike(before, after)) return undefined
  const around = surroundings(after, standing.resources)
  if (around === undefined) return undefined
  if (!live && checkReferences(around, false).some(({ severity }) => severity === 'error')) return undefined
  const files = new Map<string, Buffer>()
  const translated = translate(around, standing.faults, {
    partial: false,
    withSecrets: true,
    allowUnguarded: false,
    ...(live ? { live } : {}),
    filePath: entry => keep(entry, files),
  })
  const readReferenced = (path: string) => files.get(path)
  const { loaded, losses } = await finish(translated, { runtime, env, file: after.file, readReferenced })
  const told = live ? losses.some(({ resource }) => resource === labelOf(after)) : losses.length > 0
  if (!loaded.runnable || !loaded.snapshot || told) return undefined
  const snapshot = spliced(standing.snapshot, loaded.snapshot, after)
  return snapshot && { snapshot, statuses: translated.statuses.filter(({ resource }) => resource === after) }
}

function mirrors(filters: unknown): unknown[] {
  return asItems(filters).flatMap(({ requestMirror, extensionRef }) => requestMirror ?? extensionRef ?? [])
}

/** Attachments are counted at the parents, and references decide which backend policies apply. */
function attachesAlike(before: Resource, after: Resource): boolean {
  const shown = (route: Resource) => {
    const { parentRefs, hostnames, rules } = specOf(route)
    const refs = asItems(rules).flatMap(({ backendRefs, filters }) => [
      ...asItems(backendRefs).map(({ weight: _, filters: own, ...ref }) => [ref, mirrors(own)]),
      mirrors(filters),
    ])
    return JSON.stringify([parentRefs, hostnames, refs])
  }
  return shown(before) === shown(after)
}

function keep({ kind, namespace, name, key, bytes }: DataEntry, files: Map<string, Buffer>): string {
  const path = `<memory>/${kind}/${namespace}/${name}/${key}`
  files.set(path, bytes)
  return path
}

const ROUTES: ReadonlySet<string> = new Set(['HTTPRoute', 'GRPCRoute', 'TCPRoute', 'TLSRoute', 'UDPRoute'])
/** Changed by the server on every write. */
const COUNTERS: ReadonlySet<string> = new Set(['generation', 'resourceVersion', 'managedFields'])

/** Whether only the route's spec has changed, and no other route is affected. */
function standsAlone(before: Resource, after: Resource, all: readonly Resource[]): boolean {
  const { kind } = after.kind
  if (kind !== 'HTTPRoute' && kind !== 'GRPCRoute') return false
  if (idOf(before) !== idOf(after) || identity(before) !== identity(after)) return false
  // A GRPCRoute with the name of an HTTPRoute is renamed in the file.
  const twin = kind === 'HTTPRoute' ? 'GRPCRoute' : 'HTTPRoute'
  if (all.some(each => each.kind.kind === twin && isNamedAs(each, after))) return false
  return [before, after].every(route => !delegates(specOf(route)))
}

function isNamedAs(each: Resource, other: Resource): boolean {
  return each.name === other.name && each.namespace === other.namespace
}

function identity({ raw }: Resource): string {
  const metadata = Object.entries(asFields(raw.metadata) ?? {}).filter(([key]) => !COUNTERS.has(key))
  return JSON.stringify([raw.apiVersion, Object.fromEntries(metadata)])
}

/** Routes that delegate, may be delegated to, or serve models are translated together with those. */
function delegates(spec: Fields): boolean {
  const parents = asItems(spec.parentRefs)
  if (parents.length === 0 || parents.some(({ kind }) => asText(kind) === 'HTTPRoute')) return true
  const refs = asItems(spec.rules).flatMap(rule => asItems(rule.backendRefs))
  return refs.some(({ kind }) => ['HTTPRoute', 'ProxyModel', 'AgentgatewayModel'].includes(String(kind)))
}

/** All resources except unrelated routes, models and policies. */
function surroundings(route: Resource, all: readonly Resource[]): readonly Resource[] | undefined {
  const out: Resource[] = []
  for (const each of all) {
    const { kind } = each.kind
    if (ROUTES.has(kind)) {
      if (kind === route.kind.kind && isNamedAs(each, route)) out.push(route)
    } else if (kind === 'ProxyPolicy') {
      const applies = appliesTo(route, each)
      if (applies === undefined) return undefined
      if (applies) out.push(each)
    } else if (kind !== 'ProxyModel') out.push(each)
  }
  return out
}

/** Undefined: it applies to this route and to others, some of which are unknown here. */
function appliesTo(route: Resource, policy: Resource): boolean | undefined {
  const spec = specOf(policy)
  const aimed = [...asItems(spec.targetRefs), ...asItems(spec.targetSelectors)]
  const toRoutes = aimed.filter(({ kind }) => ROUTES.has(String(kind)))
  if (toRoutes.length === 0) return true
  const own = toRoutes.filter(target => isAimedAt(route, policy, target))
  if (own.length === 0 && toRoutes.length === aimed.length) return false
  return own.length === aimed.length ? true : undefined
}

function isAimedAt(route: Resource, policy: Resource, target: Fields): boolean {
  if (target.kind !== route.kind.kind || policy.namespace !== route.namespace) return false
  if (target.name !== undefined) return target.name === route.name
  const labels = asFields(asFields(route.raw.metadata)?.labels) ?? {}
  const { matchLabels, matchExpressions } = target
  return selects({ matchLabels, matchExpressions } as Parameters<typeof selects>[0], labels)
}

/** The whole snapshot with one resource's routes replaced in place. */
function spliced(whole: Snapshot, part: Snapshot, route: Resource): Snapshot | undefined {
  const made = new Map(part.binds.flatMap(({ listeners }) => listeners.map(each => [each.key, each] as const)))
  const isOwn = ({ namespace, name }: Route) => namespace === route.namespace && name === route.name
  let misplaced = false
  const replaced = (listener: Listener): Listener => {
    const routes = (made.get(listener.key)?.routes ?? []).filter(isOwn)
    const first = listener.routes.findIndex(isOwn)
    // The position of a new route among the others requires a full translation.
    if (first < 0) misplaced ||= routes.length > 0
    if (first < 0) return listener
    const others = listener.routes.filter(each => !isOwn(each))
    return { ...listener, routes: [...others.slice(0, first), ...routes, ...others.slice(first)] }
  }
  const binds = whole.binds.map(bind => ({ ...bind, listeners: bind.listeners.map(replaced) }))
  part.credentials.addAll(whole.credentials)
  return misplaced ? undefined : { ...whole, binds, credentials: part.credentials }
}
