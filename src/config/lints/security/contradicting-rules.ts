import type { Lint } from '../lint.ts'
import { rulesOf } from '../sites.ts'

/** GW564: two rules of one list, one of which leaves the other without effect. */
export const contradictingRules: Lint = file => {
  for (const { policies } of file.sites) {
    for (const name of ['authorization', 'mcpAuthorization'] as const) {
      const policy = policies[name]
      const rules = rulesOf(policy)
      if (!policy || rules === undefined) continue
      const first = new Map<string, { readonly kind: string; readonly at: number }>()
      for (const [at, { kind, when }] of rules.entries()) {
        const text = when.text.replace(/\s+/g, ' ').trim()
        const known = first.get(text)
        first.set(text, known ?? { kind, at })
        if (!known) continue
        const opposed = known.kind !== kind && (kind === 'deny' || known.kind === 'deny')
        if (!opposed && known.kind !== kind) continue
        const path = file.pathOf(rules)
        file.report({
          code: 'GW564',
          message: opposed
            ? `one rule is \`${known.kind}\`, another one \`${kind}\`, and both for \`${text}\`: it is always denied`
            : `the rule \`${kind}: ${text}\` is written twice`,
          path: [...path, at],
          at: 'value',
          label: opposed ? 'the same condition' : 'changes nothing',
          help: opposed ? 'remove one of them, or make their conditions differ' : 'remove it',
          related: [{ path: [...path, known.at], at: 'value', message: 'first written here' }],
        })
      }
    }
  }
}
