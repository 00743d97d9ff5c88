import { parseDuration } from '../../../schema/scalars.ts'
import type { Lint } from '../lint.ts'

/** GW531: a timeout of 0, which means none. */
export const zeroTimeout: Lint = file => {
  file.visit('any', ({ field, value, path }) => {
    if (field === undefined || typeof value !== 'string' || !String(path.at(-1)).endsWith('Timeout')) return
    if (/[1-9]/.test(value) || parseDuration(value) !== 0) return
    file.report({
      code: 'GW531',
      message: `\`${path.at(-1)}: ${value}\` means no limit, not at once`,
      path: [...path],
      at: 'value',
      label: 'no limit',
      help: 'remove it, or write the longest time that is acceptable',
    })
  })
}
