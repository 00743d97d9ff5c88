import { type Alias, isAlias, isMap, isScalar, isSeq, type Node, type Pair, type Scalar, type YAMLMap } from 'yaml'
import type { Path } from './diagnostic.ts'

type Targets = ReadonlyMap<Alias, Node>

/** Maps of this many pairs are indexed: a file with a finding for each key looks up all of them. */
const MANY = 32

/** Cached lookups in a document's tree. */
export class TreeIndex {
  readonly targets: Targets
  readonly #pairs = new Map<YAMLMap, ReadonlyMap<string | undefined, Pair>>()

  /** `targets`: resolves its aliases. */
  constructor(targets: Targets) {
    this.targets = targets
  }

  /** A map's own pair, the first if repeated. */
  pair(map: YAMLMap, key: string): Pair | undefined {
    if (map.items.length < MANY) return map.items.find(pair => this.#nameOf(pair) === key)
    let pairs = this.#pairs.get(map)
    if (pairs === undefined) {
      pairs = new Map(map.items.toReversed().map(pair => [this.#nameOf(pair), pair]))
      this.#pairs.set(map, pairs)
    }
    return pairs.get(key)
  }

  #nameOf({ key }: Pair): string | undefined {
    return isMergeKey(key) ? undefined : keyText(key as Node, this.targets)
  }
}

/** A place in the document's tree. */
export interface Place {
  readonly node: Node | undefined
  /** The key of `node`; undefined for list items and the root. */
  readonly key: Node | undefined
  /** The outermost alias followed to reach `key`, or `node` for a list item. */
  readonly through: Alias | undefined
  /** Number of path steps that exist. */
  readonly depth: number
}

/** Follows `path` as far as the document goes, through aliases and merge keys. */
export function locate(root: Node | undefined, path: Path, index: TreeIndex): Place {
  let place: Place = { node: root, key: undefined, through: undefined, depth: 0 }
  for (const step of path) {
    const next = descend(place, step, index)
    if (next === undefined) return place
    place = next
  }
  return place
}

function descend(place: Place, step: string | number, index: TreeIndex): Place | undefined {
  const through = place.through ?? (isAlias(place.node) ? place.node : undefined)
  const node = follow(place.node, index.targets)
  const depth = place.depth + 1
  if (isSeq(node)) {
    const item = node.items[Number(step)]
    return item === undefined ? undefined : { node: item as Node, key: undefined, through, depth }
  }
  if (!isMap(node)) return undefined
  const found = findPair(node, String(step), index)
  if (found === undefined) return undefined
  return {
    node: (found.pair.value ?? undefined) as Node | undefined,
    key: found.pair.key as Node,
    through: through ?? found.merged,
    depth,
  }
}

/** A map's own pair (the first if repeated), otherwise one from a merge key. */
function findPair(map: YAMLMap, key: string, index: TreeIndex): { pair: Pair; merged: Alias | undefined } | undefined {
  const own = index.pair(map, key)
  if (own) return { pair: own, merged: undefined }
  for (const pair of map.items) {
    if (!isMergeKey(pair.key as Node)) continue
    for (const { node, alias } of mergeSources(pair.value as Node | null, index.targets)) {
      const found = findPair(node, key, index)
      if (found) return { pair: found.pair, merged: alias ?? found.merged }
    }
  }
  return undefined
}

/** The maps merged by `<<`, in order of precedence. */
function mergeSources(
  value: Node | null,
  targets: Targets,
): { readonly node: YAMLMap; readonly alias: Alias | undefined }[] {
  const target = follow(value ?? undefined, targets)
  const items = isSeq(target) ? (target.items as Node[]) : [value]
  const sources: { node: YAMLMap; alias: Alias | undefined }[] = []
  for (const item of items) {
    const node = follow(item ?? undefined, targets)
    const alias = isAlias(value) ? value : isAlias(item) ? item : undefined
    if (isMap(node)) sources.push({ node, alias })
  }
  return sources
}

function follow(node: Node | undefined, targets: Targets): Node | undefined {
  return isAlias(node) ? targets.get(node) : node
}

export function isMergeKey(key: unknown): key is Scalar {
  return isScalar(key) && key.value === '<<' && key.type === 'PLAIN'
}

/** A key as text: scalars other than strings keep their spelling. Undefined for lists and maps. */
export function keyText(key: Node | null, targets: Targets): string | undefined {
  const node = follow(key ?? undefined, targets)
  if (node === undefined) return key === null ? '' : undefined
  return isScalar(node) ? (node.source ?? '') : undefined
}

/** Start and end of a node's own text, without trailing white space and comments. */
export function extent(node: Node, text: string): readonly [start: number, end: number] {
  const [start, valueEnd] = node.range ?? [0, 0]
  let end = valueEnd
  if (!isScalar(node) || node.type === 'BLOCK_LITERAL' || node.type === 'BLOCK_FOLDED') {
    if (isMap(node) || isSeq(node)) end = Math.max(lastChildEnd(node, text), node.flow ? valueEnd : 0)
    while (end > start && /\s/.test(text[end - 1]!)) end--
  }
  return [start, Math.max(start, end)]
}

function lastChildEnd(node: Node, text: string): number {
  if (isMap(node)) {
    const last = node.items.at(-1)
    const child = (last?.value ?? last?.key) as Node | null | undefined
    return child ? extent(child, text)[1] : (node.range?.[1] ?? 0)
  }
  const child = isSeq(node) ? (node.items.at(-1) as Node | undefined) : undefined
  return child ? extent(child, text)[1] : (node.range?.[1] ?? 0)
}
