import { asFields, type Fields } from '../../../schema/untyped.ts'
import { MEMBERS } from '../../kinds/parts/members.ts'
import type { MemberContext } from './member-context.ts'

/** A policy member in its standalone form: its origin in the resource, and its value. */
export interface Member {
  /** The member's name in the resource. */
  readonly source: string
  /** The name of the standalone policy. */
  readonly name: string
  readonly part: unknown
  readonly value: unknown
}

/** The members of a section. An undefined value means that the member could not be converted and is lost. */
export function sectionMembers(section: 'traffic' | 'frontend', spec: Fields, ctx: MemberContext): Member[] {
  return MEMBERS[section].flatMap(({ policy, form }) => {
    const part = asFields(spec[form.member])
    const value = part ? form.convert(part, ctx) : null
    return value === null ? [] : [{ source: form.member, name: policy.name, part, value }]
  })
}
