import { sameJson } from '../../dry-run/same-json.ts'
import { type Difference, Hidden, isRecord, Names, shown } from '../../test-file/matcher.ts'

type At = readonly (string | number)[]

/** A value as saved: without credentials, and null for absence. */
export function savable(value: unknown): unknown {
  if (value === undefined) return null
  if (value instanceof Hidden) return '<redacted>'
  if (value instanceof Names) return value.all[0]
  if (Array.isArray(value)) return value.map(savable)
  if (!isRecord(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, savable(member)]))
}

/** The differences between two saved values, including members that only one of them has. */
export function differencesFrom(saved: unknown, now: unknown, path: At = []): Difference[] {
  if (isRecord(saved) && isRecord(now)) {
    const names = new Set([...Object.keys(saved), ...Object.keys(now)])
    return [...names].flatMap(name => differencesFrom(memberOf(saved, name), memberOf(now, name), [...path, name]))
  }
  if (Array.isArray(saved) && Array.isArray(now) && saved.length === now.length) {
    return saved.flatMap((item, i) => differencesFrom(item, now[i], [...path, i]))
  }
  return sameJson(saved, now) ? [] : [{ path, expected: shown(saved), actual: now }]
}

function memberOf(record: Readonly<Record<string, unknown>>, name: string): unknown {
  return Object.hasOwn(record, name) ? record[name] : undefined
}
