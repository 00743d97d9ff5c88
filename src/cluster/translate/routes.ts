import type { Policies } from '../../policies/parts/cluster-form.ts'
import { asItems, asText, type Fields } from '../../schema/untyped.ts'
import type { Resource } from '../resources/resource.ts'
import { hostnamesOf, type RouteState } from './attachment.ts'
import { addressesOf, protocolPolicies, type ResolvedRef, resolveRef } from './backend-refs.ts'
import { AUTHENTICATION, type Authentication, type BackendWriter } from './backends.ts'
import { nameOf } from './cluster-view.ts'
import { type Delegation, expand } from './delegation.ts'
import type { GatewayListener } from './listeners.ts'
import { grpcMatches, httpMatches } from './matches.ts'
import { filterPolicies, rulePolicies } from './members/filters.ts'
import { withCertificate } from './members/gateway-certificate.ts'
import { inferencePool } from './members/inference-pool.ts'
import { MemberContext } from './members/member-context.ts'
import { type EmittedRoute, type Entry, listenerRef, type Output } from './output.ts'
import { isFalse } from './status/conditions.ts'
import { at, type Work } from './work.ts'

interface Written {
  readonly work: Work
  readonly output: Output
  readonly backends: BackendWriter
  readonly served: ReadonlySet<GatewayListener>
  readonly delegation: Delegation
  readonly emitted: EmittedRoute[]
}

/** Writes every rule of every route that some listener accepts. */
export async function writeRoutes(states: readonly RouteState[], w: Written): Promise<void> {
  const { work } = w
  for (const state of states) {
    const rest = work.options.pause?.()
    if (rest) await rest
    const { kind } = state.route.kind
    if (kind === 'ProxyModel') continue
    const listeners = state.listeners.filter(listener => w.served.has(listener))
    if (kind === 'HTTPRoute' || kind === 'GRPCRoute') writeHttp(state, listeners, w)
    else writeTcp(state, listeners, w)
    if (state.listeners.length === 0 && state.parents.length > 0) {
      work.lose(at(state.route, 'spec', 'parentRefs'), state.parents[0]!.accepted.message || 'no listener accepts it')
    }
  }
}

function writeHttp(state: RouteState, listeners: readonly GatewayListener[], w: Written): void {
  const { route } = state
  const entries: EmittedRoute[] = []
  const rules = asItems(w.work.spec(route).rules)
  const all = route.kind.kind === 'HTTPRoute' && rules.length === 0 ? [{}] : rules
  let hard = false
  all.forEach((rule, index) => {
    const made = ruleEntry(state, rule, index, w)
    if (made === undefined) hard = true
    else entries.push(...expand({ ...made, route, listeners, rule, index }, w.delegation, w.work, makeChild(w)))
  })
  if (hard || listeners.length === 0) {
    if (hard)
      w.work.lose(
        at(route, 'spec', 'rules'),
        `${route.kindName} ${nameOf(route)} is left out: ${state.resolved.message}`,
      )
    return
  }
  for (const emitted of entries) {
    w.emitted.push(emitted)
    w.output.routes.push(emitted.entry)
  }
}

export interface RuleParts {
  readonly entry: Entry
  readonly policies: Policies
  /** References to routes that the rule delegates to. */
  readonly children: readonly Fields[]
}

function makeChild(w: Written) {
  return (state: RouteState, rule: Fields, index: number) => ruleEntry(state, rule, index, w)
}

/** Undefined: a controller would reject all rules of the route. */
function ruleEntry(state: RouteState, rule: Fields, index: number, w: Written): RuleParts | undefined {
  const { route } = state
  const { work } = w
  const ctx = new MemberContext(work, route)
  const { policies, refused } = rulePolicies(rule, ctx)
  if (refused !== undefined) {
    refuse(state, refused)
    return undefined
  }
  const children: Fields[] = []
  const backends: Entry[] = []
  let hard = false
  for (const ref of asItems(rule.backendRefs)) {
    const to = resolveRef(ref, route, work)
    if (to.kind === 'HTTPRoute') {
      children.push(ref)
      continue
    }
    if (to.kind === 'problem') {
      state.resolved = to.condition
      hard ||= to.hard === true
      work.lose(work.from(ref, route), `${to.condition.message}: its share of the requests is answered with 500`)
    }
    backends.push(...backendEntries(ref, to, state, w))
    if (to.kind === 'ProxyBackend') askForTokens(policies, w.backends.authenticationOf(to.backend), w)
  }
  for (const message of ctx.errors) state.resolved = isFalse('ResolvedRefs', 'BackendNotFound', message)
  if (hard) return undefined
  const from = at(route, 'spec', 'rules', index)
  const entry = work.origins.mark<Entry>({ name: routeName(route, work), namespace: route.namespace }, from)
  const ruleName = asText(rule.name)
  if (ruleName !== undefined) entry.ruleName = ruleName
  const hostnames = hostnamesOf(route)
  if (hostnames.length > 0) entry.hostnames = hostnames
  entry.matches = route.kind.kind === 'GRPCRoute' ? grpcMatches(rule) : httpMatches(rule)
  markMatches(entry.matches as Entry[], rule, work)
  if (backends.length > 0) entry.backends = evenShares(backends)
  return { entry, policies, children }
}

