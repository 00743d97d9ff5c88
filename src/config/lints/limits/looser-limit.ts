import type { Lint } from '../lint.ts'

/** GW546: a limit that another one in the list always reaches first. */
export const looserLimit: Lint = file => {
  for (const { policies } of file.sites) {
    const spec = policies.localRateLimit
    if (!Array.isArray(spec)) continue
    for (const [at, limit] of spec.entries()) {
      const { type = 'requests', fillInterval, maxTokens = 0, tokensPerFill = 0 } = limit
      const tighter = spec.find(
        each =>
          each !== limit &&
          fillInterval !== undefined &&
          each.fillInterval === fillInterval &&
          (each.type ?? 'requests') === type &&
          (each.maxTokens ?? 0) <= maxTokens &&
          (each.tokensPerFill ?? 0) <= tokensPerFill &&
          ((each.maxTokens ?? 0) < maxTokens || (each.tokensPerFill ?? 0) < tokensPerFill || spec.indexOf(each) < at),
      )
      if (!tighter) continue
      file.report({
        code: 'GW546',
        message: 'the limit is never reached: another one of the list lets fewer pass in the same time',
        path: file.pathOf(limit),
        at: 'value',
        label: 'changes nothing',
        help: 'remove it, or give it an interval of its own',
        related: [{ path: file.pathOf(tighter), at: 'value', message: 'reached first' }],
      })
    }
  }
}
