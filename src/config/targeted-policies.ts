import type { AnyPolicy } from '../policies/fields.ts'
import { trafficPolicies } from '../policies/index.ts'
import type { Compilation } from './compile-context.ts'
import type { PolicyLevel } from './compile-policies.ts'
import type { RouteParent } from './compile-routes.ts'
import type { IdleObject } from './snapshot.ts'
import type { TargetedPolicy } from './standalone/standalone.ts'

interface Aimed {
  readonly spec: TargetedPolicy
  readonly level: PolicyLevel
}

export interface TargetedRoute {
  readonly name: string
  readonly namespace: string
  readonly ruleName: string | undefined
  readonly kind: 'http' | 'tcp'
}

/** Standalone routes have no kind: a target's kind says only which protocol it means. */
const KINDS: Readonly<Record<TargetedRoute['kind'], readonly string[]>> = {
  http: ['HTTPRoute', 'GRPCRoute'],
  tcp: ['TCPRoute', 'TLSRoute', 'UDPRoute'],
}

/** Allowed on a backend by reference only. */
const MAY_FOLLOW_A_BACKEND: ReadonlySet<string> = new Set(['requestMirror'])

/** Gateways of a file have no namespace of their own. */
const GATEWAY_NAMESPACE = 'default'

/** The top-level `policies` by target, each list ordered from the widest target to the narrowest. */
export class TargetedLevels {
  readonly #all: readonly Aimed[]
  /** By `namespace/name` of the route, so that thousands of routes need not each scan thousands of policies. */
  readonly #byRoute: ReadonlyMap<string, readonly Aimed[]>
  readonly #atGateways: readonly Aimed[]
  /** By `namespace/name` of the backend. */
  readonly #byBackend: ReadonlyMap<string, readonly Aimed[]>
  /** By `namespace/hostname` of the service. */
  readonly #byService: ReadonlyMap<string, readonly Aimed[]>
  readonly #used = new Set<Aimed>()
  readonly #c: Compilation

  constructor(c: Compilation, policies: readonly TargetedPolicy[]) {
    this.#c = c
    this.#all = policies.map(spec => ({
      spec,
      level: {
        specs: spec.policy as Readonly<Record<string, unknown>>,
        path: [...(c.paths.get(spec) ?? []), 'policy'],
        on: 'route',
        targeted: true,
        identity: `policy:${spec.name.namespace}/${spec.name.name}`,
      },
    }))
    this.#byRoute = Map.groupBy(
      this.#all.filter(({ spec }) => spec.target.route !== undefined),
      ({ spec }) => `${spec.target.route?.namespace}/${spec.target.route?.name}`,
    )
    this.#atGateways = this.#all.filter(({ spec }) => spec.target.gateway !== undefined)
    const backend = ({ spec }: Aimed) => spec.target.backend?.backend
    this.#byBackend = Map.groupBy(
      this.#all.filter(each => backend(each) !== undefined),
      each => `${backend(each)?.namespace}/${backend(each)?.name}`,
    )
    const service = ({ spec }: Aimed) => spec.target.backend?.service
    this.#byService = Map.groupBy(
      this.#all.filter(each => service(each) !== undefined),
      each => `${service(each)?.namespace}/${service(each)?.hostname}`,
    )
    for (const spec of policies) checkPlace(c, spec)
  }

  forListener(parent: RouteParent): PolicyLevel[] {
    return this.#gateway(parent, 'gateway')
  }

  forRoute(parent: RouteParent, route: TargetedRoute): PolicyLevel[] {
    const key = `${route.namespace}/${route.name}`
    const aimed = (this.#byRoute.get(key) ?? []).filter(({ spec }) => selectsRoute(spec, route))
    const wide = aimed.filter(p => p.spec.target.route?.ruleName === undefined)
    const narrow = aimed.filter(p => p.spec.target.route?.ruleName !== undefined)
    return [...this.#gateway(parent, 'route'), ...this.#levels([...wide, ...narrow])]
  }

  forBackend(reference: string): PolicyLevel[] {
    return this.#atBackend(this.#byBackend.get(reference), ({ backend }) => backend?.section === undefined)
  }

  /** A provider or an MCP target of a named backend. */
  forSection(reference: string, section: string): PolicyLevel[] {
    return this.#atBackend(this.#byBackend.get(reference), ({ backend }) => backend?.section === section)
  }

  /** `name`: `namespace/hostname`. A target with a port is narrower, so it comes later. */
  forService(name: string, port: number): PolicyLevel[] {
    const found = this.#byService.get(name)
    const aimed = (of: number | undefined) => this.#atBackend(found, ({ service }) => service?.port === of)
    return [...aimed(undefined), ...aimed(port)]
  }

  #atBackend(
    among: readonly Aimed[] = [],
    selects: (target: NonNullable<TargetedPolicy['target']['backend']>) => boolean,
  ): PolicyLevel[] {
    const aimed = among.filter(({ spec: { target } }) => target.backend !== undefined && selects(target.backend))
    return this.#levels(aimed).map(level => ({ ...level, on: 'backend', identity: `backend:${level.identity}` }))
  }

  /** Policies whose target matched no object. Call once everything is compiled. */
  idle(): readonly IdleObject[] {
    return this.#all
      .filter(aimed => !this.#used.has(aimed))
      .map(({ spec: { name }, level }) => ({
        name: `${name.namespace}/${name.name}`,
        origin: this.#c.document.origin(level.path.slice(0, -1)),
      }))
  }

  #levels(aimed: readonly Aimed[]): PolicyLevel[] {
    for (const each of aimed) this.#used.add(each)
    return aimed.map(({ level }) => level)
  }

  #gateway(parent: RouteParent, phase: 'gateway' | 'route'): PolicyLevel[] {
    const aimed = this.#atGateways.filter(({ spec }) => spec.phase === phase && selectsListener(spec, parent))
    const rank = (p: (typeof aimed)[number]) =>
      p.spec.target.gateway?.listenerName !== undefined ? 2 : p.spec.target.gateway?.port !== undefined ? 1 : 0
    return this.#levels(aimed.toSorted((a, b) => rank(a) - rank(b)))
  }
}

