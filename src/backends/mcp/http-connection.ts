import { ownExchange } from '../../calls/derived-exchange.ts'
import { withDeadline } from '../../http/body-deadline.ts'
import { GatewayError } from '../../http/errors.ts'
import { type Exchange, emptyHead } from '../../http/exchange.ts'
import type { HeaderList } from '../../http/headers.ts'
import { keepChunk } from '../../http/keep-chunk.ts'
import { type ChunkSink, discard, type ResponseHandler } from '../../http/transport.ts'
import { type Request, type RequestId, readMessage } from '../../mcp/message.ts'
import type { Runtime, Timer } from '../../runtime/runtime.ts'
import {
  type CallEvents,
  type Connection,
  type ListenEvents,
  MAX_MESSAGE,
  REST,
  type TargetFailure,
} from './connection.ts'
import { failureOf } from './sign-in/need.ts'
import { TargetStream } from './target-stream.ts'
import { callTarget, type HttpTarget } from './upstream-call.ts'

/** Idempotent requests, repeated if the target closes the connection that they were sent on. */
const REPEATABLE: ReadonlySet<string> = new Set([
  'ping',
  'server/discover',
  'tools/list',
  'prompts/list',
  'prompts/get',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'completion/complete',
])

/** Bytes of an error body that are passed on. */
const MAX_ERROR_BODY = 1024 * 1024

/** Streamable HTTP: each message is an HTTP request. */
export class HttpConnection implements Connection {
  session: string | undefined
  version: string | undefined
  readonly #runtime: Runtime
  readonly #target: HttpTarget
  #last: LastWords | undefined

  constructor(runtime: Runtime, target: HttpTarget, session?: string) {
    this.#runtime = runtime
    this.#target = target
    this.session = session
  }

  call(x: Exchange, request: Request, events: CallEvents): () => void {
    const stream = this.#replyStream(x, request.id, events)
    const cancel = this.#dispatch(x, 'POST', request, {
      head: (status, headers) => {
        if (!isSuccess(status))
          return this.refusal(
            status,
            headers,
            () => cancel(),
            failure => events.fail(failure),
          )
        if (request.method === 'initialize') this.session = headers.get('mcp-session-id')
        if (isEventStream(headers)) return stream.sink(() => cancel())
        if (isJson(headers)) return readWhole(request.id, events, () => cancel())
        events.fail({ message: `the target answered ${status} without a message`, down: false })
        return this.#rest(discard, () => cancel())
      },
      fail: error => events.fail(failureOf(error)),
    })
    return () => {
      stream.stop()
      cancel()
    }
  }

  resume(x: Exchange, id: RequestId, after: string, events: CallEvents): () => void {
    const stream = this.#replyStream(x, id, events, after)
    stream.take()
    return () => stream.stop()
  }

  send(x: Exchange, bytes: Buffer, done: (failure?: TargetFailure) => void): void {
    const cancel = this.#dispatch(
      x,
      'POST',
      { bytes },
      {
        head: (status, headers) => {
          if (!isSuccess(status)) return this.refusal(status, headers, () => cancel(), done)
          done()
          return this.#rest(discard, () => cancel())
        },
        fail: error => done({ ...failureOf(error), unreachable: false }),
      },
    )
  }

  listen(x: Exchange, events: ListenEvents, after?: string): () => void {
    let opened = false
    const { clock } = this.#runtime
    const stream = new TargetStream(
      {
        clock,
        flow: events.flow,
        read: message => {
          if (message.kind !== 'response') events.message(message)
        },
        position: (event, silent) => events.position?.(event, silent),
        over: failure => events.end(failure),
        again: (last, on) => this.#dispatch(x, 'GET', undefined, on, last),
        endless: true,
        opened: () => {
          if (!opened) events.open()
          opened = true
        },
        refusal: (status, headers, cancel, done) => this.refusal(status, headers, cancel, done),
      },
      after,
    )
    stream.take()
    return () => stream.stop()
  }

  /** Forwards the client's request and the target's response unchanged. */
  forward(
    x: Exchange,
    method: 'POST' | 'GET',
    request: Request | undefined,
    on: ResponseHandler,
    after?: string,
  ): () => void {
    return this.#dispatch(x, method, request, on, after)
  }

  close(elsewhere = false): Promise<void> | undefined {
    if (this.session === undefined || this.#last === undefined || elsewhere) return undefined
    const x = farewell(this.#last, this.#runtime)
    const told = Promise.withResolvers<void>()
    const cancel = this.#dispatch(x, 'DELETE', undefined, {
      head: () => {
        told.resolve()
        return this.#rest(discard, () => cancel())
      },
      fail: () => told.resolve(),
    })
    this.session = undefined
    return told.promise
  }

  #dispatch(
    x: Exchange,
    method: 'POST' | 'GET' | 'DELETE',
    message: Request | { readonly bytes: Buffer } | undefined,
    on: ResponseHandler,
    after?: string,
  ): () => void {
    this.#last = { connection: x.connection, auth: x.auth, headers: x.request.headers }
    const { session, version } = this
    const call = { method, body: message?.bytes, session, version, after }
    const about = message && 'params' in message ? { message } : {}
    let cancel: (() => void) | undefined
    let again = message !== undefined && 'method' in message && REPEATABLE.has(message.method)
    const send = (): (() => void) =>
      callTarget(
        this.#runtime,
        this.#target,
        x,
        { ...call, ...about },
        {
          head: (status, headers) => on.head(status, headers),
          fail: error => {
            if (again && isBroken(error)) {
              again = false
              cancel = send()
            } else on.fail(error)
          },
        },
      )
    const made = send()
    // A call that failed at once has already been repeated.
    cancel ??= made
    return () => cancel?.()
  }

  /** Drains a response that is no longer awaited. */
  #rest(sink: ChunkSink, cancel: () => void): ChunkSink {
    return withDeadline(sink, REST, this.#runtime.clock, { cancel })
  }

  /** Reads an HTTP error for `done`. */
  refusal(status: number, headers: HeaderList, cancel: () => void, done: (failure: TargetFailure) => void): ChunkSink {
    return this.#rest(failureBody(status, headers, this.session, done), cancel)
  }

  /** The stream of a call, which ends with the reply. */
  #replyStream(x: Exchange, id: RequestId, events: CallEvents, after?: string): TargetStream {
    const { clock } = this.#runtime
    let rest: Timer | undefined
    const resumable = this.session !== undefined || after !== undefined
    const stream: TargetStream = new TargetStream(
      {
        clock,
        flow: events.flow,
        read: message => {
          if (message.kind !== 'response') return events.message(message)
          if (message.id !== id && message.id !== null) return
          // The stream should end with its reply; the wait for that is bounded.
          rest = clock.after(REST, () => stream.stop())
          stream.finish(() => rest?.cancel())
          events.reply(message)
        },
        position: (event, silent) => events.position?.(event, silent),
        over: failure =>
          events.fail(failure ?? { message: 'the target ended the stream before its reply', down: false }),
        again: resumable ? (last, on) => this.#dispatch(x, 'GET', undefined, on, last) : undefined,
        endless: false,
        refusal: (status, headers, cancel, done) => this.refusal(status, headers, cancel, done),
      },
      after,
    )
    return stream
  }
}

