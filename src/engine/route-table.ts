import { type Matched, moreSpecific } from '../config/match-order.ts'
import type { Bind, Listener, Route, RouteGroup, Snapshot, TcpRoute } from '../config/snapshot.ts'
import type { RouteMatch } from '../config/standalone/route-section.ts'
import { hostOf as hostAsWritten } from '../http/authority.ts'
import type { RequestHead } from '../http/exchange.ts'
import { formFields } from '../http/form-fields.ts'

export type { Matched } from '../config/match-order.ts'

/** The routes of one host name, most specific match first. */
interface Bucket {
  /** In the order of the configuration. */
  readonly routes: readonly Route[]
  readonly ordered: readonly Matched[]
  /** By exact path, if nothing but the path decides the order. */
  readonly exact: ReadonlyMap<string, readonly Matched[]>
  readonly prefixes: ReadonlyMap<string, readonly Matched[]>
  /** The lengths of `prefixes`, longest first: lookups depend on the configuration, not on the slashes in a path. */
  readonly prefixLengths: readonly number[]
  readonly patterns: readonly Matched[]
}

/**
 * Finds the route of a request: exact host before wildcard before none; within a host exact path, then prefix and
 * pattern by length, then method, headers, query, then the route's key. The first match wins; if no route of a host
 * matches, the next wider host is tried.
 */
export class RouteTable {
  readonly #hosts = new Map<string, Bucket>()
  /** By suffix, with its leading dot. */
  readonly #wildcards = new Map<string, Bucket>()
  /** Suffix lengths in `#wildcards`, longest first. */
  readonly #suffixLengths: readonly number[]
  readonly #any: Bucket | undefined
  readonly #readsQuery: boolean
  readonly routes: readonly Route[]

  /** `previous`: a table of mostly the same routes, whose order is reused. */
  constructor(routes: readonly Route[], previous?: RouteTable) {
    this.routes = routes
    const byHost = new Map<string, Route[]>()
    for (const route of routes) {
      for (const host of route.hostnames.length > 0 ? route.hostnames : ['']) {
        const name = host === '*' ? '' : host
        const held = byHost.get(name)
        if (held) held.push(route)
        else byHost.set(name, [route])
      }
    }
    for (const [host, held] of byHost) {
      const bucket = createBucket(held, previous === undefined ? undefined : previous.#bucketOf(host))
      if (host === '') this.#any = bucket
      else if (host.startsWith('*.')) this.#wildcards.set(host.slice(1), bucket)
      else this.#hosts.set(host, bucket)
    }
    this.#suffixLengths = lengthsOf(this.#wildcards)
    this.#readsQuery = routes.some(route => route.matches.some(match => match.query.length > 0))
  }

  #bucketOf(host: string): Bucket | undefined {
    if (host === '') return this.#any
    return host.startsWith('*.') ? this.#wildcards.get(host.slice(1)) : this.#hosts.get(host)
  }

  find(head: RequestHead, host: string): Matched | undefined {
    const asked = { head, path: pathOf(head.path), query: this.#readsQuery ? queryOf(head.path) : NO_QUERY }
    const exact = this.#hosts.get(host)
    const found = exact && findIn(exact, asked)
    if (found) return found
    for (const length of this.#suffixLengths) {
      const bucket = this.#wildcardAt(host, length)
      const wild = bucket && findIn(bucket, asked)
      if (wild) return wild
    }
    return this.#any && findIn(this.#any, asked)
  }

  #wildcardAt(host: string, length: number): Bucket | undefined {
    const dot = host.length - length
    return dot > 0 && host.charCodeAt(dot) === DOT ? this.#wildcards.get(host.slice(dot)) : undefined
  }

  /**
   * At most `most` routes, nearest misses first: those whose host and path match, then the host, then any other. For
   * traces.
   */
  nearest(path: string, host: string, most: number): readonly Route[] {
    if (this.routes.length <= most) return this.routes
    const found = new Set<Route>()
    for (const route of this.#outwards(path, host)) {
      found.add(route)
      if (found.size === most) break
    }
    return [...found]
  }

  *#outwards(path: string, host: string): Generator<Route, void> {
    const buckets = this.#bucketsFor(host)
    for (const bucket of buckets) yield* routesAt(bucket, path)
    for (const { ordered } of buckets) for (const { route } of ordered) yield route
    yield* this.routes
  }

  /** The most specific host first. */
  #bucketsFor(host: string): readonly Bucket[] {
    const wildcards = this.#suffixLengths.map(length => this.#wildcardAt(host, length))
    return [this.#hosts.get(host), ...wildcards, this.#any].filter(bucket => bucket !== undefined)
  }
}

