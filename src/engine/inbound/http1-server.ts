import { createServer, type IncomingMessage, type Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { GatewayError } from '../../http/errors.ts'
import type { Connection } from './connection.ts'
import { DRAIN_LIMIT, drainRequest } from './drain-request.ts'
import { readHttp1Head } from './http1-head.ts'
import { SocketBody } from './request-body.ts'
import { exchangeFor, type ListenerHost, serveExchange } from './serve-exchange.ts'
import { SocketDownstream } from './socket-downstream.ts'

/** bytes. */
const HEAD_LIMIT = 64 * 1024
/** ms from the first byte of a request, or from the connection, to the end of its head. */
const HEAD_TIMEOUT = 30_000

interface Http1Connection {
  readonly connection: Connection
  /** Replies to come. */
  readonly replies: Set<ServerResponse>
  /** The last reply is on its way: what follows on the connection is not looked at any more. */
  ending: boolean
}

/** HTTP/1 on sockets that somebody else has accepted, in plaintext or with TLS ended. */
export class Http1Server {
  readonly #host: ListenerHost
  readonly #server: Server
  readonly #connections = new WeakMap<Duplex, Http1Connection>()

  constructor(host: ListenerHost) {
    this.#host = host
    this.#server = createServer({
      requireHostHeader: true,
      maxHeaderSize: HEAD_LIMIT,
      headersTimeout: HEAD_TIMEOUT,
      connectionsCheckingInterval: 5000,
      requestTimeout: 0,
      // An upgrade to HTTP/2 was withdrawn from the protocol (RFC 9113 section 3.1): such requests stay as they are.
      shouldUpgradeCallback: req => req.headers.upgrade?.toLowerCase() !== 'h2c',
    })
    // Fields beyond this number would be dropped in silence; they are counted and refused instead.
    this.#server.maxHeadersCount = 0
    this.#server.on('request', (req, res) => this.#serve(req, res, undefined, false))
    this.#server.on('checkContinue', (req, res) => this.#serve(req, res, undefined, true))
    this.#server.on('upgrade', (req, socket, head) => this.#upgrade(req, socket, head))
    this.#server.on('connect', (req, socket) => this.#upgrade(req, socket, EMPTY))
    this.#server.on('clientError', (error, socket) => answerBadRequest(error, socket, this.#connections.get(socket)))
    // It never listens itself; this starts the watch over heads that take too long.
    this.#server.emit('listening')
  }

  accept(socket: Socket, connection: Connection): void {
    const held: Http1Connection = { connection, replies: new Set(), ending: false }
    this.#connections.set(socket, held)
    connection.retire = () => {
      if (held.replies.size === 0) socket.destroySoon()
    }
    this.#server.keepAliveTimeout = this.#host.bind().frontend.http1.idleTimeout
    this.#server.emit('connection', socket)
    socket.resume()
  }

  /** Requests in progress go on, idle connections are closed. */
  stop(): void {
    this.#server.close()
  }

  destroy(): void {
    this.#server.close()
    this.#server.closeAllConnections()
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
    this.#serve(req, res, req.method === 'CONNECT' ? undefined : req.headers.upgrade?.toLowerCase(), false, true)
  }

  #serve(
    req: IncomingMessage,
    res: ServerResponse,
    upgrade: string | undefined,
    waits: boolean,
    detached = false,
  ): void {
    const host = this.#host
    const held = this.#connections.get(req.socket)
    if (!held) {
      res.destroy()
      return
    }
    if (held.ending) return
    const { connection } = held
    const { maxHeaders, preserveCase } = host.bind().frontend.http1
    const { head, length, problem } = readHttp1Head(req, connection.facts.tls !== undefined, preserveCase)
    let waiting = waits
    const body = new SocketBody(
      req,
      upgrade !== undefined || detached ? 0 : length,
      waits
        ? () => {
            waiting = false
            if (!res.headersSent && !res.destroyed) res.writeContinue()
          }
        : undefined,
    )
    const x = exchangeFor({ connection, httpVersion: req.httpVersion, head, body, upgrade }, host)
    const out = new SocketDownstream(res, x, {
      // A client that was not asked for its body, or has much of it left, may have sent a part: nothing can follow it.
      closes: () => {
        held.ending ||=
          host.closing() || connection.retired || waiting || (!req.complete && (length ?? 0) > DRAIN_LIMIT)
        return held.ending
      },
    })
    held.replies.add(res)
    if (!detached) res.prependListener('finish', () => drainRequest(req, res, host.runtime.clock))
    const tooMany = req.rawHeaders.length > 2 * maxHeaders
    const refusal = tooMany
      ? new GatewayError('headersTooLarge')
      : problem === undefined
        ? undefined
        : new GatewayError('invalidRequest')
    if (refusal) held.ending = true
    res.once('close', () => {
      held.replies.delete(res)
      serving.finish()
      if (connection.retired && held.replies.size === 0 && !req.socket.destroyed && !out.joined)
        req.socket.destroySoon()
    })
    const serving = serveExchange(x, out, host, refusal)
  }
}

const EMPTY = Buffer.alloc(0)

function answerBadRequest(error: NodeJS.ErrnoException, socket: Duplex, held: Http1Connection | undefined): void {
  // More came after the last request: its reply goes out all the same.
  if (held && held.replies.size > 0 && error.code === 'HPE_CLOSED_CONNECTION') return
  const replying = held !== undefined && [...held.replies].some(res => res.headersSent)
  // Into a reply that has begun, another one would be read as a part of it.
  if (replying || !socket.writable || error.code === 'ECONNRESET') {
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
    () => socket.destroy(),
  )
}
