import { convertFormats } from '../../backends/ai/providers/custom.ts'
import { convertPromptGuard } from '../../policies/ai/cluster/convert-ai.ts'
import { convertAccessRules } from '../../policies/parts/access-rules.ts'
import { byName, defined, type Policies } from '../../policies/parts/cluster-form.ts'
import { convertHeaderChanges } from '../../policies/parts/header-changes.ts'
import { asFields, asItems, asText, type Fields } from '../../schema/untyped.ts'
import { MODEL_PROVIDERS, MODEL_SETTINGS } from '../kinds/parts/llm-provider.ts'
import { GUARDS, MEMBERS } from '../kinds/parts/members.ts'
import type { Resource } from '../resources/resource.ts'
import type { RouteState } from './attachment.ts'
import type { ServicePort } from './backend-refs.ts'
import type { BackendWriter } from './backends.ts'
import { nameOf, specOf } from './cluster-view.ts'
import type { GatewayListener } from './listeners.ts'
import { backendMembers } from './members/backend-members.ts'
import { aimedAt, firstAddress } from './members/called-services.ts'
import { MemberContext } from './members/member-context.ts'
import { serverOf } from './members/providers.ts'
import { markRead } from './origin/tracked.ts'
import { type Entry, listenerRef, type Output } from './output.ts'
import { isFalse } from './status/conditions.ts'
import { at, type Faults, type Work } from './work.ts'

/** Members of a `backend` section that models have as well. */
const CONNECTION = ['tls', 'tunnel', 'health', 'auth']

/** Writes the models that some listener accepts: the file has one `llm` section for all listeners. */
export function writeModels(
  states: readonly RouteState[],
  served: ReadonlySet<GatewayListener>,
  output: Output,
  backends: BackendWriter,
  faults: Faults,
  work: Work,
): void {
  const models: Entry[] = []
  const virtualModels: Entry[] = []
  const listeners = new Set<GatewayListener>()
  const taken = states.filter(({ route }) => route.kind.kind === 'ProxyModel')
  for (const state of taken) {
    const here = state.listeners.filter(each => served.has(each))
    const { route } = state
    const spec = work.spec(route)
    const ctx = new MemberContext(work, route)
    const virtual = asFields(spec.virtualModel)
    const mistakes = faults.get(route)
    if (mistakes) ctx.errors.push(...mistakes)
    const entry = mistakes ? {} : virtual ? virtualEntry(virtual, route, ctx) : modelEntry(spec, route, backends, ctx)
    if (ctx.errors.length > 0) {
      state.resolved = isFalse('ResolvedRefs', 'Invalid', ctx.errors.join('\n'))
      work.lose(at(route, 'spec'), `${route.kindName} ${nameOf(route)} is left out: ${ctx.errors.join('; ')}`)
      continue
    }
    if (here.length === 0) {
      work.lose(at(route, 'spec', 'parentRefs'), `no listener of the file takes ${route.kindName} ${nameOf(route)}`)
      continue
    }
    for (const listener of here) listeners.add(listener)
    ;(virtual ? virtualModels : models).push(work.origins.mark(entry, at(route, 'spec')))
  }
  if (models.length === 0) {
    for (const model of virtualModels) {
      const from = work.origins.own({}, '', model)
      if (from) work.lose(from, `virtual model \`${String(model.name)}\` is left out: it has no model to choose`)
    }
    return
  }
  noteScopes(taken, listeners, work)
  output.llm = defined({
    gateways: [...listeners].map(listenerRef).sort(),
    models,
    virtualModels: virtualModels.length > 0 ? virtualModels : undefined,
  })
}

function noteScopes(states: readonly RouteState[], all: ReadonlySet<GatewayListener>, work: Work): void {
  for (const { route, listeners } of states) {
    if (listeners.length === 0 || [...all].every(each => listeners.includes(each))) continue
    work.lose(
      at(route, 'spec', 'parentRefs'),
      `${route.kindName} ${nameOf(route)} is served by every listener that serves models`,
    )
  }
}

function matchOf(model: Resource): string {
  return asText(asFields(specOf(model).match)?.model) ?? model.name ?? ''
}

