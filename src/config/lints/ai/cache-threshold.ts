import type { Lint } from '../lint.ts'

/** GW549: a caching threshold below the provider's minimum. */
export const cacheThreshold: Lint = file => {
  file.visit('object', ({ node, value, path }) => {
    if (node.kind !== 'object' || node.name !== 'prompt caching') return
    const minTokens = (value as { minTokens?: unknown } | null)?.minTokens
    if (typeof minTokens !== 'number' || minTokens >= 1024) return
    file.report({
      code: 'GW549',
      message: 'prompts of fewer than 1024 tokens are not cached by the provider',
      path: [...path, 'minTokens'],
      at: 'value',
      label: 'marks without effect',
      help: 'remove it: 1024 is the default',
    })
  })
}
