import { type Matched, moreSpecific } from '../../match-order.ts'
import type { Listener } from '../../snapshot.ts'
import type { RouteMatch } from '../../standalone/route-section.ts'
import type { Lint, LintedFile } from '../lint.ts'

/** GW501, GW502: a match that an earlier one makes unreachable. */
export const unreachableRoute: Lint = file => {
  for (const bind of file.snapshot.binds) for (const listener of bind.listeners) check(listener, file)
}

function check(listener: Listener, file: LintedFile): void {
  const hosts = new Map<string, Matched[]>()
  const open = new Map<RouteMatch, number>()
  for (const route of listener.routes) {
    const names = new Set((route.hostnames.length > 0 ? route.hostnames : ['']).map(name => (name === '*' ? '' : name)))
    for (const match of route.matches) {
      open.set(match, names.size)
      for (const name of names) {
        const matches = hosts.get(name) ?? []
        matches.push({ route, match })
        hosts.set(name, matches)
      }
    }
  }
  for (const matched of hosts.values()) {
    for (const { later, earlier } of shadowed(matched.toSorted(moreSpecific))) {
      const left = open.get(later.match)! - 1
      open.set(later.match, left)
      if (left === 0) report(later, earlier, file)
    }
  }
}

function report(later: Matched, earlier: Matched, file: LintedFile): void {
  const same = sameConditions(later.match, earlier.match)
  file.report({
    code: same ? 'GW502' : 'GW501',
    message: same
      ? `the match is the same as one of route \`${earlier.route.name}\`, which is always chosen`
      : `route \`${earlier.route.name}\` receives every request that this match accepts`,
    path: file.pathOf(later.match),
    at: 'value',
    label: 'never chosen',
    help: same
      ? `${winner(later, earlier)}; make the match differ, or remove it`
      : 'longer paths and patterns are tried first; make this one longer or the other one narrower',
    related: [{ path: file.pathOf(earlier.match), at: 'value', message: 'chosen instead' }],
  })
}

/** Why the earlier of two equal matches takes precedence. */
function winner(later: Matched, earlier: Matched): string {
  return later.route.name === earlier.route.name
    ? 'between equal matches of one route name, the first in the file wins'
    : `between equal matches, the route whose name sorts first wins: \`${earlier.route.name}\` comes before \`${later.route.name}\``
}

/** Linear in the number of matches, however many share a path: files of several megabytes are checked too. */
function* shadowed(ordered: readonly Matched[]): Generator<{ later: Matched; earlier: Matched }> {
  const samePath = new Map<string, TriedMatches>()
  const anyPath = new TriedMatches()
  for (const later of ordered) {
    const path = pathKey(later.match)
    const conditions = conditionsOf(later.match)
    const alike = samePath.get(path) ?? new TriedMatches()
    const earlier = alike.covering(conditions) ?? anyPath.covering(conditions)
    if (earlier) {
      // Everything this one covers is also covered by the earlier one.
      yield { later, earlier }
      continue
    }
    samePath.set(path, alike.add(later, conditions))
    if (/^\/?\(?\.\*\)?$/.test(later.match.path.regex?.source ?? '')) anyPath.add(later, conditions)
  }
}

/** Matches of one path, each indexed by one of its conditions: whatever it covers has that condition too. */
class TriedMatches {
  readonly #byCondition = new Map<string, { rank: number; matched: Matched; conditions: ReadonlySet<string> }[]>()
  #count = 0
  add(matched: Matched, conditions: ReadonlySet<string>): this {
    const [key = ''] = conditions
    const place = this.#byCondition.get(key) ?? []
    place.push({ rank: this.#count++, matched, conditions })
    this.#byCondition.set(key, place)
    return this
  }
  /** The first match whose conditions are implied by these. */
  covering(conditions: ReadonlySet<string>): Matched | undefined {
    const found = ['', ...conditions].flatMap(key => {
      const first = this.#byCondition.get(key)?.find(each => within(each.conditions, conditions))
      return first ?? []
    })
    return found.toSorted((a, b) => a.rank - b.rank)[0]?.matched
  }
}

function conditionsOf({ method, headers, query }: RouteMatch): ReadonlySet<string> {
  return new Set([
    ...headers.map(each => `header ${conditionKey(each, name => name.toLowerCase())}`),
    ...query.map(each => `query ${conditionKey(each, name => name)}`),
    ...(method === undefined ? [] : [`method ${method}`]),
  ])
}

type Condition = RouteMatch['headers'][number]
function conditionKey({ name, value }: Condition, names: (name: string) => string): string {
  return JSON.stringify([names(name), value.exact, value.regex?.source])
}

function pathKey({ path }: RouteMatch): string {
  if (path.exact !== undefined) return `=${path.exact}`
  return path.pathPrefix === undefined ? `~${path.regex!.source}` : `^${path.pathPrefix.replace(/\/+$/, '')}`
}

function sameConditions(a: RouteMatch, b: RouteMatch): boolean {
  const [one, other] = [conditionsOf(a), conditionsOf(b)]
  return pathKey(a) === pathKey(b) && within(one, other) && within(other, one)
}

function within(part: ReadonlySet<string>, whole: ReadonlySet<string>): boolean {
  return [...part].every(each => whole.has(each))
}
