import { Readable } from 'node:stream'
import type { Bind } from '../../config/snapshot.ts'
import { Failure } from '../../diagnostics/failure.ts'
import { arrivedExchange } from '../../engine/inbound/arrived-exchange.ts'
import type { Serving } from '../../engine/passage.ts'
import { hostOf } from '../../engine/route-table.ts'
import { dropListed } from '../../engine/upstream/hop-by-hop.ts'
import { readAuthority } from '../../http/authority.ts'
import type { Exchange, RequestHead } from '../../http/exchange.ts'
import { HeaderList } from '../../http/headers.ts'
import { ipVersion } from '../../http/ip-version.ts'
import { isRequestTarget } from '../../http/request-target.ts'
import { type BodyReading, SocketBody } from '../../http/socket-body.ts'
import type { Runtime } from '../../runtime/runtime.ts'
import type { DryCaller } from './stand-in-credentials.ts'

/** A request as plain data. */
export interface DryRequest extends DryCaller {
  readonly method: string
  /** An absolute URL, or a path, whose host is that of the header, the listener or localhost. */
  readonly url: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body?: Buffer | undefined
  /** The configured port that it arrives at. Unset: that of the URL, else the first one with a matching route. */
  readonly port?: number | undefined
  /** The client's address; 127.0.0.1 when unset. */
  readonly source?: string | undefined
  /** The server name of its TLS connection. Unset: the host, unless that is an address. */
  readonly sni?: string | undefined
}

/** The first value of a header; `name` in lower case. */
export function fieldOf(headers: DryRequest['headers'], name: string): string | undefined {
  return headers.find(([each]) => each.toLowerCase() === name)?.[1]
}

/** A request on arrival. */
interface Arrival {
  readonly bind: Bind
  readonly head: RequestHead
}

/** Throws a Failure if no port is open for it. */
export function exchangeOf(id: string, request: DryRequest, serving: Serving, runtime: Runtime): Exchange {
  const { bind, head } = arrivalOf(request, serving)
  const { clock, bodies } = runtime
  bodies.limits = serving.snapshot.bodies.limits
  const connection = {
    id: 1,
    address: request.source ?? '127.0.0.1',
    port: 1,
    localPort: bind.port,
    ...(bind.protocol === 'tls' ? { tls: { sni: request.sni ?? serverName(head), protocol: 'TLSv1.3' } } : {}),
  }
  const arrived = { httpVersion: '1.1', head, body: bodyOf(head, request.body, runtime) }
  return arrivedExchange(id, connection, arrived, clock, serving.snapshot.credentials)
}

/** Not sent for addresses (RFC 6066 section 3). */
function serverName({ authority }: RequestHead): string | undefined {
  const host = hostOf(authority)
  return ipVersion(host.replace(/^\[(.*)\]$/, '$1')) === 0 ? host : undefined
}

/** As from a connection: with limits, and with a known length only if the head states it. */
function bodyOf({ headers }: RequestHead, bytes: Buffer = Buffer.alloc(0), reading: BodyReading): SocketBody {
  return isChunked(headers)
    ? new SocketBody(Readable.from([bytes]), undefined, reading)
    : new SocketBody(bytes, bytes.length, reading)
}

function isChunked(headers: HeaderList): boolean {
  return headers.get('transfer-encoding')?.toLowerCase() === 'chunked'
}

/** The bind that the request arrived at. */
export function bindOf(x: Exchange, { snapshot }: Serving): Bind {
  return snapshot.binds.find(({ port }) => port === x.connection.localPort) as Bind
}

function arrivalOf(request: DryRequest, { snapshot, tables }: Serving): Arrival {
  const asked = askedFor(request)
  const arrivals = snapshot.binds
    .filter(({ listeners }) => listeners.length > 0)
    .map((bind): Arrival => ({ bind, head: headAt(bind, request, asked) }))
  const wanted = request.port ?? asked.port
  if (request.port !== undefined && arrivals.every(({ bind }) => bind.port !== request.port)) {
    const ports = arrivals.map(({ bind }) => bind.port).join(', ')
    throw new Failure('input', `the configuration opens no port ${request.port}, only ${ports || 'none at all'}.`)
  }
  const found =
    arrivals.find(({ bind }) => bind.port === wanted) ?? arrivals.find(each => leads(each, tables)) ?? arrivals[0]
  if (found === undefined) {
    throw new Failure('input', 'the configuration opens no port, so no request can come in.')
  }
  return found
}

interface Asked {
  readonly scheme?: 'http' | 'https'
  readonly authority?: string
  readonly port?: number
  /** As written. */
  readonly path: string
}

/** The destination that a request names. Throws a Failure for a host or path that no gateway would process. */
export function askedFor({ url, headers }: Pick<DryRequest, 'url' | 'headers'>): Asked {
  const host = fieldOf(headers, 'host')
  const named = host === undefined ? {} : { authority: authorityIn(host) }
  if (url.startsWith('/')) return { path: pathIn(url), ...named }
  const parsed = URL.parse(url)
  if (parsed === null) throw unsafeHost(url)
  const path = url.replace(/^[^:]*:\/\/[^/?#]*/, '').replace(/#.*$/s, '')
  const secure = parsed.protocol === 'https:'
  return {
    scheme: secure ? 'https' : 'http',
    authority: authorityIn(parsed.host),
    ...named,
    port: Number(parsed.port) || (secure ? 443 : 80),
    path: pathIn(path.startsWith('/') ? path : `/${path}`),
  }
}

function authorityIn(host: string): string {
  const authority = host === '' ? '' : readAuthority(host)
  if (authority === undefined) throw unsafeHost(host)
  return authority
}

function unsafeHost(host: string): Failure {
  return new Failure('input', `\`${host}\` names no host: a gateway answers 400 without further processing.`)
}

function pathIn(target: string): string {
  if (isRequestTarget(target)) return target
  throw new Failure(
    'input',
    `\`${target}\` is not a request target: a gateway answers 400 without further processing.`,
    {
      help: 'Percent-encode spaces, `#` (%23), `\\` (%5C) and everything that is not ASCII.',
    },
  )
}

function headAt(bind: Bind, { method, headers, body }: DryRequest, asked: Asked): RequestHead {
  const raw = headers.flat()
  dropListed(raw, headers.flatMap(([name, value]) => (name.toLowerCase() === 'connection' ? [value] : [])).join(','))
  const list = new HeaderList(raw, true)
  const authority = asked.authority ?? ownName(bind)
  list.set('host', authority)
  if (body && !list.has('content-length') && !isChunked(list)) list.append('content-length', String(body.length))
  // Whatever terminated TLS in front of this port has not reported it.
  const scheme = bind.protocol === 'tls' ? 'https' : 'http'
  return { method, scheme, authority, path: asked.path, headers: list }
}

/** The default host of clients. */
function ownName({ listeners }: Bind): string {
  const name = listeners.find(({ hostname }) => hostname !== '' && !hostname.startsWith('*'))?.hostname
  return listeners.some(({ hostname }) => hostname === '') ? 'localhost' : (name ?? 'localhost')
}

function leads({ bind, head }: Arrival, tables: Serving['tables']): boolean {
  const host = hostOf(head.authority)
  const listener = bind.listenerFor(host)
  return listener !== undefined && tables.get(listener)?.find(head, host) !== undefined
}
