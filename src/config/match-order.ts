import type { Route } from './snapshot.ts'
import type { RouteMatch } from './standalone/route-section.ts'

export interface Matched {
  readonly route: Route
  readonly match: RouteMatch
}

/**
 * The order in which the matches of one host name are tried: exact path, then prefix and pattern by length, then
 * method, headers, query, then the route's key.
 */
export function moreSpecific(a: Matched, b: Matched): number {
  return (
    Number(b.match.path.exact !== undefined) - Number(a.match.path.exact !== undefined) ||
    pathLength(b.match) - pathLength(a.match) ||
    Number(b.match.method !== undefined) - Number(a.match.method !== undefined) ||
    b.match.headers.length - a.match.headers.length ||
    b.match.query.length - a.match.query.length ||
    (a.route.key < b.route.key ? -1 : Number(a.route.key > b.route.key)) ||
    a.route.matches.indexOf(a.match) - b.route.matches.indexOf(b.match)
  )
}

function pathLength({ path }: RouteMatch): number {
  return (path.exact ?? path.pathPrefix ?? path.regex!.source).length
}
