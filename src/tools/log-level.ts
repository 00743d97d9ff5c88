import { Failure } from '../diagnostics/failure.ts'
import { didYouMean } from '../diagnostics/suggest.ts'
import { visible } from '../diagnostics/visible.ts'
import { LOG_LEVELS } from '../runtime/log-filter.ts'
import { LOG_MODULES } from '../runtime/log-modules.ts'
import { type AdminServer, getBytes } from './admin/admin-client.ts'

/**
 * Throws a Failure `usage` for an unknown level, and for a module that logs nothing, which would silently have no
 * effect.
 */
export function checkModules(directives: readonly string[]): void {
  const known = Object.keys(LOG_MODULES)
  for (const directive of directives) {
    const [module = '', level] = directive.split('=').map(part => part.trim())
    if (level === undefined) {
      throw new Failure('usage', `--set ${directive}: write MODULE=LEVEL, for example request=off.`)
    }
    if (!LOG_LEVELS.some(each => each === level.toLowerCase())) {
      const guess = didYouMean(level, LOG_LEVELS)
      throw new Failure('usage', `${level} is not a level${guess === undefined ? '.' : `: ${guess}`}`, {
        help: `Levels: ${LOG_LEVELS.join(', ')}.`,
      })
    }
    const name = module.replace(/^(agentgateway|gwctl)(::|$)/, '')
    if (name === '' || known.some(each => each === name || each.startsWith(`${name}::`))) continue
    const guess = didYouMean(name, known)
    throw new Failure('usage', `nothing logs as ${module}${guess === undefined ? '.' : `: ${guess}`}`, {
      help: `Modules: ${known.join(', ')}.`,
    })
  }
}

/** Changes the log filter of a running gateway, if anything is to change, and returns it. Throws a Failure. */
export async function logLevel(admin: AdminServer, directives: readonly string[], reset: boolean): Promise<string> {
  const query = new URLSearchParams()
  if (directives.length > 0) query.set('level', directives.join(','))
  if (reset) query.set('reset', '')
  // The public system accepts only POST, even for reading.
  const reply = await getBytes(admin, query.size === 0 ? 'logging' : `logging?${query}`, { method: 'POST' })
  const [, filter] = /^current log level is (.*)$/m.exec(reply.toString()) ?? []
  if (filter !== undefined) return visible(filter)
  throw new Failure('unreachable', `${admin.name} answered /logging with something else than a level.`, {
    help: 'Is that the admin address of a gateway?',
  })
}
