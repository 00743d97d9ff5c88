import type { Rejection } from '../expression.ts'
import { type Context, rejection } from '../problems.ts'
import { SCOPES } from '../variables.ts'
import type { Source } from './adapt-source.ts'
import type { CustomFunctions } from './custom-functions.ts'
import type { Definition } from './function-definitions.ts'

/** Checks an expression in its scope; throws the library's errors. */
export type CheckBody = (source: Source, context: Context) => Rejection | undefined

/**
 * The mistakes in custom functions, whether or not anything calls them. A function may use variables that only some
 * scopes have: it must be valid in one of them.
 */
export function checkFunctions(custom: CustomFunctions, check: CheckBody): readonly Rejection[] {
  for (const definition of custom.definitions) {
    let furthest: Rejection | undefined
    for (const scope of SCOPES) {
      const refused = checkFunction(custom, definition, scope, check)
      if (refused === undefined) {
        furthest = undefined
        break
      }
      if (furthest === undefined || offsetOf(refused) > offsetOf(furthest)) furthest = refused
    }
    if (furthest) custom.refuse(definition, furthest)
  }
  return custom.problems
}

function checkFunction(
  custom: CustomFunctions,
  definition: Definition,
  scope: Context['scope'],
  check: CheckBody,
): Rejection | undefined {
  const context = (place: Context['place']): Context => ({
    text: custom.text,
    scope,
    functions: () => custom.forms(),
    place,
  })
  let place: Context['place'] = offset => definition.body[0] + offset
  try {
    const source = custom.bodyOf(definition)
    place = source.place
    return check(source, context(place))
  } catch (error) {
    const refused = rejection(error, context(place))
    return { ...refused, problem: { span: definition.at, ...refused.problem } }
  }
}

function offsetOf({ problem }: Rejection): number {
  return problem.span?.[0] ?? 0
}
