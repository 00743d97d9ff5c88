import type { Duplex } from 'node:stream'
import type { Pipeline, WeightedBackend } from '../config/snapshot.ts'
import { GatewayError } from '../http/errors.ts'
import type { Exchange } from '../http/exchange.ts'
import type { HeaderList } from '../http/headers.ts'
import type { Clock } from '../http/runtime.ts'
import { type ChunkSink, discard } from '../http/transport.ts'
import type { Downstream } from './downstream.ts'
import type { HeadSnapshots } from './head-snapshot.ts'
import type { Passage } from './passage.ts'
import { responseBodyHooks, runResponse } from './pipeline.ts'
import { mergeQueued } from './respond.ts'
import { CollectingSink, PausedSink, transformSink } from './sinks.ts'
import { traceFinalResponse } from './trace/stages.ts'

/** What every step of one call to a backend works on. */
export interface Call {
  readonly x: Exchange
  readonly chosen: WeightedBackend
  readonly passage: Passage
  readonly out: Downstream
  readonly heads: HeadSnapshots
  readonly clock: Clock
}

/** Whom it matters to whether an attempt has become the answer. */
export interface Settling {
  settle(outcome: 'answered' | Error): void
}

/** From here on the response of this attempt is the answer: response policies, then the head, then the body. */
export function commitResponse(call: Call, status: number, headers: HeaderList, attempt: Settling): ChunkSink {
  const { x, chosen, passage } = call
  x.response = { status, headers }
  const whole = chosen.buffersResponse ?? passage.listener?.buffersResponse
  if (whole) return collect(call, whole, attempt)
  try {
    const waiting = runResponse(chosen.response, x) ?? (passage.listener && runResponse(passage.listener.response, x))
    if (!waiting) {
      const sink = open(call)
      attempt.settle('answered')
      return sink
    }
    const paused = new PausedSink()
    releaseAfter(waiting, call, attempt, paused)
    return paused
  } catch (error) {
    attempt.settle(error instanceof Error ? error : new Error(String(error)))
    return discard
  }
}

/** Response policies that read the body run when it has come whole. */
function collect(call: Call, whole: NonNullable<Pipeline['buffersResponse']>, attempt: Settling): ChunkSink {
  const { x, chosen } = call
  const collecting: CollectingSink = new CollectingSink(whole.limit, body => {
    if (body instanceof Error) {
      collecting.release(discard)
      attempt.settle(body)
      return
    }
    if (body === undefined && !whole.failOpen) {
      collecting.release(discard)
      const detail = `more than ${whole.limit} bytes`
      attempt.settle(new GatewayError('responseTooLarge', { detail, body: { type: '', text: '' } }))
      return
    }
    if (body) x.response!.body = body
    releaseAfter(
      Promise.resolve().then(() => runResponse(chosen.response, x)),
      call,
      attempt,
      collecting,
    )
  })
  return collecting
}

/** The switch of protocols is answered with what response policies make of its head; then bytes pass as they come. */
export function commitUpgrade(
  { x, chosen, passage, out, heads }: Call,
  status: number,
  headers: HeaderList,
  socket: Duplex,
  attempt: Settling,
): void {
  x.response = { status, headers }
  const listener = () => passage.listener && runResponse(passage.listener.response, x)
  const join = () => {
    if (x.aborted) return fail(new GatewayError('upgradeFailed'))
    mergeQueued(headers, x.queuedHeaders)
    if (x.trace) traceFinalResponse(x, { status, headers }, heads)
    attempt.settle('answered')
    out.upgrade(status, headers.raw, socket)
  }
  const fail = (error: unknown) => {
    socket.destroy()
    attempt.settle(error instanceof Error ? error : new Error(String(error)))
  }
  try {
    const waiting = runResponse(chosen.response, x)
    const rest = waiting ? waiting.then(listener) : listener()
    if (rest) rest.then(join, fail)
    else join()
  } catch (error) {
    fail(error)
  }
}

function releaseAfter(waiting: Promise<void>, call: Call, attempt: Settling, paused: PausedSink): void {
  const { x, passage } = call
  waiting
    .then(() => passage.listener && runResponse(passage.listener.response, x))
    .then(() => {
      // The head has not gone yet: the client can still be told.
      if (paused.failed) throw paused.failed
      // Its time has run out while a policy took its own: it is answered already.
      paused.release(x.aborted ? discard : open(call))
      attempt.settle('answered')
    })
    .catch((error: unknown) => {
      paused.release(discard)
      attempt.settle(error instanceof Error ? error : new Error(String(error)))
    })
}

function open({ x, chosen, passage, out, heads, clock }: Call): ChunkSink {
  const response = x.response!
  x.answeredMono = clock.mono()
  mergeQueued(response.headers, x.queuedHeaders)
  // RFC 9110 section 8.6: not even a length of 0.
  if (response.status === 204) response.headers.delete('content-length')
  const steps =
    passage.listener && passage.listener.responseBody.length > 0
      ? [...chosen.responseBody, ...passage.listener.responseBody]
      : chosen.responseBody
  if (x.trace) traceFinalResponse(x, response, heads)
  if (steps.length === 0) return out.start(response.status, response.headers.raw)
  const hooks = responseBodyHooks(steps, x)
  if (hooks.length === 0) return out.start(response.status, response.headers.raw)
  response.headers.delete('content-length')
  return transformSink(out.start(response.status, response.headers.raw), hooks)
}
