import { type Field, type Infer, opt } from '../schema/builder.ts'
import type { Attachment, Policy } from './policy.ts'

// biome-ignore lint/suspicious/noExplicitAny: a list holds policies of every spec; each is read through its own name
export type AnyPolicy = Policy<string, any>
export type PolicyFields<L extends readonly AnyPolicy[]> = {
  readonly [P in L[number] as P['name']]: Field<Infer<P['schema']>, 'optional'>
}

/** The fields of a `policies` object at one attachment: one for each policy allowed there. */
export function fieldsFor<L extends readonly AnyPolicy[]>(list: L, attachment: Attachment): PolicyFields<L> {
  const fields: Record<string, Field<unknown, 'optional'>> = {}
  for (const policy of list) {
    if (!policy.attach.includes(attachment)) continue
    fields[policy.name] = opt(policy.schema, policy.doc, {
      ...(policy.spec === undefined ? {} : { spec: policy.spec }),
      ...(policy.unserved === undefined ? {} : { unserved: policy.unserved }),
    })
  }
  return fields as PolicyFields<L>
}
