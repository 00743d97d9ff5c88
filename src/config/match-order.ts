import type { Route } from './snapshot.ts'
import type { RouteMatch } from './standalone/route-section.ts'

export interface Matched {
  readonly route: Route
  readonly match: RouteMatch
}

/**
 * The order in which the matches of one hostname are tried: exact path, then prefix and pattern by length, then method,
 * headers, query, then the route's name. Among routes with the same name, such as the rules of an HTTPRoute, file order
 * is kept: the sort must be stable.
 */
export function moreSpecific(a: Matched, b: Matched): number {
  return (
    Number(b.match.path.exact !== undefined) - Number(a.match.path.exact !== undefined) ||
    pathLength(b.match) - pathLength(a.match) ||
    Number(b.match.method !== undefined) - Number(a.match.method !== undefined) ||
    b.match.headers.length - a.match.headers.length ||
    b.match.query.length - a.match.query.length ||
    byName(a.route, b.route) ||
    (a.route === b.route ? a.route.matches.indexOf(a.match) - b.route.matches.indexOf(b.match) : 0)
  )
}

function byName(a: Route, b: Route): number {
  const near = a.namespace === b.namespace
  const [left, right] = near ? [a.name, b.name] : [`${a.namespace}/${a.name}`, `${b.namespace}/${b.name}`]
  return left < right ? -1 : Number(left > right)
}

function pathLength({ path }: RouteMatch): number {
  return (path.exact ?? path.pathPrefix ?? path.regex!.source).length
}
