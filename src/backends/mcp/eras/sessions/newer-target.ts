import type { Exchange } from '../../../../http/exchange.ts'
import { HeaderList } from '../../../../http/headers.ts'
import { errorOf, INVALID_PARAMS } from '../../../../mcp/errors.ts'
import { parseExact } from '../../../../mcp/exact-json.ts'
import { withJsonAt } from '../../../../mcp/json-outline.ts'
import {
  isObject,
  type JsonObject,
  type Notification,
  type Request,
  type Response,
  readMessage,
  replyOf,
  requestOf,
} from '../../../../mcp/message.ts'
import { STATELESS_VERSION } from '../../../../mcp/protocol.ts'
import { type ClientFacts, META_SUBSCRIPTION, metaOf, withRequestMeta } from '../../../../mcp/request-meta.ts'
import type { CallEvents, Cancel, Connection, ListenEvents, TargetFailure } from '../../connection.ts'

const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged'
/** Rounds of `input_required` per call. */
const MAX_ROUNDS = 32
/** The notifications that a session gets unasked, by capability. */
const CHANGES: Readonly<Record<string, string>> = {
  tools: 'toolsListChanged',
  prompts: 'promptsListChanged',
  resources: 'resourcesListChanged',
}
const NO_STREAM: TargetFailure = {
  message: 'the target has no stream of its own',
  down: false,
  http: { status: 405, headers: new HeaderList([], true), body: Buffer.alloc(0) },
}

interface Listening {
  readonly x: Exchange
  readonly events: ListenEvents
  stop: Cancel
}

/**
 * A target of 2026-07-28, for a client with a session. State of the session is added to each request. What the target
 * needs from the client is requested in the manner of servers with sessions, and the call is repeated with the answers.
 * Subscriptions and log level belong to the session and are kept here.
 */
export class NewerTarget implements Connection {
  readonly session = undefined
  readonly #to: Connection
  readonly #client: ClientFacts
  readonly #capabilities: JsonObject
  /** Pending client responses, by request id. */
  readonly #asked = new Map<string, (response: Response) => void>()
  readonly #subscribed = new Set<string>()
  #level: unknown
  #listening: Listening | undefined
  #serial = 0

  /** `capabilities`: of the target. */
  constructor(to: Connection, client: ClientFacts, capabilities: JsonObject) {
    this.#to = to
    this.#client = client
    this.#capabilities = capabilities
    // A server with sessions logs at its discretion until the client sets a level.
    this.#level = isObject(capabilities.logging) ? 'info' : undefined
  }

  get version(): string | undefined {
    return this.#to.version
  }

