import { type Readable, Transform } from 'node:stream'
import type { Route, WeightedBackend } from '../config/snapshot.ts'
import { GatewayError } from '../http/errors.ts'
import type { Attempt, BodySource, Exchange, Reply } from '../http/exchange.ts'
import type { HeaderList } from '../http/headers.ts'
import type { Runtime } from '../http/runtime.ts'
import { type ChunkSink, discard } from '../http/transport.ts'
import type { BodyHook } from '../policies/policy.ts'
import type { Downstream } from './downstream.ts'
import { forwardedHeaders } from './forwarded-head.ts'
import type { Passage } from './passage.ts'
import { flushChunks, passChunk, requestBodyHooks, responseBodyHooks, runAttempt, runResponse } from './pipeline.ts'
import { mergeQueued } from './respond.ts'
import { CollectingSink, PausedSink, transformSink } from './sinks.ts'

/** Request bodies up to this size are kept for another attempt; a larger body is sent once. */
const REPLAY_LIMIT = 64 * 1024

/** By weight, at random; undefined when the route has no backend or all weights are 0. */
export function pickBackend(route: Route, runtime: Runtime): WeightedBackend | undefined {
  if (route.totalWeight === 0) return undefined
  if (route.backends.length === 1) return route.backends[0]
  let at = runtime.random() * route.totalWeight
  for (const candidate of route.backends) {
    at -= candidate.weight
    if (at < 0) return candidate
  }
  return route.backends.at(-1)
}

/** Calls the backend, as often as the retry policy allows, and passes its response on. A reply: made here instead. */
export async function callBackend(
  x: Exchange,
  chosen: WeightedBackend,
  passage: Passage,
  out: Downstream,
  runtime: Runtime,
): Promise<Reply | undefined> {
  x.request.headers = forwardedHeaders(x.request.headers)
  x.mcpRules = chosen.pipeline.mcpRules
  if (passage.route && passage.route.requestBody.length > 0)
    wrapRequestBody(x, requestBodyHooks(passage.route.requestBody, x))
  x.trace?.emit(
    { type: 'backend', backend: chosen.backend.name, kind: chosen.backend.kind },
    { origins: [chosen.origin] },
  )
  const retry = await retryFor(x, passage)
  const kept = retry && { ...x.request, headers: x.request.headers.copy() }
  for (let index = 0; ; index++) {
    const last = !retry || index >= retry.attempts
    const attempt = newAttempt(x, chosen, passage, index, runtime)
    if (kept && index > 0) Object.assign(x.request, kept, { headers: kept.headers.copy() })
    if (index > 0) x.request.headers.set('x-retry-attempt', String(index))
    const reply = await runAttempt(chosen.pipeline.attempt, x, attempt)
    if (reply || x.aborted) return reply
    const outcome = await send(x, chosen, attempt, last, passage, out)
    attempt.duration = runtime.clock.mono() - attempt.startedAt
    if (outcome === 'answered') return undefined
    if (outcome !== 'again' && (last || !isRetryable(outcome))) throw outcome
    if (x.aborted) return undefined
    if (retry && retry.backoff > 0) await new Promise<void>(resolve => runtime.clock.after(retry.backoff, resolve))
    if (x.aborted) return undefined
  }

  function send(
    x: Exchange,
    chosen: WeightedBackend,
    attempt: Attempt,
    last: boolean,
    passage: Passage,
    out: Downstream,
  ): Promise<'answered' | 'again' | Error> {
    const started = x.trace?.now()
    x.trace?.emit({ type: 'callStart', target: attempt.target, purpose: 'backend' }, { origins: [chosen.origin] })
    return new Promise(resolve => {
      const settle = (outcome: 'answered' | 'again' | Error): void => {
        x.trace?.emit(
          {
            type: 'callEnd',
            target: attempt.target,
            ...(attempt.status === undefined ? {} : { status: attempt.status }),
            ...(attempt.error === undefined ? {} : { error: attempt.error }),
          },
          {
            severity: attempt.error !== undefined || (attempt.status ?? 0) >= 500 ? 'error' : 'success',
            origins: [chosen.origin],
            ...(started === undefined ? {} : { from: started }),
          },
        )
        resolve(outcome)
      }
      chosen.backend.send(x, attempt, {
        head(status, headers) {
          attempt.status = status
          if (!last && wantsRetry(x, passage, status, headers)) {
            settle('again')
            return discard
          }
          return commit(x, chosen, passage, out, status, headers, settle)
        },
        fail(error) {
          attempt.error = error.message
          settle(error)
        },
        upgrade(status, headers, socket) {
          attempt.status = status
          x.response = { status, headers }
          settle('answered')
          out.upgrade(status, headers.raw, socket)
        },
      })
    })
  }
}

function newAttempt(x: Exchange, chosen: WeightedBackend, passage: Passage, index: number, runtime: Runtime): Attempt {
  const attempt: Attempt = {
    index,
    target: chosen.backend.name,
    startedAt: runtime.clock.mono(),
    timeout: passage.route?.timeout.backend ?? 0,
  }
  x.attempts.push(attempt)
  return attempt
}

