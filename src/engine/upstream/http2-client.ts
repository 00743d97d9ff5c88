import { Readable } from 'node:stream'
import { GatewayError } from '../../http/errors.ts'
import type { ResponseHandler, Target, Transport, UpstreamRequest } from '../../http/transport.ts'
import type { Clock } from '../../runtime/runtime.ts'
import { Deadlines, Timed } from './deadlines.ts'
import { Dialer } from './dial.ts'
import type { Resolver } from './dns.ts'
import { connectFailure, connectTimedOut, requestFailure } from './failure.ts'
import { lineProblem } from './http1-request.ts'
import { Http2Call } from './http2-call.ts'
import { Http2Connection } from './http2-connection.ts'

export interface Http2Options {
  readonly clock: Clock
  /** ms that an idle connection is kept. */
  readonly idleTimeout: number
  readonly resolver: Resolver
}

/** Targets whose server negotiated HTTP/1.1; beyond this number they are negotiated again. */
const MAX_REMEMBERED = 1000

/** HTTP/2 in plaintext and over TLS, falling back to `http1` if the server does not support it. */
export function createHttp2Transport(options: Http2Options, http1: Transport): Transport {
  const deadlines = new Deadlines(options.clock)
  const pools = new Map<string, Pool>()
  const older = new Map<string, Target>()
  return {
    dispatch(target, request, on) {
      const known = older.get(target.key)
      if (known) return http1.dispatch(known, request, on)
      let pool = pools.get(target.key)
      if (!pool) {
        pool = new Pool(target, options, deadlines, {
          closed: () => pools.delete(target.key),
          speaksOlder() {
            if (older.size >= MAX_REMEMBERED) older.clear()
            const { key } = target
            older.set(key, { ...target, key: `${key}#1.1`, version: '1.1' })
          },
        })
        pools.set(target.key, pool)
      }
      return new Dispatched(pool, request, on, deadlines, due => {
        const agreed = older.get(target.key) as Target
        const left = due === undefined ? {} : { timeout: Math.max(1, due - options.clock.mono()) }
        return http1.dispatch(agreed, { ...request, ...left }, on)
      })
    },
    async close() {
      for (const pool of pools.values()) pool.close()
      deadlines.close()
    },
  }
}

interface PoolEvents {
  closed(): void
  /** The server supports only HTTP/1.1. */
  speaksOlder(): void
}

/** The connections to one target. */
class Pool {
  readonly target: Target
  readonly #options: Http2Options
  readonly #deadlines: Deadlines
  readonly #events: PoolEvents
  readonly #connections: Http2Connection[] = []
  readonly #waiting = new Set<Dispatched>()
  #dialing: Attempt | undefined
  #dialer: Dialer | undefined

