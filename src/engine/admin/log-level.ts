import { visible } from '../../diagnostics/visible.ts'
import { LogFilterError } from '../../runtime/log-filter.ts'
import type { LogControl } from '../logging.ts'
import { methodNotAllowed } from './listen.ts'
import { type AdminReply, type AdminRequest, text } from './table.ts'

/** `/logging`: reads the filter without a query; `level` adds directives, `reset` restores the initial filter first. */
export async function logLevel(log: LogControl, { method, query }: AdminRequest): Promise<AdminReply> {
  const level = query.get('level') ?? ''
  const reset = query.has('reset')
  if (level !== '' || reset) {
    // A link or an image must not change anything.
    if (method === 'GET') return methodNotAllowed('/logging with a query', ['POST'])
    try {
      await log.change(level, { reset })
    } catch (error) {
      if (!(error instanceof LogFilterError)) throw error
      return text(`Invalid level provided: ${shown(level)}\n${shown(error.message)}\n\n${USAGE}`, 400)
    }
  }
  return text(`current log level is ${log.filter()}\n`)
}

/** Truncated for display, without terminal control characters. */
function shown(given: string): string {
  return visible(given.length > 300 ? `${given.slice(0, 300)}…` : given)
}

const USAGE = `GET or POST /logging                          the current level
POST /logging?level=LEVEL                     change the general level
POST /logging?level=MODULE=LEVEL,MODULE=LEVEL change the level of modules
POST /logging?reset                           back to the level of the start

LEVEL is off, error, warn, info, debug or trace.
`
