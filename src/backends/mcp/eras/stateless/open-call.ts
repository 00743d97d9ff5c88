import { errorReply, METHOD_NOT_FOUND } from '../../../../mcp/errors.ts'
import { parseExact } from '../../../../mcp/exact-json.ts'
import { withJsonAt } from '../../../../mcp/json-outline.ts'
import {
  isObject,
  type JsonObject,
  type Notification,
  type Request,
  type RequestId,
  type Response,
  replyOf,
} from '../../../../mcp/message.ts'
import { metaOf } from '../../../../mcp/request-meta.ts'
import type { CallEvents, Cancel, Flow } from '../../connection.ts'

/** Requests from servers to clients, with the client capability that each requires. */
const ASKED: Readonly<Record<string, string>> = {
  'elicitation/create': 'elicitation',
  'sampling/createMessage': 'sampling',
  'roots/list': 'roots',
}
/** Requests that may be answered with `input_required`. */
const MAY_ASK: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read'])
/** Notifications kept while no request is attached. */
const MAX_WAITING = 256

export interface Asking {
  /** Keeps the call for the client; returns the `requestState` to resume it. */
  hold(call: OpenCall): string
  /** Keeps the connection to the target open until the returned function is called. */
  retain(): () => void
}

export interface OpenCallOptions {
  readonly target: string
  /** Sends an answer to the target's question. */
  answer(bytes: Buffer): void
  /** Converts the target's reply for the client. */
  finish(response: Response): Response
  /** The client wants log messages. */
  readonly logs: boolean
}

/**
 * A call to a server with sessions, which sends requests while it runs; the client answers them in a series of
 * requests.
 */
export class OpenCall {
  readonly #asking: Asking
  readonly #capabilities: JsonObject
  readonly #options: OpenCallOptions
  readonly #first: Request
  #request: Request
  /** Undefined while the client is being asked. */
  #events: CallEvents | undefined
  readonly #asks = new Map<string, Request>()
  #waiting: Notification[] = []
  #outcome: (() => void) | undefined
  #cancel: Cancel = () => {}
  #release: (() => void) | undefined
  #taken = false
  #serial = 0
  readonly #flow: Flow = flowOf(() => this.#events?.flow)

  /** `capabilities`: of the client. */
  constructor(request: Request, asking: Asking, capabilities: JsonObject, options: OpenCallOptions) {
    this.#first = request
    this.#request = request
    this.#asking = asking
    this.#capabilities = capabilities
    this.#options = options
  }

  start(events: CallEvents, begin: (passing: CallEvents) => Cancel): void {
    this.#events = events
    this.#cancel = begin({
      flow: this.#flow,
      message: message => this.#told(message),
      reply: response => this.#end(events => events.reply(this.#own(response))),
      fail: failure => this.#end(events => events.fail(failure)),
    })
  }

  get target(): string {
    return this.#options.target
  }

  isMadeBy({ method, params }: Request): boolean {
    const { params: given, method: called } = this.#first
    return method === called && params.name === given.name && params.uri === given.uri
  }

  /** Continues with the answers; asks again for missing ones. */
  resume(request: Request, events: CallEvents): void {
    this.#taken = true
    this.#request = request
    this.#events = events
    const { params } = parseExact(request.bytes.toString()) as { params: JsonObject }
    const answers = isObject(params.inputResponses) ? params.inputResponses : {}
    for (const [key, { id }] of [...this.#asks]) {
      if (!Object.hasOwn(answers, key) || !isObject(answers[key])) continue
      this.#asks.delete(key)
      this.#options.answer(replyOf(id, answers[key]).bytes)
    }
    const waiting = this.#waiting
    this.#waiting = []
    for (const message of waiting) events.message(this.#retold(message))
    if (this.#outcome) this.#outcome()
    else if (this.#asks.size > 0) this.#hold()
  }

  cancel(): void {
    this.#events = undefined
    this.#cancel()
    this.#release?.()
  }

  giveUp(): void {
    this.cancel()
  }

  /** The call can no longer be resumed. Cancels it unless it has been. */
  abandon(): void {
    if (!this.#taken) this.giveUp()
    this.#taken = false
  }

  #told(message: Request | Notification): void {
    if (message.kind === 'request') this.#asked(message)
    else if (message.method === 'notifications/message' && !this.#options.logs) return
    else if (this.#events) this.#events.message(this.#retold(message))
    else if (this.#waiting.length < MAX_WAITING) this.#waiting.push(message)
  }

  #asked(request: Request): void {
    const capability = Object.hasOwn(ASKED, request.method) ? ASKED[request.method] : undefined
    if (request.method === 'ping') this.#options.answer(replyOf(request.id, {}).bytes)
    else if (capability && isObject(this.#capabilities[capability]) && MAY_ASK.has(this.#first.method)) {
      this.#asks.set(`question-${++this.#serial}`, request)
      this.#hold()
    } else {
      const error = { code: METHOD_NOT_FOUND, message: 'the client does not answer this' }
      this.#options.answer(Buffer.from(errorReply(request.id, error)))
    }
  }

  #hold(): void {
    const events = this.#events
    if (!events) return
    this.#events = undefined
    this.#release ??= this.#asking.retain()
    const inputRequests = Object.fromEntries(
      [...this.#asks].map(([key, { bytes, method }]) => {
        const { params } = parseExact(bytes.toString()) as { params?: JsonObject }
        return [key, { method, params: params ?? {} }]
      }),
    )
    const requestState = this.#asking.hold(this)
    events.reply(replyOf(this.#request.id, { resultType: 'input_required', inputRequests, requestState }))
  }

  #end(tell: (events: CallEvents) => void): void {
    this.#outcome = () => {
      const events = this.#events
      this.#events = undefined
      this.#release?.()
      if (events) tell(events)
    }
    if (this.#events) this.#outcome()
  }

  #own(response: Response): Response {
    const { id } = this.#request
    const own = response.id === id ? response : { ...response, id, bytes: withJsonAt(response.bytes, 'id', id) }
    return this.#options.finish(own)
  }

  /** Progress of a resumed call is reported under its current token. */
  #retold(message: Notification): Notification {
    const given = metaOf(this.#first.params)?.progressToken
    const token = metaOf(this.#request.params)?.progressToken as RequestId | undefined
    if (message.method !== 'notifications/progress' || token === undefined || token === given) return message
    const params = { ...message.params, progressToken: token }
    return { ...message, params, bytes: withJsonAt(message.bytes, 'params.progressToken', token) }
  }
}

/** Delegates to the current consumer, which changes. */
function flowOf(current: () => Flow | undefined): Flow {
  return {
    get full() {
      return current()?.full === true
    },
    onRoom(then) {
      const flow = current()
      if (flow) flow.onRoom(then)
      else then()
    },
  }
}
