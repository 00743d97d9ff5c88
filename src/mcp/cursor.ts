import { isObject } from './message.ts'

/** Where a list continues, per target; an absent target has no more pages. An empty cursor is valid. */
export type Cursors = ReadonlyMap<string, string>

/** Undefined if no target has another page. */
export function encodeCursor(cursors: Cursors): string | undefined {
  if (cursors.size === 0) return undefined
  return Buffer.from(JSON.stringify(Object.fromEntries(cursors))).toString('base64url')
}

/** Undefined if the gateway did not issue `cursor`. The caller drops targets that no longer exist. */
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
