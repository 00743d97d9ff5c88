import type { CredentialPlaces } from '../../auth/credential-places.ts'
import { type BodySource, type ConnectionFacts, Exchange, type RequestHead } from '../../http/exchange.ts'
import type { Clock } from '../../runtime/runtime.ts'

/** A request whose head has been read, from a socket or plain data. */
export interface ArrivedRequest {
  readonly httpVersion: string
  readonly head: RequestHead
  readonly body: BodySource
  readonly upgrade?: string | undefined
}

/** The only entry point. `credentials`: query parameters to redact. */
export function arrivedExchange(
  id: string,
  connection: ConnectionFacts,
  { httpVersion, head, body, upgrade }: ArrivedRequest,
  clock: Pick<Clock, 'now' | 'mono'>,
  credentials?: CredentialPlaces,
): Exchange {
  const x = new Exchange({
    id,
    connection,
    startedAt: clock.now(),
    startedMono: clock.mono(),
    httpVersion,
    request: head,
    shownPath: credentials?.shown(head.path),
    body,
  })
  x.upgrade = upgrade
  return x
}