export type RouteTables = ReadonlyMap<Listener | RouteGroup, RouteTable>

/** The tables of all listeners, and of the route groups reachable from them. `previous`: those of the last snapshot. */
export function routeTables({ binds }: Snapshot, previous?: RouteTables): RouteTables {
  const known = new Map([...(previous ?? [])].flatMap(([of, table]) => ('key' in of ? [[of.key, table] as const] : [])))
  const tables = new Map<Listener | RouteGroup, RouteTable>()
  const add = (holder: Listener | RouteGroup, old = previous?.get(holder)): void => {
    if (tables.has(holder)) return
    tables.set(holder, old?.routes === holder.routes ? old : new RouteTable(holder.routes, old))
    for (const { backends } of holder.routes) for (const { delegates } of backends) if (delegates) add(delegates)
  }
  for (const { listeners } of binds) for (const listener of listeners) add(listener, known.get(listener.key))
  return tables
}

/** The listener that terminates or passes through TLS for a server name; a client without SNI gets the catch-all. */
export function selectByServerName(bind: Bind, serverName: string | undefined): Listener | undefined {
  if (serverName !== undefined) return bind.listenerFor(serverName)
  return bind.listeners.find(listener => listener.hostname === '')
}

/** Whether a listener serves a host, or another one serves it better and the request is misdirected. */
export function coverage(bind: Bind, own: Listener, host: string): 'own' | 'misdirected' | 'uncovered' {
  const best = bind.listenerFor(host)
  if (best !== undefined && hostRank(best.hostname, host) > hostRank(own.hostname, host)) return 'misdirected'
  return hostRank(own.hostname, host) < 0 ? 'uncovered' : 'own'
}

/** The route of a connection: exact server name before wildcard before none; the first among equals. */
export function selectTcpRoute(routes: readonly TcpRoute[], serverName: string | undefined): TcpRoute | undefined {
  let best: TcpRoute | undefined
  let rank = -1
  for (const route of routes) {
    const names = serverName === undefined || route.hostnames.length === 0 ? [''] : route.hostnames
    for (const name of names) {
      const r = hostRank(name, serverName ?? '')
      if (r > rank) {
        best = route
        rank = r
      }
    }
  }
  return best
}

export function hostRank(name: string, host: string): number {
  if (name === '') return 0
  if (name === host) return Number.MAX_SAFE_INTEGER
  if (name === '*') return 1
  return hostMatches(name, host) ? name.length : -1
}

function hostMatches(name: string, host: string): boolean {
  if (name === '*' || name === '' || name === host) return true
  return name.startsWith('*.') && host.length > name.length - 1 && host.endsWith(name.slice(1))
}

/** The authority without its port, in lower case. */
export function hostOf(authority: string): string {
  return hostAsWritten(authority).toLowerCase()
}

function createBucket(routes: readonly Route[], previous: Bucket | undefined): Bucket {
  if (previous && routes.length === previous.routes.length && routes.every((each, i) => each === previous.routes[i]))
    return previous
  const ordered = orderOf(routes, previous)
  const exact = new Map<string, Matched[]>()
  const prefixes = new Map<string, Matched[]>()
  const patterns: Matched[] = []
  for (const m of ordered) {
    if (m.match.path.exact !== undefined) push(exact, m.match.path.exact, m)
    else if (m.match.path.pathPrefix !== undefined) push(prefixes, trimSlash(m.match.path.pathPrefix), m)
    else patterns.push(m)
  }
  return { routes, ordered, exact, prefixes, prefixLengths: lengthsOf(prefixes), patterns }
}

/** Only matches of routes with the same name can tie, so the order of all others is kept when a few change. */
function orderOf(routes: readonly Route[], previous: Bucket | undefined): readonly Matched[] {
  if (!previous) return matchesOf(routes).sort(moreSpecific)
  const [before, now] = [new Set(previous.routes), new Set(routes)]
  const differ = [...routes.filter(each => !before.has(each)), ...previous.routes.filter(each => !now.has(each))]
  const changed = new Set(differ.map(({ name }) => name))
  const fresh = matchesOf(routes.filter(({ name }) => changed.has(name))).sort(moreSpecific)
  const out: Matched[] = []
  let next = 0
  for (const kept of previous.ordered) {
    if (changed.has(kept.route.name)) continue
    while (next < fresh.length && moreSpecific(fresh[next]!, kept) < 0) out.push(fresh[next++]!)
    out.push(kept)
  }
  return [...out, ...fresh.slice(next)]
}

