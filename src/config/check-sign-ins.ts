import type { Path } from '../diagnostics/diagnostic.ts'
import { policyNamed } from '../policies/index.ts'
import { type Compilation, valueAt } from './compile-context.ts'
import type { RoutePlan } from './plan-listeners.ts'
import type { Listener, Route, Snapshot, Step } from './snapshot.ts'

/**
 * Targets at which users sign in need to know who calls: a route to them without a policy that identifies users lets
 * nobody in, except where it serves the sign-in pages alone.
 */
export function checkSignIns({ pipeline, routes }: Listener, plans: readonly RoutePlan[], c: Compilation): void {
  if (identifiesUsers(pipeline.request)) return
  for (const route of routes) {
    if (!lacksUsers(route)) continue
    const path = pathOf(route, plans, c)
    c.report({
      code: 'GW405',
      message: 'a target behind this route needs users who have signed in, and no policy identifies users',
      path,
      at: typeof path.at(-1) === 'string' ? 'key' : 'value',
      label: 'every call to the target is refused',
      help: `add \`mcpAuthentication\`, \`jwtAuth\`, \`apiKey\` or \`basicAuth\` to ${valueAt(c.document.value, [...path, 'policies']) === undefined ? 'its policies' : '`policies`'}`,
    })
  }
}

/** Whether users sign in at targets: their tokens are in the memory of one worker. */
export function hasSignIns({ binds }: Pick<Snapshot, 'binds'>): boolean {
  const opens = ({ backends }: Route): boolean =>
    backends.some(({ backend, delegates }) => backend.signInPaths !== undefined || delegates?.routes.some(opens))
  return binds.some(({ listeners }) => listeners.some(({ routes }) => routes.some(opens)))
}

function lacksUsers({ pipeline, matches, backends }: Route): boolean {
  if (identifiesUsers(pipeline.request)) return false
  return backends.some(({ backend: { signInPaths: pages }, delegates }) => {
    if (delegates) return delegates.routes.some(lacksUsers)
    return pages && !matches.every(({ path: { exact } }) => exact !== undefined && pages.includes(exact))
  })
}

function identifiesUsers(steps: readonly Step[]): boolean {
  return steps.some(({ policy }) => !['anything', undefined].includes(policyNamed.get(policy)?.asksFor))
}

function pathOf({ name, namespace }: Route, plans: readonly RoutePlan[], c: Compilation): Path {
  if (namespace === 'internal') return ['mcp']
  const plan = plans.find(each => each.kind === 'route' && (each.spec.name ?? `route${each.position}`) === name)
  return (plan?.kind === 'route' && c.paths.get(plan.spec)) || []
}
