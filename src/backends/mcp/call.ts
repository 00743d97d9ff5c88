import type { Exchange } from '../../http/exchange.ts'
import type { Request, RequestId } from '../../mcp/message.ts'
import type { TracedCall } from '../../trace/trace-event.ts'
import type { Answer } from './answer.ts'
import type { CallEvents, Cancel, Connection } from './connection.ts'
import type { Link, Targets } from './targets.ts'

/** A client's request under way: what answers it, and on which targets it runs. */
export interface Call {
  readonly method: string
  readonly answer: Answer
  readonly parts: ReadonlyMap<Link, Cancel>
}

interface OpenCall extends Call {
  readonly parts: Map<Link, Cancel>
}

/** What one client has under way, under its own ids. */
export class Calls {
  readonly #targets: Targets
  readonly #open = new Map<RequestId, OpenCall>()
  /** Numbers the gateway's own requests. */
  #serial = 0

  constructor(targets: Targets) {
    this.#targets = targets
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

  /** An id that no client would choose. */
  ownId(): string {
    return `gwctl-${++this.#serial}`
  }

  /** A request on one target, which is connected; `events` hears of it until its end. */
  start(link: Link, request: Request, answer: Answer, events: CallEvents): void {
    const { x } = answer
    const traced = traceCall(x, link, request)
    let over = false
    const finish = (error?: string): boolean => {
      if (over) return false
      over = true
      this.#forget(request.id, link)
      traced?.end({ target: link.name, error })
      return true
    }
    const cancel = (link.connection as Connection).call(x, request, {
      flow: events.flow,
      message: message => {
        if (!over) events.message(message)
      },
      reply: response => {
        if (finish()) events.reply(response)
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
  }

  /** Ends what is under way under the client's id. */
  cancel(id: RequestId, told = false): void {
    for (const cancel of [...(this.#open.get(id)?.parts.values() ?? [])]) cancel(told)
  }

  #forget(id: RequestId, link: Link): void {
    const call = this.#open.get(id)
    call?.parts.delete(link)
    if (call?.parts.size === 0) this.#open.delete(id)
  }
}

/** One message to one target, for whoever watches the request. */
export function traceCall(
  { trace }: Exchange,
  { name }: Pick<Link, 'name'>,
  { method }: Request,
): TracedCall | undefined {
  return trace?.child(`target ${name}`).call({ target: name, purpose: method })
}
