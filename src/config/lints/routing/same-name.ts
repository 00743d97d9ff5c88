import type { Lint, LintedFile } from '../lint.ts'
import type { RouteSpec } from '../sites.ts'

/** GW557: two listeners, routes or models with the same name. */
export const sameName: Lint = file => {
  const { binds, gateways, routes, routeGroups } = file.config
  for (const { listeners } of [...binds, ...Object.values(gateways)]) checkListeners(listeners ?? [], file)
  for (const { listeners } of binds) for (const listener of listeners) checkRoutes(listener.routes ?? [], file)
  checkRoutes(routes, file)
  for (const group of routeGroups) checkRoutes(group.routes, file)
  checkModels(file)
}

function checkListeners(
  listeners: readonly { readonly name?: string; readonly namespace?: string }[],
  file: LintedFile,
) {
  const first = new Map<string, { readonly name?: string }>()
  for (const listener of listeners) {
    if (listener.name === undefined || listener.namespace !== undefined) continue
    const known = first.get(listener.name)
    first.set(listener.name, known ?? listener)
    if (known) report('listeners', listener, known, 'routes, policies and metrics cannot tell them apart', file)
  }
}

function checkRoutes(routes: readonly RouteSpec[], file: LintedFile): void {
  const first = new Map<string, RouteSpec>()
  for (const route of routes) {
    // The rules of an HTTPRoute share its name and namespace; hand-written files have no namespaces.
    if (route.name === undefined || route.namespace !== undefined || route.ruleName !== undefined) continue
    const known = first.get(route.name)
    first.set(route.name, known ?? route)
    if (known && !sameList(gatewaysOf(known), gatewaysOf(route))) continue
    if (known) report('routes', route, known, 'policies, logs and metrics cannot tell them apart', file)
  }
}

function gatewaysOf(route: RouteSpec): readonly string[] {
  return (route as { readonly gateways?: readonly string[] }).gateways ?? []
}

function sameList(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((each, i) => each === b[i])
}

type Model = NonNullable<LintedFile['config']['llm']>['models'][number]

function checkModels(file: LintedFile): void {
  const first = new Map<string, Model>()
  for (const model of file.config.llm?.models ?? []) {
    // Models with the same name are selected by condition; one without a condition is the fallback.
    const known = first.get(model.name)
    if (known) report('models', model, known, 'only the first one is ever chosen', file)
    else if ((model.matches ?? []).length === 0) first.set(model.name, model)
  }
}

function report(
  what: string,
  later: { readonly name?: string },
  earlier: { readonly name?: string },
  effect: string,
  file: LintedFile,
): void {
  file.report({
    code: 'GW557',
    message: `two ${what} are named \`${later.name}\`: ${effect}`,
    path: [...file.pathOf(later), 'name'],
    at: 'value',
    label: 'used a second time',
    help: 'rename one of them',
    related: [{ path: [...file.pathOf(earlier), 'name'], at: 'value', message: 'first used here' }],
  })
}
