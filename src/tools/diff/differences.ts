import type { Path } from '../../diagnostics/diagnostic.ts'
import { REDACTED } from '../../schema/redact.ts'
import { isSettledMap, Leaf, type Settled, type SettledMap } from '../../schema/settle.ts'
import { diffLines } from '../check/line-diff.ts'

/** A part of a value that differs. If one side is unset, that side lacks it. */
export interface Difference {
  /** The path on each side: items of lists may have moved. */
  readonly path: { readonly before: Path; readonly after: Path }
  readonly before: Settled | undefined
  readonly after: Settled | undefined
}

/** The innermost differing parts of two values. */
export function differences(
  before: Settled | undefined,
  after: Settled | undefined,
  path: Difference['path'] = { before: [], after: [] },
): Difference[] {
  if (before instanceof Leaf && after instanceof Leaf) {
    if (before.key === after.key || equallyHidden(before.shown, after.shown)) return []
    if (before.parts && after.parts) return mapDifferences(before.parts, after.parts, path)
  }
  const [left, right] = [partsOf(before), partsOf(after)]
  if (isSettledMap(left) && isSettledMap(right)) return mapDifferences(left, right, path)
  if (isList(before) && isList(after)) return listDifferences(before, after, path)
  return [{ path, before, after }]
}

/** Placeholders distinguish secrets, unless they come from a dump. */
function equallyHidden(before: unknown, after: unknown): boolean {
  return isHidden(before) && isHidden(after) && (before === REDACTED || after === REDACTED)
}

/** A placeholder of this process: equal for equal secrets. */
export function isHidden(shown: unknown): boolean {
  return typeof shown === 'string' && shown.startsWith(REDACTED.slice(0, -1)) && shown.endsWith('>')
}

/** As written, except that defaults are filled in. */
export function shownOf(value: Settled): unknown {
  if (value instanceof Leaf) return value.shown
  if (isList(value)) return value.map(shownOf)
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, item]) => (isImplied(item) ? [] : [[key, shownOf(item)]])),
  )
}

export function isImplied(value: Settled): boolean {
  if (value instanceof Leaf) return value.implied
  const items = isList(value) ? value : Object.values(value)
  return items.length > 0 && items.every(isImplied)
}

/** Equal text for equivalent values. */
export function meaningOf(value: Settled): string {
  if (value instanceof Leaf) return value.key
  if (isList(value)) return `[${value.map(meaningOf).join()}]`
  const entries = Object.keys(value)
    .sort()
    .map(key => `${JSON.stringify(key)}:${meaningOf(value[key] as Settled)}`)
  return `{${entries.join()}}`
}

function partsOf(value: Settled | undefined): Settled | undefined {
  return value instanceof Leaf ? value.parts : value
}

function isList(value: Settled | undefined): value is readonly Settled[] {
  return Array.isArray(value)
}

function mapDifferences(before: SettledMap, after: SettledMap, path: Difference['path']): Difference[] {
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  return keys.flatMap(key => differences(before[key], after[key], inside(path, key, key)))
}

/** Named items are matched wherever they are; others are matched by equality, in order. */
function listDifferences(
  before: readonly Settled[],
  after: readonly Settled[],
  path: Difference['path'],
): Difference[] {
  const [left, right] = [namesIn(before), namesIn(after)]
  const out: Difference[] = []
  const pairs = left && right ? pairsByName(left, right) : pairsInOrder(before, after)
  for (const [i, j] of pairs) {
    const at = inside(path, i ?? j ?? 0, j ?? i ?? 0)
    out.push(...differences(i === undefined ? undefined : before[i], j === undefined ? undefined : after[j], at))
  }
  if (left && right && out.length === 0 && left.join('\0') !== right.join('\0')) out.push({ path, before, after })
  return out
}

type Pair = readonly [before: number | undefined, after: number | undefined]

/** Undefined unless every item has a unique name. */
function namesIn(items: readonly Settled[]): readonly string[] | undefined {
  const names = items.flatMap(item => {
    const parts = partsOf(item)
    const name = isSettledMap(parts) ? parts.name : undefined
    return name instanceof Leaf ? [name.key] : []
  })
  return names.length === items.length && new Set(names).size === names.length ? names : undefined
}

function pairsByName(left: readonly string[], right: readonly string[]): Pair[] {
  const place = new Map(right.map((name, j) => [name, j]))
  const known = new Set(left)
  return [
    ...left.map((name, i): Pair => [i, place.get(name)]),
    ...right.flatMap((name, j): Pair[] => (known.has(name) ? [] : [[undefined, j]])),
  ]
}

/** A removal and an insertion at the same place are one change. */
function pairsInOrder(before: readonly Settled[], after: readonly Settled[]): Pair[] {
  const out: Pair[] = []
  let [i, j] = [0, 0]
  let gone: number[] = []
  let come: number[] = []
  const close = () => {
    for (let k = 0; k < Math.max(gone.length, come.length); k++) out.push([gone[k], come[k]])
    gone = []
    come = []
  }
  for (const { side } of diffLines(before.map(meaningOf), after.map(meaningOf))) {
    if (side === 'left') gone.push(i++)
    else if (side === 'right') come.push(j++)
    else {
      close()
      i++
      j++
    }
  }
  close()
  return out
}

function inside(path: Difference['path'], before: string | number, after: string | number): Difference['path'] {
  return { before: [...path.before, before], after: [...path.after, after] }
}
