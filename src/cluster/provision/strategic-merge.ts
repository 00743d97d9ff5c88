import type { Path } from '../../diagnostics/diagnostic.ts'
import { asFields, type Fields, textOf } from '../../schema/untyped.ts'

/** A problem in a patch, with its path. */
export interface PatchProblem {
  readonly code: 'GW101' | 'GW103' | 'GW104'
  readonly path: Path
  readonly message: string
}

interface Patching {
  readonly keys: MergeKeys
  readonly problem: (problem: PatchProblem) => void
}

/** Merge keys by list name. Other lists are replaced as a whole. */
export type MergeKeys = Readonly<Record<string, string>>

const POD_KEYS: MergeKeys = {
  containers: 'name',
  initContainers: 'name',
  ephemeralContainers: 'name',
  env: 'name',
  ports: 'containerPort',
  volumes: 'name',
  volumeMounts: 'mountPath',
  volumeDevices: 'devicePath',
  imagePullSecrets: 'name',
  hostAliases: 'ip',
  topologySpreadConstraints: 'topologyKey',
  schedulingGates: 'name',
  resourceClaims: 'name',
}

/** As declared by the Kubernetes types (`patchMergeKey`). */
export const MERGE_KEYS: Readonly<Record<string, MergeKeys>> = {
  Deployment: POD_KEYS,
  DaemonSet: POD_KEYS,
  Service: { ports: 'port' },
  PodDisruptionBudget: {},
  HorizontalPodAutoscaler: {},
}

const DIRECTIVE = '$patch'
const ORDER = '$setElementOrder/'
const DELETE_FROM = '$deleteFromPrimitiveList/'
const RETAIN = '$retainKeys'

/**
 * Applies a strategic merge patch as the API server does: maps are merged, null deletes, lists with a merge key are
 * merged by it; supports `$patch`, `$setElementOrder`, `$retainKeys` and `$deleteFromPrimitiveList`. Does not modify
 * its arguments.
 */
export function strategicMerge(original: Fields, patch: Fields, patching: Patching, path: Path = []): Fields {
  const directive = patch[DIRECTIVE]
  if (directive !== undefined) {
    if (directive === 'delete') return {}
    if (directive === 'replace') return withoutDirectives(patch) as Fields
    if (directive !== 'merge') patching.problem(wrongDirective(directive, path))
  }
  const out: Record<string, unknown> = retained(original, patch[RETAIN])
  for (const [key, value] of Object.entries(patch)) {
    if (key.startsWith(ORDER) && patch[key.slice(ORDER.length)] === undefined) {
      const field = key.slice(ORDER.length)
      if (Array.isArray(out[field])) out[field] = mergeField(out[field], [], field, { patch, patching, path })
    }
    if (key.startsWith(DELETE_FROM)) {
      const field = key.slice(DELETE_FROM.length)
      const gone = Array.isArray(value) ? value : []
      if (Array.isArray(out[field])) out[field] = out[field].filter(item => !gone.includes(item))
    }
    if (key.startsWith('$')) continue
    if (value === null) delete out[key]
    else if (out[key] === undefined) out[key] = withoutDirectives(value)
    else out[key] = mergeField(out[key], value, key, { patch, patching, path })
  }
  return out
}

function wrongDirective(directive: unknown, path: Path): PatchProblem {
  const message = `\`${textOf(directive)}\` is not a directive: write \`delete\`, \`replace\` or \`merge\``
  return { code: 'GW104', path: [...path, DIRECTIVE], message }
}

function retained(original: Fields, keys: unknown): Record<string, unknown> {
  if (!Array.isArray(keys)) return { ...original }
  return Object.fromEntries(Object.entries(original).filter(([key]) => keys.includes(key)))
}

interface FieldPatch {
  /** The map with the field. */
  readonly patch: Fields
  readonly patching: Patching
  readonly path: Path
}

function mergeField(old: unknown, now: unknown, key: string, { patch, patching, path }: FieldPatch): unknown {
  const at = [...path, key]
  const [before, after] = [asFields(old), asFields(now)]
  if (before && after) return strategicMerge(before, after, patching, at)
  if (Array.isArray(old) && Array.isArray(now)) {
    const mergeKey = patching.keys[key]
    if (mergeKey === undefined) return withoutDirectives(now)
    const order = patch[`${ORDER}${key}`]
    return mergeList(old, now, { mergeKey, order: Array.isArray(order) ? order : undefined, patching, path: at })
  }
  if (typeof old === 'object' || typeof now === 'object') {
    const wanted = Array.isArray(old) ? 'a list' : before ? 'a map' : 'a single value'
    patching.problem({ code: 'GW101', path: at, message: `\`${key}\` is ${wanted}` })
  }
  return now
}

interface ListPatch {
  readonly mergeKey: string
  readonly order: readonly unknown[] | undefined
  readonly patching: Patching
  readonly path: Path
}

function mergeList(old: readonly unknown[], now: readonly unknown[], o: ListPatch): unknown[] {
  const { mergeKey, patching, path } = o
  const named = (item: unknown) => asFields(item)?.[mergeKey]
  const gone = new Set<unknown>()
  const items: { readonly item: Fields; readonly at: number }[] = []
  let replaced = false
  for (const [at, each] of now.entries()) {
    const item = asFields(each)
    const directive = item?.[DIRECTIVE]
    if (item && directive === 'replace') {
      replaced = true
      if (item[mergeKey] !== undefined) items.push({ item: withoutDirectives(item) as Fields, at })
    } else if (item?.[mergeKey] === undefined) {
      patching.problem({ code: 'GW103', path: [...path, at], message: `an item of this list needs \`${mergeKey}\`` })
    } else if (directive === 'delete') gone.add(item[mergeKey])
    else items.push({ item, at })
  }
  if (replaced) return items.map(({ item }) => item)
  const kept = old.filter(item => !gone.has(named(item)))
  const merged = [...kept]
  for (const { item, at } of items) {
    const index = merged.findIndex(each => named(each) === item[mergeKey])
    const before = asFields(merged[index])
    if (before) merged[index] = strategicMerge(before, item, patching, [...path, at])
    else merged.push(withoutDirectives(item))
  }
  const order = o.order?.map(each => asFields(each)?.[mergeKey]) ?? items.map(({ item }) => item[mergeKey])
  return ordered(merged, order, old.map(named), named)
}

/** Items named in the patch take its order; the others stay before their former successors. */
function ordered(
  merged: readonly unknown[],
  order: readonly unknown[],
  before: readonly unknown[],
  named: (item: unknown) => unknown,
): unknown[] {
  const patched = merged
    .filter(item => order.includes(named(item)))
    .sort((a, b) => order.indexOf(named(a)) - order.indexOf(named(b)))
  const rest = merged.filter(item => !order.includes(named(item)))
  const out: unknown[] = []
  for (const item of patched) {
    const place = before.indexOf(named(item))
    while (rest.length > 0 && place >= 0 && before.indexOf(named(rest[0])) < place) out.push(rest.shift())
    out.push(item)
  }
  return [...out, ...rest]
}

/** A part of a patch without a counterpart to merge with. */
function withoutDirectives(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.filter(item => asFields(item)?.[DIRECTIVE] !== 'delete').map(withoutDirectives)
  }
  const fields = asFields(value)
  if (!fields) return value
  return Object.fromEntries(
    Object.entries(fields)
      .filter(([key, item]) => !key.startsWith('$') && item !== null)
      .map(([key, item]) => [key, withoutDirectives(item)]),
  )
}
