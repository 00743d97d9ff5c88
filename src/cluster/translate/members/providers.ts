import { defined, type Policies } from '../../../policies/parts/cluster-form.ts'
import { asFields, asText, type Fields } from '../../../schema/untyped.ts'
import { PROVIDER_FORMS } from '../../kinds/parts/llm-provider.ts'
import { addressesOf, resolveRef } from '../backend-refs.ts'
import type { Entry } from '../output.ts'
import type { MemberContext } from './member-context.ts'

/** An LLM provider of a ProxyBackend, with its address. */
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

/** The Service of a custom provider's models. */
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
  const form = PROVIDER_FORMS.find(({ member }) => part[member] !== undefined)
  return form ? { [form.key]: form.convert(asFields(part[form.member]) ?? {}, ctx) } : { openAI: {} }
}
