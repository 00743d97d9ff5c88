import { asFields, asItems, type Fields } from '../../../schema/untyped.ts'
import type { ClusterContext } from '../../parts/cluster-form.ts'
import { byName, defined, lower, type Policies, strings } from '../../parts/cluster-form.ts'

/** The `ai` policy. */
export function convertAi(part: Fields, ctx: ClusterContext): Policies {
  const prompt = asFields(part.prompt ?? part.promptEnrichment)
  const messages = (value: unknown) =>
    value === undefined ? undefined : asItems(value).map(({ role, content }) => ({ role, content }))
  const routes = asFields(part.routes)
  const guard = asFields(part.promptGuard)
  return defined({
    promptGuard: guard && ctx.keep(convertPromptGuard(guard, ctx), guard),
    ...fixedFields(part, ctx),
    transformations: byName(part.transformations, 'expression'),
    finalTransformations: byName(part.finalTransformations, 'expression'),
    prompts: prompt && defined({ prepend: messages(prompt.prepend), append: messages(prompt.append) }),
    modelAliases: part.modelAliases && { ...(part.modelAliases as Fields) },
    promptCaching: part.promptCaching && { ...(part.promptCaching as Fields) },
    routes: routes && Object.fromEntries(Object.entries(routes).map(([path, type]) => [path, lower(type)])),
  })
}

/** In the standalone form, a default with `override` is a separate field. */
function fixedFields(part: Fields, ctx: ClusterContext): Policies {
  const defaults: Policies = {}
  const overrides: Policies = {}
  for (const each of asItems(part.defaults)) {
    const into = each.override === true ? overrides : defaults
    into[String(each.field)] = ctx.plain(each.value)
  }
  for (const each of asItems(part.overrides)) overrides[String(each.field)] = ctx.plain(each.value)
  return defined({
    defaults: Object.keys(defaults).length > 0 ? defaults : undefined,
    overrides: Object.keys(overrides).length > 0 ? overrides : undefined,
  })
}

export function convertPromptGuard(part: Fields, ctx: ClusterContext): Policies {
  return defined({
    streaming: part.streaming,
    request: part.request && asItems(part.request).map(each => ctx.keep(guardOf(each, ctx), each)),
    response: part.response && asItems(part.response).map(each => ctx.keep(guardOf(each, ctx), each)),
  })
}

function guardOf(part: Fields, ctx: ClusterContext): Policies {
  const rejection = asFields(part.response)
  const scope = strings(part.scope)
  const services = ['openAIModeration', 'bedrockGuardrails', 'googleModelArmor'] as const
  const service = services.find(name => part[name] !== undefined)
  const regex = asFields(part.regex)
  const webhook = asFields(part.webhook)
  return defined({
    regex: regex && regexGuard(regex),
    webhook: webhook && webhookGuard(webhook, ctx),
    ...(service ? { [service]: serviceGuard(service, asFields(part[service]) ?? {}, ctx) } : {}),
    rejection: rejection && defined({ body: rejection.message, status: rejection.statusCode }),
    scope: scope?.map(lower),
  })
}

function regexGuard(part: Fields): Policies {
  const matches = Array.isArray(part.matches) ? part.matches : []
  const rules = [
    ...(strings(part.builtins) ?? []).map(builtin => ({ builtin: lower(builtin) })),
    ...matches.map(each => {
      const fields = asFields(each)
      return fields ? defined({ pattern: fields.pattern, name: fields.name }) : { pattern: String(each) }
    }),
  ]
  return defined({ action: lower(part.action), rules })
}

function webhookGuard(part: Fields, ctx: ClusterContext): Policies {
  const target = ctx.target(part, 'failed to build webhook')
  const headers = asItems(part.forwardHeaderMatches).map(({ name, value, type }) => ({
    name,
    value: type === 'RegularExpression' ? { regex: value } : { exact: value },
  }))
  return defined({
    target: target ?? { host: 'webhook.invalid:80' },
    headers: part.headers && { ...(part.headers as Fields) },
    forwardHeaderMatches: headers.length > 0 ? headers : undefined,
    failureMode: lower(part.failureMode),
  })
}

function serviceGuard(name: string, part: Fields, ctx: ClusterContext): Policies {
  const inner = asFields(part.policies)
  const policies = inner && ctx.connection(inner)
  if (name === 'bedrockGuardrails') {
    return defined({
      guardrailIdentifier: part.identifier,
      guardrailVersion: part.version,
      region: part.region,
      policies,
    })
  }
  if (name === 'openAIModeration') return defined({ model: part.model, policies })
  return defined({ templateId: part.templateId, projectId: part.projectId, location: part.location, policies })
}
