import { createSocket, type RemoteInfo, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { isIPv6 } from 'node:net'
import { runConnection } from '../../calls/run-policies.ts'
import type { Listener, TcpRoute } from '../../config/snapshot.ts'
import type { Target } from '../../http/transport.ts'
import type { Timer } from '../../runtime/runtime.ts'
import { pickBackend } from '../call-backend.ts'
import type { ConnectionMeter } from '../observe/connection-metrics.ts'
import { selectTcpRoute } from '../route-table.ts'
import { checkLiteral } from '../upstream/dns.ts'
import { connectFailure } from '../upstream/failure.ts'
import { plainAddress } from './connection.ts'
import type { ListenPlace, OpenListener } from './listener.ts'
import { type Relay, recordOf } from './relay.ts'
import type { ListenerHost } from './serve-exchange.ts'

/** ms without a datagram in either direction after which a session ends. */
const IDLE = 60_000
/** The same once the port accepts no new clients: prompt responses are still delivered. */
const LEAVING = 1000
/** Sessions per port; each takes a socket. Source addresses can be spoofed, so the longest idle session is evicted. */
const MAX_SESSIONS = 4096
/** Datagrams that a session holds until its backend is reachable; the rest is dropped, as on any hop. */
const HELD = 32

/** The datagrams between one client and one endpoint. */
interface Session {
  readonly key: string
  readonly client: RemoteInfo
  readonly relay: Relay
  readonly meter: ConnectionMeter
  readonly target: Target | undefined
  /** The configuration for which the endpoint was last validated. */
  snapshot: object
  lastMono: number
  /** Set until the endpoint is reachable. */
  held: Buffer[] | undefined
  upstream: Socket | undefined
  over: boolean
}

/**
 * One open UDP port. A client is an address and port; its datagrams go to the backend first chosen by the listener's
 * routes, as long as that exists. A reload ends only the sessions whose backend it removes.
 */
export class UdpPort implements OpenListener {
  readonly #host: ListenerHost
  /** Longest idle first. */
  readonly #sessions = new Map<string, Session>()
  #socket: Socket | undefined
  #timer: Timer | undefined
  #stopped = false

  constructor(host: ListenerHost) {
    this.#host = host
  }

  async listen(place: ListenPlace): Promise<{ readonly port: number }> {
    const socket = await openSocket(place)
    const { log } = this.#host.runtime
    socket.on('error', error => log.log('error', 'listener failed', { error: error.message }))
    socket.on('message', (bytes, client) => this.#receive(bytes, client))
    this.#socket = socket
    return { port: socket.address().port }
  }

  stopAccepting(): void {
    this.#stopped = true
    // A reload that has taken the port away may give it to another bind at once.
    if (this.#sessions.size > 0 && this.#host.closing()) this.#watch()
    else this.destroy()
  }

  destroy(): void {
    for (const session of this.#sessions.values()) this.#end(session, undefined)
    this.#close()
  }

  #close(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    this.#socket?.close()
    this.#socket = undefined
  }

  #receive(bytes: Buffer, client: RemoteInfo): void {
    const key = `${client.address}#${client.port}`
    let session = this.#sessions.get(key)
    if (session && !this.#stillRight(session)) {
      this.#end(session, undefined)
      session = undefined
    }
    session ??= this.#open(key, client)
    if (!session) return
    this.#touch(session)
    session.relay.received += bytes.length
    if (session.upstream) session.upstream.send(bytes)
    else if (session.held && session.held.length < HELD) session.held.push(bytes)
  }

  /** Whether the route still has the session's backend. */
  #stillRight(session: Session): boolean {
    const { snapshot } = this.#host.serving()
    const { maxConnectionDuration } = this.#host.bind().frontend
    const age = this.#host.runtime.clock.mono() - session.relay.startedMono
    if (maxConnectionDuration > 0 && age > maxConnectionDuration) return false
    if (session.snapshot === snapshot) return true
    if (session.upstream === undefined && session.held === undefined) return false
    const backends = this.#route()?.route?.backends ?? []
    const found = backends.some(({ weight, backend }) => {
      const target = backend.targetFor ? backend.targetFor(undefined) : backend.target
      return weight > 0 && target !== undefined && nameOf(target) === session.relay.endpoint
    })
    session.snapshot = snapshot
    return found
  }

  #route(): { readonly listener: Listener; readonly route: TcpRoute | undefined } | undefined {
    const listener = this.#host.bind().listeners.find(({ protocol }) => protocol === 'UDP')
    return listener && { listener, route: selectTcpRoute(listener.tcpRoutes, undefined) }
  }

  #open(key: string, client: RemoteInfo): Session | undefined {
    const found = this.#route()
    if (this.#stopped || !found) return undefined
    const { listener, route } = found
    const { runtime, connections } = this.#host
    const chosen = route && pickBackend(route, runtime)
    const target = chosen?.backend.targetFor ? chosen.backend.targetFor(undefined) : chosen?.backend.target
    const startedMono = runtime.clock.mono()
    const session: Session = {
      key,
      client,
      target,
      relay: {
        protocol: 'udp',
        source: `${plainAddress(client.address)}:${client.port}`,
        listener,
        route,
        endpoint: target && nameOf(target),
        serverName: undefined,
        startedMono,
        connected: false,
        received: 0,
        sent: 0,
        error: undefined,
      },
      meter: connections.opened({ bind: this.#host.bind().key, protocol: 'udp', listener }),
      snapshot: this.#host.serving().snapshot,
      lastMono: startedMono,
      held: [],
      upstream: undefined,
      over: false,
    }
    const [idlest] = this.#sessions.values()
    if (idlest && this.#sessions.size >= MAX_SESSIONS) this.#end(idlest, 'evicted by another session')
    this.#sessions.set(key, session)
    this.#host.relayStarted(session.relay)
    void this.#reach(session, route !== undefined).catch((error: unknown) =>
      this.#unreachable(session, connectFailure(error).message),
    )
    return session
  }

  async #reach(session: Session, routed: boolean): Promise<void> {
    const { address, port } = session.client
    const local = this.#socket!.address()
    const closedBy = await runConnection(this.#host.bind().connection, {
      id: this.#host.nextId(),
      address: plainAddress(address),
      port,
      localAddress: plainAddress(local.address),
      localPort: local.port,
    })
    if (closedBy) return this.#unreachable(session, `refused by ${closedBy.policy}`)
    const { target } = session
    if (!target) return this.#unreachable(session, routed ? 'no valid backends' : 'route not found')
    if (target.unixPath !== undefined) return this.#unreachable(session, 'Unix sockets are not supported for UDP')
    checkLiteral(target)
    const [found] = await this.#host.resolver.addresses(target.host, target.permits)
    if (session.over) return
    const upstream = createSocket(found!.family === 6 ? 'udp6' : 'udp4')
    // A closed port now says nothing about the next datagram.
    upstream.on('error', error => {
      session.relay.error = connectFailure(error).message
    })
    upstream.on('message', bytes => this.#answer(session, bytes))
    upstream.connect(target.port, found!.address, (error?: Error) => {
      if (error) this.#unreachable(session, connectFailure(error).message)
      if (error || session.over) {
        upstream.close()
        return
      }
      session.upstream = upstream
      session.relay.connected = true
      for (const bytes of session.held ?? []) upstream.send(bytes)
      session.held = undefined
    })
  }

  /** Kept until idle, so that a client that keeps sending costs one record rather than one per datagram. */
  #unreachable(session: Session, reason: string): void {
    session.relay.error = reason
    session.held = undefined
  }

  #answer(session: Session, bytes: Buffer): void {
    if (session.over) return
    this.#touch(session)
    session.relay.sent += bytes.length
    session.relay.error = undefined
    this.#socket?.send(bytes, session.client.port, session.client.address, () => {})
  }

  #touch(session: Session): void {
    session.lastMono = this.#host.runtime.clock.mono()
    this.#sessions.delete(session.key)
    this.#sessions.set(session.key, session)
    if (!this.#timer) this.#watch()
  }

  /** Ends sessions that were idle too long, and rearms the timer for the next. */
  #watch(): void {
    const { clock } = this.#host.runtime
    const limit = this.#stopped ? LEAVING : IDLE
    this.#timer?.cancel()
    this.#timer = undefined
    for (const session of this.#sessions.values()) {
      const left = session.lastMono + limit - clock.mono()
      if (left > 0) {
        this.#timer = clock.after(left, () => this.#watch())
        return
      }
      this.#end(session, undefined)
    }
    if (this.#stopped) this.#close()
  }

  #end(session: Session, error: string | undefined): void {
    if (session.over) return
    session.over = true
    this.#sessions.delete(session.key)
    const { relay, meter, upstream } = session
    upstream?.close()
    relay.error ??= error
    meter.open.add(-1)
    meter.received.add(relay.received)
    meter.sent.add(relay.sent)
    this.#host.relayFinished(relay, recordOf(relay, this.#host.runtime.clock.mono() - relay.startedMono))
  }
}

function nameOf({ host, port }: Target): string {
  return `${host}:${port}`
}

/** Binds to all addresses, of both families if available, unless `host` is set. */
async function openSocket({ port, host, reusePort }: ListenPlace): Promise<Socket> {
  try {
    return await bound(port, host ?? '::', reusePort)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (host !== undefined || (code !== 'EAFNOSUPPORT' && code !== 'EADDRNOTAVAIL')) throw error
    return bound(port, '0.0.0.0', reusePort)
  }
}

async function bound(port: number, address: string, reusePort: boolean): Promise<Socket> {
  const socket = createSocket({ type: isIPv6(address) ? 'udp6' : 'udp4', reusePort })
  try {
    await once(socket.bind({ port, address }), 'listening')
    return socket
  } catch (error) {
    socket.close()
    throw error
  }
}

/** The port that would be opened; rejects if it is taken. */
export async function probeDatagrams(port: number, host: string | undefined): Promise<number> {
  const socket = await openSocket({ port, host, reusePort: false })
  const { port: opened } = socket.address()
  socket.close()
  return opened
}
