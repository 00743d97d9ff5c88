import * as Flags from '@oclif/core/flags'
import { Failure } from '../diagnostics/failure.ts'
import { systemClock } from '../engine/clock.ts'
import { parseDuration } from '../schema/scalars.ts'

/** `24h` ago, or a time such as `2026-11-01` or `2026-11-01T12:00Z` → ms since the epoch. */
export const momentFlag = Flags.custom<number>({
  helpValue: 'TIME',
  parse: async text => {
    const ago = parseDuration(text)
    if (ago !== undefined) return systemClock.now() - ago
    const time = /^\d{4}-\d{2}-\d{2}/.test(text) ? Date.parse(text) : Number.NaN
    if (!Number.isNaN(time)) return time
    throw new Failure('usage', `${text} is not a time. Write 24h, 2026-11-01 or 2026-11-01T12:00Z.`)
  },
})
