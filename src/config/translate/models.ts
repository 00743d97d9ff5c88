import { asFields, asItems, asText, type Fields, type Resource } from '../resources/resource.ts'
import type { RouteState } from './attachment.ts'
import type { GatewayListener } from './listeners.ts'
import { promptGuard } from './members/ai-members.ts'
import { connectionMembers } from './members/connection-members.ts'
import { byName, defined, MemberContext, type Policies } from './members/member-context.ts'
import { headerChanges } from './members/member-parts.ts'
import { formats, serverOf } from './members/providers.ts'
import { authorizationMember } from './members/traffic-members.ts'
import { markRead } from './origin/tracked.ts'
import { type Entry, listenerRef, type Output } from './output.ts'
import { isFalse } from './status/conditions.ts'
import { at, type Work } from './work.ts'
import { nameOf, specOf } from './world.ts'

const PROVIDER_NAMES: Readonly<Record<string, string>> = {
  OpenAI: 'openAI',
  VertexAI: 'vertex',
  TogetherAI: 'togetherai',
  XAI: 'xai',
}

/** Writes the models that some listener takes: the file has one `llm` section for all listeners. */
export function writeModels(
  states: readonly RouteState[],
  served: ReadonlySet<GatewayListener>,
  output: Output,
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
    const entry = virtual ? virtualEntry(virtual, route, ctx) : modelEntry(spec, route, ctx)
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

function modelEntry(spec: Fields, model: Resource, ctx: MemberContext): Entry {
  const provider = String(spec.provider)
  const custom = asFields(spec.custom)
  const policies = asFields(spec.policies) ?? {}
  const rules = asFields(policies.authorization)
  const headers = asFields(policies.headers)
  const guards = asFields(policies.promptGuard)
  const connection = connectionMembers(
    { tls: policies.tls, tunnel: policies.tunnel, health: policies.health, auth: policies.auth },
    ctx,
  )
  markRead(asFields(spec.match), 'model')
  const entry = defined({
    id: nameOf(model),
    name: matchOf(model),
    visibility: spec.visibility === 'Internal' ? 'internal' : undefined,
    provider: custom ? { custom: { formats: formats(custom) } } : providerName(provider),
    params: paramsOf(spec, custom, ctx),
    transformation: byName(policies.transformations, 'expression'),
    finalTransformation: byName(policies.finalTransformations, 'expression'),
    requestHeaders: headerChanges(asFields(headers?.request)),
    responseHeaders: headerChanges(asFields(headers?.response)),
    tls: connection.backendTLS,
    auth: connection.backendAuth,
    health: connection.health,
    backendTunnel: connection.backendTunnel,
    authorization: rules ? authorizationMember(rules) : connection.authorization,
    guardrails: guards && promptGuard(guards, ctx),
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

function providerName(name: string): string {
  return PROVIDER_NAMES[name] ?? `${name[0]!.toLowerCase()}${name.slice(1)}`
}

function paramsOf(spec: Fields, custom: Fields | undefined, ctx: MemberContext): Policies | undefined {
  const azure = asFields(spec.azure)
  const vertex = asFields(spec.vertexai)
  const bedrock = asFields(spec.bedrock)
  const params = defined({
    baseUrl: spec.baseURL,
    hostOverride: custom && serverOf(custom, ctx),
    awsRegion: bedrock?.region,
    vertexProject: vertex?.projectId,
    vertexRegion: vertex?.region,
    azureResourceName: azure?.resourceName,
    azureResourceType: azure && (azure.resourceType === 'Foundry' ? 'foundry' : 'openAI'),
    azureApiVersion: azure?.apiVersion,
    azureProjectName: azure?.projectName,
  })
  if (bedrock?.guardrail !== undefined)
    ctx.lose(bedrock.guardrail, 'the provider’s guardrail has no place in a model of the file')
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
  const found = ctx.work.world.find('ProxyModel', model.namespace, name)
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
