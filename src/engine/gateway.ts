import { randomBytes, randomUUID } from 'node:crypto'
import { bindKey } from '../config/plan-listeners.ts'
import type { Settings } from '../config/settings.ts'
import type { Bind, Snapshot } from '../config/snapshot.ts'
import { BodyMemory } from '../http/body-memory.ts'
import type { Exchange } from '../http/exchange.ts'
import type { Clock, Runtime, Timer } from '../runtime/runtime.ts'
import type { Downstream } from './downstream.ts'
import { HeadSnapshots } from './head-snapshot.ts'
import { type OpenListener, PortListener } from './inbound/listener.ts'
import type { Relay } from './inbound/relay.ts'
import type { ListenerHost } from './inbound/serve-exchange.ts'
import { UdpPort } from './inbound/udp-port.ts'
import type { ProcessLog } from './logging.ts'
import { MetricsRegistry } from './metrics/registry.ts'
import { registerReplicaMetrics } from './observe/replica-metrics.ts'
import { Observer } from './observe.ts'
import type { Serving } from './passage.ts'
import { startPasswordThread } from './passwords/start-password-thread.ts'
import { routeTables } from './route-table.ts'
import { RunningRequests, type RunningWork, runningConnection } from './running-requests.ts'
import { ReloadableState } from './state-store.ts'
import { traceFinished } from './trace/stages.ts'
import type { TraceHub } from './trace-hub.ts'
import { type ConfigurableTransport, type ConnectionSettings, createTransport } from './upstream/transport.ts'
import type { Share } from './workers/share.ts'

export interface GatewayInit {
  readonly clock: Clock
  readonly random: () => number
  readonly log: ProcessLog
  readonly trace: TraceHub
  /** As reported by metrics and telemetry. */
  readonly version?: string
  /** Maps a configured port to the one to open, undefined for none: tests pass `() => 0`. */
  readonly portFor?: (port: number) => number | undefined
  /** Address to listen on; all addresses if unset. */
  readonly host?: string
  /** Called once a port is open that could not be opened before. */
  readonly reopened?: () => void
  /** Set if this is one of several workers on the same ports. */
  readonly share?: Share
}

interface OpenPort {
  readonly listener: OpenListener
  readonly host: ListenerHost
  bind: Bind
  readonly port: number
}

export interface StopLimits {
  /** Minimum ms that the ports stay open, so that load balancers can redirect traffic first. */
  readonly min: number
  /** ms after which in-flight requests are cut off. */
  readonly max: number
}

const UNKNOWN_VERSION = '0'
/** ms after which a port that could not be opened is tried again. */
const REOPEN = 1000
/** ms to wait for what is shutting down; longer than killing a child process takes. */
export const CLOSE_TIMEOUT = 5000

/**
 * Serves the current snapshot. A reload swaps it between two requests: open ports, connections and the state of
 * unchanged objects stay.
 */
export class Gateway {
  readonly runtime: Runtime
  readonly state: ReloadableState
  readonly metrics: MetricsRegistry
  readonly running = new RunningRequests()
  readonly #relays = new Set<Relay>()
  readonly #init: GatewayInit
  readonly #transport: ConfigurableTransport
  readonly #observer: Observer
  readonly #ports = new Map<string, OpenPort>()
  readonly #tickets: Uint8Array
  /** Why ports are not open, by the key of their bind. */
  readonly #failures = new Map<string, string>()
  /** Listeners of ports closed by a reload, until their in-flight requests finish. */
  readonly #leaving = new Set<OpenListener>()
  #serving: Serving | undefined
  #inFlight = 0
  #idle: (() => void) | undefined
  #closing = false
  #lastId = 0

