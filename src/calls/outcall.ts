import { GatewayError } from '../http/errors.ts'
import type { Attempt, Exchange, Reply } from '../http/exchange.ts'
import { HeaderList } from '../http/headers.ts'
import type { ChunkSink, ResponseHandler, Target } from '../http/transport.ts'
import { type CallFacts, CallRecord, type CallRuntime } from './call-record.ts'
import { asError, giveResponse } from './response-policies.ts'
import { runAttempt } from './run-policies.ts'
import type { CallSteps } from './step.ts'

/**
 * Anything that can be called: a service that a policy names, a provider, an MCP server. Compiled once; `send`
 * encapsulates address, TLS, credential, tunnel and health. Connections and health are keyed by the target's identity.
 */
export interface Callee {
  /** As configured, for logs and traces. */
  readonly name: string
  /** Equal keys mean the same service, called in the same way. */
  readonly key: string
  /** ms until the response head, if configured for this service. */
  readonly requestTimeout?: number | undefined
  /** Its policies, which run around each call. */
  readonly steps: CallSteps
  /** Where the next connection goes. Throws GatewayError while the service has no endpoint. */
  target(): Target
  /**
   * Sends the request of `x`, after the policies; the call ends with `x`. Exactly one of `on.head` and `on.fail`
   * follows. Back-pressure applies both ways: the request body is read as fast as the callee accepts it, the response
   * body as fast as its sink does.
   */
  send(x: Exchange, attempt: Attempt, on: ResponseHandler): void
}

/** What making a call needs of the callee. */
export type Called = Pick<Callee, 'name' | 'steps' | 'send'>

/** One call: its purpose and its deadline. A retry is a new call, which states why in `reason`. */
export interface Outcall extends CallFacts {
  /** ms until the response head; 0 for none. The callee's own limit takes precedence. */
  readonly timeout: number
  /** ms before a failed call is retried, if a policy sets it. */
  readonly backoff?: number
}

/**
 * Calls `to` with the request of `x`: its policies, the call, its response policies, then `on`. Start and end are
 * recorded in the trace of `x`, its span and the metrics. `x` must be exclusive to this call (`derived-exchange.ts`).
 * After `cancel`, `on` is not called again.
 */
export function makeCall(
  x: Exchange,
  to: Called,
  call: Outcall,
  runtime: CallRuntime,
  on: ResponseHandler,
): { cancel(): void } {
  const making = new CallMaking(x, to, call, runtime, on)
  making.start()
  return making
}

class CallMaking implements ResponseHandler {
  readonly #x: Exchange
  readonly #to: Called
  readonly #call: Outcall
  readonly #runtime: CallRuntime
  readonly #on: ResponseHandler
  readonly #attempt: Attempt
  /** Set while the call is in flight. */
  #record: CallRecord | undefined
  #over = false
  /** If unset, nothing can take over the socket, and an upgrade is a failure. */
  readonly upgrade?: NonNullable<ResponseHandler['upgrade']>

  constructor(x: Exchange, to: Called, call: Outcall, runtime: CallRuntime, on: ResponseHandler) {
    const { timeout, backoff = 0 } = call
    this.#x = x
    this.#to = to
    this.#call = call
    this.#runtime = runtime
    this.#on = on
    this.#attempt = { index: 0, target: to.name, startedAt: runtime.clock.mono(), timeout, backoff }
    x.attempts.push(this.#attempt)
    if (on.upgrade) {
      this.upgrade = (status, headers, socket) => {
        this.#ended(status, undefined)
        on.upgrade?.(status, headers, socket)
      }
    }
  }

  start(): void {
    try {
      const verdict = runAttempt(this.#to.steps.attempt, this.#x, this.#attempt)
      if (verdict instanceof Promise) {
        verdict.then(reply => this.#go(reply)).catch((error: unknown) => this.fail(asError(error)))
      } else this.#go(verdict)
    } catch (error) {
      this.fail(asError(error))
    }
  }

  head(status: number, headers: HeaderList): ChunkSink {
    this.#ended(status, undefined)
    this.#over = true
    return giveResponse(this.#x, this.#to.steps, status, headers, this.#on)
  }

  fail(error: Error): void {
    if (this.#over) return
    this.#over = true
    this.#ended(undefined, error.message)
    this.#on.fail(error)
  }

  cancel(): void {
    if (!this.#over) this.#ended(undefined, 'canceled')
    this.#over = true
    this.#x.abort()
  }

  /** `reply`: a policy's, used instead of calling. */
  #go(reply: Reply | undefined): void {
    if (this.#over) return
    if (reply) {
      // For the gateway's own calls, a policy's reply must not pass for the service's.
      if (this.#call.purpose?.kind !== 'Primary') {
        this.fail(new GatewayError('upstreamFailed', { detail: `a policy answered ${reply.status}` }))
        return
      }
      this.#over = true
      answerWith(reply, this.#on)
      return
    }
    this.#record = new CallRecord(this.#x, this.#attempt, this.#call, this.#runtime)
    this.#to.send(this.#x, this.#attempt, this)
  }

  #ended(status: number | undefined, error: string | undefined): void {
    if (status !== undefined) this.#attempt.status = status
    if (error !== undefined) this.#attempt.error = error
    const record = this.#record
    this.#record = undefined
    record?.end()
  }
}

/** Delivers a locally generated reply instead of a call. */
export function answerWith(reply: Reply, on: ResponseHandler): void {
  const body = typeof reply.body === 'string' ? Buffer.from(reply.body) : (reply.body ?? Buffer.alloc(0))
  const headers = new HeaderList([...reply.headers], true)
  headers.set('content-length', String(body.length))
  const sink = on.head(reply.status, headers)
  if (body.length > 0) sink.write(body)
  sink.end()
}
