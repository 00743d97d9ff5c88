import type { Bind } from '../../config/snapshot.ts'
import type { Exchange } from '../../http/exchange.ts'

/** Asks the policies over connections, each with its event. False: one closes this one, and nothing of a request is read. */
export async function admits({ connection: steps }: Bind, x: Exchange): Promise<boolean> {
  const { connection, trace } = x
  for (const { policy, hooks, origins } of steps) {
    const from = trace?.enter(origins)
    const passes = (await hooks.connection?.(connection, trace)) ?? true
    trace?.emit(
      {
        type: 'policy',
        policy,
        phase: 'connection',
        result: passes ? 'applied' : 'failed',
        ...(passes ? {} : { detail: 'closes the connection' }),
      },
      { severity: passes ? 'success' : 'error', origins, ...(from === undefined ? {} : { from }) },
    )
    trace?.leave()
    if (!passes) return false
  }
  return true
}
