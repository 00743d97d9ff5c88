import type { Lint } from '../lint.ts'

/** GW591: a body limit of 0, which refuses every body. */
export const zeroBodyLimit: Lint = file => {
  for (const { policies } of file.sites) {
    for (const side of ['request', 'response'] as const) {
      const part = policies.buffer?.[side]
      if (part?.maxBytes !== 0) continue
      file.report({
        code: 'GW591',
        message: `\`maxBytes: 0\` forbids bodies instead of allowing any size: every ${side} with a body ${side === 'request' ? 'gets 413' : 'becomes 502'}`,
        path: [...file.pathOf(part), 'maxBytes'],
        at: 'value',
        label: 'no body',
        help: 'remove it for the limit of the gateway, or write the longest body that is acceptable, for example `1Mi`',
      })
    }
  }
}
