import { type Term, termsWithin } from '../../../cel/terms/terms.ts'
import { isNormalizing } from '../../../http/path-normalization.ts'
import { pathRules } from '../../../policies/frontend/http.ts'
import type { Lint, LintedFile, Policies } from '../lint.ts'
import { policiesByRoute, type RouteSpec, routesOf } from '../sites.ts'

/** GW568: access depends on paths, which arrive in forms that a backend may interpret differently. */
export const unnormalizedPaths: Lint = file => {
  const http = file.config.frontendPolicies?.http
  if (http?.pathNormalization === undefined || isNormalizing(pathRules(http.pathNormalization))) return
  const path = [...file.pathOf(http), 'pathNormalization']
  const reason = ruleOnPaths(file) ?? routeByPath(file)
  if (reason === undefined) return
  file.report({
    code: 'GW568',
    message: `${reason} goes by the path, and paths are not normalized`,
    path,
    at: 'key',
    label: 'a backend may read such a path as another one',
    help: 'leave `pathNormalization` out, or switch on what is off in it',
  })
}

function ruleOnPaths(file: LintedFile): string | undefined {
  for (const { policies } of file.sites) {
    for (const name of GUARDS) if (readsPath(policies[name], file)) return `\`${name}\``
  }
  return undefined
}

/** Whether any expression in a decoded policy reads the path. */
function readsPath(part: unknown, file: LintedFile): boolean {
  if (typeof part !== 'object' || part === null) return false
  if (!('evaluate' in part && 'text' in part)) return Object.values(part).some(each => readsPath(each, file))
  const term = file.termOf(String(part.text))
  return term !== undefined && [...termsWithin(term)].some(isPath)
}

function isPath(term: Term): boolean {
  if (term.kind === 'reference') return term.path[0] === 'request' && PATHS.has(term.path[1])
  const [of, key] = term.kind === 'operation' && (term.op === '.?' || term.op === '[?]') ? term.args : []
  return of?.kind === 'reference' && of.path[0] === 'request' && key?.kind === 'literal' && PATHS.has(key.value)
}

const PATHS: ReadonlySet<unknown> = new Set(['path', 'pathAndQuery', 'uri'])

/** Policies that decide by expression or by principal. */
const GUARDS = ['authorization', 'jwtAuth', 'basicAuth', 'apiKey', 'extAuthz', 'localRateLimit', 'csrf'] as const

/** A route that is selected by path and has guards that another route lacks. */
function routeByPath({ config }: LintedFile): string | undefined {
  const aimed = policiesByRoute(config)
  const routes = routesOf(config)
  const guards = new Map(routes.map(route => [route, guardsOf(route, aimed(route))]))
  const guarded = routes.find(
    route =>
      matchesByPath(route) &&
      routes.some(other => other !== route && guards.get(other) !== guards.get(route)) &&
      guards.get(route) !== '',
  )
  return guarded && `which guards hold for a request (route \`${guarded.name ?? 'without a name'}\`)`
}

function guardsOf({ policies }: RouteSpec, aimed: readonly Policies[]): string {
  const all = [policies as Policies | undefined, ...aimed]
  return GUARDS.filter(name => all.some(each => each?.[name] !== undefined)).join()
}

function matchesByPath({ matches }: RouteSpec): boolean {
  return matches.some(({ path }) => path !== undefined && path.pathPrefix !== '/')
}
