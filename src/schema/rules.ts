import type { ObjectProblem } from './builder.ts'

/** A violated rule over several fields; `path` leads from the object to the offending field. */
export function problem(
  path: readonly (string | number)[],
  message: string,
  more: Partial<ObjectProblem> = {},
): ObjectProblem {
  return { path, at: path.length === 0 ? 'parent' : 'key', message, ...more }
}

/** A field that is required by other fields. */
export function missing(field: string, message: string): ObjectProblem {
  return { path: [field], at: 'parent', code: 'GW103', message, label: `\`${field}\` is missing` }
}

export function all(...rules: readonly Rule[]): Rule {
  return value => rules.flatMap(rule => rule(value))
}
export type Rule = (value: Record<string, unknown>) => readonly ObjectProblem[]
