import { authorityOf } from '../../http/authority.ts'
import { withDeadline } from '../../http/body-deadline.ts'
import type { Exchange } from '../../http/exchange.ts'
import { type SseEvent, SseReader } from '../../http/sse.ts'
import { type ChunkSink, discard } from '../../http/transport.ts'
import { type Request, readMessage } from '../../mcp/message.ts'
import type { Runtime } from '../../runtime/runtime.ts'
import {
  type CallEvents,
  type Cancel,
  type Connection,
  type ListenEvents,
  MAX_MESSAGE,
  REST,
  type TargetFailure,
} from './connection.ts'
import { isEventStream, isSuccess } from './http-connection.ts'
import { SharedChannel } from './shared-channel.ts'
import { callTarget, type HttpTarget } from './upstream-call.ts'

/**
 * HTTP+SSE (MCP 2024-11-05): one event stream carries all messages of the server; its first event names the path for
 * those of the client.
 */
export class SseConnection implements Connection {
  readonly session = undefined
  version: string | undefined
  readonly #runtime: Runtime
  readonly #target: HttpTarget
  readonly #onDown: (failure: TargetFailure) => void
  readonly #channel = new SharedChannel({
    pause: () => {
      this.#paused = true
    },
    resume: () => {
      this.#paused = false
      this.#resume()
    },
  })
  #stop: (() => void) | undefined
  #path: string | undefined
  #waiting: ((failure?: TargetFailure) => void)[] = []
  #down: TargetFailure | undefined
  #paused = false
  #resume = (): void => {}

  constructor(runtime: Runtime, target: HttpTarget, onDown: (failure: TargetFailure) => void) {
    this.#runtime = runtime
    this.#target = target
    this.#onDown = onDown
  }

  call(x: Exchange, request: Request, events: CallEvents): Cancel {
    if (!this.#channel.add(request, events)) {
      events.fail({ message: 'a request with this id is in progress', down: false })
      return () => {}
    }
    this.send(x, request.bytes, failure => {
      if (failure) this.#channel.fail(request.id, failure)
    })
    return told => {
      if (!this.#channel.remove(request.id) || told || request.method === 'initialize') return
      const params = { requestId: request.id, reason: 'the client disconnected' }
      const text = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params })
      this.send(x, Buffer.from(text), () => {})
    }
  }

  send(x: Exchange, bytes: Buffer, done: (failure?: TargetFailure) => void): void {
    this.#opened(x, failure => {
      if (failure || this.#path === undefined) {
        done(failure)
        return
      }
      const call = { method: 'POST', path: this.#path, body: bytes, session: undefined, version: this.version } as const
      const cancel = callTarget(this.#runtime, this.#target, x, call, {
        head: status => {
          done(
            isSuccess(status)
              ? undefined
              : { message: `the target answered with status ${status}`, down: status === 404 },
          )
          return withDeadline(discard, REST, this.#runtime.clock, { cancel: () => cancel() })
        },
        fail: error => done({ message: error.message, down: false }),
      })
    })
  }

  listen(_x: Exchange, events: ListenEvents): () => void {
    if (!this.#down) return this.#channel.listen(events)
    events.end(this.#down)
    return () => {}
  }

  close(): undefined {
    this.#down ??= { message: 'the session has ended', down: true }
    this.#stop?.()
    this.#channel.failAll(this.#down)
  }

  #opened(x: Exchange, then: (failure?: TargetFailure) => void): void {
    if (this.#down) then(this.#down)
    else if (this.#path !== undefined) then()
    else {
      this.#waiting.push(then)
      if (this.#waiting.length === 1 && !this.#stop) this.#open(x)
    }
  }

  #open(x: Exchange): void {
    const call = { method: 'GET', body: undefined, session: undefined, version: undefined } as const
    this.#stop = callTarget(this.#runtime, this.#target, x, call, {
      head: (status, headers) => {
        if (isSuccess(status) && isEventStream(headers)) return this.#sink()
        this.#end({ message: `the target answered with status ${status} and no event stream`, down: true })
        return withDeadline(discard, REST, this.#runtime.clock, { cancel: () => this.#stop?.() })
      },
      fail: error => this.#end({ message: error.message, down: true }),
    })
  }

  #sink(): ChunkSink {
    const reader = new SseReader(MAX_MESSAGE, event => this.#receive(event))
    return {
      write: chunk => {
        try {
          reader.push(chunk)
        } catch (error) {
          this.#stop?.()
          this.#end({ message: (error as Error).message, down: true })
        }
        return !this.#paused
      },
      end: () => this.#end({ message: 'the target ended its event stream', down: true }),
      fail: error => this.#end({ message: error.message, down: true }),
      onDrain: then => {
        this.#resume = then
      },
    }
  }

  #receive({ event, data }: SseEvent): void {
    if (event === 'endpoint') this.#setPath(data.toString())
    else if (event === 'message') {
      const message = readMessage(data)
      if (message.kind !== 'unreadable') this.#channel.deliver(message)
    }
  }

  /** The path may be an absolute URL; one of another origin would receive the client's credentials. */
  #setPath(text: string): void {
    const place = this.#target.target()
    const origin = `${place.tls ? 'https' : 'http'}://${authorityOf(place)}`
    const url = URL.parse(text, `${origin}${this.#target.path}`)
    if (!url || url.origin !== new URL(origin).origin) {
      this.#stop?.()
      this.#end({ message: 'the target names a message endpoint of another origin', down: true })
      return
    }
    this.#path = url.pathname + url.search
    this.#settle()
  }

  #settle(failure?: TargetFailure): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const then of waiting) then(failure)
  }

  #end(failure: TargetFailure): void {
    if (this.#down) return
    this.#down = failure
    this.#settle(failure)
    this.#channel.failAll(failure)
    this.#onDown(failure)
  }
}
