import type { Path } from '../diagnostics/diagnostic.ts'
import type { BackendCompiler } from './compile-backends.ts'
import type { Compilation } from './compile-context.ts'
import type { PolicyCompiler, PolicyLevel } from './compile-policies.ts'
import { assemble, responseSteps } from './pipeline.ts'
import type { Route, WeightedBackend } from './snapshot.ts'
import type { RouteSection } from './standalone/route-section.ts'
import type { TargetedLevels } from './targeted-policies.ts'

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

  constructor(c: Compilation, policies: PolicyCompiler, backends: BackendCompiler, targeted: TargetedLevels) {
    this.#c = c
    this.#policies = policies
    this.#backends = backends
    this.#targeted = targeted
  }

  /** `position` names an unnamed route: its place among its siblings. */
  compile(spec: RouteSection, position: number, parent: RouteParent): Route {
    const path = this.#c.paths.get(spec) ?? []
    const name = spec.name ?? `route${position}`
    const namespace = spec.namespace ?? 'default'
    const key = `${parent.listenerKey}/${namespace}/${name}`
    const levels = this.levels(parent, { name, namespace, ruleName: spec.ruleName }, spec.policies, path)
    const pipeline = assemble(this.#policies.steps(levels, 'request'))
    const backends = this.#compileBackends(spec, path, key, levels).map(b => ({
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
      pipeline,
      backends,
      totalWeight: backends.reduce((sum, b) => sum + b.weight, 0),
    }
  }

  /** Widest first: gateway, listener, route, rule, then what the route itself holds. */
  levels(
    parent: RouteParent,
    route: { name: string; namespace: string; ruleName: string | undefined },
    specs: object | undefined,
    path: Path,
  ): PolicyLevel[] {
    const levels = [...this.#targeted.forRoute(parent, route)]
    if (specs)
      levels.push({
        specs: specs as Readonly<Record<string, unknown>>,
        path: [...path, 'policies'],
        identity: `route:${route.namespace}/${route.name}@${path.join('.')}`,
      })
    return levels
  }

  #compileBackends(spec: RouteSection, path: Path, key: string, levels: readonly PolicyLevel[]): WeightedBackend[] {
    const out: WeightedBackend[] = []
    for (let i = 0; i < spec.backends.length; i++) {
      const inner = spec.backends[i] as unknown as Readonly<Record<string, unknown>>
      const at = this.#c.paths.get(inner) ?? [...path, 'backends', i]
      const compiled = this.#backends.compile(inner, at, `/${key}/backend${i}`, levels)
      if (compiled) out.push(compiled)
    }
    return out
  }
}
