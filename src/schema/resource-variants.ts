import {
  cel,
  type Field,
  type Fields,
  list,
  type ObjectOptions,
  type ObjectProblem,
  object,
  opt,
  req,
  type Schema,
  type ServerRule,
  serverRule,
} from './builder.ts'
import { all, problem } from './rules.ts'

/**
 * A policy that may also be a list of variants, of which the first with a true condition applies. `conditional`
 * excludes all other fields; every rule of the plain form applies to each variant too.
 */
export function conditional(name: string, fields: Fields, options: ObjectOptions): Schema<unknown> {
  const entry = object(`conditional ${name}`, {
    condition: opt(cel('request', 'bool'), 'When this entry applies; only the last one may omit it.'),
    policy: req(object(name, fields, options), 'The policy that then applies.'),
  })
  const entries: Field<unknown, 'optional'> = opt(
    list(entry, { min: 1, max: 16 }),
    'Entries, of which the first whose condition is true applies.',
  )
  const required = Object.keys(fields).filter(key => fields[key]!.mode === 'required')
  const exactly = [...required.map(key => [key]), ...(options.exactlyOneOf ?? [])]
  const others = Object.keys(fields).filter(key => !exactly.flat().includes(key))
  return object(
    name,
    { ...optional(fields), conditional: entries },
    {
      exactlyOneOf: exactly.map(group => [...group, 'conditional']),
      atLeastOneOf: (options.atLeastOneOf ?? []).map(group => [...group, 'conditional']),
      atMostOneOf: [...(options.atMostOneOf ?? []), ...others.map(key => [key, 'conditional'])],
      check: all(options.check ?? (() => []), fallbackIsLast),
      rules: [...(options.rules ?? []), fallbackRule('conditional', 'condition')],
    },
  )
}

function optional(fields: Fields): Fields {
  const result: Record<string, Fields[string]> = {}
  for (const key in fields) {
    const field = fields[key]!
    result[key] = field.mode === 'required' ? { ...field, mode: 'optional' } : field
  }
  return result
}

function fallbackIsLast(value: Record<string, unknown>): readonly ObjectProblem[] {
  return misplacedFallbacks((value.conditional ?? []) as readonly Record<string, unknown>[], 'condition').map(
    ({ index, message }) => problem(['conditional', index], message, { at: 'value' }),
  )
}

/** Like `misplacedFallbacks`, for an optional list. */
export function fallbackRule(list: string, field: string): ServerRule {
  const entries = `self.${list}`
  return serverRule(
    `!has(${entries}) || ${entries}.filter(e, !has(e.${field})).size() <= (has(${entries}[${entries}.size() - 1].${field}) ? 0 : 1)`,
    `only the last entry of ${list} may go without ${field}`,
  )
}

/** Entries without a condition before the end: later ones are unreachable. */
export function misplacedFallbacks(entries: readonly Record<string, unknown>[], field: string) {
  return entries.flatMap((entry, index) =>
    entry[field] === undefined && index < entries.length - 1
      ? [
          {
            index,
            message: `only the last entry may go without \`${field}\`: the entries after this one are never reached`,
          },
        ]
      : [],
  )
}
