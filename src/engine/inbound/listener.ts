import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { runConnection } from '../../calls/run-policies.ts'
import type { Listener, TlsFiles } from '../../config/snapshot.ts'
import { selectByServerName } from '../route-table.ts'
import { plainServerName, readClientHello } from './client-hello.ts'
import { type Connection, openConnection, withProxied, withTls } from './connection.ts'
import { Http1Server } from './http1-server.ts'
import { Http2Server, readPreface } from './http2-server.ts'
import { Prelude } from './prelude.ts'
import { proxyHeaderReader } from './proxy-protocol.ts'
import type { ListenerHost } from './serve-exchange.ts'
import { TcpRelay } from './tcp-relay.ts'
import { TlsServers } from './tls-servers.ts'

/** Deadline in ms for a PROXY header: balancers send it at once. */
const PROXY_TIMEOUT = 5000

export interface ListenPlace {
  readonly port: number
  /** All addresses if unset. */
  readonly host: string | undefined
  /** Other workers listen there too; the kernel distributes the connections. */
  readonly reusePort: boolean
}

/** An open port of either transport. */
export interface OpenListener {
  /** Rejects if the port cannot be opened. */
  listen(place: ListenPlace): Promise<{ readonly port: number }>
  /** Stops accepting; requests and connections in progress continue. */
  stopAccepting(): void
  /** Closes what is left. */
  destroy(): void
}

/** One open port. Connections outlive a reload; each request uses the configuration current at its arrival. */
export class PortListener implements OpenListener {
  readonly #server: Server
  readonly #host: ListenerHost
  readonly #http1: Http1Server
  readonly #http2: Http2Server
  readonly #tls: TlsServers
  readonly #relay: TcpRelay
  readonly #sockets = new Set<Socket>()
  /** Connections whose protocol is not known yet. */
  readonly #early = new Set<Socket>()
  #stopped = false

