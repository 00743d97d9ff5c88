import type { Compilation } from './compile-context.ts'
import type { PolicyLevel } from './compile-policies.ts'
import type { RouteParent } from './compile-routes.ts'
import type { TargetedPolicy } from './standalone/standalone.ts'

interface Aimed {
  readonly spec: TargetedPolicy
  readonly level: PolicyLevel
}

/** The top-level `policies`, by what they target, each list from the widest target to the narrowest. */
export class TargetedLevels {
  readonly #all: readonly Aimed[]
  /** By `namespace/name` of the route; thousands of routes do not each look at thousands of policies. */
  readonly #byRoute: ReadonlyMap<string, readonly Aimed[]>
  readonly #atGateways: readonly Aimed[]

  constructor(c: Compilation, policies: readonly TargetedPolicy[]) {
    this.#all = policies.map(spec => ({
      spec,
      level: {
        specs: spec.policy as Readonly<Record<string, unknown>>,
        path: [...(c.paths.get(spec) ?? []), 'policy'],
        identity: `policy:${spec.name.namespace}/${spec.name.name}`,
      },
    }))
    this.#byRoute = Map.groupBy(
      this.#all.filter(({ spec }) => spec.target.route !== undefined),
      ({ spec }) => `${spec.target.route?.namespace}/${spec.target.route?.name}`,
    )
    this.#atGateways = this.#all.filter(({ spec }) => spec.target.gateway !== undefined)
  }

  forListener(parent: RouteParent): PolicyLevel[] {
    return this.#gateway(parent, 'gateway')
  }

  forRoute(
    parent: RouteParent,
    route: { readonly name: string; readonly namespace: string; readonly ruleName: string | undefined },
  ): PolicyLevel[] {
    const aimed = (this.#byRoute.get(`${route.namespace}/${route.name}`) ?? []).filter(({ spec }) => {
      const rule = spec.target.route?.ruleName
      return rule === undefined || rule === route.ruleName
    })
    const wide = aimed.filter(p => p.spec.target.route?.ruleName === undefined)
    const narrow = aimed.filter(p => p.spec.target.route?.ruleName !== undefined)
    return [...this.#gateway(parent, 'route'), ...[...wide, ...narrow].map(p => p.level)]
  }

  forBackend(reference: string): PolicyLevel[] {
    return this.#all
      .filter(({ spec: { target } }) => {
        const b = target.backend?.backend
        return b !== undefined && b.section === undefined && `${b.namespace}/${b.name}` === reference
      })
      .map(p => ({ ...p.level, identity: `backend:${p.level.identity}` }))
  }

  #gateway(parent: RouteParent, phase: 'gateway' | 'route'): PolicyLevel[] {
    const aimed = this.#atGateways.filter(({ spec }) => {
      const t = spec.target.gateway
      return (
        t !== undefined &&
        spec.phase === phase &&
        t.gatewayName === parent.gateway &&
        (t.listenerName === undefined || t.listenerName === parent.listenerName) &&
        (t.port === undefined || t.port === parent.port)
      )
    })
    const rank = (p: (typeof aimed)[number]) =>
      p.spec.target.gateway?.listenerName !== undefined ? 2 : p.spec.target.gateway?.port !== undefined ? 1 : 0
    return aimed.toSorted((a, b) => rank(a) - rank(b)).map(p => p.level)
  }
}