/**
 * The credentials of the last request, since no client asks for an idle session to be ended and the target knows the
 * session by them. Not the exchange itself, which would retain its body.
 */
type LastWords = Pick<Exchange, 'connection' | 'auth'> & { readonly headers: HeaderList }

function farewell({ connection, auth, headers }: LastWords, { clock }: Runtime): Exchange {
  const x = ownExchange({ clock, connection, request: { ...emptyHead(), method: 'DELETE', headers } })
  Object.assign(x.auth, auth)
  return x
}

function readWhole(id: RequestId, events: CallEvents, cancel: () => void): ChunkSink {
  const chunks: Buffer[] = []
  let size = 0
  return {
    write(chunk) {
      size += chunk.length
      if (size <= MAX_MESSAGE) keepChunk(chunks, chunk)
      else {
        cancel()
        events.fail({ message: `the target sent a message of more than ${MAX_MESSAGE} bytes`, down: false })
      }
      return true
    },
    end() {
      const whole = Buffer.concat(chunks, size)
      // Parsing takes as much memory again.
      chunks.length = 0
      const message = readMessage(whole)
      if (message.kind === 'response' && (message.id === id || message.id === null)) events.reply(message)
      else events.fail({ message: 'the target answered with something that is not a reply', down: false })
    },
    fail: error => events.fail({ message: error.message, down: false }),
    onDrain() {},
  }
}

/** Reads the body of an HTTP error, truncated. */
function failureBody(
  status: number,
  headers: HeaderList,
  session: string | undefined,
  done: (failure: TargetFailure) => void,
): ChunkSink {
  const chunks: Buffer[] = []
  let size = 0
  const finish = (): void => {
    const http = { status, headers: passedOn(headers), body: Buffer.concat(chunks, size) }
    // 404 to a request with a session id means that the session has ended (MCP transports, "Session Management").
    done({ message: `the target answered with status ${status}`, http, down: status === 404 && session !== undefined })
  }
  return {
    write(chunk) {
      const room = MAX_ERROR_BODY - size
      const part = chunk.length > room ? chunk.subarray(0, room) : chunk
      if (part.length > 0) keepChunk(chunks, part)
      size += part.length
      return true
    },
    end: finish,
    fail: finish,
    onDrain() {},
  }
}

function isBroken(error: Error): boolean {
  return error instanceof GatewayError && error.code === 'upstreamFailed'
}

/** Headers about the target's own session do not concern the client. */
export function passedOn(headers: HeaderList): HeaderList {
  const out = headers.copy()
  out.delete('content-length')
  out.delete('mcp-session-id')
  return out
}

export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300
}
/** A status about the caller, not the request. */
export function isAboutClient(status: number): boolean {
  return status === 401 || status === 403 || status === 407 || status === 429
}
export function isEventStream(headers: HeaderList): boolean {
  return mediaType(headers) === 'text/event-stream'
}
export function isJson(headers: HeaderList): boolean {
  return mediaType(headers) === 'application/json'
}
function mediaType(headers: HeaderList): string | undefined {
  return headers.get('content-type')?.split(';', 1)[0]?.trim().toLowerCase()
}