  constructor(host: ListenerHost) {
    const own: ListenerHost = { ...host, closing: () => this.#stopped || host.closing() }
    this.#host = own
    this.#http1 = new Http1Server(own)
    this.#http2 = new Http2Server(own)
    this.#tls = new TlsServers(host.tickets, host.runtime.clock)
    this.#relay = new TcpRelay(own)
    // Half-open: a client may close its side and still wait for the response.
    this.#server = createServer({ allowHalfOpen: true, noDelay: true }, socket => this.#accept(socket))
  }

  listen({ port, host, reusePort }: ListenPlace): Promise<AddressInfo> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen({ port, reusePort, ...(host === undefined ? {} : { host }) }, () => {
        this.#server.off('error', reject)
        this.#server.on('error', error =>
          this.#host.runtime.log.log('error', 'listener failed', { error: error.message }),
        )
        resolve(this.#server.address() as AddressInfo)
      })
    })
  }

  /** Idle connections are closed. */
  stopAccepting(): void {
    this.#stopped = true
    this.#server.close()
    this.#http1.stop()
    this.#http2.stop()
    for (const socket of this.#early) socket.destroy()
  }

  destroy(): void {
    this.#server.close()
    this.#http1.destroy()
    this.#http2.destroy()
    for (const socket of this.#sockets) socket.destroy()
  }

  #accept(socket: Socket): void {
    this.#sockets.add(socket)
    this.#early.add(socket)
    socket.on('error', () => {})
    socket.once('close', () => {
      this.#sockets.delete(socket)
      this.#early.delete(socket)
    })
    const { clock } = this.#host.runtime
    const { key, protocol, frontend, listeners } = this.#host.bind()
    const { keepAlive, maxConnectionDuration } = frontend
    const secure = listeners.some(listener => listener.protocol === 'HTTPS') ? 'https' : 'tls'
    const meter = this.#host.connections.opened({ bind: key, protocol: protocol === 'tls' ? secure : protocol })
    socket.once('close', () => {
      meter.open.add(-1)
      meter.received.add(socket.bytesRead)
      meter.sent.add(socket.bytesWritten)
    })
    if (keepAlive !== false) socket.setKeepAlive(true, keepAlive.time, keepAlive.interval, keepAlive.retries)
    const connection = openConnection(socket, this.#host.nextId())
    if (maxConnectionDuration > 0) {
      const timer = clock.after(maxConnectionDuration, () => {
        connection.retired = true
        if (connection.retire) connection.retire()
        else socket.destroy()
      })
      socket.once('close', () => timer.cancel())
    }
    this.#receive(socket, connection).catch(this.#failed(socket, connection))
  }

  /** Determines the connection's protocol from its first bytes and the port's configuration. */
  async #receive(socket: Socket, connection: Connection): Promise<void> {
    const { clock } = this.#host.runtime
    const { protocol, frontend, listeners } = this.#host.bind()
    const only = protocol === 'tls' && !frontend.proxyProtocol ? onlyTls(listeners) : undefined
    if (only) return this.#endTls(socket, connection, only)
    const prelude = new Prelude(socket, clock)
    if (frontend.proxyProtocol) {
      const header = await prelude.look(proxyHeaderReader(frontend.proxyProtocol), PROXY_TIMEOUT)
      if (header === undefined) return this.#refuse(socket, connection, 'timed out waiting for the PROXY header')
      if (header !== 'none' && 'refused' in header) return this.#refuse(socket, connection, header.refused)
      if (header !== 'none') connection.facts = withProxied(connection.facts, header)
    }
    if (protocol === 'tls') return this.#receiveTls(socket, connection, prelude)
    if (!(await this.#admitted(socket, connection))) return
    if (protocol === 'tcp') {
      prelude.release()
      const first = this.#host.bind().listeners.find(listener => listener.protocol === 'TCP')
      this.#relayTo(socket, connection, first, undefined)
      return
    }
    // A connection opened ahead of its first request counts as idle, like one between requests.
    const version = await prelude.look(readPreface, frontend.http1.idleTimeout)
    if (version === undefined) {
      socket.destroy()
      return
    }
    prelude.release()
    this.#serveHttp(socket, socket, connection, version)
  }

  async #receiveTls(socket: Socket, connection: Connection, prelude: Prelude): Promise<void> {
    const { listeners, frontend } = this.#host.bind()
    const hello = await prelude.look(readClientHello, frontend.tls.handshakeTimeout)
    if (!hello) return this.#refuse(socket, connection, 'no TLS handshake')
    const { serverName } = hello
    const listener = selectByServerName(this.#host.bind(), serverName)
    if (!listener || (!listener.passthrough && !endsTls(listener))) {
      const reason = `no listener serves ${serverName ?? 'connections without a server name'}`
      // A port that never terminates TLS does not send TLS alerts either.
      return this.#refuse(socket, connection, reason, listeners.some(endsTls) ? { alert: UNRECOGNIZED_NAME } : {})
    }
    prelude.release()
    if (!endsTls(listener)) {
      connection.facts = { ...connection.facts, tls: { sni: serverName, protocol: '' } }
      if (await this.#admitted(socket, connection)) this.#relayTo(socket, connection, listener, serverName)
      return
    }
    this.#endTls(socket, connection, listener)
  }

  #endTls(socket: Socket, connection: Connection, listener: SecureListener): void {
    const { clock } = this.#host.runtime
    const { key, frontend } = this.#host.bind()
    const started = clock.mono()
    this.#tls.accept(socket, listener.tls, frontend.tls.handshakeTimeout, {
      failed: reason => this.#refuse(socket, connection, `TLS handshake failed: ${reason}`),
      secured: secure => {
        const kind = listener.protocol === 'HTTPS' ? 'https' : 'tls'
        this.#host.connections.handshake({ bind: key, protocol: kind, listener }, clock.mono() - started)
        const serverName = secure.servername ? plainServerName(secure.servername) : undefined
        if (serverName === null) return this.#refuse(socket, connection, 'the server name is not a host name')
        connection.facts = withTls(connection.facts, secure, serverName)
        this.#admitted(secure, connection)
          .then(admitted => {
            if (!admitted) return
            if (listener.protocol !== 'HTTPS') this.#relayTo(socket, connection, listener, serverName, secure)
            else this.#serveHttp(socket, secure, connection, secure.alpnProtocol === 'h2' ? '2' : '1')
          })
          .catch(this.#failed(socket, connection))
      },
    })
  }

  /** Runs the connection policies; a rejected connection is closed without a response. */
  async #admitted(socket: Socket, connection: Connection): Promise<boolean> {
    const closedBy = await runConnection(this.#host.bind().connection, connection.facts)
    if (!closedBy) return !socket.destroyed
    this.#refuse(socket, connection, `refused by ${closedBy.policy}`)
    return false
  }

  #serveHttp(raw: Socket, socket: Socket, connection: Connection, version: '1' | '2'): void {
    this.#early.delete(raw)
    if (version === '2') this.#http2.accept(socket, connection)
    else this.#http1.accept(socket, connection)
  }

  #relayTo(
    raw: Socket,
    connection: Connection,
    listener: Listener | undefined,
    serverName: string | undefined,
    socket = raw,
  ): void {
    this.#early.delete(raw)
    if (listener) this.#relay.accept(socket, connection, listener, serverName)
    else socket.destroy()
  }

  #failed(socket: Socket, connection: Connection): (error: unknown) => void {
    return error => this.#refuse(socket, connection, error instanceof Error ? error.message : String(error))
  }

  #refuse(socket: Socket, { facts }: Connection, reason: string, { alert }: { readonly alert?: Buffer } = {}): void {
    this.#host.runtime.log.log('warn', 'connection refused', {
      reason,
      'connection.id': facts.id,
      'src.addr': `${facts.address}:${facts.port}`,
    })
    if (alert && socket.writable) socket.end(alert, () => socket.destroy())
    else socket.destroy()
  }
}

type SecureListener = Listener & { readonly tls: TlsFiles }

function endsTls(listener: Listener): listener is SecureListener {
  return listener.tls !== undefined
}

/** The listener that every connection of a port belongs to, so that the server name is irrelevant. */
function onlyTls(listeners: readonly Listener[]): SecureListener | undefined {
  const [first] = listeners
  return listeners.length === 1 && first?.hostname === '' && endsTls(first) ? first : undefined
}

/** A fatal alert `unrecognized_name` (RFC 6066 section 3), so that the client can report the cause. */
const UNRECOGNIZED_NAME = Buffer.from([0x15, 3, 1, 0, 2, 2, 112])