  constructor(init: GatewayInit) {
    this.#init = init
    this.#tickets = init.share?.tickets ?? randomBytes(32)
    this.metrics = new MetricsRegistry(init.share?.announce)
    this.state = new ReloadableState(init.share?.allocate)
    const transport = createTransport({
      clock: init.clock,
      connected: (transport, duration) => this.#observer.connections.connected(transport, duration),
    })
    this.#transport = transport
    this.runtime = {
      clock: init.clock,
      random: init.random,
      uuid: randomUUID,
      transport,
      state: this.state,
      log: init.log.logger('gateway'),
      worker: init.share?.place ?? { index: 0, count: 1 },
      bodies: new BodyMemory(init.share?.bodies, init.share?.place.index),
      passwordThread: startPasswordThread,
      called: (purpose, duration) => this.#observer.called(purpose, duration),
    }
    this.#observer = new Observer({
      records: init.log.recorder('request'),
      log: init.log.logger('telemetry'),
      metrics: this.metrics,
      clock: init.clock,
      bodies: this.runtime.bodies,
      random: init.random,
      uuid: randomUUID,
      version: init.version ?? UNKNOWN_VERSION,
    })
    this.metrics.observed('agentgateway_requests_in_flight', 'Requests being served.', () => this.#inFlight)
    this.metrics.observed(
      'agentgateway_buffered_body_bytes',
      'Bytes of bodies buffered in memory.',
      () => this.runtime.bodies.own,
    )
    // With several workers, their leader reports it.
    if (init.share === undefined)
      registerReplicaMetrics(this.metrics, { workers: () => 1, budgets: () => this.state.budgets() })
  }

  get snapshot(): Snapshot | undefined {
    return this.#serving?.snapshot
  }

  /** The port opened for a configured one. */
  portOf(configured: number, transport: 'tcp' | 'udp' = 'tcp'): number | undefined {
    const datagrams = transport === 'udp'
    return this.#ports.get(bindKey({ port: configured, address: undefined, datagrams }))?.port
  }

  /** Open ports, keyed by configured port. */
  get ports(): ReadonlyMap<number, number> {
    return new Map([...this.#ports.values()].map(({ bind, port }) => [bind.port, port]))
  }

  /** Why ports could not be opened, by the key of their bind; they are tried again. */
  get portFailures(): ReadonlyMap<string, string> {
    return this.#failures
  }

  /**
   * Throws if a port of the first snapshot cannot be opened; on a reload such a port is logged and the rest applies.
   */
  async apply(snapshot: Snapshot): Promise<void> {
    const first = this.#serving === undefined
    if (first) this.#transport.configure(connectionSettings(snapshot.settings))
    this.#serving = {
      snapshot,
      heads: new HeadSnapshots(snapshot.credentials, snapshot.settings.sensitiveHeaders),
      tables: routeTables(snapshot, this.#serving?.tables),
    }
    this.#observer.apply(snapshot)
    this.runtime.bodies.limits = snapshot.bodies.limits
    const wanted = new Map(snapshot.binds.map(bind => [bind.key, bind]))
    for (const [key, open] of this.#ports) {
      const bind = wanted.get(key)
      if (bind) open.bind = bind
      else this.#closePort(key, open)
    }
    for (const key of this.#failures.keys()) if (!wanted.has(key)) this.#failures.delete(key)
    for (const [key, bind] of wanted) {
      if (this.#ports.has(key)) continue
      try {
        await this.#open(key, bind)
      } catch (error) {
        if (first) throw error
        const reason = error instanceof Error ? error.message : String(error)
        this.runtime.log.log('error', 'cannot open a port', { port: bind.port, error: reason })
        this.#failures.set(key, reason)
        this.#later(key)
      }
    }
    this.state.commit()
  }

  /** Tries again to open a port that something else held. */
  #later(key: string): void {
    this.#init.clock.after(REOPEN, () => {
      const bind = this.#serving?.snapshot.binds.find(each => each.key === key)
      if (!bind || this.#ports.has(key) || this.#closing) return
      this.#open(key, bind).catch(() => this.#later(key))
    })
  }

  /** Drains: the ports close after `min`, and what is still open after `max` is cut off. */
  async stop(limits: StopLimits): Promise<void> {
    const { clock } = this.#init
    this.#closing = true
    if (limits.min > 0) await new Promise<void>(resolve => clock.after(limits.min, resolve))
    for (const { listener } of this.#ports.values()) listener.stopAccepting()
    this.state.stopping()
    await this.#within(Math.max(0, limits.max - limits.min), this.#untilIdle())
    if (this.#inFlight > 0)
      this.runtime.log.log('warn', 'requests were cut at the end of the grace period', { requests: this.#inFlight })
    for (const x of this.running.all()) x.error ??= 'cut at the end of the grace period'
    for (const listener of [...this.#leaving, ...[...this.#ports.values()].map(port => port.listener)])
      listener.destroy()
    // Each exchange ends, and is recorded, when its connection has closed.
    await this.#within(CLOSE_TIMEOUT, this.#untilIdle())
    this.#init.trace.close()
    await Promise.all([this.#observer.close(), this.#within(CLOSE_TIMEOUT, this.state.close())])
    await this.runtime.transport.close()
  }

  #untilIdle(): Promise<void> {
    return new Promise(resolve => {
      if (this.#inFlight === 0) resolve()
      else this.#idle = resolve
    })
  }

  async #within(ms: number, done: Promise<void>): Promise<void> {
    let timer: Timer | undefined
    const tooLong = new Promise<void>(resolve => {
      timer = this.#init.clock.after(ms, resolve)
    })
    await Promise.race([done, tooLong])
    timer?.cancel()
  }

  async #open(key: string, bind: Bind): Promise<void> {
    const port = this.#init.portFor ? this.#init.portFor(bind.port) : bind.port
    if (port === undefined) return
    const { share } = this.#init
    const host: ListenerHost = {
      runtime: this.runtime,
      resolver: this.#transport.resolver,
      connections: this.#observer.connections,
      tickets: this.#tickets,
      serving: () => this.#serving!,
      bind: () => this.#ports.get(key)?.bind ?? bind,
      closing: () => this.#closing,
      nextId: share?.nextId ?? (() => ++this.#lastId),
      started: (x, out) => this.#started(x, out),
      finished: x => this.#finished(x),
      refused: x => this.#observer.refused(x),
      relayStarted: relay => {
        this.#inFlight++
        this.#relays.add(relay)
      },
      relayFinished: (relay, record) => {
        this.#relays.delete(relay)
        this.#observer.tcpFinished(record)
        this.#settled()
      },
      ...(share ? { handOver: (x: Exchange, out: Downstream) => this.#handOver(x, out, key, share) } : {}),
    }
    const listener = bind.protocol === 'udp' ? new UdpPort(host) : new PortListener(host)
    const everywhere = this.#serving?.snapshot.settings.ipv6 === false ? '0.0.0.0' : undefined
    const address = await listener.listen({
      port,
      host: bind.address ?? this.#init.host ?? everywhere,
      reusePort: share !== undefined,
    })
    this.#ports.set(key, { listener, host, bind, port: address.port })
    if (this.#failures.delete(key)) this.#init.reopened?.()
  }

  /** Work in progress, for `/debug/tasks`. */
  work(): RunningWork {
    const { clock } = this.#init
    return {
      requests: this.running.report(clock),
      connections: [...this.#relays].map(relay => runningConnection(relay, clock)),
      sessions: this.state.sessions(),
    }
  }

  /** For requests accepted by another worker: this worker's host for the port of that bind. */
  hostOf(bind: string): ListenerHost | undefined {
    const { handOver: _, ...host } = this.#ports.get(bind)?.host ?? {}
    return 'runtime' in host ? (host as ListenerHost) : undefined
  }

  #handOver(x: Exchange, out: Downstream, bind: string, { relay }: Share): { finish(): void } | undefined {
    const handed = relay.handOver(x, out, bind, this.runtime, () => this.#settled())
    if (handed) this.#inFlight++
    return handed
  }

  #closePort(key: string, { listener }: OpenPort): void {
    this.#ports.delete(key)
    this.#leaving.add(listener)
    listener.stopAccepting()
    const limit = this.#serving?.snapshot.settings.terminationMax ?? 5000
    this.#init.clock.after(limit, () => {
      this.#leaving.delete(listener)
      listener.destroy()
    })
  }

  #started(x: Exchange, out: Downstream): void {
    this.#inFlight++
    this.running.add(x)
    x.trace = this.#init.trace.start(x, this.#serving!.heads)
    this.#observer.started(x, out)
  }

  #finished(x: Exchange): void {
    if (x.trace) traceFinished(x)
    // What the log evaluates from here on is not part of the request.
    x.trace = undefined
    this.running.delete(x)
    this.#observer.finished(x)
    this.#settled()
  }

  #settled(): void {
    this.#inFlight--
    if (this.#inFlight === 0) this.#idle?.()
  }
}

function connectionSettings({ poolIdleTimeout, poolMaxSize, lookupFamily }: Settings): ConnectionSettings {
  return { idleTimeout: poolIdleTimeout, ...(poolMaxSize === undefined ? {} : { maxIdle: poolMaxSize }), lookupFamily }
}
