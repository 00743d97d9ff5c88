import { type Matched, moreSpecific } from '../../config/match-order.ts'
import type { Listener, Route } from '../../config/snapshot.ts'
import type { RouteMatch } from '../../config/standalone/route-section.ts'
import type { Origin } from '../../diagnostics/diagnostic.ts'
import type { RequestHead } from '../../http/exchange.ts'
import { headerMatches, hostRank, pathMatches, pathOf, queryMatches, queryOf, valuesOf } from '../route-table.ts'

// Why a request was routed as it was. For traces and dry runs only, never on the serving path.

export interface RouteMiss {
  readonly route: string
  /** The first condition that failed. */
  readonly failed: string
  readonly origin: Origin
}

/** All of these routes but the chosen one, nearest misses first. */
export function routeMisses(
  routes: readonly Route[],
  head: RequestHead,
  host: string,
  chosen: Matched | undefined,
): RouteMiss[] {
  const path = pathOf(head.path)
  return routes
    .filter(route => route !== chosen?.route)
    .map(route => ({ route, miss: missOf(route, head, host, path, chosen) }))
    .toSorted((a, b) => b.miss.depth - a.miss.depth)
    .map(({ route, miss }) => ({ route: route.key, failed: miss.failed, origin: route.origin }))
}

export interface ListenerMiss {
  readonly listener: string
  readonly failed: string
  readonly origin: Origin
}

/** All listeners of a port but the chosen one. `host`: from the authority or the TLS server name. */
export function listenerMisses(
  listeners: readonly Listener[],
  host: string,
  chosen: string | undefined,
): ListenerMiss[] {
  return listeners
    .filter(({ key }) => key !== chosen)
    .map(({ key, hostname, origin }) => {
      const failed = hostRank(hostname, host) < 0 ? `host is not ${hostname}` : `less specific: ${anyHost(hostname)}`
      return { listener: key, failed, origin }
    })
}

/** How far a request matched a route, and what failed. */
interface Miss {
  readonly depth: number
  readonly failed: string
}

const DEPTHS = { host: 0, path: 1, method: 2, header: 3, query: 4, order: 5 }

function missOf(route: Route, head: RequestHead, host: string, path: string, chosen: Matched | undefined): Miss {
  if (bestHost(route, host).rank < 0) {
    return { depth: DEPTHS.host, failed: `host is not ${route.hostnames.join(' or ')}` }
  }
  const misses = route.matches.map(match => matchMiss(match, head, path))
  const held = route.matches.filter((_, i) => misses[i] === undefined).map(match => ({ route, match }))
  const [best] = held.toSorted(moreSpecific)
  if (best) return { depth: DEPTHS.order, failed: chosen ? lessSpecific(best, chosen, host) : 'does not lead on' }
  const [nearest] = misses.flatMap(miss => miss ?? []).toSorted((a, b) => b.depth - a.depth)
  if (nearest === undefined) return { depth: DEPTHS.path, failed: 'matches nothing' }
  const of = misses.length === 1 ? '' : ` (the nearest of ${misses.length} matches)`
  return { ...nearest, failed: `${nearest.failed}${of}` }
}

function matchMiss(match: RouteMatch, head: RequestHead, path: string): Miss | undefined {
  if (!pathMatches(match, path)) return { depth: DEPTHS.path, failed: pathMiss(match) }
  if (match.method !== undefined && match.method !== head.method) {
    return { depth: DEPTHS.method, failed: `method is not ${match.method}` }
  }
  const header = match.headers.find(each => !headerMatches(each, head))
  if (header) {
    const there = valuesOf(header.name, head).length > 0
    return { depth: DEPTHS.header, failed: `header ${header.name} ${there ? 'does not match' : 'is missing'}` }
  }
  if (match.query.length === 0) return undefined
  const asked = queryOf(head.path)
  const query = match.query.find(each => !queryMatches([each], asked))
  if (query === undefined) return undefined
  const there = asked.has(query.name)
  return { depth: DEPTHS.query, failed: `query parameter ${query.name} ${there ? 'does not match' : 'is missing'}` }
}

function pathMiss({ path: { exact, pathPrefix, regex } }: RouteMatch): string {
  if (exact !== undefined) return `path is not ${exact}`
  return pathPrefix === undefined ? `path does not match ${regex!.source}` : `path is not under ${pathPrefix}`
}

/** What decided between two matches; in the order of `moreSpecific`, after that of the hosts. */
function lessSpecific(loser: Matched, winner: Matched, host: string): string {
  const [lost, won] = [bestHost(loser.route, host), bestHost(winner.route, host)]
  if (lost.rank < won.rank) return `less specific: ${anyHost(lost.name)}`
  const [less, more] = [loser.match, winner.match]
  const path = less.path.exact ?? less.path.pathPrefix ?? less.path.regex!.source
  if (more.path.exact !== undefined && less.path.exact === undefined)
    return `less specific: ${path} is not an exact path`
  const length = (more.path.exact ?? more.path.pathPrefix ?? more.path.regex!.source).length
  if (length > path.length) return `less specific: path ${path} is shorter`
  if (more.method !== undefined && less.method === undefined) return 'less specific: any method'
  if (more.headers.length > less.headers.length) return 'less specific: fewer headers'
  if (more.query.length > less.query.length) return 'less specific: fewer query parameters'
  const oneName = loser.route.name === winner.route.name && loser.route.namespace === winner.route.namespace
  return `as specific, and ${oneName ? 'it' : 'its name'} comes later`
}

function anyHost(hostname: string): string {
  return hostname === '' || hostname === '*' ? 'any host' : `host ${hostname} is wider`
}

function bestHost({ hostnames }: Route, host: string): { readonly name: string; readonly rank: number } {
  const names = hostnames.length > 0 ? hostnames : ['']
  return names
    .map(name => ({ name, rank: name === '*' ? 0 : hostRank(name, host) }))
    .reduce((best, each) => (each.rank > best.rank ? each : best))
}
