import type { Exchange } from '../../../../http/exchange.ts'
import { withJsonAt } from '../../../../mcp/json-outline.ts'
import type { Notification, Request, RequestId } from '../../../../mcp/message.ts'
import { META_SUBSCRIPTION, metaOf } from '../../../../mcp/request-meta.ts'
import type { CallEvents, Cancel, Connection, ListenEvents, TargetFailure } from '../../connection.ts'

export interface Lease {
  /** For requests: those of several clients are in flight at once. */
  ownId(): string
  /** Unsolicited messages of the target, for all clients that share it. */
  listen(events: ListenEvents): () => void
  /** No other request is in flight. */
  alone(): boolean
  giveBack(): void
}

/** One client's connection to a target shared with others: with ids of its own, and without messages for others. */
export class SharedConnection implements Connection {
  readonly session = undefined
  readonly #to: Connection
  readonly #lease: Lease
  readonly #open = new Set<Cancel>()
  #closed = false

  constructor(to: Connection, lease: Lease) {
    this.#to = to
    this.#lease = lease
  }

  get version(): string | undefined {
    return this.#to.version
  }

  call(x: Exchange, request: Request, events: CallEvents): Cancel {
    const id = this.#lease.ownId()
    const token = metaOf(request.params)?.progressToken
    const own = renamed(request, id, token === undefined ? undefined : id)
    const over = (): void => {
      this.#open.delete(cancel)
    }
    const cancel: Cancel = told => {
      over()
      stop(told)
    }
    this.#open.add(cancel)
    const stop = this.#to.call(x, own, {
      flow: events.flow,
      message: message => this.#told(message, { id, given: request.id, token }, events),
      reply: response => {
        over()
        events.reply({ ...response, id: request.id, bytes: withJsonAt(response.bytes, 'id', request.id) })
      },
      fail: failure => {
        over()
        events.fail(failure)
      },
    })
    return cancel
  }

  send(x: Exchange, bytes: Buffer, done: (failure?: TargetFailure) => void): void {
    this.#to.send(x, bytes, done)
  }

  listen(_x: Exchange, events: ListenEvents): () => void {
    const stop = this.#lease.listen(events)
    const cancel: Cancel = () => {
      this.#open.delete(cancel)
      stop()
    }
    this.#open.add(cancel)
    return cancel
  }

  close(): undefined {
    if (this.#closed) return
    this.#closed = true
    for (const cancel of [...this.#open]) cancel()
    this.#lease.giveBack()
  }

  #told(
    message: Request | Notification,
    { id, given, token }: { readonly id: string; readonly given: RequestId; readonly token: unknown },
    events: CallEvents,
  ): void {
    if (message.kind === 'request') events.message(message)
    else if (message.params.progressToken === id) {
      events.message({ ...message, bytes: withJsonAt(message.bytes, 'params.progressToken', token) })
    } else if (metaOf(message.params)?.[META_SUBSCRIPTION] === id) {
      events.message(withSubscription(message, given))
    } else if (this.#lease.alone()) events.message(message)
  }
}

function renamed(request: Request, id: string, token: string | undefined): Request {
  const bytes = withJsonAt(request.bytes, 'id', id)
  if (token === undefined) return { ...request, id, bytes }
  const params = { ...request.params, _meta: { ...metaOf(request.params), progressToken: token } }
  return { ...request, id, params, bytes: withJsonAt(bytes, 'params._meta.progressToken', token) }
}

function withSubscription(message: Notification, id: RequestId): Notification {
  const meta = { ...metaOf(message.params), [META_SUBSCRIPTION]: id }
  const params = { ...message.params, _meta: meta }
  return { ...message, params, bytes: withJsonAt(message.bytes, 'params._meta', meta) }
}
