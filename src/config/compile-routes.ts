import type { Path } from '../diagnostics/diagnostic.ts'
import { tagOf } from '../http/facts/pinned-session.ts'
import { assemble, responseSteps } from './assemble-pipeline.ts'
import type { BackendCompiler } from './compile-backends.ts'
import { type Compilation, valueAt } from './compile-context.ts'
import type { PolicyCompiler, PolicyLevel } from './compile-policies.ts'
import { RouteGroups } from './references/route-groups.ts'
import type { RouteKeys } from './references/route-keys.ts'
import type { IdleObject, Route, WeightedBackend } from './snapshot.ts'
import type { RouteSection } from './standalone/route-section.ts'
import type { Standalone } from './standalone/standalone.ts'
import type { TargetedLevels, TargetedRoute } from './targeted-policies.ts'

/** What a route is mounted under. */
export interface RouteParent {
  readonly listenerKey: string
  readonly gateway: string
  readonly listenerName: string
  readonly port: number
}

export class RouteCompiler {
  readonly #c: Compilation
  readonly #policies: PolicyCompiler
  readonly #backends: BackendCompiler
  readonly #targeted: TargetedLevels
  readonly #keys: RouteKeys
  readonly #groups: RouteGroups

  constructor(
    c: Compilation,
    policies: PolicyCompiler,
    backends: BackendCompiler,
    targeted: TargetedLevels,
    keys: RouteKeys,
    groups: Standalone['routeGroups'],
  ) {
    this.#groups = new RouteGroups(c, groups, (spec, i, parent, inherited) => this.compile(spec, i, parent, inherited))
    this.#c = c
    this.#policies = policies
    this.#backends = backends
    this.#targeted = targeted
    this.#keys = keys
  }

  /** Compiles route groups that no listener reaches, so that their mistakes are found too. */
  checkUnused(): readonly IdleObject[] {
    return this.#groups.checkUnused()
  }

  /**
   * `position` identifies an unnamed route: its index among its siblings. `inherited`: the policies of the delegating
   * route, widest first.
   */
  compile(spec: RouteSection, position: number, parent: RouteParent, inherited: readonly PolicyLevel[] = []): Route {
    const path = this.#c.paths.get(spec) ?? []
    const name = spec.name ?? `route${position}`
    const namespace = spec.namespace ?? 'default'
    const key = this.#keys.keyOf(parent.listenerKey, namespace, name)
    const levels = this.levels(
      parent,
      { name, namespace, ruleName: spec.ruleName, kind: 'http' },
      spec.policies,
      path,
      inherited,
    )
    const pipeline = assemble(this.#policies.steps(levels, 'request'))
    const backends = this.#compileBackends(spec, path, key, levels, parent).map(b => ({
      ...b,
      ...responseSteps(pipeline, b.pipeline),
    }))
    return {
      key,
      name,
      namespace,
      ruleName: spec.ruleName,
      origin: this.#c.document.origin(path),
      hostnames: spec.hostnames,
      matches: spec.matches,
      shownMatches: valueAt(this.#c.redacted, [...path, 'matches']),
      pipeline,
      backends,
      totalWeight: backends.reduce((sum, b) => sum + b.weight, 0),
      // As written: keys of unnamed backends are positions, which change when one is added.
      ...(pipeline.session ? { tags: backends.map(b => tagOf(JSON.stringify(b.spec))) } : {}),
    }
  }

  /** Widest first: gateway, listener, delegating route, route, rule, then the route's inline policies. */
  levels(
    parent: RouteParent,
    route: TargetedRoute,
    specs: object | undefined,
    path: Path,
    inherited: readonly PolicyLevel[] = [],
  ): PolicyLevel[] {
    const targeted = this.#targeted.forRoute(parent, route)
    const levels = [...inherited, ...targeted.filter(level => !inherited.includes(level))]
    if (specs)
      levels.push({
        specs: specs as Readonly<Record<string, unknown>>,
        path: [...path, 'policies'],
        on: 'route',
        identity: `route:${route.namespace}/${route.name}@${path.join('.')}`,
      })
    return levels
  }

  #compileBackends(
    spec: RouteSection,
    path: Path,
    key: string,
    levels: readonly PolicyLevel[],
    parent: RouteParent,
  ): WeightedBackend[] {
    const out: WeightedBackend[] = []
    for (let i = 0; i < spec.backends.length; i++) {
      const inner = spec.backends[i] as unknown as Readonly<Record<string, unknown>>
      const at = this.#c.paths.get(inner) ?? [...path, 'backends', i]
      const compiled = this.#backends.compile(inner, at, `/${key}/backend${i}`, levels)
      if (!compiled) continue
      if (typeof inner.routeGroup !== 'string') {
        out.push(compiled)
        continue
      }
      if (inner.policies !== undefined) this.#reportPolicies([...at, 'policies'])
      const delegates = this.#groups.resolve(inner.routeGroup, [...at, 'routeGroup'], parent, levels)
      if (delegates) out.push({ ...compiled, delegates })
    }
    return out
  }

  /** Policies here would apply between two routes, where nothing runs. */
  #reportPolicies(path: Path): void {
    this.#c.report({
      code: 'GW601',
      message: '`policies` of a reference to a route group are not served',
      path,
      at: 'key',
      label: 'gwctl run refuses to start with this',
      help: 'put them on the route, from where the routes of the group take them over',
    })
  }
}