export function selectsListener({ target }: TargetedPolicy, listener: Omit<RouteParent, 'listenerKey'>): boolean {
  const t = target.gateway
  return (
    t?.gatewayName === listener.gateway &&
    t.gatewayNamespace === GATEWAY_NAMESPACE &&
    (t.listenerName === undefined || t.listenerName === listener.listenerName) &&
    (t.port === undefined || t.port === listener.port)
  )
}

export function selectsRoute({ target }: TargetedPolicy, route: TargetedRoute): boolean {
  const t = target.route
  return (
    t?.name === route.name &&
    t.namespace === route.namespace &&
    (t.ruleName === undefined || t.ruleName === route.ruleName) &&
    (t.kind === undefined || KINDS[route.kind].includes(t.kind))
  )
}

/** Not every policy applies at every place that a target can name. */
function checkPlace(c: Compilation, spec: TargetedPolicy): void {
  const name = Object.keys(spec.policy)[0]!
  const policy = (trafficPolicies as readonly AnyPolicy[]).find(each => each.name === name)!
  if (policy.unserved !== undefined) return
  const path = c.paths.get(spec) ?? []
  if (spec.phase === 'gateway' && spec.target.gateway === undefined) {
    c.report({
      code: 'GW111',
      message: '`phase: gateway` comes before any route or backend: the target must be a gateway',
      path: [...path, 'phase'],
      at: 'value',
      label: 'the target is chosen later',
    })
    return
  }
  const [place, fits] =
    spec.phase === 'gateway'
      ? (['before a route is chosen', policy.attach.includes('listener')] as const)
      : spec.target.backend?.backend?.section !== undefined
        ? (['on a part of a backend', policy.attach.includes('target') || policy.attach.includes('provider')] as const)
        : spec.target.backend
          ? (['on a backend', policy.attach.includes('backend') || MAY_FOLLOW_A_BACKEND.has(name)] as const)
          : (['on routes', policy.attach.includes('route') || policy.perBackend === true] as const)
  if (fits) return
  c.report({
    code: 'GW601',
    message: `\`${name}\` is not served ${place}`,
    path: [...path, 'policy', name],
    at: 'key',
    label: 'gwctl run refuses to start with this',
    help: spec.phase === 'gateway' ? 'remove `phase: gateway`' : 'choose a target for which the reference names it',
  })
}