/** If two backends require different tokens, one would get those of the other, so every request is refused. */
function askForTokens(policies: Policies, wanted: Authentication | undefined, { work }: Written): void {
  if (!wanted) return
  const { value, origin } = wanted
  const { [AUTHENTICATION]: present } = policies
  if (present !== undefined && JSON.stringify(present) !== JSON.stringify(value)) {
    if (origin) work.lose(origin, 'backends of one rule ask for different tokens: its requests are refused')
    policies.authorization = { rules: [{ deny: 'true' }] }
  }
  if (present !== undefined) return
  policies[AUTHENTICATION] = value
  if (origin) work.origins.field(policies, AUTHENTICATION, origin)
}

function markMatches(matches: readonly Entry[], rule: Fields, work: Work): void {
  const written = asItems(rule.matches)
  for (const [i, match] of matches.entries()) if (written[i]) work.keep(match, written[i])
}

function refuse(state: RouteState, message: string): void {
  const parents = state.parents as readonly { accepted: unknown }[]
  for (const parent of parents) parent.accepted = isFalse('Accepted', 'IncompatibleFilters', message)
}

/** A gRPC route with the name of an HTTP route is renamed: policies of the file do not distinguish kinds. */
function routeName(route: Resource, work: Work): string {
  const twin = route.kind.kind === 'GRPCRoute' && work.cluster.find('HTTPRoute', route.namespace, route.name ?? '')
  return twin ? `${route.name}.grpc` : (route.name ?? '')
}

function backendEntries(ref: Fields, to: ResolvedRef, { route, listeners }: RouteState, w: Written): Entry[] {
  const { work } = w
  const weight = typeof ref.weight === 'number' ? ref.weight : 1
  const ctx = new MemberContext(work, route)
  const { policies: own } = filterPolicies(ref.filters, ctx)
  const make = (fields: Entry, policies: Policies, share: number): Entry => {
    const all = { ...policies, ...own }
    const entry: Entry = { weight: share, ...fields }
    if (Object.keys(all).length > 0) entry.policies = withCertificate(all, listeners, work)
    return work.keep(entry, ref)
  }
  if (to.kind === 'Service') {
    const addresses = addressesOf(to, work, route.kind.kind === 'UDPRoute' ? 'UDP' : 'TCP')
    const aimed = w.backends.servicePolicies(to.namespace, to.name, to.port)
    if (!aimed) return [make({ invalid: null }, {}, weight)]
    const policies = { ...protocolPolicies(to), ...aimed }
    return addresses.map(host => make({ host, '#of': addresses.length }, policies, weight))
  }
  if (to.kind === 'ProxyBackend') {
    const inline = w.backends.inline(to.backend)
    return [inline ? make(inline.fields, inline.policies, weight) : make({ backend: nameOf(to.backend) }, {}, weight)]
  }
  if (to.kind === 'InferencePool') {
    const pool = inferencePool(to.pool, w.output, work)
    if (pool) return [make(pool.fields, { ...w.backends.poolPolicies(to.pool), ...pool.policies }, weight)]
  }
  if (to.kind === 'ProxyModel') {
    work.lose(work.from(ref, route), 'models behind a route are not served: attach them to a Gateway', {
      unserved: true,
    })
  }
  return [make({ invalid: null }, {}, weight)]
}

/** A reference's weight applies to all its endpoints together. */
function evenShares(entries: readonly Entry[]): Entry[] {
  const counts = entries.map(entry => (entry['#of'] as number | undefined) ?? 1)
  const common = counts.reduce(leastCommon, 1)
  const scaled = entries.map((entry, i) => (Number(entry.weight) * common) / counts[i]!)
  const most = Math.max(...scaled)
  const divisor = scaled.reduce(greatest, 0) || 1
  for (const [i, entry] of entries.entries()) {
    delete entry['#of']
    const share = most / divisor > 1_000_000 ? Math.round((scaled[i]! * 1_000_000) / most) : scaled[i]! / divisor
    if (common === 1) continue
    entry.weight = share
  }
  if (entries.length === 1 && Number(entries[0]!.weight) > 0) delete entries[0]!.weight
  else if (entries.every(({ weight }) => weight === 1)) for (const entry of entries) delete entry.weight
  return [...entries]
}

function greatest(a: number, b: number): number {
  return b === 0 ? a : greatest(b, a % b)
}

function leastCommon(a: number, b: number): number {
  return (a * b) / greatest(a, b)
}

/** TCP, TLS and UDP routes: weighted backends only. */
function writeTcp(state: RouteState, listeners: readonly GatewayListener[], w: Written): void {
  const { route } = state
  const { work, output } = w
  asItems(work.spec(route).rules).forEach((rule, index) => {
    const backends: Entry[] = []
    for (const ref of asItems(rule.backendRefs)) {
      const to = resolveRef(ref, route, work)
      if (to.kind === 'problem') state.resolved = to.condition
      if (to.kind === 'Service' || to.kind === 'ProxyBackend') backends.push(...backendEntries(ref, to, state, w))
      else
        work.lose(
          work.from(ref, route),
          to.kind === 'problem' ? to.condition.message : `a ${to.kind} takes no connections`,
        )
    }
    if (listeners.length === 0) return
    const entry = work.origins.mark<Entry>({}, at(route, 'spec', 'rules', index))
    Object.assign(entry, { gateways: listeners.map(listenerRef), name: route.name, namespace: route.namespace })
    const ruleName = asText(rule.name)
    if (ruleName !== undefined) entry.ruleName = ruleName
    const hostnames = hostnamesOf(route)
    if (hostnames.length > 0) entry.hostnames = hostnames
    if (backends.length > 0) entry.backends = evenShares(backends)
    output.tcpRoutes.push(entry)
  })
}
