import { asFields, asItems, asText, type Fields } from '../../resources/resource.ts'
import { addressesOf, resolveRef } from '../backend-refs.ts'
import type { Entry } from '../output.ts'
import { defined, lower, type MemberContext, type Policies } from './member-context.ts'

/** An LLM provider of a ProxyBackend: which it is, and where. */
export function providerEntry(part: Fields, policies: Policies, ctx: MemberContext): Entry {
  const host = asText(part.host)
  const custom = asFields(part.custom)
  const own = custom && serverOf(custom, ctx)
  return defined({
    provider: choice(part, ctx),
    hostOverride: host === undefined ? own : `${host}:${String(part.port ?? 443)}`,
    pathOverride: asText(part.path),
    pathPrefix: asText(part.pathPrefix),
    policies: Object.keys(policies).length > 0 ? policies : undefined,
  })
}

/** The Service that serves a custom provider's models. */
export function serverOf(custom: Fields, ctx: MemberContext): string | undefined {
  const ref = asFields(custom.backendRef)
  if (!ref) return undefined
  const to = resolveRef({ ...ref, kind: asText(ref.kind) ?? 'Service' }, ctx.holder, ctx.work)
  if (to.kind === 'problem') {
    ctx.errors.push(to.condition.message)
    return undefined
  }
  if (to.kind !== 'Service') {
    ctx.lose(ref, `${String(ref.kind)} ${String(ref.name)} has no endpoints here: endpoint pickers are not asked`)
    return undefined
  }
  const addresses = addressesOf(to, ctx.work)
  if (addresses.length > 1)
    ctx.lose(ref, `one of ${addresses.length} endpoints of Service ${to.namespace}/${to.name} is called`)
  return addresses[0]
}

function choice(part: Fields, ctx: MemberContext): Entry {
  const model = (fields: Fields) => defined({ model: fields.model })
  const make: Readonly<Record<string, (fields: Fields) => Entry>> = {
    openai: fields => ({ openAI: defined({ ...model(fields), moderation: moderation(asFields(fields.moderation)) }) }),
    anthropic: fields => ({ anthropic: model(fields) }),
    gemini: fields => ({ gemini: model(fields) }),
    vertexai: fields => ({ vertex: defined({ ...model(fields), projectId: fields.projectId, region: fields.region }) }),
    bedrock: fields => ({ bedrock: bedrock(fields) }),
    azure: fields => ({ azure: azure(fields) }),
    azureopenai: fields => ({ azure: azureOpenAi(fields, ctx) }),
    custom: fields => ({ custom: defined({ ...model(fields), formats: formats(fields) }) }),
  }
  const kind = Object.keys(make).find(name => part[name] !== undefined)
  return kind === undefined ? { openAI: {} } : make[kind]!(asFields(part[kind]) ?? {})
}

function moderation(part: Fields | undefined): Policies | undefined {
  const policy = asFields(part?.policy)
  const side = (value: unknown) => (asFields(value) ? { mode: lower(asFields(value)!.mode) } : undefined)
  return (
    part &&
    defined({
      model: part.model,
      policy: policy && defined({ input: side(policy.input), output: side(policy.output) }),
    })
  )
}

export function formats(part: Fields): Entry[] {
  return asItems(part.formats).map(({ type, path }) => defined({ type: lower(type), path }))
}

function bedrock(part: Fields): Policies {
  const guardrail = asFields(part.guardrail)
  return defined({
    model: part.model,
    region: part.region,
    guardrailIdentifier: guardrail?.identifier,
    guardrailVersion: guardrail?.version,
  })
}

function azure(part: Fields): Policies {
  return defined({
    model: part.model,
    resourceName: part.resourceName,
    resourceType: part.resourceType === 'Foundry' ? 'foundry' : 'openAI',
    apiVersion: part.apiVersion,
    projectName: part.projectName,
  })
}

/** A host of the cloud's own domains is reduced to its resource. */
function azureOpenAi(part: Fields, ctx: MemberContext): Policies {
  const host = String(part.endpoint)
    .replace(/^https?:\/\//, '')
    .replace(/\/.*$/, '')
  const own = /^([^.]+)\.(openai\.azure\.com|services\.ai\.azure\.com)$/.exec(host)
  if (!own) ctx.lose(part, `the endpoint ${host} is none of the provider's own domains`)
  return defined({
    model: part.deploymentName,
    resourceName: own?.[1] ?? host,
    resourceType: own?.[2]?.startsWith('services') ? 'foundry' : 'openAI',
    apiVersion: part.apiVersion,
  })
}
