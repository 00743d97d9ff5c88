import { Failure } from '../../diagnostics/failure.ts'
import { visible } from '../../diagnostics/visible.ts'
import { type AdminServer, getBytes } from '../admin-client.ts'

/** Changes the filter of a running gateway, if there is anything to change, and returns it. Throws a Failure. */
export async function logLevel(admin: AdminServer, directives: readonly string[], reset: boolean): Promise<string> {
  const query = new URLSearchParams()
  if (directives.length > 0) query.set('level', directives.join(','))
  if (reset) query.set('reset', '')
  // The public system takes nothing but POST, also for reading.
  const reply = await getBytes(admin, query.size === 0 ? 'logging' : `logging?${query}`, { method: 'POST' })
  const [, filter] = /^current log level is (.*)$/m.exec(reply.toString()) ?? []
  if (filter !== undefined) return visible(filter)
  throw new Failure('unreachable', `${admin.name} answered /logging with something else than a level.`, {
    help: 'Is that the admin address of a gateway?',
  })
}
