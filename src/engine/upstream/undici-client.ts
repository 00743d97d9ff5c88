import type { Duplex } from 'node:stream'
import { Readable } from 'node:stream'
import type { buildConnector, Dispatcher } from 'undici'
import { Client } from 'undici'
import { GatewayError } from '../../http/errors.ts'
import { HeaderList } from '../../http/headers.ts'
import type { Clock } from '../../http/runtime.ts'
import type { ChunkSink, ResponseHandler, Target, Transport, UpstreamRequest } from '../../http/transport.ts'
import { BodyView } from './body-view.ts'
import { Deadlines, Timed } from './deadlines.ts'
import { Dialer } from './dial.ts'
import type { Resolver } from './dns.ts'
import { callFailure, connectFailure, connectTimedOut, isDisconnect, isIdempotent } from './failure.ts'
import { dropListed, fieldKind } from './hop-by-hop.ts'

export interface UndiciOptions {
  readonly clock: Clock
  /** ms that an unused connection is kept. */
  readonly idleTimeout: number
  /** Unused connections kept per target. */
  readonly maxIdle: number
  readonly resolver: Resolver
}

/** Streams on one HTTP/2 connection before another one is opened. */
const MAX_STREAMS = 100
const MAX_HEAD = 64 * 1024

/** HTTP/1.1 and HTTP/2 by undici, with own pools: undici's scans all its connections for each call. */
export function createUndiciTransport(options: UndiciOptions): Transport {
  const deadlines = new Deadlines(options.clock)
  const pools = new Map<string, Pool>()
  return {
    dispatch(target, request, on) {
      const pool = pools.get(target.key) ?? new Pool(target, options, deadlines, pools)
      const call = new Call(pool, request, on, deadlines)
      if (request.timeout) deadlines.arm(call, request.timeout)
      call.start(pool.take())
      return call
    },
    async close() {
      await Promise.all([...pools.values()].map(pool => pool.close()))
      deadlines.close()
    },
  }
}

/** The connections to one target. */
class Pool {
  readonly #target: Target
  readonly #options: UndiciOptions
  readonly #deadlines: Deadlines
  /** It is in there while it has connections. */
  readonly #pools: Map<string, Pool>
  readonly #all = new Set<Connection>()
  /** Unused HTTP/1.1 connections, the last used one at the end: the rest may grow old and go. */
  readonly #free: Connection[] = []
  /** HTTP/2 connections, which many calls share. */
  readonly #shared: Connection[] = []
  #dialer: Dialer | undefined

  constructor(target: Target, options: UndiciOptions, deadlines: Deadlines, pools: Map<string, Pool>) {
    this.#target = target
    this.#options = options
    this.#deadlines = deadlines
    this.#pools = pools
  }

  take(): Connection {
    for (let i = this.#shared.length - 1; i >= 0; i--) {
      const shared = this.#shared[i] as Connection
      if (shared.calls < MAX_STREAMS) return shared
    }
    return this.#free.pop() ?? this.open()
  }

  open(): Connection {
    const { idleTimeout } = this.#options
    const { tls, host, port, version, unixPath } = this.#target
    const authority = unixPath === undefined ? `${host.includes(':') ? `[${host}]` : host}:${port}` : 'localhost'
    const client = new Client(`${tls === undefined ? 'http' : 'https'}://${authority}`, {
      connect: (_options, callback) => this.#connect(connection, callback),
      allowH2: version === '2' || tls?.alpn?.includes('h2') === true,
      h2Options: { maxConcurrentStreams: MAX_STREAMS },
      pipelining: 1,
      maxHeaderSize: MAX_HEAD,
      keepAliveTimeout: idleTimeout,
      keepAliveMaxTimeout: idleTimeout,
      headersTimeout: 0,
      bodyTimeout: 0,
    })
    const connection = new Connection(client)
    this.#all.add(connection)
    this.#pools.set(this.#target.key, this)
    client.on('disconnect', () => {
      // With a call on it undici connects anew by itself.
      if (connection.calls === 0) this.drop(connection)
    })
    return connection
  }

