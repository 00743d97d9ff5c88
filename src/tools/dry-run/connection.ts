import type { Bind } from '../../config/snapshot.ts'
import type { Serving } from '../../engine/passage.ts'
import { selectByServerName } from '../../engine/route-table.ts'
import { traceArrival, traceListener } from '../../engine/trace/stages.ts'
import type { Exchange } from '../../http/exchange.ts'

/** Why nothing of a request would be read: its connection is closed before. Undefined: it is served. */
export async function refusalOf(x: Exchange, bind: Bind, { heads }: Serving): Promise<string | undefined> {
  const { tls } = x.connection
  if (tls && !selectByServerName(bind.listeners, tls.sni)) {
    traceArrival(x, heads)
    traceListener(x, bind, undefined)
    return `TLS is refused: no listener serves ${tls.sni ?? 'connections without a server name'}`
  }
  if (await admits(bind, x)) return undefined
  traceArrival(x, heads)
  return 'the connection is closed without an answer'
}

/** Asks the policies over connections, each with its event. */
async function admits({ connection: steps }: Bind, { connection, trace }: Exchange): Promise<boolean> {
  for (const { policy, hooks, origins } of steps) {
    const from = trace?.enter(origins)
    const passes = (await hooks.connection?.(connection, trace)) ?? true
    const detail = passes ? {} : { detail: 'closes the connection' }
    trace?.emit(
      { type: 'policy', policy, phase: 'connection', result: passes ? 'applied' : 'failed', ...detail },
      { severity: passes ? 'success' : 'error', origins, ...(from === undefined ? {} : { from }) },
    )
    trace?.leave()
    if (!passes) return false
  }
  return true
}
