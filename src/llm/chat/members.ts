import { isObject, isVoid, type JsonObject } from './json.ts'

/**
 * What a decoder reads of an object, by member; `true` is all of it. A function chooses by the object, and returns
 * undefined for one that the decoder passes on as a whole.
 */
export interface Members {
  readonly [name: string]: Member
}
export type Member = true | Members | ((value: JsonObject) => Members | undefined)

/** Reports the path of each member of `value` that its decoder does not read, such as those of a future version. */
export function findUnread(value: unknown, member: Member, at: string, report: (path: string) => void): void {
  if (member === true) return
  if (Array.isArray(value)) {
    for (const [i, each] of value.entries()) findUnread(each, member, `${at}[${i}]`, report)
    return
  }
  if (!isObject(value)) return
  const members = typeof member === 'function' ? member(value) : member
  if (members === undefined) return
  for (const name in value) {
    const inner = Object.hasOwn(members, name) ? members[name] : undefined
    if (inner === true) continue
    const path = at === '' ? name : `${at}.${name}`
    if (inner !== undefined) findUnread(value[name], inner, path, report)
    else if (!isVoid(value[name])) report(path)
  }
}

/** Members that are read whole. */
export function whole<Name extends string>(...names: readonly Name[]): { readonly [K in Name]: true } {
  return Object.fromEntries(names.map(name => [name, true])) as { [K in Name]: true }
}

/** Chooses by the member `type`. */
export function byType(types: Readonly<Record<string, Members>>): Member {
  return ({ type }) => (typeof type === 'string' && Object.hasOwn(types, type) ? types[type] : undefined)
}
