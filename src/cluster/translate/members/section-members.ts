import { asFields, type Fields } from '../../../schema/untyped.ts'
import { MEMBERS } from '../../kinds/parts/members.ts'
import type { MemberContext } from './member-context.ts'

/** One member of a policy in its standalone form: the part of the resource that made it, and its value. */
export interface Member {
  /** The name of the member in the resource. */
  readonly source: string
  /** The name of the standalone policy. */
  readonly name: string
  readonly part: unknown
  readonly value: unknown
}

/** The members of a section. A value is undefined where a member cannot be made: it is lost. */
export function sectionMembers(section: 'traffic' | 'frontend', spec: Fields, ctx: MemberContext): Member[] {
  return MEMBERS[section].flatMap(({ policy, form }) => {
    const part = asFields(spec[form.member])
    const value = part ? form.convert(part, ctx) : null
    return value === null ? [] : [{ source: form.member, name: policy.name, part, value }]
  })
}
