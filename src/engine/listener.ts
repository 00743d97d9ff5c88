import { createServer, type IncomingMessage, type Server, ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { createSecureContext, type SecureContext, TLSSocket } from 'node:tls'
import type { Bind, Listener } from '../config/snapshot.ts'
import { type ConnectionFacts, Exchange, type RequestHead } from '../http/exchange.ts'
import { HeaderList } from '../http/headers.ts'
import type { Runtime } from '../http/runtime.ts'
import { handle } from './handle.ts'
import { newPassage, type Passage, type Serving } from './passage.ts'
import { runDone } from './pipeline.ts'
import { SocketBody } from './request-body.ts'
import { selectListener } from './route-table.ts'
import { SocketDownstream } from './socket-downstream.ts'

/** What the sockets of one port need of the gateway around them. */
export interface ListenerHost {
  readonly runtime: Runtime
  serving(): Serving
  bind(): Bind
  /** True once a graceful stop has begun. */
  closing(): boolean
  nextId(): number
  started(x: Exchange): void
  finished(x: Exchange): void
}

const HEAD_LIMIT = 64 * 1024

/** One open port. Connections outlive a reload; each request sees the configuration that was current when it came. */
export class PortListener {
  readonly #server: Server
  readonly #host: ListenerHost
  readonly #sockets = new Set<Duplex>()

  constructor(host: ListenerHost) {
    this.#host = host
    const options = {
      requireHostHeader: true,
      maxHeaderSize: HEAD_LIMIT,
      headersTimeout: 30_000,
      requestTimeout: 0,
      keepAliveTimeout: 600_000,
      noDelay: true,
    }
    this.#server = isTls(host.bind())
      ? createTlsServer({
          ...options,
          ALPNProtocols: ['http/1.1'],
          SNICallback: (name, done) => this.#context(name, done),
          ...defaultCertificate(host.bind()),
        })
      : createServer(options)
    this.#server.maxHeadersCount = 0
    this.#server.on('request', (req, res) => this.#serve(req, res, undefined))
    this.#server.on('upgrade', (req, socket, head) => this.#upgrade(req, socket, head))
    this.#server.on('connect', (req, socket) => this.#upgrade(req, socket, Buffer.alloc(0)))
    this.#server.on('connection', socket => this.#track(socket))
    this.#server.on('clientError', answerBadRequest)
  }

  /** Rejects when the port cannot be opened. */
  listen(port: number, host: string | undefined): Promise<AddressInfo> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen({ port, ...(host === undefined ? {} : { host }) }, () => {
        this.#server.off('error', reject)
        this.#server.on('error', error =>
          this.#host.runtime.log.log('error', 'listener failed', { error: error.message }),
        )
        resolve(this.#server.address() as AddressInfo)
      })
    })
  }

  /** Stops accepting; requests in flight go on, idle connections are closed. */
  stopAccepting(): void {
    this.#server.close()
    this.#server.closeIdleConnections()
  }

  /** Closes what is left. */
  destroy(): void {
    this.#server.close()
    this.#server.closeAllConnections()
    for (const socket of this.#sockets) socket.destroy()
  }

  #context(name: string, done: (error: Error | null, context?: SecureContext) => void): void {
    const { listeners } = this.#host.bind()
    const listener = selectListener(listeners, name.toLowerCase())
    if (!listener?.tls) done(new Error('no listener serves this name'))
    else done(null, createSecureContext(contextOf(listener)))
  }

  #track(socket: Socket): void {
    this.#sockets.add(socket)
    socket.once('close', () => this.#sockets.delete(socket))
    const steps = this.#host.bind().connection
    if (steps.length === 0) return
    const facts = connectionFacts(socket, this.#host.nextId())
    for (const step of steps) {
      if (step.hooks.connection?.(facts) === false) {
        socket.destroy()
        return
      }
    }
  }

  #upgrade(req: IncomingMessage, socket: Duplex, head: Buffer): void {
    const res = new ServerResponse(req)
    res.assignSocket(socket as Socket)
    res.shouldKeepAlive = false
    // Node leaves a socket that it has handed over to its new owner, who must end it after an ordinary reply.
    res.on('finish', () => {
      if (res.socket) socket.end()
    })
    if (head.length > 0) socket.unshift(head)
    const tokens = (req.headers.connection ?? '').toLowerCase()
    const protocol =
      req.method !== 'CONNECT' && tokens.includes('upgrade') ? req.headers.upgrade?.toLowerCase() : undefined
    this.#serve(req, res, protocol)
  }

  #serve(req: IncomingMessage, res: ServerResponse, upgrade: string | undefined): void {
    const host = this.#host
    const { runtime } = host
    const head = requestHead(req)
    const x = new Exchange({
      id: String(host.nextId()),
      connection: connectionFacts(req.socket, 0),
      startedAt: runtime.clock.now(),
      startedMono: runtime.clock.mono(),
      httpVersion: req.httpVersion,
      request: head ?? {
        method: req.method ?? 'GET',
        scheme: 'http',
        authority: '',
        path: '/',
        headers: new HeaderList(req.rawHeaders),
      },
      body: new SocketBody(req, bodyLength(req, upgrade)),
    })
    x.upgrade = upgrade
    const out = new SocketDownstream(res, x, () => host.closing())
    const passage = newPassage()
    res.once('close', () => finish(x, passage, out, host))
    if (head === undefined) {
      out.reply(400, ['content-type', 'text/plain', 'connection', 'close'], 'invalid request')
      return
    }
    host.started(x)
    void handle(x, host.bind(), host.serving(), out, passage, runtime)
  }
}

