import { byName, type Policies } from '../../policies/parts/cluster-form.ts'
import { asFields, type Fields } from '../../schema/untyped.ts'
import { ACCUMULATING, GUARDS } from '../kinds/parts/members.ts'
import { idOf, nameOf } from './cluster-view.ts'
import type { GatewayListener } from './listeners.ts'
import { backendMembers } from './members/backend-members.ts'
import { MemberContext } from './members/member-context.ts'
import { type Member, sectionMembers } from './members/section-members.ts'
import { type EmittedRoute, type Entry, gatewayKey, listenerName, type Output } from './output.ts'
import type { PolicyState, PolicyTarget } from './policy-targets.ts'
import type { Work } from './work.ts'

/** A policy of the file before conflicts are resolved. */
export interface PlacedPolicy {
  readonly state: PolicyState
  readonly name: string
  readonly value: unknown
  readonly part: unknown
  readonly target: Entry
  readonly phase: 'route' | 'gateway'
  /** The specificity of the target: the narrower one wins. */
  readonly rank: number
  readonly listeners: readonly GatewayListener[]
  readonly locks: boolean
  readonly route?: EmittedRoute
}

interface Place {
  readonly target: Entry
  readonly rank: number
  readonly listeners: readonly GatewayListener[]
  readonly route?: EmittedRoute
}

interface Placing {
  readonly work: Work
  readonly served: ReadonlySet<GatewayListener>
  readonly emitted: readonly EmittedRoute[]
  readonly gateways: number
}

/** Places the members of all policies where they apply in the file, oldest policy first. */
export function placePolicies(states: readonly PolicyState[], p: Placing, output: Output): PlacedPolicy[] {
  const byRoute = new Map<string, EmittedRoute[]>()
  for (const route of p.emitted) {
    for (const id of new Set(route.chain.map(step => idOf(step.route)))) {
      byRoute.set(id, [...(byRoute.get(id) ?? []), route])
    }
  }
  return states.flatMap(state => placeOne(state, p, byRoute, output))
}

function placeOne(state: PolicyState, p: Placing, byRoute: ReadonlyMap<string, EmittedRoute[]>, output: Output) {
  const { policy } = state
  const spec = p.work.spec(policy)
  const ctx = new MemberContext(p.work, policy, state.errors)
  const out: PlacedPolicy[] = []
  const traffic = asFields(spec.traffic)
  const phase = traffic?.phase === 'PreRouting' ? ('gateway' as const) : ('route' as const)
  const locks = asFields(spec.strategy)?.inheritance === 'Override'
  const members = traffic ? carried(sectionMembers('traffic', traffic, ctx), ctx) : []
  const backend = asFields(spec.backend)
  const onPath = backend ? pathMembers(backend, state, ctx) : []
  for (const target of state.targets) {
    if (target.problem !== undefined || !target.object) continue
    for (const place of placesOf(target, p, byRoute)) {
      for (const member of members) out.push({ ...member, ...place, state, phase, locks })
      for (const member of onPath) out.push({ ...member, ...place, state, phase: 'route', locks: false })
    }
  }
  const frontend = asFields(spec.frontend)
  if (frontend) placeFrontend(frontend, state, ctx, p, output)
  state.produced = state.targets.some(({ problem }) => problem === undefined)
  return out
}

/** Members that can be converted. For a guard that cannot be, every request is refused. */
function carried(members: readonly Member[], ctx: MemberContext): Member[] {
  return members.flatMap(member => {
    if (member.value !== undefined) return [{ ...member, value: marked(member, ctx) }]
    ctx.lose(member.part, `\`${member.source}\` of ${ctx.holder.kindName} ${nameOf(ctx.holder)} cannot be carried over`)
    if (!GUARDS.has(member.name) || ctx.work.options.allowUnguarded) return []
    return [{ ...member, name: 'authorization', value: { rules: [{ deny: 'true' }] } }]
  })
}

function marked({ value, part }: Member, ctx: MemberContext): unknown {
  return typeof value === 'object' && value !== null ? ctx.work.keep(value, part) : value
}

/** Backend policies for all backends behind a Gateway or route; those of a single backend are attached to it. */
function pathMembers(backend: Fields, state: PolicyState, ctx: MemberContext): Member[] {
  const onPath = state.targets.some(({ object }) =>
    ['Gateway', 'ListenerSet', 'HTTPRoute', 'GRPCRoute'].includes(object?.kind.kind ?? ''),
  )
  if (!onPath) return []
  return Object.entries(backendMembers(backend, ctx)).map(([name, value]) => ({
    source: name,
    name,
    part: backend,
    value,
  }))
}

