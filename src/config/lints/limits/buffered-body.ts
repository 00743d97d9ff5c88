import type { Lint } from '../lint.ts'

/** The maximum in this mode (specification, Limits). */
const BUFFERED_LIMIT = 8192

/** GW551: bodies that are accepted but too long for the processing service. */
export const bufferedBody: Lint = file => {
  for (const { policies } of file.sites) {
    const { buffer, extProc } = policies
    if (buffer === undefined || extProc === undefined) continue
    const entries = extProc.conditional ?? [extProc]
    for (const { processingOptions: options } of entries) {
      if (options === undefined) continue
      for (const side of ['request', 'response'] as const) {
        const mode = `${side}BodyMode` as const
        const longest = buffer[side]?.maxBytes ?? 0
        if (options[mode] !== 'buffered' || longest <= BUFFERED_LIMIT) continue
        file.report({
          code: 'GW551',
          message: `the ${side} may have ${longest} bytes, and \`buffered\` fails on more than ${BUFFERED_LIMIT}`,
          path: [...file.pathOf(options), mode],
          at: 'value',
          label: 'longer bodies fail',
          help: 'write `bufferedPartial` or `fullDuplexStreamed`, or lower the limit of `buffer`',
        })
      }
    }
  }
}
