import type { OnReadOpts } from 'node:net'
import { type Duplex, Readable } from 'node:stream'
import { GatewayError } from '../../http/errors.ts'
import type { HeaderList } from '../../http/headers.ts'
import type { ChunkSink, ResponseHandler, Target, Transport, UpstreamRequest } from '../../http/transport.ts'
import type { Clock } from '../../runtime/runtime.ts'
import { BodySender } from './body-sender.ts'
import { Deadlines, Timed } from './deadlines.ts'
import { Dialer } from './dial.ts'
import type { Resolver } from './dns.ts'
import { connectFailure, isIdempotent } from './failure.ts'
import { type CallOnWire, type ConnectionOwner, Http1Connection } from './http1-connection.ts'
import { wireHead } from './http1-request.ts'
import { ReadBuffers } from './read-buffers.ts'

export interface Http1Options {
  readonly clock: Clock
  /** ms that an idle connection is kept. */
  readonly idleTimeout: number
  /** Idle connections kept per target. */
  readonly maxIdle: number
  readonly resolver: Resolver
}

/**
 * HTTP/1.1, plain and over TLS, without intermediate streams: bytes go from the socket's buffer through the parser to
 * the receiver. It is strict and never guesses: anything ambiguous closes the connection and fails the call.
 */
export function createHttp1Transport(options: Http1Options): Transport {
  return new Http1Transport(options)
}

class Http1Transport implements Transport {
  readonly options: Http1Options
  readonly deadlines: Deadlines
  readonly buffers = new ReadBuffers()
  readonly #pools = new Map<string, Pool>()
  #waiting: Call[] = []
  readonly #resting: Pool[] = []
  #scheduled = false
  #closed = false

  constructor(options: Http1Options) {
    this.options = options
    this.deadlines = new Deadlines(options.clock)
  }

