import type { Socket } from 'node:net'
import type { Listener } from '../../config/snapshot.ts'
import type { Target } from '../../http/transport.ts'
import type { Timer } from '../../runtime/runtime.ts'
import { pickBackend } from '../call-backend.ts'
import { selectTcpRoute } from '../route-table.ts'
import { Dialer, type Dialing } from '../upstream/dial.ts'
import { connectFailure } from '../upstream/failure.ts'
import type { Connection } from './connection.ts'
import { breakOff } from './join-streams.ts'
import { type Relay, recordOf } from './relay.ts'
import type { ListenerHost } from './serve-exchange.ts'

/** Relays raw connections to a backend chosen by the listener's TCP routes. */
export class TcpRelay {
  readonly #host: ListenerHost
  readonly #dialing: Dialing
  readonly #dialers = new WeakMap<Target, Dialer>()

  constructor(host: ListenerHost) {
    this.#host = host
    const { resolver, runtime, connections } = host
    this.#dialing = {
      resolver,
      clock: runtime.clock,
      connected: (transport, duration) => connections.connected(transport, duration),
    }
  }

  /** `socket` may be paused; nothing has been read from it. */
  accept(socket: Socket, connection: Connection, listener: Listener, serverName: string | undefined): void {
    const { runtime } = this.#host
    const route = selectTcpRoute(listener.tcpRoutes, serverName)
    const chosen = route && pickBackend(route, runtime)
    // Evaluated once: the next call may return another endpoint.
    const target = chosen?.backend.targetFor ? chosen.backend.targetFor(serverName) : chosen?.backend.target
    const relay: Relay = {
      protocol: 'tcp',
      source: `${connection.facts.address}:${connection.facts.port}`,
      listener,
      route,
      endpoint: target && (target.unixPath ?? `${target.host}:${target.port}`),
      serverName,
      startedMono: runtime.clock.mono(),
      connected: false,
      received: 0,
      sent: 0,
      error: undefined,
    }
    this.#host.relayStarted(relay)
    socket.once('close', () => {
      this.#host.relayFinished(relay, recordOf(relay, runtime.clock.mono() - relay.startedMono))
    })
    if (!target) {
      relay.error = route ? 'no valid backends' : 'route not found'
      socket.destroy()
      return
    }
    connection.retire = () => socket.destroy()
    this.#join(socket, target, relay)
  }

  #join(socket: Socket, target: Target, relay: Relay): void {
    let upstream: Socket
    let dialer: Dialer
    try {
      dialer = this.#dialers.get(target) ?? new Dialer(target, target.tls?.alpn ?? [], this.#dialing, true)
      this.#dialers.set(target, dialer)
      upstream = dialer.open()
    } catch (error) {
      relay.error = connectFailure(error).message
      socket.destroy()
      return
    }
    const limit: Timer = this.#host.runtime.clock.after(target.connectTimeout, () => {
      relay.error = 'upstream connect timed out'
      upstream.destroy()
    })
    upstream.once(dialer.secure ? 'secureConnect' : 'connect', () => {
      relay.connected = true
      limit.cancel()
      socket.on('data', (chunk: Buffer) => {
        relay.received += chunk.length
      })
      upstream.on('data', (chunk: Buffer) => {
        relay.sent += chunk.length
      })
      // Each direction ends on its own.
      socket.pipe(upstream)
      upstream.pipe(socket)
      socket.resume()
    })
    upstream.on('error', error => {
      relay.error ??= relay.connected ? error.message : connectFailure(error).message
    })
    upstream.once('close', () => {
      limit.cancel()
      // The last bytes are still on their way to the client.
      if (!relay.error) socket.destroySoon()
      else if (relay.connected) breakOff(socket)
      else socket.destroy()
    })
    socket.once('close', broken => {
      if (broken) breakOff(upstream)
      else upstream.destroy()
    })
  }
}