function matchesOf(routes: readonly Route[]): Matched[] {
  return routes.flatMap(route => route.matches.map(match => ({ route, match })))
}

function lengthsOf(map: ReadonlyMap<string, unknown>): readonly number[] {
  return [...new Set([...map.keys()].map(key => key.length))].toSorted((a, b) => b - a)
}

function push(map: Map<string, Matched[]>, key: string, m: Matched): void {
  const held = map.get(key)
  if (held) held.push(m)
  else map.set(key, [m])
}

/** A request with its target parsed for matching. */
interface Asked {
  readonly head: RequestHead
  readonly path: string
  /** For a repeated parameter, the last value. */
  readonly query: ReadonlyMap<string, string>
}

function findIn(bucket: Bucket, asked: Asked): Matched | undefined {
  const { path } = asked
  const exact = bucket.exact.get(path)
  if (exact) for (const m of exact) if (restMatches(m.match, asked)) return m
  // A pattern competes with prefixes by length, which only the ordered list reflects.
  if (bucket.patterns.length > 0)
    return bucket.ordered.find(
      m => m.match.path.exact === undefined && pathMatches(m.match, path) && restMatches(m.match, asked),
    )
  for (const length of bucket.prefixLengths) {
    if (!endsSegment(path, length)) continue
    const held = bucket.prefixes.get(path.slice(0, length))
    if (held) for (const m of held) if (restMatches(m.match, asked)) return m
  }
  return undefined
}

/** Routes with a match for the path. */
function* routesAt(bucket: Bucket, path: string): Generator<Route, void> {
  for (const { route } of bucket.exact.get(path) ?? []) yield route
  for (const length of bucket.prefixLengths) {
    if (!endsSegment(path, length)) continue
    for (const { route } of bucket.prefixes.get(path.slice(0, length)) ?? []) yield route
  }
  for (const { route, match } of bucket.patterns) if (pathMatches(match, path)) yield route
}

/** Whether a prefix of this length, without a trailing slash, is a path above `path`. Every path is under `/`. */
function endsSegment(path: string, length: number): boolean {
  if (length === 0) return true
  const last = path.length - 1
  // A trailing slash is not a segment of its own: `/` is not under `//`.
  const end = path.charCodeAt(last) === SLASH ? last : path.length
  return length === end || (length < end && path.charCodeAt(length) === SLASH)
}

const SLASH = 47
const DOT = 46

export function pathMatches({ path: wanted }: RouteMatch, path: string): boolean {
  if (wanted.exact !== undefined) return path === wanted.exact
  if (wanted.regex !== undefined) return wanted.regex.test(path)
  const prefix = trimSlash(wanted.pathPrefix!)
  return path.startsWith(prefix) && (path.length === prefix.length || path[prefix.length] === '/')
}

function restMatches(match: RouteMatch, { head, query }: Asked): boolean {
  if (match.method !== undefined && match.method !== head.method) return false
  for (const h of match.headers) if (!headerMatches(h, head)) return false
  return match.query.length === 0 || queryMatches(match.query, query)
}

type ValueTest = RouteMatch['headers'][number]

export function headerMatches({ name, value }: ValueTest, head: RequestHead): boolean {
  return valuesOf(name, head).some(v => (value.exact === undefined ? value.regex!.test(v) : v === value.exact))
}

export function valuesOf(name: string, head: RequestHead): readonly string[] {
  if (!name.startsWith(':')) return head.headers.getAll(name.toLowerCase())
  const pseudo = pseudoHeader(name, head)
  return pseudo === undefined ? [] : [pseudo]
}

function pseudoHeader(name: string, head: RequestHead): string | undefined {
  if (name === ':method') return head.method
  if (name === ':path') return head.path
  if (name === ':authority') return head.authority
  return name === ':scheme' ? head.scheme : undefined
}

export function queryMatches(wanted: RouteMatch['query'], query: ReadonlyMap<string, string>): boolean {
  return wanted.every(({ name, value }) => {
    const last = query.get(name)
    return last !== undefined && (value.exact === undefined ? value.regex!.test(last) : last === value.exact)
  })
}

export function queryOf(target: string): ReadonlyMap<string, string> {
  const at = target.indexOf('?')
  return at < 0 ? NO_QUERY : new Map(formFields(target.slice(at)))
}

const NO_QUERY: ReadonlyMap<string, string> = new Map()

export function pathOf(target: string): string {
  const at = target.indexOf('?')
  return at < 0 ? target : target.slice(0, at)
}

function trimSlash(path: string): string {
  return path.endsWith('/') ? path.slice(0, -1) : path
}
