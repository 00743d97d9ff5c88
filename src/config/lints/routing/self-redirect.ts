import type { Listener, Route } from '../../snapshot.ts'
import type { Lint, LintedFile } from '../lint.ts'
import { type RouteSpec, routesOf } from '../sites.ts'

type Redirect = NonNullable<NonNullable<RouteSpec['policies']>['requestRedirect']>

/** GW558: a redirect whose target is redirected again, endlessly. */
export const selfRedirect: Lint = file => {
  const specs = new Map(routesOf(file.config).map(spec => [spec.matches, spec]))
  const seen = new Set<RouteSpec>()
  for (const { listeners, port } of file.snapshot.binds) {
    for (const listener of listeners) {
      for (const route of listener.routes) {
        const spec = specs.get(route.matches as RouteSpec['matches'])
        const redirect = spec?.policies?.requestRedirect
        if (!spec || !redirect || seen.has(spec)) continue
        if (!staysOnHost(redirect, route, listener, port) || !pathLoops(redirect, route, listener)) continue
        seen.add(spec)
        report(redirect, spec, file)
      }
    }
  }
}

function staysOnHost({ scheme, authority }: Redirect, route: Route, listener: Listener, port: number): boolean {
  const spoken = listener.protocol === 'HTTPS' ? 'https' : 'http'
  if (scheme !== undefined && scheme !== spoken) return false
  if (authority === undefined || typeof authority === 'string') return true
  if (authority.port !== undefined) return authority.port === port
  const text = authority.full ?? authority.host ?? ''
  const host = text.replace(/:\d+$/, '')
  const [own] = route.hostnames.length > 0 ? route.hostnames : [listener.hostname]
  const samePort =
    authority.full === undefined || (/:(\d+)$/.exec(text)?.[1] ?? (spoken === 'https' ? '443' : '80')) === `${port}`
  return route.hostnames.length <= 1 && host.toLowerCase() === own && samePort && scheme === undefined
}

/** Whether the redirect target matches this route again, and no other one that is tried first. */
function pathLoops({ path }: Redirect, route: Route, listener: Listener): boolean {
  if (route.matches.some(each => each.headers.length > 0 || each.query.length > 0 || each.method !== undefined))
    return false
  if (path === undefined) return true
  const others = listener.routes.filter(each => each !== route).flatMap(each => each.matches)
  if (path.full !== undefined) {
    const target = path.full.replace(/\?.*$/, '')
    return takes(route, target) && !others.some(({ path: other }) => mayTake(other, target))
  }
  return route.matches.every(({ path: { pathPrefix } }) => {
    if (pathPrefix === undefined) return false
    const [from, to] = [pathPrefix.replace(/\/+$/, ''), (path.prefix ?? '').replace(/\/+$/, '')]
    if (to !== from && !to.startsWith(`${from}/`)) return false
    return !others.some(({ path: other }) => mayTake(other, to === '' ? '/' : to, from.length))
  })
}

function takes(route: Route, target: string): boolean {
  return route.matches.some(({ path }) => {
    if (path.exact !== undefined) return path.exact === target
    return path.pathPrefix !== undefined && covers(path.pathPrefix, target)
  })
}

type PathMatch = Route['matches'][number]['path']

/** Whether another match could be tried first. Patterns are not analysed. */
function mayTake({ exact, pathPrefix }: PathMatch, target: string, longerThan = 0): boolean {
  if (exact !== undefined) return exact === target
  return pathPrefix === undefined || (pathPrefix.length > Math.max(longerThan, 1) && covers(pathPrefix, target))
}

function covers(prefix: string, target: string): boolean {
  const base = prefix.replace(/\/+$/, '')
  return target === base || target.startsWith(`${base}/`)
}

function report(redirect: Redirect, spec: RouteSpec, file: LintedFile): void {
  file.report({
    code: 'GW558',
    message: `the redirect${spec.name === undefined ? '' : ` of route \`${spec.name}\``} leads back to itself: clients give up after a few rounds`,
    path: file.pathOf(redirect),
    at: 'key',
    label: 'the new address is taken by this route again',
    help: 'change the scheme, the authority or the path, or match less than the target of the redirect',
  })
}
