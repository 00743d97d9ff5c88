import { asFields, type Fields } from '../../resources/resource.ts'
import { aiMember, mcpMembers } from './ai-members.ts'
import { connectionMembers, putMember } from './connection-members.ts'
import type { MemberContext, Policies } from './member-context.ts'

/** The standalone policies of a `backend` section. */
export function backendMembers(spec: Fields, ctx: MemberContext): Policies {
  const out = connectionMembers(spec, ctx)
  const ai = asFields(spec.ai)
  if (ai) putMember(out, 'ai', ai, aiMember(ai, ctx), ctx)
  const mcp = asFields(spec.mcp)
  if (mcp)
    for (const [name, { part, value }] of Object.entries(mcpMembers(mcp, ctx))) putMember(out, name, part, value, ctx)
  return out
}
