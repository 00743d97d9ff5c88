import { GatewayError } from '../http/errors.ts'
import type { Exchange } from '../http/exchange.ts'
import type { HeaderList } from '../http/headers.ts'
import { type ChunkSink, discard, type ResponseHandler } from '../http/transport.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { responseBodyHooks, runResponse } from './run-policies.ts'
import { CollectingSink, PausedSink, sinkThrough } from './sinks.ts'
import type { CallSteps, PolicyStep, ResponseBuffering } from './step.ts'

/** The response is buffered whole before its policies run. */
export interface WholeResponse extends ResponseBuffering {
  readonly runtime: Pick<Runtime, 'clock' | 'bodies'>
}

/** The policies' verdict on `x.response`. */
export interface Passing {
  /** The response may proceed; returns the sink for its body. */
  open(): ChunkSink
  /** `error`: the failure of a policy, or of the body it needed whole; `open` is then never called. */
  settle(error?: Error): void
}

/**
 * Runs response policies on `x.response`, list by list, then passes the body on. The body is held back while a policy
 * is pending, and buffered before the first one if `whole` asks for it.
 */
export function passResponse(
  x: Exchange,
  lists: readonly (readonly PolicyStep[])[],
  whole: WholeResponse | undefined,
  passing: Passing,
): ChunkSink {
  if (whole) return collect(x, lists, whole, passing)
  try {
    const waiting = runLists(x, lists)
    if (waiting) {
      const paused = new PausedSink()
      releaseAfter(waiting, x, passing, paused)
      return paused
    }
    const sink = passing.open()
    passing.settle()
    return sink
  } catch (error) {
    passing.settle(asError(error))
    return discard
  }
}

/** Runs `lists` in sequence; returns a promise only if one is asynchronous. */
export function runLists(x: Exchange, lists: readonly (readonly PolicyStep[])[], from = 0): void | Promise<void> {
  for (let i = from; i < lists.length; i++) {
    const waiting = runResponse(lists[i]!, x)
    if (waiting) return waiting.then(() => runLists(x, lists, i + 1))
  }
}

/** Passes a response through the policies of one call to `on`. */
export function giveResponse(
  x: Exchange,
  steps: CallSteps,
  status: number,
  headers: HeaderList,
  on: ResponseHandler,
): ChunkSink {
  if (steps.response.length === 0 && steps.responseBody.length === 0) return on.head(status, headers)
  const response = { status, headers }
  x.response = response
  return passResponse(x, [steps.response], undefined, {
    open: () => openBody(x, steps.responseBody, () => on.head(response.status, response.headers)),
    settle: error => {
      if (error) on.fail(error)
    },
  })
}

/** Opens the body's sink, through the transforms that apply. */
export function openBody(x: Exchange, steps: readonly PolicyStep[], start: () => ChunkSink): ChunkSink {
  if (steps.length === 0) return start()
  const hooks = responseBodyHooks(steps, x)
  if (hooks.length === 0) return start()
  x.response!.headers.delete('content-length')
  return sinkThrough(start(), hooks)
}

/** Response policies that read the body run once it is complete. */
function collect(
  x: Exchange,
  lists: readonly (readonly PolicyStep[])[],
  { limit, failOpen, runtime: { clock, bodies } }: WholeResponse,
  passing: Passing,
): ChunkSink {
  const collecting: CollectingSink = new CollectingSink(limit, bodies, body => {
    timer?.cancel()
    const failure =
      body === undefined && !failOpen
        ? new GatewayError('responseTooLarge', { detail: `more than ${limit} bytes`, body: { type: '', text: '' } })
        : body
    if (failure instanceof Error) {
      collecting.release(discard)
      passing.settle(failure)
      return
    }
    if (failure) x.response!.body = failure
    releaseAfter(
      Promise.resolve().then(() => runLists(x, lists)),
      x,
      passing,
      collecting,
    )
  })
  const { timeout } = bodies.limits
  const late = failOpen ? undefined : new GatewayError('upstreamTimeout')
  const timer = timeout > 0 ? clock.after(timeout, () => collecting.giveUp(late)) : undefined
  x.owns({
    cancel() {
      timer?.cancel()
      collecting.cancel()
    },
  })
  return collecting
}

function releaseAfter(waiting: Promise<void>, x: Exchange, passing: Passing, paused: PausedSink): void {
  waiting
    .then(() => {
      // The head has not been sent yet, so the client still gets an error response.
      if (paused.failed) throw paused.failed
      // The deadline expired while a policy was running: the response was sent already.
      paused.release(x.aborted ? discard : passing.open())
      passing.settle()
    })
    .catch((error: unknown) => {
      paused.release(discard)
      passing.settle(asError(error))
    })
}

export function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}