function modelEntry(spec: Fields, model: Resource, backends: BackendWriter, ctx: MemberContext): Entry {
  const provider = String(spec.provider)
  const custom = asFields(spec.custom)
  const policies = asFields(spec.policies) ?? {}
  const rules = asFields(policies.authorization)
  const headers = asFields(policies.headers)
  const guards = asFields(policies.promptGuard)
  const to = serverOf(custom, ctx)
  const own = backendMembers(Object.fromEntries(CONNECTION.map(member => [member, policies[member]])), ctx)
  const connection = to ? connectionOf(to, own, backends, custom, ctx) : own
  markRead(asFields(spec.match), 'model')
  const entry = defined({
    id: nameOf(model),
    name: matchOf(model),
    visibility: spec.visibility === 'Internal' ? 'internal' : undefined,
    provider: custom ? { custom: { formats: convertFormats(custom) } } : (MODEL_PROVIDERS.get(provider) ?? provider),
    params: paramsOf(spec, to && firstAddress(to, custom, ctx), ctx),
    transformation: byName(policies.transformations, 'expression'),
    finalTransformation: byName(policies.finalTransformations, 'expression'),
    requestHeaders: convertHeaderChanges(asFields(headers?.request)),
    responseHeaders: convertHeaderChanges(asFields(headers?.response)),
    tls: connection.backendTLS,
    auth: connection.backendAuth,
    health: connection.health,
    backendTunnel: connection.backendTunnel,
    authorization: rules ? convertAccessRules(rules) : connection.authorization,
    guardrails: guards && convertPromptGuard(guards, ctx),
  })
  const sources = {
    transformation: policies.transformations,
    finalTransformation: policies.finalTransformations,
    requestHeaders: headers,
    responseHeaders: headers,
    tls: policies.tls,
    auth: policies.auth,
    health: policies.health,
    backendTunnel: policies.tunnel,
    authorization: rules,
    guardrails: guards,
  }
  for (const [name, part] of Object.entries(sources)) {
    const from = ctx.work.tracker.from(part)
    if (from) ctx.work.origins.field(entry, name, from)
  }
  return entry
}

/** Models take some policies of their Service only; without the others that guard it, a model is left out. */
function connectionOf(
  to: ServicePort,
  own: Policies,
  backends: BackendWriter,
  part: unknown,
  ctx: MemberContext,
): Policies {
  const { problem } = aimedAt(to, ctx.work)
  if (problem !== undefined) ctx.errors.push(problem)
  const out = backends.overService(to, own)
  const taken = MEMBERS.backend.filter(({ form }) => CONNECTION.includes(form.member)).map(({ policy }) => policy.name)
  const idle = Object.keys(out).filter(name => name !== 'authorization' && !taken.includes(name))
  const message = `policies of Service ${to.namespace}/${to.name} are not carried over to models: ${idle.join(', ')}`
  if (idle.some(name => GUARDS.has(name))) ctx.errors.push(message)
  else if (idle.length > 0) ctx.lose(part, message)
  return out
}

function paramsOf(spec: Fields, hostOverride: string | undefined, ctx: MemberContext): Policies | undefined {
  const settings = MODEL_SETTINGS.map(({ member, params }) => {
    const part = asFields(spec[member])
    return part ? params(part, ctx) : {}
  })
  const params = defined(Object.assign({ baseUrl: spec.baseURL, hostOverride }, ...settings))
  return Object.keys(params).length > 0 ? params : undefined
}

function virtualEntry(virtual: Fields, model: Resource, ctx: MemberContext): Entry {
  const kind = ['weighted', 'failover', 'conditional'].find(name => virtual[name] !== undefined) ?? 'weighted'
  const targets = asItems(asFields(virtual[kind])?.targets).map(target => targetEntry(target, model, ctx))
  markRead(asFields(ctx.work.spec(model).match), 'model')
  return { name: matchOf(model), routing: { [kind]: { targets } } }
}

function targetEntry(target: Fields, model: Resource, ctx: MemberContext): Entry {
  const name = String(asFields(target.modelRef)?.name)
  const found = ctx.work.cluster.find('ProxyModel', model.namespace, name)
  const asked = asText(target.model)
  if (!found) ctx.errors.push(`model target ${model.namespace}/${name} not found`)
  else if (specOf(found).virtualModel !== undefined)
    ctx.errors.push(`model target ${model.namespace}/${name} is virtual itself`)
  else if (matchOf(found).includes('*') && asked === undefined) {
    ctx.errors.push(`model target ${model.namespace}/${name} matches by wildcard: model is required`)
  }
  const entry = defined({
    model: asked ?? (found ? matchOf(found) : name),
    weight: target.weight,
    priority: target.priority,
    when: target.when,
  })
  return ctx.work.keep(entry, target)
}
