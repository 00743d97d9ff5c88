import { compileCondition, RESERVED } from '../../cel/condition.ts'
import { dumpFields } from '../../config/dump.ts'
import { Failure } from '../../diagnostics/failure.ts'
import type { View } from '../config-dump/views.ts'

/** Filters the rows of a view; `name` is the view's. */
export type Selection = (view: View, name: string) => View

/** The whole object: CEL reserves some words that are field names here, such as `namespace`. */
const SELF = 'self'

/**
 * Keeps the rows whose object satisfies a CEL expression. Its variables are the fields that `-o json` prints, and
 * `self`, the object; objects without a field that the expression needs are dropped. The selection throws a Failure
 * `usage` if the expression is invalid, or fails for all.
 */
export function selectBy(expression: string): Selection {
  return (view, name) => {
    const objects = [...new Set(view.rows.map(row => row.value))].filter(isFields)
    if (objects.length === 0) return view
    const names = [...new Set([SELF, ...dumpFields(name), ...objects.flatMap(Object.keys)])].filter(isName)
    const condition = compileCondition(expression, names)
    if ('problem' in condition) {
      const { message, help } = condition.problem
      throw refused(expression, message, reservedHelp(expression, names) ?? help)
    }
    const kept = new Set<unknown>()
    let failures = 0
    let last = ''
    for (const object of objects) {
      const outcome = condition.evaluate({ ...object, [SELF]: object })
      if (!outcome.ok) {
        failures++
        last = outcome.error
      } else if (outcome.value === true) kept.add(object)
    }
    if (failures === objects.length) throw refused(expression, `it fails for all of them: ${last}`, undefined)
    return { ...view, rows: view.rows.filter(row => kept.has(row.value)) }
  }
}

function reservedHelp(expression: string, names: readonly string[]): string | undefined {
  const used = names.find(name => RESERVED.has(name) && new RegExp(`(?<![.\\w])${name}\\b`).test(expression))
  return used && `CEL reserves the word ${used}: write \`${SELF}.${used}\`.`
}

function refused(expression: string, message: string, help: string | undefined): Failure {
  return new Failure('usage', `--select \`${expression}\`: ${message}.`, {
    help: help ?? 'Its variables are the fields that `-o json` prints of the view: `kind == "mcp"`.',
  })
}

function isName(text: string): boolean {
  return /^[A-Za-z_]\w*$/.test(text)
}

function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
