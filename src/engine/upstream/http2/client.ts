import { Readable } from 'node:stream'
import { GatewayError } from '../../../http/errors.ts'
import type { HeaderList } from '../../../http/headers.ts'
import type { ChunkSink, ResponseHandler, Target, Transport, UpstreamRequest } from '../../../http/transport.ts'
import type { Clock } from '../../../runtime/runtime.ts'
import { Deadlines, Timed } from '../deadlines.ts'
import { Dialer } from '../dial.ts'
import type { Resolver } from '../dns.ts'
import { connectFailure, connectTimedOut, requestFailure } from '../failure.ts'
import { lineProblem } from '../http1-request.ts'
import { Http2Call, type Http2Caller } from './call.ts'
import { type ConnectionOwner, Http2Connection, type Shared } from './connection.ts'
import { Huffman } from './huffman.ts'

export interface Http2Options {
  readonly clock: Clock
  /** ms that an idle connection is kept. */
  readonly idleTimeout: number
  readonly resolver: Resolver
}

/** Targets whose server negotiated HTTP/1.1; beyond this number they are negotiated again. */
const MAX_REMEMBERED = 1000

/** Size of the buffer that sockets are read into. */
const READ = 64 * 1024

/** HTTP/2 in plaintext and over TLS, falling back to `http1` if the server does not support it. */
export function createHttp2Transport(options: Http2Options, http1: Transport): Transport {
  return new Http2Transport(options, http1)
}

class Http2Transport implements Transport, Shared {
  readonly options: Http2Options
  readonly clock: Clock
  readonly http1: Transport
  readonly deadlines: Deadlines
  readonly huffman = new Huffman()
  readonly buffer = Buffer.allocUnsafeSlow(READ)
  readonly #pools = new Map<string, Pool>()
  /** Targets that support only HTTP/1.1. */
  readonly #older = new Map<string, Target>()
  #waiting: Dispatched[] = []
  #flushing: Http2Connection[] = []
  #scheduled = false
  #closed = false

  constructor(options: Http2Options, http1: Transport) {
    this.options = options
    this.clock = options.clock
    this.http1 = http1
    this.deadlines = new Deadlines(options.clock)
  }

  dispatch(target: Target, request: UpstreamRequest, on: ResponseHandler): { cancel(): void } {
    const known = this.#older.get(target.key)
    if (known) return this.http1.dispatch(known, request, on)
    return new Dispatched(this, target, request, on)
  }

