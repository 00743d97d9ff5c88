import type { Exchange } from '../../../../http/exchange.ts'
import { errorReply, METHOD_NOT_FOUND } from '../../../../mcp/errors.ts'
import { outlineJson, replaceJson } from '../../../../mcp/json-outline.ts'
import type { Message, Notification, Request, RequestId } from '../../../../mcp/message.ts'
import { META_SUBSCRIPTION, metaOf } from '../../../../mcp/request-meta.ts'
import type { CallEvents, Cancel, Connection, ListenEvents, TargetFailure } from '../../connection.ts'

export interface Lease {
  /** For a request: those of several clients stand beside one another. */
  ownId(): string
  /** No other request is under way. */
  alone(): boolean
  giveBack(): void
}

/** One client's way to a target that others use too: under ids of its own, and without what is meant for others. */
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
      message: message => this.#told(x, message, { id, given: request.id, token }, events),
      reply: response => {
        over()
        events.reply({ ...response, id: request.id, bytes: withValue(response, 'id', request.id) })
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

  /** What it says by itself is nobody's in particular. */
  listen(_x: Exchange, events: ListenEvents): () => void {
    events.end({ message: 'the target has no stream for one client', down: false })
    return () => {}
  }

  close(): undefined {
    if (this.#closed) return
    this.#closed = true
    for (const cancel of [...this.#open]) cancel()
    this.#lease.giveBack()
  }

  #told(
    x: Exchange,
    message: Request | Notification,
    { id, given, token }: { readonly id: string; readonly given: RequestId; readonly token: unknown },
    events: CallEvents,
  ): void {
    if (message.kind === 'request') {
      const error = { code: METHOD_NOT_FOUND, message: 'clients are not asked back' }
      this.#to.send(x, Buffer.from(errorReply(message.id, error)), () => {})
    } else if (message.params.progressToken === id) {
      events.message({ ...message, bytes: withValue(message, 'params.progressToken', token) })
    } else if (metaOf(message.params)?.[META_SUBSCRIPTION] === id) {
      events.message(withSubscription(message, given))
    } else if (this.#lease.alone()) events.message(message)
  }
}

function renamed(request: Request, id: string, token: string | undefined): Request {
  const bytes = withValue(request, 'id', id)
  if (token === undefined) return { ...request, id, bytes }
  const params = { ...request.params, _meta: { ...metaOf(request.params), progressToken: token } }
  return { ...request, id, params, bytes: withValue({ bytes }, 'params._meta.progressToken', token) }
}

function withSubscription(message: Notification, id: RequestId): Notification {
  const meta = { ...metaOf(message.params), [META_SUBSCRIPTION]: id }
  const params = { ...message.params, _meta: meta }
  return { ...message, params, bytes: withValue(message, 'params._meta', meta) }
}

/** `message` with another value at `path`, where it has one. */
function withValue({ bytes }: Pick<Message, 'bytes'>, path: string, value: unknown): Buffer {
  const range = outlineJson(bytes).ranges.get(path)
  return range ? replaceJson(bytes, range, value) : bytes
}
