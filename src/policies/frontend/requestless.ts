import { ownExchange } from '../../calls/derived-exchange.ts'
import type { ConnectionFacts, Exchange, RequestHead } from '../../http/exchange.ts'
import type { Clock } from '../../runtime/runtime.ts'
import type { TraceScope } from '../../trace/trace-event.ts'

/** Expressions require an exchange; before the first request it contains only the connection. */
export function requestless(
  connection: ConnectionFacts,
  trace: TraceScope | undefined,
  more: { readonly request?: RequestHead; readonly clock?: Clock } = {},
): Exchange {
  const x = ownExchange({ id: String(connection.id), connection, httpVersion: '', ...more })
  x.trace = trace
  return x
}
