import type { Bind, Snapshot } from '../../config/snapshot.ts'
import { Failure } from '../../diagnostics/failure.ts'
import { bodyOf, Exchange } from '../../http/exchange.ts'
import { HeaderList } from '../../http/headers.ts'
import type { Clock } from '../../http/runtime.ts'
import type { DryCaller } from './stand-in-credentials.ts'

/** A request as plain data. */
export interface DryRequest extends DryCaller {
  readonly method: string
  /** Absolute. */
  readonly url: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body?: Buffer | undefined
  /** The configured port that it comes in at; unset: that of the URL, else the first one. */
  readonly port?: number | undefined
  /** The client's address; 127.0.0.1 when unset. */
  readonly source?: string | undefined
  /** The server name that its TLS connection asked for; unset: the host of an `https` URL. */
  readonly sni?: string | undefined
}

/** Throws a Failure where there is none. */
export function bindFor({ binds }: Snapshot, { port, url }: DryRequest): Bind {
  const { port: own, protocol } = new URL(url)
  const wanted = port ?? (Number(own) || (protocol === 'https:' ? 443 : 80))
  const bind = binds.find(each => each.port === wanted) ?? binds.find(each => each.listeners.length > 0)
  if (bind === undefined) throw new Failure('input', 'the configuration opens no port, so no request can come in.')
  return bind
}

export function exchangeOf(id: string, request: DryRequest, bind: Bind, clock: Clock): Exchange {
  const url = new URL(request.url)
  const secure = url.protocol === 'https:'
  const headers = new HeaderList()
  for (const [name, value] of request.headers) headers.append(name, value)
  if (!headers.has('host')) headers.append('host', url.host)
  if (request.body && !headers.has('content-length')) headers.append('content-length', String(request.body.length))
  return new Exchange({
    id,
    connection: {
      id: 1,
      address: request.source ?? '127.0.0.1',
      port: 1,
      localPort: bind.port,
      ...(secure ? { tls: { sni: request.sni ?? url.hostname, protocol: 'TLSv1.3' } } : {}),
    },
    startedAt: clock.now(),
    startedMono: clock.mono(),
    httpVersion: '1.1',
    request: {
      method: request.method,
      scheme: secure ? 'https' : 'http',
      authority: headers.get('host') ?? url.host,
      path: `${url.pathname}${url.search}`,
      headers,
    },
    body: bodyOf(request.body),
  })
}
