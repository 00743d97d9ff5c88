import type { Exchange } from '../../http/exchange.ts'
import type { Request, RequestId } from '../../mcp/message.ts'
import type { Clock, Timer } from '../../runtime/runtime.ts'
import type { TracedCall } from '../../trace/trace-event.ts'
import type { Answer } from './answer.ts'
import { type CallEvents, type Cancel, type Connection, type Patience, SILENT } from './connection.ts'
import type { Link, Targets } from './targets.ts'

/** A client's request in flight: its answer, and the targets that it runs on. */
export interface Call {
  readonly method: string
  readonly answer: Answer
  readonly parts: ReadonlyMap<Link, Cancel>
}

interface OpenCall extends Call {
  readonly parts: Map<Link, Cancel>
}

/** A client's requests in flight, by the client's ids. */
export class Calls {
  readonly #targets: Targets
  readonly #clock: Clock
  readonly #open = new Map<RequestId, OpenCall>()
  /** Numbers the gateway's own requests. */
  #serial = 0

  constructor(targets: Targets, clock: Clock) {
    this.#targets = targets
    this.#clock = clock
  }

  get size(): number {
    return this.#open.size
  }

  get methods(): string[] {
    return [...this.#open.values()].map(({ method }) => method)
  }

  get(id: RequestId): Call | undefined {
    return this.#open.get(id)
  }

  /** An id that no client is expected to use. */
  ownId(): string {
    return `gwctl-${++this.#serial}`
  }

  /** Runs a request on one connected target, reporting to `events` until its end. `make` replaces the call itself. */
  start(
    link: Link,
    request: Request,
    answer: Answer,
    patience: Patience,
    events: CallEvents,
    make: (events: CallEvents) => Cancel = passing => (link.connection as Connection).call(answer.x, request, passing),
  ): void {
    const { x } = answer
    const traced = traceCall(x, link, request)
    let over = false
    let limit: Timer | undefined
    const finish = (error?: string): boolean => {
      if (over) return false
      over = true
      limit?.cancel()
      this.#forget(request.id, link)
      traced?.end({ target: link.name, error })
      return true
    }
    const cancel = make({
      flow: events.flow,
      position: (event, silent) => events.position?.(event, silent),
      message: message => {
        if (over) return
        if (!patience.untilReply) limit?.cancel()
        events.message(message)
      },
      reply: response => {
        if (!finish()) return
        if (!response.failed) link.keeps(request)
        events.reply(response)
      },
      fail: failure => {
        if (!finish(failure.message)) return
        if (failure.down) this.#targets.down(link, failure)
        events.fail(failure)
      },
    })
    if (over) return
    const call = this.#open.get(request.id) ?? { method: request.method, answer, parts: new Map() }
    call.parts.set(link, told => {
      if (finish('canceled')) cancel(told)
    })
    this.#open.set(request.id, call)
    if (patience.ms === 0) return
    limit = this.#clock.after(patience.ms, () => {
      if (!finish(SILENT.message)) return
      cancel()
      events.fail(SILENT)
    })
  }

  /** Cancels what is in flight under the client's id. */
  cancel(id: RequestId, told = false): void {
    for (const cancel of [...(this.#open.get(id)?.parts.values() ?? [])]) cancel(told)
  }

  #forget(id: RequestId, link: Link): void {
    const call = this.#open.get(id)
    call?.parts.delete(link)
    if (call?.parts.size === 0) this.#open.delete(id)
  }
}

/** Emits a trace event for a message to one target. */
export function traceCall(
  { trace }: Exchange,
  { name }: Pick<Link, 'name'>,
  { method }: Request,
): TracedCall | undefined {
  return trace?.child(`target ${name}`).call({ target: name, purpose: method })
}
