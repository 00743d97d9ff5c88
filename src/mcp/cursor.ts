import { isObject } from './message.ts'

/** Where a list goes on, per target; a target that is missing has no more pages. An empty cursor is a cursor. */
export type Cursors = ReadonlyMap<string, string>

/** Undefined when no target has another page. */
export function encodeCursor(cursors: Cursors): string | undefined {
  if (cursors.size === 0) return undefined
  return Buffer.from(JSON.stringify(Object.fromEntries(cursors))).toString('base64url')
}

/** Undefined when `cursor` is not one of ours. Targets that are gone since are left out by the caller. */
export function decodeCursor(cursor: unknown): Cursors | undefined {
  if (typeof cursor !== 'string' || !/^[\w-]+$/.test(cursor)) return undefined
  try {
    const value: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    if (!isObject(value)) return undefined
    const entries = Object.entries(value)
    return entries.every((entry): entry is [string, string] => typeof entry[1] === 'string')
      ? new Map(entries)
      : undefined
  } catch {
    return undefined
  }
}