  constructor(target: Target, options: Http2Options, deadlines: Deadlines, events: PoolEvents) {
    this.target = target
    this.#options = options
    this.#deadlines = deadlines
    this.#events = events
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

  forget(call: Dispatched): void {
    this.#waiting.delete(call)
    this.#settle()
  }

  close(): void {
    const error = new GatewayError('shuttingDown')
    for (const connection of [...this.#connections]) connection.destroy(error)
    this.#fail(error)
  }

  #dial(): void {
    const attempt = new Attempt(() => this.#fail(connectTimedOut()))
    this.#dialing = attempt
    try {
      const { target } = this
      this.#dialer ??= new Dialer(target, protocolsOf(target), this.#options)
      const secure = this.#dialer.secure
      const socket = this.#dialer.open()
      attempt.socket = socket
      this.#deadlines.arm(attempt, target.connectTimeout)
      socket.once(secure ? 'secureConnect' : 'connect', () => {
        this.#deadlines.disarm(attempt)
        if (this.#dialing !== attempt) return
        this.#dialing = undefined
        const agreed = secure && 'alpnProtocol' in socket ? socket.alpnProtocol : 'h2'
        if (agreed === 'h2' || target.version === '2')
          this.#connected(new Http2Connection(socket, secure, this.#options.clock))
        else {
          socket.destroy()
          this.#older()
        }
      })
      socket.on('error', error => {
        this.#deadlines.disarm(attempt)
        if (this.#dialing === attempt) this.#fail(connectFailure(error))
      })
    } catch (error) {
      this.#fail(connectFailure(error))
    }
  }

  #connected(connection: Http2Connection): void {
    this.#connections.push(connection)
    const idle = new Idle(connection)
    connection.onChange = () => {
      if (connection.closed) {
        this.#deadlines.disarm(idle)
        const at = this.#connections.indexOf(connection)
        if (at >= 0) this.#connections.splice(at, 1)
        this.#settle()
        return
      }
      if (connection.calls === 0) this.#deadlines.arm(idle, this.#options.idleTimeout)
      else this.#deadlines.disarm(idle)
    }
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    for (const call of waiting) this.assign(call)
    connection.onChange()
  }

  #older(): void {
    this.#events.speaksOlder()
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    for (const call of waiting) call.handOver()
    this.#settle()
  }

  /** Fails everything that is waiting. */
  #fail(error: Error): void {
    const attempt = this.#dialing
    this.#dialing = undefined
    attempt?.socket?.destroy()
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    for (const call of waiting) call.fail(error)
    this.#settle()
  }

  /** A pool is registered while it is non-empty. */
  #settle(): void {
    if (this.#connections.length === 0 && this.#waiting.size === 0 && !this.#dialing) this.#events.closed()
  }
}

/** One request, from dispatch to end. */
class Dispatched extends Timed {
  readonly #pool: Pool
  readonly #request: UpstreamRequest
  readonly #on: ResponseHandler
  readonly #deadlines: Deadlines
  /** Dispatches it over HTTP/1.1; `due`: its deadline. */
  readonly #older: (due: number | undefined) => { cancel(): void }
  #running: { cancel(): void } | undefined
  #retried = false
  #over = false

  constructor(
    pool: Pool,
    request: UpstreamRequest,
    on: ResponseHandler,
    deadlines: Deadlines,
    older: (due: number | undefined) => { cancel(): void },
  ) {
    super()
    this.#pool = pool
    this.#request = request
    this.#on = on
    this.#deadlines = deadlines
    this.#older = older
    if (request.timeout) deadlines.arm(this, request.timeout)
    // Deferred: the caller gets its handle before any callback.
    const problem = lineProblem(request)
    if (request.upgrade !== undefined)
      process.nextTick(() =>
        this.fail(new GatewayError('upgradeFailed', { detail: 'HTTP/2 does not support upgrades' })),
      )
    else if (problem !== undefined) process.nextTick(() => this.fail(requestFailure(problem)))
    else setImmediate(() => this.#assign())
  }

  start(connection: Http2Connection): void {
    this.#running = new Http2Call(connection, this.#request, {
      head: (status, headers) => {
        this.#deadlines.disarm(this)
        return this.#on.head(status, headers)
      },
      ended: () => this.#end(),
      failed: (error, unprocessed) => {
        this.#running = undefined
        if (unprocessed && !this.#retried && !(this.#request.body instanceof Readable)) {
          this.#retried = true
          this.#assign()
        } else this.fail(error)
      },
    })
  }

  handOver(): void {
    if (this.#over) return
    const due = this.queue === undefined ? undefined : this.due
    this.#deadlines.disarm(this)
    this.#running = this.#older(due)
  }

  fail(error: Error): void {
    if (this.#over) return
    this.#end()
    this.#on.fail(error)
  }

  cancel(): void {
    if (this.#over) return
    const running = this.#running
    this.#end()
    if (running) running.cancel()
    else this.#pool.forget(this)
  }

  override expire(): void {
    if (this.#over) return
    this.cancel()
    this.#on.fail(new GatewayError('upstreamTimeout', { retryable: true }))
  }

  #assign(): void {
    if (!this.#over) this.#pool.assign(this)
  }

  #end(): void {
    this.#over = true
    this.#deadlines.disarm(this)
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
  socket: { destroy(): void } | undefined
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
