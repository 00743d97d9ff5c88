import { basename, dirname, relative, sep } from 'node:path'
import type { ResourceSet } from '../../cluster/resources/check.ts'
import type { Resource } from '../../cluster/resources/resource.ts'

export interface Places {
  readonly cwd: string
  /** Absolute; undefined for stdin. */
  pathOf(file: string): string | undefined
  /** The sets that the settings assign to a file. */
  setsOf(path: string): readonly { readonly key: string; readonly name: string }[]
  /** Folders and files that the kustomization of a folder includes. */
  basesOf(folder: string): readonly string[]
}

/** Conventional names of shared folders. */
const BASE = /^(?:bases?|common|shared|components?|defaults?)$/i

/**
 * Separates resources that are never applied together: `dev/` and `prod/` contain the same names, and so do a base and
 * its overlay. The settings define which files form a set; otherwise folders that define the same resource are variants
 * of each other, and what is above them belongs to each.
 */
export function partition(resources: readonly Resource[], places: Places): readonly ResourceSet[] {
  const configured = new Map<string, { name: string; resources: Resource[] }>()
  const rest: Resource[] = []
  for (const resource of resources) {
    const path = places.pathOf(resource.file)
    const sets = path === undefined ? [] : places.setsOf(path)
    for (const { key, name } of sets) {
      const set = configured.get(key) ?? { name, resources: [] }
      configured.set(key, set)
      set.resources.push(resource)
    }
    if (sets.length === 0) rest.push(resource)
  }
  return [...configured.values(), ...(rest.length > 0 || configured.size === 0 ? byFolder(rest, places) : [])]
}

function byFolder(resources: readonly Resource[], places: Places): readonly ResourceSet[] {
  const folders = new Map<Resource, string>()
  for (const resource of resources) {
    const path = places.pathOf(resource.file)
    folders.set(resource, path === undefined ? '' : dirname(path))
  }
  const variants = variantsAmong(resources, folders, places)
  if (variants.size === 0) return [{ name: undefined, resources }]
  const scopes = Map.groupBy(resources, resource => scopeOf(folders.get(resource)!, variants))
  const layers = new Map([...scopes.keys()].map(scope => [scope, layersOf(scope, scopes, places)]))
  const covered = new Set([...layers].flatMap(([scope, below]) => below.filter(each => each !== scope)))
  return [...layers]
    .filter(([scope]) => !covered.has(scope))
    .map(([scope, below]) => ({
      name: scope === '' ? undefined : relative(places.cwd, scope).split(sep).join('/') || scope,
      resources: merged(below.map(each => scopes.get(each)!)),
    }))
}

/** Where the paths of two definitions of a resource diverge: `k8s/dev` and `k8s/prod`. */
function variantsAmong(
  resources: readonly Resource[],
  folders: ReadonlyMap<Resource, string>,
  places: Places,
): Set<string> {
  const variants = new Set<string>()
  const first = new Map<string, Set<string>>()
  for (const resource of resources) {
    const id = idOf(resource)
    const folder = folders.get(resource)!
    if (id === undefined) continue
    const known = first.get(id) ?? new Set()
    first.set(id, known)
    known.add(folder)
  }
  for (const known of first.values()) {
    if (known.size < 2) continue
    const shared = commonFolder([...known])
    for (const folder of known) addParting(folder, shared, known, variants)
  }
  // What a kustomization includes belongs to it.
  for (const folder of folders.values())
    if (variants.size > 0 && places.basesOf(folder).length > 0) variants.add(folder)
  return variants
}

/** The first folder below `shared` on the path to `folder`; deeper if others of the same part are below it, too. */
function addParting(folder: string, shared: string, all: ReadonlySet<string>, into: Set<string>): void {
  let at = shared
  for (const step of relative(shared, folder).split(sep).filter(Boolean)) {
    at = at.endsWith(sep) ? `${at}${step}` : `${at}${sep}${step}`
    const inside = [...all].filter(each => each === at || each.startsWith(`${at}${sep}`))
    into.add(at)
    if (inside.length < 2) return
  }
}

function commonFolder(folders: readonly string[]): string {
  const [head = '', ...others] = folders
  const parts = head.split(sep)
  let n = parts.length
  for (const other of others) {
    const steps = other.split(sep)
    let same = 0
    while (same < n && steps[same] === parts[same]) same++
    n = same
  }
  return parts.slice(0, n).join(sep) || sep
}

function scopeOf(folder: string, variants: ReadonlySet<string>): string {
  for (let at = folder; at !== '' && dirname(at) !== at; at = dirname(at)) if (variants.has(at)) return at
  return ''
}

/** A scope, its parents and the scopes that it includes, nearest first. */
function layersOf(scope: string, scopes: ReadonlyMap<string, unknown>, places: Places): string[] {
  if (scope === '') return ['']
  const out = [scope]
  const take = (at: string): void => {
    if (scopes.has(at) && !out.includes(at)) out.push(at)
  }
  for (let i = 0; i < out.length; i++) for (const base of places.basesOf(out[i]!)) take(base)
  const above: string[] = []
  for (let at = dirname(scope); dirname(at) !== at; at = dirname(at)) above.push(at)
  for (const at of above) {
    take(at)
    for (const each of scopes.keys()) {
      if (each !== '' && dirname(each) === at && BASE.test(basename(each)) && !BASE.test(basename(scope))) take(each)
    }
  }
  take('')
  return out
}

/** Of resources defined in several layers, the nearest one. */
function merged(layers: readonly (readonly Resource[])[]): Resource[] {
  const out: Resource[] = []
  const taken = new Set<string>()
  for (const layer of layers) {
    const ids = layer.map(idOf)
    out.push(...layer.filter((_, i) => ids[i] === undefined || !taken.has(ids[i])))
    for (const id of ids) if (id !== undefined) taken.add(id)
  }
  return out
}

function idOf({ kind, namespace, name }: Resource): string | undefined {
  return name === undefined ? undefined : `${kind.kind}/${namespace ?? ''}/${name}`
}
