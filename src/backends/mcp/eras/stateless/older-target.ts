import type { Exchange } from '../../../../http/exchange.ts'
import { errorOf, INVALID_PARAMS } from '../../../../mcp/errors.ts'
import { outlineJson } from '../../../../mcp/json-outline.ts'
import { LIST_METHODS } from '../../../../mcp/lists.ts'
import {
  isObject,
  type JsonObject,
  type Notification,
  notificationOf,
  type Request,
  type Response,
  replyOf,
  requestOf,
} from '../../../../mcp/message.ts'
import {
  type ClientFacts,
  META_LOG_LEVEL,
  META_SUBSCRIPTION,
  metaOf,
  withoutRequestMeta,
} from '../../../../mcp/request-meta.ts'
import type { CallEvents, Cancel, Connection, ListenEvents, TargetFailure } from '../../connection.ts'
import { type Asking, OpenCall } from './open-call.ts'

/** Members that older servers lack in cacheable results. */
export const UNCACHED: JsonObject = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' }
/** The code of older servers for a missing resource. */
const RESOURCE_NOT_FOUND = -32002
const FOREIGN_STATE = { code: INVALID_PARAMS, message: 'the request state belongs to another request' }
const CHANGES: Readonly<Record<string, string>> = {
  toolsListChanged: 'tools',
  promptsListChanged: 'prompts',
  resourcesListChanged: 'resources',
}

export interface OlderTargetOptions {
  readonly target: string
  readonly client: ClientFacts
  /** Of the target. */
  readonly capabilities: JsonObject
  readonly asking: Asking
}

/**
 * A target with sessions, for one request of 2026-07-28. Its requests to the client become `input_required`, and the
 * call waits for the request with the answers. `subscriptions/listen` is mapped to its own stream and
 * `resources/subscribe`.
 */
export class OlderTarget implements Connection {
  readonly session = undefined
  readonly #to: Connection
  readonly #options: OlderTargetOptions

  constructor(to: Connection, options: OlderTargetOptions) {
    this.#to = to
    this.#options = options
  }

  get version(): string | undefined {
    return this.#to.version
  }

