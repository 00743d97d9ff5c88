import { type Matched, moreSpecific } from '../../match-order.ts'
import type { Listener } from '../../snapshot.ts'
import type { RouteMatch } from '../../standalone/route-section.ts'
import type { Lint, LintedFile } from '../lint.ts'

/** GW501, GW502: a match that another one, tried before it, leaves nothing for. */
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
      for (const name of names) hosts.set(name, [...(hosts.get(name) ?? []), { route, match }])
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
  const same = keyOf(later.match) === keyOf(earlier.match)
  file.report({
    code: same ? 'GW502' : 'GW501',
    message: same
      ? `route \`${earlier.route.name}\` has the same match: this one is never chosen`
      : `route \`${earlier.route.name}\` takes every request that this match fits`,
    path: file.pathOf(later.match),
    at: 'value',
    label: 'never chosen',
    help: same
      ? 'of matches alike the route whose key comes first in the alphabet is chosen; make the match differ, or remove it'
      : 'longer paths and patterns are tried first; make this one longer or the other one narrower',
    related: [{ path: file.pathOf(earlier.match), at: 'value', message: 'chosen instead' }],
  })
}

function* shadowed(ordered: readonly Matched[]): Generator<{ later: Matched; earlier: Matched }> {
  const byPath = new Map<string, Matched[]>()
  const anyPath: Matched[] = []
  for (const later of ordered) {
    const path = pathKey(later.match)
    const alike = byPath.get(path) ?? []
    const earlier = [...alike, ...anyPath].find(each => conditionsCover(each.match, later.match))
    if (earlier) yield { later, earlier }
    byPath.set(path, [...alike, later])
    if (/^\/?\(?\.\*\)?$/.test(later.match.path.regex?.source ?? '')) anyPath.push(later)
  }
}

function conditionsCover(wide: RouteMatch, narrow: RouteMatch): boolean {
  if (wide.method !== undefined && wide.method !== narrow.method) return false
  const has = (parts: readonly Condition[], names: (name: string) => string) => {
    const known = new Set(parts.map(part => conditionKey(part, names)))
    return (part: Condition) => known.has(conditionKey(part, names))
  }
  return (
    wide.headers.every(has(narrow.headers, name => name.toLowerCase())) &&
    wide.query.every(has(narrow.query, name => name))
  )
}

type Condition = RouteMatch['headers'][number]
function conditionKey({ name, value }: Condition, names: (name: string) => string): string {
  return JSON.stringify([names(name), value.exact, value.regex?.source])
}

function pathKey({ path }: RouteMatch): string {
  if (path.exact !== undefined) return `=${path.exact}`
  return path.pathPrefix === undefined ? `~${path.regex!.source}` : `^${path.pathPrefix.replace(/\/+$/, '')}`
}

function keyOf(match: RouteMatch): string {
  const headers = match.headers.map(each => conditionKey(each, name => name.toLowerCase())).sort()
  return JSON.stringify([
    pathKey(match),
    match.method,
    headers,
    match.query.map(each => conditionKey(each, n => n)).sort(),
  ])
}