function placesOf(target: PolicyTarget, p: Placing, byRoute: ReadonlyMap<string, EmittedRoute[]>): Place[] {
  const object = target.object!
  switch (object.kind.kind) {
    case 'Gateway':
      return gatewayPlaces(
        target,
        [...p.served].filter(each => each.gateway === object),
      )
    case 'ListenerSet': {
      const own = [...p.served].filter(
        each => each.owner === object && (!target.section || each.name === target.section),
      )
      return own.map(listener => listenerPlace(listener, target.section === undefined ? 1 : 2))
    }
    case 'HTTPRoute':
    case 'GRPCRoute':
      return routePlaces(target, byRoute.get(idOf(object)) ?? [])
    default:
      return []
  }
}

function gatewayPlaces({ section }: PolicyTarget, listeners: readonly GatewayListener[]): Place[] {
  if (section !== undefined) {
    return listeners
      .filter(each => each.name === section && each.owner === each.gateway)
      .map(each => listenerPlace(each, 3))
  }
  const byKey = Map.groupBy(listeners, gatewayKey)
  return [...byKey].map(([gatewayName, under]) => ({ target: { gateway: { gatewayName } }, rank: 0, listeners: under }))
}

function listenerPlace(listener: GatewayListener, rank: number): Place {
  const target = { gateway: { gatewayName: gatewayKey(listener), listenerName: listenerName(listener) } }
  return { target, rank, listeners: [listener] }
}

function routePlaces({ object, section }: PolicyTarget, routes: readonly EmittedRoute[]): Place[] {
  const places = new Map<string, Place>()
  for (const route of routes) {
    const depth = route.chain.findIndex(
      step => step.route === object && (section === undefined || step.rule === section),
    )
    if (depth < 0) continue
    const last = depth === route.chain.length - 1
    const inner: Entry = { name: route.name, namespace: route.namespace }
    if (section !== undefined && last) inner.ruleName = section
    const rank = 10 + 2 * depth + (section === undefined ? 0 : 1)
    const key = JSON.stringify(inner)
    if (!places.has(key)) places.set(key, { target: { route: inner }, rank, listeners: route.listeners, route })
  }
  return [...places.values()]
}

/** The file has one set of frontend policies for all its ports. */
function placeFrontend(frontend: Fields, state: PolicyState, ctx: MemberContext, p: Placing, output: Output): void {
  const members = [...sectionMembers('frontend', frontend, ctx), ...metricLabels(frontend)]
  const found = state.targets.filter(({ problem }) => problem === undefined)
  const gateways = new Set([...p.served].map(({ gateway }) => gateway))
  const targeted = new Set(found.map(({ object }) => object))
  const narrow = found.some(({ section, port }) => section !== undefined || port !== undefined)
  const listeners = p.served.size
  const whole = [...gateways].every(gateway => targeted.has(gateway)) && (!narrow || listeners === 1)
  for (const { name, part, value } of members) {
    const from = ctx.work.from(part, state.policy)
    if (value === undefined) {
      ctx.lose(part, `\`frontend.${name}\` cannot be carried over`)
      continue
    }
    if (found.length === 0) continue
    if (!whole && !ACCUMULATING.has(name)) {
      ctx.lose(part, `\`frontend.${name}\` holds for a part of the file only, and a file has one for all its ports`)
      continue
    }
    const into = (name === 'metrics' ? output.config : output.frontendPolicies) as Policies
    if (ACCUMULATING.has(name) && into[name]) {
      const rules = (into[name] as { rules: unknown[] }).rules
      into[name] = { rules: [...rules, ...(value as { rules: unknown[] }).rules] }
    } else if (into[name] === undefined) into[name] = name === 'metrics' ? { fields: value } : value
    else ctx.lose(part, `an older policy sets \`frontend.${name}\` too`)
    ctx.work.origins.field(into, name, from)
  }
}

/** Metric labels are part of the file's `config`, not a policy. */
function metricLabels(frontend: Fields): Member[] {
  const part = asFields(frontend.metrics)
  if (!part) return []
  const add = byName(asFields(part.attributes)?.add, 'expression')
  return [{ source: 'metrics', name: 'metrics', part, value: { add } }]
}
