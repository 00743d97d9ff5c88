import { runConnection } from '../../calls/run-policies.ts'
import type { Bind } from '../../config/snapshot.ts'
import type { Serving } from '../../engine/passage.ts'
import { selectByServerName } from '../../engine/route-table.ts'
import { traceArrival, traceListener } from '../../engine/trace/stages.ts'
import type { Exchange } from '../../http/exchange.ts'

/** Why the connection is closed before the request is read. Undefined if it is served. */
export async function refusalOf(x: Exchange, bind: Bind, { heads }: Serving): Promise<string | undefined> {
  const { tls } = x.connection
  if (tls && !selectByServerName(bind, tls.sni)) {
    traceArrival(x, heads)
    traceListener(x, bind, undefined)
    return `TLS is refused: no listener serves ${tls.sni ?? 'connections without a server name'}`
  }
  const closedBy = await runConnection(bind.connection, x.connection, x.trace)
  if (!closedBy) return undefined
  traceArrival(x, heads)
  return 'the connection is closed without an answer'
}