  /** One call less on `connection`. */
  release(connection: Connection): void {
    connection.calls--
    if (!this.#all.has(connection) || connection.multiplexed) return
    connection.used = true
    if (this.#free.length < this.#options.maxIdle) this.#free.push(connection)
    else this.drop(connection)
  }

  drop(connection: Connection): void {
    if (!this.#all.delete(connection)) return
    remove(this.#free, connection)
    remove(this.#shared, connection)
    void connection.client.destroy()
    if (this.#all.size === 0) this.#pools.delete(this.#target.key)
  }

  async close(): Promise<void> {
    const failure = new GatewayError('shuttingDown')
    await Promise.all([...this.#all].map(connection => connection.client.destroy(failure)))
  }

  #connect(connection: Connection, callback: buildConnector.Callback): void {
    const deadlines = this.#deadlines
    let socket: ReturnType<Dialer['open']>
    try {
      this.#dialer ??= new Dialer(this.#target, protocols(this.#target), this.#options)
      socket = this.#dialer.open()
    } catch (error) {
      callback(connectFailure(error), null)
      return
    }
    const attempt = new ConnectAttempt(error => {
      socket.destroy()
      callback(error, null)
    })
    deadlines.arm(attempt, this.#target.connectTimeout)
    socket.once(this.#dialer.secure ? 'secureConnect' : 'connect', () => {
      deadlines.disarm(attempt)
      if (attempt.over) return
      attempt.over = true
      if (!this.#dialer?.secure && this.#target.version === '2') Object.assign(socket, { alpnProtocol: 'h2' })
      if ('alpnProtocol' in socket && socket.alpnProtocol === 'h2' && !connection.multiplexed) {
        connection.multiplexed = true
        this.#shared.push(connection)
      }
      callback(null, socket)
    })
    socket.on('error', error => {
      deadlines.disarm(attempt)
      attempt.fail(connectFailure(error))
    })
  }
}

class Connection {
  readonly client: Client
  calls = 0
  /** A response has come over it before. */
  used = false
  multiplexed = false

  constructor(client: Client) {
    this.client = client
  }
}

class ConnectAttempt extends Timed {
  over = false
  readonly #onFail: (error: Error) => void

  constructor(onFail: (error: Error) => void) {
    super()
    this.#onFail = onFail
  }

  fail(error: Error): void {
    if (this.over) return
    this.over = true
    this.#onFail(error)
  }

  override expire(): void {
    this.fail(connectTimedOut())
  }
}

/** One request and its response; undici's handler. */
class Call extends Timed implements Dispatcher.DispatchHandler {
  readonly #pool: Pool
  readonly #request: UpstreamRequest
  readonly #on: ResponseHandler
  readonly #deadlines: Deadlines
  #connection: Connection | undefined
  #controller: Dispatcher.DispatchController | undefined
  #sink: ChunkSink | undefined
  #began = false
  #retried = false
  #over = false

  constructor(pool: Pool, request: UpstreamRequest, on: ResponseHandler, deadlines: Deadlines) {
    super()
    this.#pool = pool
    this.#request = request
    this.#on = on
    this.#deadlines = deadlines
  }

  start(connection: Connection): void {
    const { method, path, body, upgrade } = this.#request
    this.#connection = connection
    connection.calls++
    connection.client.dispatch(
      {
        method,
        path,
        headers: wireHeaders(this.#request),
        body: body instanceof Readable ? new BodyView(body) : (body ?? null),
        ...(upgrade === undefined ? {} : { upgrade }),
        // undici would tear the connection down whenever the request's host differs from the one before.
        ...SERVER_NAME,
      },
      this,
    )
  }

  cancel(): void {
    if (!this.#over) this.#stop(new Error('canceled'))
  }

  override expire(): void {
    if (this.#over) return
    this.#stop(new Error('timed out'))
    this.#on.fail(new GatewayError('upstreamTimeout', { retryable: true }))
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#over) controller.abort(new Error('canceled'))
  }

  onResponseStarted(): void {
    this.#began = true
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number): void {
    if (status < 200 || this.#over) return
    this.#deadlines.disarm(this)
    this.#sink = this.#on.head(status, new HeaderList(endToEnd(rawFields(controller.rawHeaders)), true))
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const sink = this.#sink
    if (this.#over || sink === undefined || sink.write(chunk)) return
    controller.pause()
    sink.onDrain(() => controller.resume())
  }

  onResponseEnd(controller: Dispatcher.DispatchController): void {
    if (this.#over) return
    this.#over = true
    const trailers = rawFields(controller.rawTrailers)
    this.#release(true)
    this.#sink?.end(trailers.length === 0 ? undefined : trailers)
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    if (this.#over) return
    const stale = this.#connection?.used === true && !this.#began && isDisconnect(error)
    this.#release(false)
    if (stale && !this.#retried && isIdempotent(this.#request.method) && !(this.#request.body instanceof Readable)) {
      this.#retried = true
      this.start(this.#pool.open())
      return
    }
    this.#over = true
    this.#deadlines.disarm(this)
    const failure = callFailure(error)
    const sink = this.#sink
    if (sink !== undefined) sink.fail(failure)
    // undici reports a request that it refuses from within `dispatch`: the caller has not its handle yet.
    else process.nextTick(() => this.#on.fail(failure))
  }

  onRequestUpgrade(controller: Dispatcher.DispatchController, status: number, _headers: unknown, socket: Duplex): void {
    if (this.#over) {
      socket.destroy()
      return
    }
    this.#over = true
    this.#deadlines.disarm(this)
    this.#release(false)
    const { upgrade } = this.#on
    if (upgrade !== undefined) {
      this.#on.upgrade?.(status, new HeaderList(rawFields(controller.rawHeaders), true), socket)
      return
    }
    socket.destroy()
    this.#on.fail(new GatewayError('upgradeFailed', { detail: 'unexpected switch of protocols' }))
  }

  #stop(reason: Error): void {
    this.#over = true
    this.#deadlines.disarm(this)
    const started = this.#controller !== undefined
    if (started) this.#controller?.abort(reason)
    // An HTTP/1.1 connection that nothing was written to yet belongs to this call alone, and is still being made.
    this.#release(false)
  }

  #release(reusable: boolean): void {
    const connection = this.#connection
    if (connection === undefined) return
    this.#connection = undefined
    if (reusable || connection.multiplexed) this.#pool.release(connection)
    else {
      connection.calls--
      this.#pool.drop(connection)
    }
  }
}

const SERVER_NAME: object = { servername: 'upstream' }

function protocols(target: Target): readonly string[] {
  if (target.version === '2') return ['h2']
  if (target.version === '1.1') return ['http/1.1']
  return target.tls?.alpn ?? ['http/1.1']
}

/** The request's fields without those that undici writes itself. */
function wireHeaders(request: UpstreamRequest): string[] {
  const fields = request.headers.raw
  const out = ['host', request.authority]
  const streamed = request.body instanceof Readable
  let lengthSeen = false
  for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i] as string
    const kind = fieldKind(name)
    if (kind === 'content-length' && streamed && !lengthSeen) lengthSeen = true
    else if (kind !== 'keep') continue
    out.push(name, fields[i + 1] as string)
  }
  return out
}

type RawFields = Dispatcher.DispatchController['rawHeaders']

/** Name, value, name, value. HTTP/1.1 fields come as buffers, HTTP/2 fields as an object. */
function rawFields(raw: RawFields): string[] {
  if (raw === undefined || raw === null) return []
  const out: string[] = []
  if (Array.isArray(raw)) {
    for (const part of raw) out.push(typeof part === 'string' ? part : part.toString('latin1'))
    return out
  }
  for (const name in raw) {
    const value = raw[name]
    if (name.charCodeAt(0) === 58) continue
    if (typeof value === 'string') out.push(name, value)
    else for (const one of value ?? []) out.push(name, one)
  }
  return out
}

function endToEnd(fields: readonly string[]): string[] {
  const out: string[] = []
  let connection: string | undefined
  for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i] as string
    const value = fields[i + 1] as string
    switch (fieldKind(name)) {
      case 'connection':
        connection = connection === undefined ? value : `${connection},${value}`
        break
      case 'hop':
      case 'transfer-encoding':
        break
      default:
        out.push(name, value)
    }
  }
  if (connection !== undefined) dropListed(out, connection)
  return out
}

function remove<T>(list: T[], item: T): void {
  const i = list.lastIndexOf(item)
  if (i >= 0) list.splice(i, 1)
}