  async close(): Promise<void> {
    this.#closed = true
    for (const pool of this.#pools.values()) pool.close()
    this.deadlines.close()
  }

  pool(target: Target): Pool {
    let pool = this.#pools.get(target.key)
    if (!pool) {
      pool = new Pool(this, target)
      this.#pools.set(target.key, pool)
    }
    return pool
  }

  forget(pool: Pool): void {
    this.#pools.delete(pool.target.key)
  }

  /** Remembers that `target` supports only HTTP/1.1, and returns it for that version. */
  older(target: Target): Target {
    if (this.#older.size >= MAX_REMEMBERED) this.#older.clear()
    const { key } = target
    const older: Target = { ...target, key: `${key}#1.1`, version: '1.1' }
    this.#older.set(key, older)
    return older
  }

  /** Starts `call` at the end of this turn: the caller gets its handle before any callback. */
  wait(call: Dispatched): void {
    this.#waiting.push(call)
    this.#schedule()
  }

  flushLater(connection: Http2Connection): void {
    connection.flushing = true
    this.#flushing.push(connection)
    this.#schedule()
  }

  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(this.#turn)
  }

  /** Runs once per iteration of the event loop, so that each connection sends all its frames in one write. */
  #turn = (): void => {
    const waiting = this.#waiting
    this.#waiting = []
    try {
      for (const call of waiting) {
        if (this.#closed) call.fail(new GatewayError('shuttingDown'))
        else call.assign()
      }
    } finally {
      const flushing = this.#flushing
      this.#flushing = []
      this.#scheduled = false
      for (const connection of flushing) connection.flush()
      if (this.#waiting.length > 0) this.#schedule()
    }
  }
}

/** The connections to one target. */
class Pool implements ConnectionOwner {
  readonly target: Target
  readonly #transport: Http2Transport
  readonly #connections: Http2Connection[] = []
  readonly #idle = new Map<Http2Connection, Idle>()
  readonly #waiting = new Set<Dispatched>()
  #dialing: Attempt | undefined
  #dialer: Dialer | undefined

  constructor(transport: Http2Transport, target: Target) {
    this.#transport = transport
    this.target = target
  }

  assign(call: Dispatched): void {
    for (let i = this.#connections.length - 1; i >= 0; i--) {
      const connection = this.#connections[i]!
      if (!connection.takes) continue
      call.start(connection)
      return
    }
    this.#waiting.add(call)
    if (!this.#dialing) this.#dial()
  }

  drop(call: Dispatched): void {
    this.#waiting.delete(call)
    this.#settle()
  }

  close(): void {
    const error = new GatewayError('shuttingDown')
    for (const connection of [...this.#connections]) connection.destroy(error)
    this.#fail(error)
  }

  changed(connection: Http2Connection): void {
    const idle = this.#idle.get(connection)
    if (idle === undefined) return
    const { deadlines, options } = this.#transport
    if (connection.calls === 0) deadlines.arm(idle, options.idleTimeout)
    else deadlines.disarm(idle)
  }

  room(connection: Http2Connection): void {
    const attempt = this.#dialing
    if (attempt?.connection === connection) {
      this.#transport.deadlines.disarm(attempt)
      this.#dialing = undefined
    }
    for (const call of this.#waiting) {
      if (!connection.takes) break
      this.#waiting.delete(call)
      call.start(connection)
    }
    // The server accepts no streams at all.
    if (connection.calls === 0 && !connection.takes) {
      connection.retire()
      this.#fail(new GatewayError('upstreamFailed', { detail: 'the server accepts no streams', retryable: true }))
    } else if (this.#waiting.size > 0 && !this.#dialing) this.#dial()
  }

  gone(connection: Http2Connection, error: Error): void {
    const idle = this.#idle.get(connection)
    if (idle) this.#transport.deadlines.disarm(idle)
    this.#idle.delete(connection)
    const at = this.#connections.indexOf(connection)
    if (at >= 0) this.#connections.splice(at, 1)
    if (this.#dialing?.connection === connection) this.#fail(error)
    else this.#settle()
  }

  #dial(): void {
    const attempt = new Attempt(() => this.#fail(connectTimedOut()))
    this.#dialing = attempt
    const { deadlines, options } = this.#transport
    try {
      const { target } = this
      this.#dialer ??= new Dialer(target, protocolsOf(target), options)
      const dialer = this.#dialer
      const { secure } = dialer
      const connection = new Http2Connection(this, this.#transport, secure, at => dialer.open(at), dialer.streams)
      const { socket } = connection
      attempt.connection = connection
      deadlines.arm(attempt, target.connectTimeout)
      const onError = (error: Error): void => {
        if (this.#dialing === attempt) this.#fail(connectFailure(error))
      }
      socket.on('error', onError)
      socket.once(secure ? 'secureConnect' : 'connect', () => {
        if (this.#dialing !== attempt) return
        const agreed = secure && 'alpnProtocol' in socket ? socket.alpnProtocol : 'h2'
        if (agreed === 'h2' || target.version === '2') {
          socket.off('error', onError)
          this.#connected(connection)
        } else this.#older(connection)
      })
    } catch (error) {
      this.#fail(connectFailure(error))
    }
  }

  /** The connect timeout covers the server's SETTINGS too. */
  #connected(connection: Http2Connection): void {
    this.#connections.push(connection)
    this.#idle.set(connection, new Idle(connection))
    connection.begin()
    for (const call of this.#waiting) {
      if (!connection.takes) break
      this.#waiting.delete(call)
      call.start(connection)
    }
    this.changed(connection)
  }

  #older(connection: Http2Connection): void {
    this.#stopDialing()
    connection.socket.destroy()
    const older = this.#transport.older(this.target)
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    for (const call of waiting) call.handOver(older)
    this.#settle()
  }

  #stopDialing(): Http2Connection | undefined {
    const attempt = this.#dialing
    this.#dialing = undefined
    if (attempt) this.#transport.deadlines.disarm(attempt)
    return attempt?.connection
  }

  /** Fails everything that is waiting. */
  #fail(error: Error): void {
    this.#stopDialing()?.destroy(error)
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    for (const call of waiting) call.fail(error)
    this.#settle()
  }

  /** A pool is registered while it is non-empty. */
  #settle(): void {
    if (this.#connections.length === 0 && this.#waiting.size === 0 && !this.#dialing) this.#transport.forget(this)
  }
}

/** One request, from dispatch to end. */
class Dispatched extends Timed implements Http2Caller {
  readonly #transport: Http2Transport
  readonly #target: Target
  readonly #request: UpstreamRequest
  readonly #on: ResponseHandler
  #pool: Pool | undefined
  #running: { cancel(): void } | undefined
  #retried = false
  #over = false

  constructor(transport: Http2Transport, target: Target, request: UpstreamRequest, on: ResponseHandler) {
    super()
    this.#transport = transport
    this.#target = target
    this.#request = request
    this.#on = on
    if (request.timeout) transport.deadlines.arm(this, request.timeout)
    transport.wait(this)
  }

  /** Assigns it to a connection, or queues it. */
  assign(): void {
    if (this.#over) return
    const problem = lineProblem(this.#request)
    if (this.#request.upgrade !== undefined) {
      this.fail(new GatewayError('upgradeFailed', { detail: 'HTTP/2 does not support upgrades' }))
    } else if (problem !== undefined) this.fail(requestFailure(problem))
    else {
      this.#pool = this.#transport.pool(this.#target)
      this.#pool.assign(this)
    }
  }

  start(connection: Http2Connection): void {
    try {
      this.#running = new Http2Call(connection, this.#request, this)
    } catch (error) {
      this.fail(error as Error)
    }
  }

  head(status: number, headers: HeaderList): ChunkSink {
    this.#transport.deadlines.disarm(this)
    return this.#on.head(status, headers)
  }

  ended(): void {
    this.#over = true
    this.#transport.deadlines.disarm(this)
  }

  failed(error: Error, unprocessed: boolean): void {
    this.#running = undefined
    if (unprocessed && !this.#retried && !(this.#request.body instanceof Readable)) {
      this.#retried = true
      this.#transport.wait(this)
    } else this.fail(error)
  }

  /** Dispatches it over HTTP/1.1. */
  handOver(target: Target): void {
    if (this.#over) return
    const { clock, deadlines, http1 } = this.#transport
    const left = this.queue === undefined ? {} : { timeout: Math.max(1, this.due - clock.mono()) }
    deadlines.disarm(this)
    this.#running = http1.dispatch(target, { ...this.#request, ...left }, this.#on)
  }

  fail(error: Error): void {
    if (this.#over) return
    this.ended()
    this.#on.fail(error)
  }

  cancel(): void {
    if (this.#over) return
    const running = this.#running
    this.ended()
    if (running) running.cancel()
    else this.#pool?.drop(this)
  }

  override expire(): void {
    if (this.#over) return
    this.cancel()
    this.#on.fail(new GatewayError('upstreamTimeout', { retryable: true }))
  }
}

/** Closes a connection after its idle timeout. */
class Idle extends Timed {
  readonly #connection: Http2Connection
  constructor(connection: Http2Connection) {
    super()
    this.#connection = connection
  }
  override expire(): void {
    this.#connection.retire()
  }
}

/** A connection attempt. */
class Attempt extends Timed {
  connection: Http2Connection | undefined
  readonly #onExpire: () => void
  constructor(onExpire: () => void) {
    super()
    this.#onExpire = onExpire
  }
  override expire(): void {
    this.#onExpire()
  }
}

function protocolsOf(target: Target): readonly string[] {
  return target.version === '2' ? ['h2'] : (target.tls?.alpn ?? ['h2', 'http/1.1'])
}