/** The retry policy, when this exchange can be repeated at all. */
async function retryFor(x: Exchange, passage: Passage) {
  const retry = passage.route?.retry
  if (!retry || x.upgrade !== undefined) return undefined
  if (retry.precondition) {
    const outcome = retry.precondition.evaluate(x)
    if (!outcome.ok || outcome.value !== true) return undefined
  }
  if (x.body.length === 0 || x.body.bytes) return retry
  try {
    await x.body.buffer(REPLAY_LIMIT)
    return retry
  } catch (error) {
    if (error instanceof GatewayError && error.code === 'bodyTooLarge') return undefined
    throw error
  }
}

function wantsRetry(x: Exchange, passage: Passage, status: number, headers: HeaderList): boolean {
  const retry = passage.route!.retry!
  if (retry.codes.has(status)) return true
  if (!retry.condition) return false
  const outcome = retry.condition.evaluate(x, { response: { status, headers } })
  return outcome.ok && outcome.value === true
}

function isRetryable(error: Error): boolean {
  return error instanceof GatewayError && error.details.retryable === true
}

/** From here on the response of this attempt is the answer: response policies, then the head, then the body. */
function commit(
  x: Exchange,
  chosen: WeightedBackend,
  passage: Passage,
  out: Downstream,
  status: number,
  headers: HeaderList,
  settle: (outcome: 'answered' | Error) => void,
): ChunkSink {
  x.response = { status, headers }
  const whole = chosen.buffersResponse
  if (whole) {
    const collecting: CollectingSink = new CollectingSink(whole.limit, body => {
      if (body === undefined && !whole.failOpen) {
        collecting.release(discard)
        settle(new GatewayError('responseTooLarge', { detail: `more than ${whole.limit} bytes` }))
        return
      }
      if (body) x.response!.body = body
      goOn(x, chosen, passage, out, settle, collecting)
    })
    return collecting
  }
  try {
    const waiting = runResponse(chosen.response, x) ?? (passage.listener && runResponse(passage.listener.response, x))
    if (!waiting) {
      const sink = open(x, chosen, passage, out)
      settle('answered')
      return sink
    }
    const paused = new PausedSink()
    releaseAfter(waiting, x, chosen, passage, out, settle, paused)
    return paused
  } catch (error) {
    settle(error instanceof Error ? error : new Error(String(error)))
    return discard
  }
}

function goOn(
  x: Exchange,
  chosen: WeightedBackend,
  passage: Passage,
  out: Downstream,
  settle: (outcome: 'answered' | Error) => void,
  paused: PausedSink,
): void {
  const waiting = Promise.resolve().then(() => runResponse(chosen.response, x))
  releaseAfter(waiting, x, chosen, passage, out, settle, paused)
}

function releaseAfter(
  waiting: Promise<void>,
  x: Exchange,
  chosen: WeightedBackend,
  passage: Passage,
  out: Downstream,
  settle: (outcome: 'answered' | Error) => void,
  paused: PausedSink,
): void {
  waiting
    .then(() => passage.listener && runResponse(passage.listener.response, x))
    .then(() => {
      paused.release(open(x, chosen, passage, out))
      settle('answered')
    })
    .catch((error: unknown) => {
      paused.release(discard)
      settle(error instanceof Error ? error : new Error(String(error)))
    })
}

function open(x: Exchange, chosen: WeightedBackend, passage: Passage, out: Downstream): ChunkSink {
  const response = x.response!
  mergeQueued(response.headers, x.queuedHeaders)
  const steps =
    passage.listener && passage.listener.responseBody.length > 0
      ? [...chosen.responseBody, ...passage.listener.responseBody]
      : chosen.responseBody
  if (x.trace)
    x.trace.emit({ type: 'snapshot', stage: 'final response', state: { status: response.status, headers: [] } })
  if (steps.length === 0) return out.start(response.status, response.headers.raw)
  const hooks = responseBodyHooks(steps, x)
  if (hooks.length === 0) return out.start(response.status, response.headers.raw)
  response.headers.delete('content-length')
  return transformSink(out.start(response.status, response.headers.raw), hooks)
}

function wrapRequestBody(x: Exchange, hooks: readonly BodyHook[]): void {
  if (hooks.length === 0) return
  const inner = x.body
  x.request.headers.delete('content-length')
  if (inner.bytes) {
    const first = passChunk(hooks, inner.bytes)
    inner.replace(Buffer.concat([...(first ? [first] : []), ...flushChunks(hooks)]))
    return
  }
  const wrapped: BodySource = {
    length: undefined,
    get bytes() {
      return inner.bytes
    },
    buffer: limit => inner.buffer(limit),
    replace: bytes => inner.replace(bytes),
    take: () => transformBody(inner.take(), hooks),
  }
  x.body = wrapped
}

function transformBody(body: Buffer | Readable | undefined, hooks: readonly BodyHook[]): Buffer | Readable | undefined {
  if (body === undefined) return undefined
  if (Buffer.isBuffer(body)) {
    const first = passChunk(hooks, body)
    return Buffer.concat([...(first ? [first] : []), ...flushChunks(hooks)])
  }
  const transform = new Transform({
    transform: (chunk: Buffer, _encoding, done) => done(null, passChunk(hooks, chunk)),
    flush(done) {
      for (const chunk of flushChunks(hooks)) this.push(chunk)
      done()
    },
  })
  body.on('error', error => transform.destroy(error))
  return body.pipe(transform)
}
