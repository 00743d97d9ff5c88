import { constantOf } from './constant.ts'
import type { Lint } from './lint.ts'

/** GW533: a condition that does not depend on the request. */
export const constantCondition: Lint = file => {
  file.visit('cel', ({ node, value, path }) => {
    if (node.kind !== 'cel' || node.result !== 'bool' || typeof value !== 'string') return
    const constant = constantOf(value)
    // Entries of lists of variants have a lint of their own: the last one may well say `true`.
    if (constant === undefined || path.at(-1) === 'condition' || path.at(-1) === 'when') return
    // Where a guard cannot be carried over from a resource, a rule that nobody has written refuses everything.
    if (file.textAt([...path]) === '') return
    file.report({
      code: 'GW533',
      message: `the condition is always ${constant}`,
      path: [...path],
      at: 'value',
      label: `always ${constant}`,
      help:
        /[=]\s*["'\d].*(?:&&|\|\|)/s.test(value) && !/==.*!=|!=.*==/s.test(value)
          ? `one value is never two: write \`${constant ? '&&' : '||'}\` between the comparisons`
          : 'remove it, or let it depend on the request',
    })
  })
}
