/** Cursor movements in a list. */
export type Move = 'down' | 'up' | 'pageDown' | 'pageUp' | 'first' | 'last'

/** Lines to move by for a page size, infinite for first and last. Undefined for other commands. */
export function distanceOf(command: string, page: number): number | undefined {
  const most = Math.max(1, page - 1)
  const distances: Readonly<Record<Move, number>> = {
    up: -1,
    down: 1,
    pageUp: -most,
    pageDown: most,
    first: Number.NEGATIVE_INFINITY,
    last: Number.POSITIVE_INFINITY,
  }
  return Object.hasOwn(distances, command) ? distances[command as Move] : undefined
}