/** The end of an exchange: the last byte has gone, or the client has. */
function finish(x: Exchange, passage: Passage, out: SocketDownstream, host: ListenerHost): void {
  if (out.state !== 'ended') {
    x.error ??= 'the client left'
    x.abort()
  }
  out.state = 'ended'
  passage.deadline?.cancel()
  x.endedMono = host.runtime.clock.mono()
  runDone(passage.backend?.pipeline, x)
  runDone(passage.route, x)
  runDone(passage.listener, x)
  host.finished(x)
}

/** Undefined for a request that two readers could take for two different ones. */
function requestHead(req: IncomingMessage): RequestHead | undefined {
  const headers = new HeaderList(req.rawHeaders)
  let authority = ''
  let hosts = 0
  const raw = req.rawHeaders
  for (let i = 0; i < raw.length; i += 2) {
    if (raw[i]!.length === 4 && raw[i]!.toLowerCase() === 'host') {
      hosts++
      authority = raw[i + 1]!
    }
  }
  if (hosts > 1 || /[\s/@?#\\]/.test(authority)) return undefined
  const scheme = req.socket instanceof TLSSocket ? 'https' : 'http'
  const target = req.url ?? '/'
  const absolute = target.startsWith('/') || target === '*' ? null : /^(https?):\/\/([^/?#]*)(.*)$/i.exec(target)
  if (absolute)
    return {
      method: req.method!,
      scheme: absolute[1]!.toLowerCase() as 'http' | 'https',
      authority: absolute[2]!,
      path: absolute[3]!.startsWith('/') ? absolute[3]! : `/${absolute[3]}`,
      headers,
    }
  if (!target.startsWith('/') && target !== '*' && req.method !== 'CONNECT') return undefined
  return { method: req.method!, scheme, authority, path: target, headers }
}

function bodyLength(req: IncomingMessage, upgrade: string | undefined): number | undefined {
  if (upgrade !== undefined) return 0
  const length = req.headers['content-length']
  if (length !== undefined) return Number(length)
  return req.headers['transfer-encoding'] === undefined ? 0 : undefined
}

function connectionFacts(socket: Socket, id: number): ConnectionFacts {
  const facts = {
    id,
    address: plainAddress(socket.remoteAddress ?? ''),
    port: socket.remotePort ?? 0,
    localPort: socket.localPort ?? 0,
  }
  if (!(socket instanceof TLSSocket)) return facts
  const certificate = socket.getPeerCertificate(false)
  return {
    ...facts,
    tls: {
      sni: typeof socket.servername === 'string' ? socket.servername : undefined,
      protocol: socket.getProtocol() ?? '',
      ...(certificate?.raw ? { certificate: certificate.raw } : {}),
    },
  }
}

/** A dual-stack port reports IPv4 clients by their mapped address. */
function plainAddress(address: string): string {
  return address.startsWith('::ffff:') ? address.slice(7) : address
}

function answerBadRequest(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy()
    return
  }
  const [status, text] =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? [431, 'Request Header Fields Too Large']
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? [408, 'Request Timeout']
        : [400, 'Bad Request']
  const body = text === 'Bad Request' ? 'invalid request' : (text as string).toLowerCase()
  socket.end(
    `HTTP/1.1 ${status} ${text}\r\ncontent-type: text/plain\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`,
  )
}

function isTls(bind: Bind): boolean {
  return bind.listeners.some(l => l.protocol === 'HTTPS')
}

function defaultCertificate(bind: Bind) {
  const fallback = bind.listeners.find(l => l.hostname === '' && l.tls)
  return fallback ? contextOf(fallback) : {}
}

function contextOf(listener: Listener) {
  const tls = listener.tls!
  return {
    cert: tls.cert,
    key: tls.key,
    ...(tls.ca ? { ca: tls.ca, requestCert: true, rejectUnauthorized: true } : {}),
    minVersion: tls.minVersion ?? ('TLSv1.2' as const),
    ...(tls.maxVersion ? { maxVersion: tls.maxVersion } : {}),
  }
}
