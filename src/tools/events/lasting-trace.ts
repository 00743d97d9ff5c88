import { Failure } from '../../diagnostics/failure.ts'
import { systemClock } from '../../engine/clock.ts'
import type { Clock } from '../../runtime/runtime.ts'
import {
  type AdminServer,
  openTrace,
  type TraceConnection,
  type TraceEnd,
  type TraceRequest,
  timeoutOf,
} from '../admin/admin-client.ts'

/** Whether the gateway of a recording is reachable. */
export class Link {
  #lost: Failure | undefined
  onChange: () => void = () => {}

  /** Why it is not. Undefined while it is. */
  get lost(): Failure | undefined {
    return this.#lost
  }

  change(lost: Failure | undefined): void {
    this.#lost = lost
    this.onChange()
  }
}

export interface LastingTrace extends TraceConnection {
  readonly link: Link
}

/** Retry delays in ms: a gateway that restarts is back soon, one that is gone is retried less often. */
const PAUSES = { first: 250, most: 2000 }

/**
 * Follows requests across restarts of the gateway: when it is lost, it is retried until it is back, for the remaining
 * requests and seconds. So nothing is watched beyond what was asked for, which is also why it requires `follow`. Throws
 * a Failure if the gateway is unreachable at first, or rejects the request.
 */
export async function openLastingTrace(
  admin: AdminServer,
  request: TraceRequest & Required<Pick<TraceRequest, 'follow'>>,
  clock: Clock = systemClock,
): Promise<LastingTrace> {
  const { follow } = request
  const until = clock.mono() + follow.seconds * 1000
  const closed = new AbortController()
  const link = new Link()
  const options = { signal: closed.signal, patience: timeoutOf(admin, clock) }
  let connection = await openTrace(admin, request, options)

  /** undefined: closed, or timed out. */
  async function reopened(left: number): Promise<TraceConnection | undefined> {
    for (let ms = PAUSES.first; ; ms = Math.min(ms * 2, PAUSES.most)) {
      await pause(Math.min(ms, until - clock.mono()), closed.signal, clock)
      const seconds = Math.ceil((until - clock.mono()) / 1000)
      if (closed.signal.aborted || seconds <= 0) return undefined
      try {
        return await openTrace(admin, { ...request, follow: { requests: left, seconds } }, options)
      } catch (error) {
        if (!isLoss(error)) throw error
      }
    }
  }

  async function* events(): AsyncGenerator<string, TraceEnd, undefined> {
    for (let left = follow.requests; ; ) {
      try {
        for (;;) {
          const next = await connection.events.next()
          if (next.done !== true) {
            if (startsRequest(next.value)) left--
            yield next.value
          } else if (next.value === 'shutdown') throw new Failure('unreachable', 'the gateway is shutting down.')
          else return next.value
        }
      } catch (error) {
        // Nothing of what was asked for remains.
        if (!isLoss(error) || left <= 0) throw error
        link.change(error)
      }
      const again = await reopened(left)
      if (again === undefined) return closed.signal.aborted ? 'requests' : 'time'
      connection = again
      link.change(undefined)
    }
  }

  return {
    events: events(),
    link,
    close() {
      closed.abort()
      connection.close()
    },
  }
}

/** Resolves after a delay in ms, or when the signal is aborted. */
function pause(ms: number, signal: AbortSignal, clock: Clock): Promise<void> {
  return new Promise(resolve => {
    const done = () => {
      timer.cancel()
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = clock.after(Math.max(0, ms), done)
    signal.addEventListener('abort', done)
    if (signal.aborted) done()
  })
}

function isLoss(error: unknown): error is Failure {
  return error instanceof Failure && (error.kind === 'unreachable' || error.kind === 'timeout')
}

function startsRequest(text: string): boolean {
  if (!text.includes('"requestStarted"')) return false
  try {
    return (JSON.parse(text) as { message?: { type?: unknown } }).message?.type === 'requestStarted'
  } catch {
    return false
  }
}
