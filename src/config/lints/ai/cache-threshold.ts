import type { Lint } from '../lint.ts'

/** GW549: prompts that are marked for a cache which does not take them. */
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
