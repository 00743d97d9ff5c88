import type { Policies } from '../../../policies/parts/cluster-form.ts'
import { asFields, type Fields } from '../../../schema/untyped.ts'
import { GUARDS, MEMBERS } from '../../kinds/parts/members.ts'
import type { MemberContext } from './member-context.ts'

/** The standalone policies of a `backend` section. */
export function backendMembers(spec: Fields, ctx: MemberContext): Policies {
  const out: Policies = {}
  const mcp = asFields(spec.mcp) ?? {}
  const within = [
    ...MEMBERS.backend.map(member => ({ ...member, part: asFields(spec[member.form.member]) })),
    ...MEMBERS.mcp.map(member => ({ ...member, part: asFields(mcp[member.form.member]) })),
  ]
  for (const { policy, form, part } of within) if (part) putMember(out, policy.name, part, form.convert(part, ctx), ctx)
  return out
}

/** Undefined: the part cannot be converted, and is reported as a loss. */
function putMember(out: Policies, name: string, part: Fields, value: unknown, ctx: MemberContext): void {
  const from = ctx.work.from(part, ctx.holder)
  if (value === undefined) {
    ctx.lose(part, `\`${String(from.path.at(-1))}\` cannot be carried over as it is`)
    if (GUARDS.has(name) && !ctx.work.options.allowUnguarded) out.authorization = { rules: [{ deny: 'true' }] }
    return
  }
  out[name] = value
  ctx.work.origins.field(out, name, from)
  if (typeof value === 'object' && value !== null) ctx.work.origins.mark(value, from)
}
