import type { Lint } from '../lint.ts'
import { rulesOf } from '../sites.ts'

/** GW572: an authorization policy without restrictions. */
export const noRules: Lint = file => {
  for (const { policies } of file.sites) {
    for (const name of ['authorization', 'mcpAuthorization'] as const) {
      const rules = rulesOf(policies[name])
      if (rules === undefined || rules.length > 0) continue
      file.report({
        code: 'GW572',
        message: `\`${name}\` has no rules: it lets everything pass`,
        path: file.pathOf(rules),
        at: 'value',
        label: 'no rules',
        help: 'add a rule, or remove the policy; `- deny: "true"` refuses everything',
      })
    }
  }
}
