import { constantOf } from './constant.ts'
import type { Lint } from './lint.ts'

/** GW533: a condition that does not depend on the request. */
export const constantCondition: Lint = file => {
  file.visitTerms(({ node, term, path }) => {
    // Lists of variants have a lint of their own: the last entry may well be `true`.
    if (node.result !== 'bool' || path.at(-1) === 'condition' || path.at(-1) === 'when') return
    const constant = constantOf(term)
    if (constant === undefined) return
    // Where a guard cannot be translated from a resource, a generated rule refuses everything.
    if (file.textAt([...path]) === '') return
    const { value, joint } = constant
    file.report({
      code: 'GW533',
      message: `the condition is always ${value}`,
      path: [...path],
      at: 'value',
      label: `always ${value}`,
      help: joint
        ? `one value is never two: write \`${joint === '&&' ? '||' : '&&'}\` between the comparisons`
        : 'remove it, or let it depend on the request',
    })
  })
}