  call(x: Exchange, request: Request, events: CallEvents): Cancel {
    if (this.#keeps(request)) {
      events.reply(replyOf(request.id, {}))
      return () => {}
    }
    let stop: Cancel = () => {}
    let over = false
    let asked: readonly string[] = []
    const round = (number: number, own: Request): void => {
      stop = this.#to.call(x, own, {
        flow: events.flow,
        message: message => events.message(message),
        reply: response => {
          const { result } = response.value
          if (isObject(result) && result.resultType === 'input_required' && number < MAX_ROUNDS) {
            asked = this.#ask(request, response, events, answers => {
              if (!over) round(number + 1, this.#again(request, response, answers))
            })
          } else events.reply(underId(response, request))
        },
        fail: failure => events.fail(failure),
      })
    }
    round(1, withRequestMeta(request, STATELESS_VERSION, this.#client, this.#level))
    return () => {
      over = true
      for (const id of asked) this.#asked.delete(id)
      stop()
    }
  }

  send(_x: Exchange, bytes: Buffer, done: (failure?: TargetFailure) => void): void {
    const message = readMessage(bytes)
    // Other messages have no counterpart: a call is cancelled by closing its stream.
    if (message.kind === 'response' && message.id !== null) {
      const id = String(message.id)
      const take = this.#asked.get(id)
      this.#asked.delete(id)
      take?.(message)
    }
    done()
  }

  listen(x: Exchange, events: ListenEvents): () => void {
    this.#listening?.stop()
    const listening: Listening = { x, events, stop() {} }
    this.#listening = listening
    this.#listen(listening)
    return () => {
      listening.stop()
      if (this.#listening === listening) this.#listening = undefined
    }
  }

  close(): Promise<void> | undefined {
    this.#listening?.stop()
    this.#listening = undefined
    this.#asked.clear()
    return this.#to.close()
  }

  /** Whether the request concerns only the session. */
  #keeps({ method, params }: Request): boolean {
    const uri = String(params.uri)
    if (method === 'ping') return true
    if (method === 'logging/setLevel') this.#level = params.level
    else if (method === 'resources/subscribe') this.#subscribed.add(uri)
    else if (method === 'resources/unsubscribe') this.#subscribed.delete(uri)
    else return false
    if (method !== 'logging/setLevel' && this.#listening) this.#listen(this.#listening)
    return true
  }

  /** Runs `then` with the client's answers; fails the call if the client declines one. */
  #ask(
    { id: called }: Request,
    response: Response,
    events: CallEvents,
    then: (answers: JsonObject) => void,
  ): readonly string[] {
    const { result } = parseExact(response.bytes.toString()) as { result: JsonObject }
    const requests = isObject(result.inputRequests) ? Object.entries(result.inputRequests) : []
    const answers: Record<string, unknown> = {}
    const ids: string[] = []
    let missing = requests.length
    const fail = (message: string): void => {
      for (const id of ids) this.#asked.delete(id)
      events.reply(errorOf(called, { code: INVALID_PARAMS, message }))
    }
    if (missing === 0) then({})
    for (const [key, asked] of requests) {
      if (!isObject(asked) || typeof asked.method !== 'string') {
        fail('the target sent a malformed request')
        break
      }
      const id = `gwctl-${++this.#serial}`
      ids.push(id)
      this.#asked.set(id, ({ bytes, failed }) => {
        if (failed) return fail(`the client has not answered \`${asked.method}\``)
        answers[key] = (parseExact(bytes.toString()) as { result: unknown }).result
        missing--
        if (missing === 0) then(answers)
      })
      events.message(requestOf(id, asked.method, isObject(asked.params) ? asked.params : {}))
    }
    return ids
  }

  /** The same request, with the answers to the target's questions and the state that it returned. */
  #again({ id: _, ...request }: Request, response: Response, inputResponses: JsonObject): Request {
    const { result } = response.value
    const requestState = isObject(result) ? result.requestState : undefined
    const value = parseExact(request.bytes.toString()) as { params?: JsonObject }
    const params = { ...value.params, inputResponses, ...(requestState === undefined ? {} : { requestState }) }
    const again = requestOf(`gwctl-${++this.#serial}`, request.method, params)
    return withRequestMeta(again, STATELESS_VERSION, this.#client, this.#level)
  }

  /** Follows the session's subscriptions. The previous stream stays open until the new one is established. */
  #listen(listening: Listening): void {
    const { x, events, stop } = listening
    const flags = Object.entries(CHANGES).flatMap(([capability, flag]) => {
      const offered = this.#capabilities[capability]
      return isObject(offered) && offered.listChanged === true ? [[flag, true]] : []
    })
    const uris = this.#subscribed.size === 0 ? {} : { resourceSubscriptions: [...this.#subscribed] }
    const notifications = { ...Object.fromEntries(flags), ...uris }
    if (Object.keys(notifications).length === 0) {
      stop()
      listening.stop = () => {}
      events.open()
      return
    }
    const request = requestOf(`gwctl-${++this.#serial}`, 'subscriptions/listen', { notifications })
    let current = true
    const cancel = this.#to.call(x, withRequestMeta(request, STATELESS_VERSION, this.#client), {
      flow: events.flow,
      message: message => {
        if (message.kind === 'request' || !current) return
        if (message.method === ACKNOWLEDGED) {
          stop()
          events.open()
        } else events.message(untagged(message))
      },
      reply: response => {
        if (current) events.end(response.failed ? NO_STREAM : undefined)
      },
      fail: failure => {
        if (current) events.end(failure)
      },
    })
    listening.stop = () => {
      current = false
      cancel()
    }
  }
}

function underId(response: Response, { id }: Request): Response {
  return response.id === id ? response : { ...response, id, bytes: withJsonAt(response.bytes, 'id', id) }
}

/** Sessions have no subscription ids. */
function untagged(message: Notification): Notification {
  const { [META_SUBSCRIPTION]: tag, ...meta } = metaOf(message.params) ?? {}
  if (tag === undefined) return message
  const params = { ...message.params, _meta: meta }
  return { ...message, params, bytes: withJsonAt(message.bytes, 'params._meta', meta) }
}
