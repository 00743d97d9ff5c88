import type { Listener, Route } from './snapshot.ts'
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

/**
 * Finds the listener that serves a host: its exact name before the longest wildcard before `*` before none; the first
 * among equals. Takes the same time however many there are.
 */
export function listenerNames(listeners: readonly Listener[]): (host: string) => Listener | undefined {
  const exact = new Map<string, Listener>()
  /** By suffix, with its leading dot. */
  const wildcards = new Map<string, Listener>()
  for (const listener of listeners.toReversed()) {
    const { hostname } = listener
    if (hostname.startsWith('*.')) wildcards.set(hostname.slice(1), listener)
    else exact.set(hostname, listener)
  }
  const lengths = [...new Set([...wildcards.keys()].map(({ length }) => length))].sort((a, b) => b - a)
  const other = exact.get('*') ?? exact.get('')
  return host => {
    const named = exact.get(host)
    if (named) return named
    for (const length of lengths) {
      const wild = host.length > length ? wildcards.get(host.slice(-length)) : undefined
      if (wild) return wild
    }
    return other
  }
}