  call(x: Exchange, request: Request, events: CallEvents): Cancel {
    const { method, params } = request
    if (method === 'subscriptions/listen') return this.#subscribe(x, request, events)
    const level = metaOf(params)?.[META_LOG_LEVEL]
    const { target, asking, client, capabilities } = this.#options
    const call = new OpenCall(request, asking, client.capabilities, {
      target,
      answer: bytes => this.#to.send(x, bytes, () => {}),
      finish: response => asNewer(method, response),
      logs: level !== undefined,
    })
    const start = (): void => {
      call.start(events, passing => this.#to.call(x, withoutRequestMeta(request), passing))
    }
    if (level === undefined || !isObject(capabilities.logging)) start()
    else this.#quietly(x, requestOf('gwctl-level', 'logging/setLevel', { level }), start)
    return () => call.cancel()
  }

  send(_x: Exchange, _bytes: Buffer, done: (failure?: TargetFailure) => void): void {
    done()
  }

  listen(_x: Exchange, events: ListenEvents): () => void {
    events.end({ message: 'the target has no stream for one client', down: false })
    return () => {}
  }

  close(): Promise<void> | undefined {
    return this.#to.close()
  }

  /** A request of the gateway's own, whose outcome changes nothing. */
  #quietly(x: Exchange, request: Request, then: (done: boolean) => void): void {
    this.#to.call(x, request, {
      flow: { full: false, onRoom: go => go() },
      message() {},
      reply: ({ failed }) => then(!failed),
      fail: () => then(false),
    })
  }

  #subscribe(x: Exchange, { id, params }: Request, events: CallEvents): Cancel {
    const wanted = isObject(params.notifications) ? params.notifications : {}
    const about = { [META_SUBSCRIPTION]: id }
    const uris = new Set<string>()
    let over = false
    const acknowledge = (notifications: JsonObject): void =>
      events.message(notificationOf('notifications/subscriptions/acknowledged', { notifications, _meta: about }))
    const stop = this.#to.listen(x, {
      flow: events.flow,
      open: () => {
        if (!over) this.#subscribeTo(x, wanted, uris, accepted => acknowledge(accepted))
      },
      message: message => {
        if (over || message.kind === 'request') return
        const { uri } = message.params
        const kind = /^notifications\/(\w+)\/list_changed$/.exec(message.method)?.[1]
        const flag = Object.keys(CHANGES).find(each => CHANGES[each] === kind)
        const heard =
          message.method === 'notifications/resources/updated' ? uris.has(String(uri)) : flag && wanted[flag] === true
        if (heard) events.message(tagged(message, about))
      },
      end: failure => {
        if (over) return
        over = true
        // A server without such a stream sends nothing unsolicited.
        if (failure?.http?.status === 405) acknowledge({})
        if (failure && failure.http?.status !== 405) events.fail(failure)
        else events.reply(replyOf(id, { resultType: 'complete', _meta: about }))
      },
    })
    return () => {
      over = true
      stop()
    }
  }

  /** The requested notifications that the target supports. */
  #subscribeTo(x: Exchange, wanted: JsonObject, uris: Set<string>, then: (accepted: JsonObject) => void): void {
    const { capabilities } = this.#options
    const offers = (capability: string, flag: string): boolean => {
      const offered = capabilities[capability]
      return isObject(offered) && offered[flag] === true
    }
    const accepted: Record<string, unknown> = {}
    for (const [flag, capability] of Object.entries(CHANGES)) {
      if (wanted[flag] === true && offers(capability, 'listChanged')) accepted[flag] = true
    }
    const asked = Array.isArray(wanted.resourceSubscriptions) && offers('resources', 'subscribe')
    const list = asked ? (wanted.resourceSubscriptions as unknown[]) : []
    let missing = list.length
    const settle = (): void => {
      if (missing === 0) then({ ...accepted, ...(uris.size === 0 ? {} : { resourceSubscriptions: [...uris] }) })
    }
    for (const [i, uri] of list.entries()) {
      this.#quietly(x, requestOf(`gwctl-subscribe-${i}`, 'resources/subscribe', { uri }), done => {
        if (done) uris.add(String(uri))
        missing--
        settle()
      })
    }
    if (list.length === 0) settle()
  }
}

/** A call that waited for its client, as the connection that continues it. */
export function resumed(call: OpenCall): Connection {
  return {
    session: undefined,
    version: undefined,
    call(_x, request, events) {
      if (!call.isMadeBy(request)) {
        events.reply(errorOf(request.id, FOREIGN_STATE))
        call.giveUp()
        return () => {}
      }
      call.resume(request, events)
      return () => call.cancel()
    },
    send: (_x, _bytes, done) => done(),
    listen: () => () => {},
    close: () => undefined,
  }
}

/** Adds the result members that exist since 2026-07-28, and maps error codes. */
function asNewer(method: string, response: Response): Response {
  const { error } = response.value
  if (isObject(error) && error.code === RESOURCE_NOT_FOUND && method === 'resources/read') {
    const value = { ...response.value, error: { ...error, code: INVALID_PARAMS } }
    return { ...response, value, bytes: Buffer.from(JSON.stringify(value)) }
  }
  if (response.failed) return response
  const cacheable = method === 'resources/read' || Object.hasOwn(LIST_METHODS, method)
  const members = cacheable ? UNCACHED : { resultType: 'complete' }
  const { result } = response.value
  const lacking = Object.entries(members).filter(([name]) => isObject(result) && !Object.hasOwn(result, name))
  const start = outlineJson(response.bytes).ranges.get('result')?.start
  if (start === undefined || lacking.length === 0) return response
  const added = JSON.stringify(Object.fromEntries(lacking)).slice(1, -1)
  const comma = Object.keys(result as JsonObject).length > 0 ? ',' : ''
  const bytes = Buffer.concat([
    response.bytes.subarray(0, start + 1),
    Buffer.from(added + comma),
    response.bytes.subarray(start + 1),
  ])
  return { ...response, bytes }
}

function tagged(message: Notification, about: JsonObject): Notification {
  return notificationOf(message.method, { ...message.params, _meta: { ...metaOf(message.params), ...about } })
}