  dispatch(target: Target, request: UpstreamRequest, on: ResponseHandler): { cancel(): void } {
    const call = new Call(this, target, request, on)
    if (request.timeout && !this.#closed) this.deadlines.arm(call, request.timeout)
    this.wait(call)
    return call
  }

  async close(): Promise<void> {
    this.#closed = true
    for (const pool of this.#pools.values()) pool.close()
    this.deadlines.close()
  }

  /** Starts `call` in the next turn. */
  wait(call: Call): void {
    this.#waiting.push(call)
    this.#schedule()
  }

  /** Settles `pool` in the next turn. */
  rest(pool: Pool): void {
    this.#resting.push(pool)
    this.#schedule()
  }

  pool(target: Target): Pool {
    return this.#pools.get(target.key) ?? new Pool(this, target)
  }

  /** A pool is registered while it has connections. */
  remember(pool: Pool): void {
    this.#pools.set(pool.target.key, pool)
  }

  forget(pool: Pool): void {
    if (this.#pools.get(pool.target.key) === pool) this.#pools.delete(pool.target.key)
  }

  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(this.#turn)
  }

  /**
   * Runs once per event loop iteration, after all pending input is read. A freed connection rests for a whole iteration
   * before reuse, so that its end is noticed, as are unsolicited bytes, which must not become the response to another
   * request (GHSA-35p6-xmwp-9g52).
   */
  #turn = (): void => {
    this.#scheduled = false
    const calls = this.#waiting
    this.#waiting = []
    for (const call of calls) {
      if (this.#closed) call.abort(new GatewayError('shuttingDown'))
      else call.start()
    }
    for (const pool of this.#resting) pool.settle()
    this.#resting.length = 0
  }
}

/** The connections to one target. */
class Pool implements ConnectionOwner {
  readonly transport: Http1Transport
  readonly target: Target
  readonly #all = new Set<Http1Connection>()
  /** Idle connections, most recently used last, so that surplus ones age out. */
  readonly #free: Http1Connection[] = []
  /** Idle since this turn. */
  readonly #resting: Http1Connection[] = []
  /** How many of these are reserved for a waiting call. */
  #promised = 0
  #dialer: Dialer | undefined

  constructor(transport: Http1Transport, target: Target) {
    this.transport = transport
    this.target = target
  }

  /** Sends `call` over a pooled connection if there is one. */
  assign(call: Call): void {
    // A connection can be taken over by another protocol only if it was opened for that.
    const switchable = call.upgrade || call.method === 'CONNECT'
    const kept = switchable ? undefined : this.#free.pop()
    if (kept === undefined) {
      if (switchable || this.#promised >= this.#resting.length) this.dial(call)
      else {
        this.#promised++
        this.transport.wait(call)
      }
      return
    }
    this.transport.deadlines.disarm(kept)
    call.connection = kept
    kept.send(call)
  }

  dial(call: Call): void {
    try {
      this.#dialer ??= new Dialer(this.target, ['http/1.1'], this.transport.options)
      const dialer = this.#dialer
      const ready = dialer.secure ? 'secureConnect' : 'connect'
      const open = (onread: OnReadOpts | undefined) => dialer.open(onread)
      const connection = new Http1Connection(this, this.transport.buffers, call, ready, open, dialer.streams)
      this.#all.add(connection)
      this.transport.remember(this)
      call.connection = connection
      this.transport.deadlines.arm(connection, this.target.connectTimeout)
    } catch (error) {
      call.failed(connectFailure(error), false)
    }
  }

  connected(connection: Http1Connection): void {
    this.transport.deadlines.disarm(connection)
  }

  idle(connection: Http1Connection): void {
    const { idleTimeout, maxIdle } = this.transport.options
    const time = connection.idleTime(idleTimeout)
    if (time <= 0 || this.#free.length + this.#resting.length >= maxIdle) {
      connection.close()
      return
    }
    if (this.#resting.push(connection) === 1) this.transport.rest(this)
    this.transport.deadlines.arm(connection, time)
  }

  /** Makes the resting connections available. */
  settle(): void {
    for (const connection of this.#resting) this.#free.push(connection)
    this.#resting.length = 0
    this.#promised = 0
  }

  gone(connection: Http1Connection): void {
    this.transport.deadlines.disarm(connection)
    this.#all.delete(connection)
    remove(this.#free, connection)
    remove(this.#resting, connection)
    if (this.#all.size === 0) this.transport.forget(this)
  }

  close(): void {
    for (const connection of this.#all) connection.abort(new GatewayError('shuttingDown'))
  }
}

/** One request and its outcome. */
class Call extends Timed implements CallOnWire {
  readonly #transport: Http1Transport
  readonly #target: Target
  readonly #request: UpstreamRequest
  readonly #on: ResponseHandler
  readonly method: string
  readonly upgrade: boolean
  body: Buffer | BodySender | undefined
  text = ''
  connection: Http1Connection | undefined
  #retried = false
  #over = false

  constructor(transport: Http1Transport, target: Target, request: UpstreamRequest, on: ResponseHandler) {
    super()
    this.#transport = transport
    this.#target = target
    this.#request = request
    this.#on = on
    this.method = request.method
    this.upgrade = request.upgrade !== undefined
    if (request.body instanceof Readable) this.body = new BodySender(request.body)
    else if (request.body !== undefined && request.body.length > 0) this.body = request.body
  }

  start(): void {
    if (this.#over) return
    try {
      // Already set if it has waited for a connection.
      if (this.text === '') this.#write()
    } catch (error) {
      this.abort(error as Error)
      return
    }
    this.#transport.pool(this.#target).assign(this)
  }

  #write(): void {
    const { text, length } = wireHead(this.#request)
    this.text = text
    if (this.body instanceof BodySender) this.body.announce(length)
  }

  cancel(): void {
    if (this.#over) return
    this.ended()
    const { connection } = this
    if (connection !== undefined) connection.close()
    else if (this.body instanceof BodySender) this.body.stop()
  }

  /** Fails it before it is assigned to a connection. */
  abort(error: Error): void {
    if (this.#over) return
    this.cancel()
    this.#on.fail(error)
  }

  override expire(): void {
    this.abort(new GatewayError('upstreamTimeout', { retryable: true }))
  }

  head(status: number, headers: HeaderList): ChunkSink {
    this.#transport.deadlines.disarm(this)
    return this.#on.head(status, headers)
  }

  switched(status: number, headers: HeaderList, socket: Duplex): void {
    this.ended()
    const { upgrade } = this.#request
    const same = upgrade === undefined || headers.get('upgrade')?.toLowerCase() === upgrade.toLowerCase()
    if (this.#on.upgrade !== undefined && same) {
      this.#on.upgrade(status, headers, socket)
      return
    }
    socket.destroy()
    this.#on.fail(
      new GatewayError('upgradeFailed', { detail: same ? 'unexpected switch of protocols' : 'to another protocol' }),
    )
  }

  failed(error: Error, stale: boolean): void {
    if (this.#over) return
    this.connection = undefined
    if (stale && !this.#retried && isIdempotent(this.method) && !(this.body instanceof BodySender)) {
      this.#retried = true
      this.#transport.pool(this.#target).dial(this)
      return
    }
    this.ended()
    this.#on.fail(error)
  }

  ended(): void {
    this.#over = true
    this.#transport.deadlines.disarm(this)
  }
}

function remove(list: Http1Connection[], connection: Http1Connection): void {
  const at = list.lastIndexOf(connection)
  if (at >= 0) list.splice(at, 1)
}
