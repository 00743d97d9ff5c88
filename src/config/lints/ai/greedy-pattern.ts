import type { Lint } from '../lint.ts'
import { promptGuards } from '../sites.ts'

/** GW533: a pattern that matches every prompt. */
export const greedyPattern: Lint = file => {
  for (const guard of promptGuards(file.config, file.sites)) {
    for (const { regex } of [...(guard.request ?? []), ...(guard.response ?? [])]) {
      for (const rule of regex?.rules ?? []) {
        if (!('pattern' in rule) || !rule.pattern?.test('')) continue
        file.report({
          code: 'GW533',
          message: 'the pattern fits every text, also an empty one',
          path: [...file.pathOf(rule), 'pattern'],
          at: 'value',
          label: 'always found',
          help: 'make the pattern require some text, for example with `+` instead of `*`',
        })
      }
    }
  }
}
