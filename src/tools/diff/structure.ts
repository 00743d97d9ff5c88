import { formatPath } from '../../diagnostics/diagnostic.ts'
import { type Difference, differences, isHidden, isImplied, shownOf } from './differences.ts'
import { Contents, pairParts, stableText } from './pairs.ts'
import { backendParts, bindParts, type Part, type PartKind, writtenParts } from './parts.ts'
import type { Side } from './side.ts'

/** A differing field of an object. */
export interface FieldChange {
  readonly field: string
  readonly before?: FieldValue
  readonly after?: FieldValue
}
export interface FieldValue {
  /** As written; `<redacted>` for a secret. */
  readonly value: unknown
  /** Not written explicitly. */
  readonly default: boolean
  /** `file:line`; empty if unknown. */
  readonly at: string
}

/** An object that differs between the two configurations. */
export interface Change {
  readonly change: 'added' | 'removed' | 'changed' | 'renamed'
  readonly kind: PartKind
  readonly label: string
  /** The new label of a renamed object. */
  readonly newLabel?: string
  /** What it does, if it was added or removed. */
  readonly summary: string
  /** `file:line` on each side; empty if unknown. */
  readonly before: string
  readonly after: string
  readonly fields: readonly FieldChange[]
  /** Other objects with the same change. */
  readonly also: readonly string[]
}

export interface Structure {
  readonly changes: readonly Change[]
  /** The routes of each side that may behave differently. */
  readonly routes: { readonly before: Touched; readonly after: Touched }
}

/** Routes by key, with their changed policies; `all` if more than policies changed. */
export type Touched = ReadonlyMap<string, ReadonlySet<string> | 'all'>

/** All semantic differences between two configurations, regardless of notation. */
export function compareStructure(before: Side, after: Side): Structure {
  const contents = new Contents()
  const routes = { before: new Routes(before), after: new Routes(after) }
  const compare = (left: readonly Part[], right: readonly Part[]) =>
    compareParts(left, right, { before, after, contents, routes })
  const [backendsBefore, backendsAfter] = [backendParts(before.dump), backendParts(after.dump)]
  const { both } = pairParts(backendsBefore, backendsAfter, contents)
  const renames = new Map(both.filter(pair => pair.renamed).map(pair => [pair.before.name, pair.after.name]))
  const ports = compare(bindParts(before.dump, renames), bindParts(after.dump))
  const rest = compare(
    [...backendsBefore, ...writtenParts(before.dump), ...before.files()],
    [...backendsAfter, ...writtenParts(after.dump), ...after.files()],
  )
  return {
    changes: merged([...ports, ...rest]),
    routes: { before: routes.before.touched, after: routes.after.touched },
  }
}

interface Comparison {
  readonly before: Side
  readonly after: Side
  readonly contents: Contents
  readonly routes: { readonly before: Routes; readonly after: Routes }
}

/** The routes of one side that are affected by changes. */
class Routes {
  readonly touched = new Map<string, Set<string> | 'all'>()
  readonly #side: Side

  constructor(side: Side) {
    this.#side = side
  }

  add({ kind, routes, written }: Part): void {
    const keys = routes === 'all' ? this.#side.dump.routes.map(route => route.key) : routes
    for (const key of keys) {
      const known = this.touched.get(key) ?? new Set()
      if (kind !== 'policy' || routes === 'all') this.touched.set(key, 'all')
      else if (known !== 'all') this.touched.set(key, known.add(Object.keys(written as object)[0] ?? ''))
    }
  }
}

function compareParts(left: readonly Part[], right: readonly Part[], c: Comparison): Change[] {
  const { both, removed, added } = pairParts(left, right, c.contents)
  const place = (side: Side, part: Part) => side.originOf(part.place, [])
  const none = { fields: [], also: [], before: '', after: '' }
  return [
    ...removed.map((part): Change => {
      c.routes.before.add(part)
      return { ...none, ...wordsOf(part), change: 'removed', before: place(c.before, part) }
    }),
    ...both.flatMap(({ before, after, renamed }): Change[] => {
      if (c.contents.of(before) === c.contents.of(after) && !renamed) return []
      const fields =
        stableText(before.written) === stableText(after.written)
          ? []
          : differences(before.settled(), after.settled()).map(each => fieldChange(each, before, after, c))
      if (fields.length > 0 || renamed) {
        c.routes.before.add(before)
        c.routes.after.add(after)
      }
      const inside = compareParts(before.parts, after.parts, c)
      const places = { before: place(c.before, before), after: place(c.after, after) }
      const change = renamed ? 'renamed' : 'changed'
      const own = { ...none, ...wordsOf(before), ...places, change, summary: '', fields } as const
      if (renamed) return [{ ...own, newLabel: after.label }, ...inside]
      return fields.length === 0 ? inside : [own, ...inside]
    }),
    ...added.map((part): Change => {
      c.routes.after.add(part)
      return { ...none, ...wordsOf(part), change: 'added', after: place(c.after, part) }
    }),
  ]
}

function wordsOf({ kind, label, summary }: Part): Pick<Change, 'kind' | 'label' | 'summary'> {
  return { kind, label, summary }
}

function fieldChange({ path, before, after }: Difference, left: Part, right: Part, c: Comparison): FieldChange {
  return {
    field: formatPath(after === undefined ? path.before : path.after),
    ...(before === undefined ? {} : { before: fieldValue(before, lineOf(c.before.originOf(left.place, path.before))) }),
    ...(after === undefined ? {} : { after: fieldValue(after, lineOf(c.after.originOf(right.place, path.after))) }),
  }
}

function fieldValue(value: Exclude<Difference['before'], undefined>, at: string): FieldValue {
  return { value: withoutMarks(shownOf(value)), default: isImplied(value), at }
}

/** The marks that distinguish secrets are for comparison only. */
function withoutMarks(value: unknown): unknown {
  if (isHidden(value)) return '<redacted>'
  if (Array.isArray(value)) return value.map(withoutMarks)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withoutMarks(item)]))
}

function lineOf(origin: string): string {
  return origin.replace(/:\d+$/, '')
}

/** A policy applies in many places, and a route to many listeners: equal changes are reported once. */
function merged(changes: readonly Change[]): Change[] {
  const alike = Map.groupBy(changes, change => {
    const { kind, label, before, after, fields } = change
    const place = before + after
    const name = kind === 'policy' ? label.replace(/ of .*/s, '') : label
    return JSON.stringify([change.change, kind, name, before, after, fields, place === '' ? label : ''])
  })
  return [...alike.values()].flatMap(([first, ...others]) => {
    if (first === undefined) return []
    const { change, kind, label, newLabel, summary, before, after, fields } = first
    const places = { before: lineOf(before), after: lineOf(after) }
    const name = newLabel === undefined ? { label } : { label, newLabel }
    return [{ change, kind, ...name, summary, ...places, fields, also: others.map(each => each.label) }]
  })
}
