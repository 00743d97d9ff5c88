import { defined, type Policies } from '../../../policies/parts/cluster-form.ts'
import { asFields, asText, type Fields } from '../../../schema/untyped.ts'
import { PROVIDER_FORMS } from '../../kinds/parts/llm-provider.ts'
import { resolveRef, type ServicePort } from '../backend-refs.ts'
import type { Entry } from '../output.ts'
import { firstAddress } from './called-services.ts'
import type { MemberContext } from './member-context.ts'

/** An LLM provider of a ProxyBackend, with its address. */
export function providerEntry(
  part: Fields,
  to: ServicePort | undefined,
  policies: Policies,
  ctx: MemberContext,
): Entry {
  const host = asText(part.host)
  const own = to && firstAddress(to, part, ctx)
  return defined({
    provider: choice(part, ctx),
    hostOverride: host === undefined ? own : `${host}:${String(part.port ?? 443)}`,
    pathOverride: asText(part.path),
    pathPrefix: asText(part.pathPrefix),
    policies: Object.keys(policies).length > 0 ? policies : undefined,
  })
}

/** The Service of a custom provider's models. */
export function serverOf(custom: Fields | undefined, ctx: MemberContext): ServicePort | undefined {
  const ref = asFields(custom?.backendRef)
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
  return to
}

function choice(part: Fields, ctx: MemberContext): Entry {
  const form = PROVIDER_FORMS.find(({ member }) => part[member] !== undefined)
  return form ? { [form.key]: form.convert(asFields(part[form.member]) ?? {}, ctx) } : { openAI: {} }
}
