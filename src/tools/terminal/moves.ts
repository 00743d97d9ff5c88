/** What moves a cursor in a list. */
export type Move = 'down' | 'up' | 'pageDown' | 'pageUp' | 'first' | 'last'

/** Lines to move by on a page of so many, infinite for the first and the last one; undefined for anything that is not a move. */
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
