import { isDeepStrictEqual } from 'node:util'
import { CONTROLLER } from '../../../cluster/translate/cluster-view.ts'
import { asFields, asItems, type Fields } from '../../../schema/untyped.ts'

/** Condition types that are written here: others' conditions are kept. */
const OWN: ReadonlySet<unknown> = new Set([
  'Accepted',
  'Attached',
  'Conflicted',
  'InsecureFrontendValidationMode',
  'PartiallyInvalid',
  'Programmed',
  'ResolvedRefs',
  'StatusSummarized',
  'SupportedVersion',
])

/** The API server refuses a status with more, and entries of others may not be removed. */
const MAX_ENTRIES = { parents: 32, ancestors: 16 } as const

/**
 * The status to apply to an object: conditions with times and generation. The API server merges conditions and listeners
 * by name and keeps those that others have applied, but replaces `parents` and `ancestors`, so these include the entries
 * of other controllers. Undefined if the object is up to date.
 */
export function mergeStatus(raw: Fields, wanted: Fields, generation: number, now: string): Fields | undefined {
  const current = asFields(raw.status) ?? {}
  const conditions = (list: unknown, known: unknown) => stamped(asItems(list), asItems(known), generation, now)
  const merged: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(wanted)) {
    const known = asItems(current[name])
    if (name === 'conditions') merged[name] = conditions(value, known)
    else if (name === 'listeners') {
      merged[name] = asItems(value).map(each => ({
        ...each,
        conditions: conditions(each.conditions, known.find(other => other.name === each.name)?.conditions),
      }))
    } else if (name === 'parents' || name === 'ancestors') {
      const ref = name === 'parents' ? 'parentRef' : 'ancestorRef'
      const others = known.filter(each => each.controllerName !== CONTROLLER)
      const own = asItems(value)
        .filter(each => each.controllerName === CONTROLLER)
        .map(each => {
          const before = known.find(
            other => other.controllerName === CONTROLLER && isDeepStrictEqual(other[ref], plain(each[ref])),
          )
          const foreign = asItems(before?.conditions).filter(isForeign)
          return { ...each, conditions: [...conditions(each.conditions, before?.conditions), ...foreign] }
        })
      merged[name] = [...others, ...own.slice(0, Math.max(0, MAX_ENTRIES[name] - others.length))]
    } else merged[name] = value
  }
  return includesAll(current, plain(merged)) ? undefined : merged
}

/** Adds the time of the last change. */
function stamped(wanted: readonly Fields[], known: readonly Fields[], generation: number, now: string): Fields[] {
  return wanted.map(condition => {
    const before = known.find(({ type, status }) => type === condition.type && status === condition.status)
    return { ...condition, observedGeneration: generation, lastTransitionTime: before?.lastTransitionTime ?? now }
  })
}

function isForeign({ type }: Fields): boolean {
  return !OWN.has(type)
}

function plain<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T
}

function includesAll(current: Fields, merged: Fields): boolean {
  return Object.entries(merged).every(([name, value]) => {
    const known = name === 'parents' || name === 'ancestors' ? current[name] : applied(current[name])
    return isDeepStrictEqual(sorted(known ?? []), sorted(value))
  })
}

/** A list without the conditions of others. */
function applied(value: unknown): unknown {
  if (!Array.isArray(value)) return value
  return value.flatMap(item => {
    const fields = asFields(item)
    if (fields && 'conditions' in fields) return { ...fields, conditions: applied(fields.conditions) }
    return fields && 'lastTransitionTime' in fields && isForeign(fields) ? [] : [item]
  })
}

/** Lists that are maps to the API server, in a fixed order. */
function sorted(value: unknown): unknown {
  if (!Array.isArray(value)) return value
  const items = value.map(item => {
    const fields = asFields(item)
    return fields && 'conditions' in fields ? { ...fields, conditions: sorted(fields.conditions) } : item
  })
  const key = (item: unknown) => JSON.stringify([asFields(item)?.type, asFields(item)?.name, item])
  return items.sort((a, b) => (key(a) < key(b) ? -1 : 1))
}
