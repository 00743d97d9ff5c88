import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { dispatch } from '../../calls/dispatch.ts'
import type { ConnectionFacts, Exchange } from '../../http/exchange.ts'
import { HeaderList } from '../../http/headers.ts'
import { SocketBody } from '../../http/socket-body.ts'
import type { Target } from '../../http/transport.ts'
import type { Runtime, WorkerPlace } from '../../runtime/runtime.ts'
import { HELD_CALL, ownerOf } from '../../runtime/session-owner.ts'
import type { Downstream } from '../downstream.ts'
import { forwardedHeaders } from '../forwarded-head.ts'
import { exchangeFor, type ListenerHost, serveExchange } from '../inbound/serve-exchange.ts'
import { SocketDownstream } from '../inbound/socket-downstream.ts'
import { replyFor } from '../respond.ts'

/** Carries the facts that a request's head lacks; only workers of the same process can open the sockets. */
const FACTS = 'gwctl-relayed'
const FIELD = 'mcp-session-id'

interface Facts {
  readonly bind: string
  readonly scheme: Exchange['request']['scheme']
  readonly httpVersion: string
  readonly connection: Omit<ConnectionFacts, 'tls'>
  readonly tls?: Omit<TlsFacts, 'certificate'> & { readonly certificate?: string }
}
type TlsFacts = NonNullable<ConnectionFacts['tls']>

/**
 * Relays requests of an MCP session, or that continue a call, to the worker that owns it, before any policy runs: there a request is served as if
 * it had arrived there, so that limits, logs, metrics and traces see it once.
 */
export class SessionRelay {
  readonly #place: WorkerPlace
  readonly #folder: string
  #server: Server | undefined

  /** `folder`: accessible only to this user. */
  constructor(place: WorkerPlace, folder: string) {
    this.#place = place
    this.#folder = folder
  }

  /** Accepts requests from other workers. `hostOf`: the host for a bind key. */
  async open(hostOf: (bind: string) => ListenerHost | undefined): Promise<void> {
    const server = createServer(
      { maxHeaderSize: 256 * 1024, requestTimeout: 0, keepAliveTimeout: 600_000, requireHostHeader: false },
      (req, res) => receive(req, res, hostOf),
    )
    server.maxHeadersCount = 0
    this.#server = server
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(this.#pathOf(this.#place.index), resolve)
    })
  }

  close(): void {
    this.#server?.close()
    this.#server?.closeAllConnections()
  }

  /** Undefined if the request is this worker's own. `done` is called once, at the end. */
  handOver(
    x: Exchange,
    out: Downstream,
    bind: string,
    runtime: Runtime,
    done: () => void,
  ): { finish(): void } | undefined {
    const session = sessionOf(x)
    if (session === undefined) return undefined
    const owner = ownerOf(session, this.#place.count)
    if (owner === this.#place.index) return undefined
    dispatch(runtime, x, this.#target(owner), requestOf(x, bind), {
      head: (status, headers) => out.start(status, headers.raw),
      fail(error) {
        runtime.log.log('warn', "the session's worker does not respond", { worker: owner, error: error.message })
        const reply = replyFor(error)
        if (out.state === 'waiting') out.reply(reply.status, reply.headers, reply.body)
      },
    })
    return {
      finish() {
        x.abort()
        done()
      },
    }
  }

  #target(worker: number): Target {
    const unixPath = this.#pathOf(worker)
    return { key: unixPath, host: 'localhost', port: 0, unixPath, connectTimeout: 5000, named: false, version: '1.1' }
  }

  #pathOf(worker: number): string {
    return join(this.#folder, `worker-${worker}.sock`)
  }
}

/**
 * From the header of Streamable HTTP, the parameter of HTTP+SSE, or the call that the request continues. Upgrades are
 * never part of a session.
 */
function sessionOf({ request, upgrade, body }: Exchange): string | undefined {
  const { headers, method, path } = request
  if (upgrade !== undefined || method === 'CONNECT') return undefined
  const id = headers.get(FIELD)
  if (id !== undefined || method !== 'POST') return id
  return /[?&]sessionId=([^&]+)/.exec(path)?.[1] ?? (headers.has('mcp-method') ? heldCallIn(body) : undefined)
}

const STATE = /"requestState"\s*:\s*"([^"]*)"/g

/** In a body that arrived with its head: only those bodies can be read without waiting. */
function heldCallIn({ arrived }: Exchange['body']): string | undefined {
  if (!arrived?.includes(`"${HELD_CALL}`)) return undefined
  const states = [...arrived.toString('latin1').matchAll(STATE)].map(([, state]) => state)
  return states.find(state => state?.startsWith(HELD_CALL))
}

function requestOf(x: Exchange, bind: string) {
  const { method, path, authority, scheme } = x.request
  const { tls, ...connection } = x.connection
  const facts: Facts = {
    bind,
    scheme,
    httpVersion: x.httpVersion,
    connection,
    ...(tls === undefined ? {} : { tls: written(tls) }),
  }
  const headers = forwardedHeaders(x.request.headers, x.received.headers)
  headers.delete(FACTS)
  headers.append(FACTS, Buffer.from(JSON.stringify(facts)).toString('base64'))
  return { method, path, authority, headers, body: x.body.take() }
}

function written({ certificate, ...facts }: TlsFacts): NonNullable<Facts['tls']> {
  return certificate === undefined ? facts : { ...facts, certificate: certificate.toString('base64') }
}

function read({ certificate, ...facts }: NonNullable<Facts['tls']>): TlsFacts {
  return certificate === undefined ? facts : { ...facts, certificate: Buffer.from(certificate, 'base64') }
}

function receive(req: IncomingMessage, res: ServerResponse, hostOf: (bind: string) => ListenerHost | undefined): void {
  const headers = new HeaderList(req.rawHeaders)
  const facts = JSON.parse(Buffer.from(headers.get(FACTS) ?? '', 'base64').toString()) as Facts
  const host = hostOf(facts.bind)
  if (host === undefined) {
    // A reload closed the port while the request was in transit.
    res.writeHead(503).end()
    return
  }
  const authority = headers.get('host') ?? ''
  const length = headers.get('content-length')
  const chunked = headers.has('transfer-encoding')
  for (const name of [FACTS, 'connection', 'transfer-encoding', 'keep-alive']) headers.delete(name)
  const connection: ConnectionFacts = {
    ...facts.connection,
    ...(facts.tls === undefined ? {} : { tls: read(facts.tls) }),
  }
  const x = exchangeFor(
    {
      connection: { facts: connection, retired: false, retire: undefined },
      httpVersion: facts.httpVersion,
      head: { method: req.method ?? 'GET', scheme: facts.scheme, authority, path: req.url ?? '/', headers },
      body: new SocketBody(req, chunked ? undefined : Number(length ?? 0), host.runtime),
    },
    host,
  )
  const out = new SocketDownstream(res, x)
  const serving = serveExchange(x, out, host)
  res.once('close', () => serving.finish())
}
