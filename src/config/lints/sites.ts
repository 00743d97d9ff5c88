import type { Path } from '../../diagnostics/diagnostic.ts'
import type { AccessRule } from '../../policies/parts/access-rules.ts'
import type { Standalone } from '../standalone/standalone.ts'
import type { Policies, PolicySite } from './lint.ts'

export type RouteSpec = Standalone['binds'][number]['listeners'][number]['routes'] extends
  | readonly (infer R)[]
  | undefined
  ? R
  : never
export type PromptGuard = NonNullable<NonNullable<Policies['ai']>['promptGuard']>

/** Routes of all sections, including those in route groups. */
export function routesOf(config: Standalone): RouteSpec[] {
  return [
    ...config.binds.flatMap(bind => bind.listeners.flatMap(listener => listener.routes ?? [])),
    ...config.routes,
    ...config.routeGroups.flatMap(group => group.routes),
  ]
}

/** Whether a match of the route takes the path. Patterns are not analysed: they may. */
export function takesPath({ matches }: Pick<RouteSpec, 'matches'>, path: string): boolean {
  return matches.some(({ path: match }) => {
    if ('exact' in match && match.exact !== undefined) return match.exact === path
    if (!('pathPrefix' in match) || match.pathPrefix === undefined) return true
    const prefix = match.pathPrefix.replace(/\/$/, '')
    return path === prefix || path.startsWith(`${prefix}/`)
  })
}

/** Every place of the file that holds policies. */
export function policySites(config: Standalone, pathOf: (part: object) => Path): PolicySite[] {
  const out: PolicySite[] = []
  const add = (level: PolicySite['level'], policies: object | undefined) => {
    if (policies) out.push({ level, policies: policies as Policies, path: pathOf(policies) })
  }
  for (const bind of config.binds) for (const listener of bind.listeners) add('listener', listener.policies)
  for (const gateway of Object.values(config.gateways)) {
    add('listener', gateway)
    for (const listener of gateway.listeners ?? []) add('listener', listener)
  }
  for (const route of routesOf(config)) {
    add('route', route.policies)
    for (const backend of route.backends) add('backend', backend.policies)
  }
  for (const backend of config.backends) add('backend', backend.policies)
  for (const { policies, holder } of atOneTarget(config))
    out.push({ level: 'targeted', policies, path: pathOf(holder) })
  add('section', config.llm?.policies)
  add('section', config.mcp?.policies)
  return out
}

/** Policies with the same target work together as if declared in one place. */
function atOneTarget(config: Standalone): { readonly policies: Policies; readonly holder: object }[] {
  const places = new Map<string, { policies: Policies; readonly holder: object }[]>()
  for (const { target, phase, policy } of config.policies) {
    const key = JSON.stringify([target, phase])
    const here = places.get(key) ?? []
    places.set(key, here)
    const free = here.find(({ policies }) => !Object.keys(policy).some(name => Object.hasOwn(policies, name)))
    if (free) free.policies = { ...free.policies, ...policy } as Policies
    else here.push({ policies: policy as Policies, holder: policy })
  }
  return [...places.values()].flat()
}

/**
 * Finds the policies that target a route by name. Indexed, so that thousands of routes need not each scan thousands of
 * policies.
 */
export function policiesByRoute(config: Standalone): (route: RouteSpec) => Policies[] {
  const aimed = Map.groupBy(
    config.policies.filter(({ target }) => target.route !== undefined),
    ({ target }) => `${target.route?.namespace ?? ''}/${target.route?.name}`,
  )
  return route =>
    (aimed.get(`${route.namespace ?? ''}/${route.name}`) ?? [])
      .filter(({ target: { route: to } }) => to?.ruleName === undefined || to.ruleName === route.ruleName)
      .map(({ policy }) => policy as Policies)
}

/** The rules of an authorization policy, in either of its forms. */
export function rulesOf(
  policy: Policies['authorization'] | Policies['mcpAuthorization'],
): readonly AccessRule[] | undefined {
  return policy === undefined || 'rules' in policy ? policy?.rules : policy
}

/** Guards on LLM requests and responses, wherever they are declared. */
export function promptGuards(config: Standalone, sites: readonly PolicySite[]): PromptGuard[] {
  const llm = config.llm
  return [
    ...sites.map(site => site.policies.ai?.promptGuard),
    llm?.guardrails,
    llm?.policies?.guardrails,
    ...(llm?.models ?? []).map(model => model.guardrails),
  ].filter(guard => guard !== undefined)
}

/** MCP backends: of routes, named ones, and the `mcp` section. */
export function mcpBackends(config: Standalone) {
  return [
    ...routesOf(config).flatMap(route => route.backends.map(backend => backend.mcp)),
    ...config.backends.map(backend => backend.mcp),
    config.mcp,
  ].filter(backend => backend !== undefined)
}

/** Resolves the kinds of a route's backends, following references to named ones. */
export function kindsByRoute(config: Standalone): (route: RouteSpec) => ('mcp' | 'ai' | 'other')[] {
  const named = new Map(config.backends.toReversed().map(each => [`${each.namespace ?? ''}/${each.name}`, each]))
  return route =>
    route.backends.map(backend => {
      const found = (backend.backend === undefined ? undefined : named.get(backend.backend)) ?? backend
      return found.mcp ? 'mcp' : found.ai ? 'ai' : 'other'
    })
}

/** Policies that hold only for routes without an LLM behind them. */
export function policiesWithoutModel(config: Standalone): readonly (Policies | undefined)[] {
  const kindsBehind = kindsByRoute(config)
  const policiesFor = policiesByRoute(config)
  const [withModel, without] = [true, false].map(wanted => {
    const routes = routesOf(config).filter(route => kindsBehind(route).includes('ai') === wanted)
    return new Set(routes.flatMap(route => [route.policies as Policies | undefined, ...policiesFor(route)]))
  }) as [Set<Policies | undefined>, Set<Policies | undefined>]
  return [...without].filter(policies => !withModel.has(policies))
}
