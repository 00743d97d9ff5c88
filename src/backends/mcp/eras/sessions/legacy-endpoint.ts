import { GatewayError } from '../../../../http/errors.ts'
import type { Exchange } from '../../../../http/exchange.ts'
import { formFields } from '../../../../http/form-fields.ts'
import { encodeSse } from '../../../../http/sse.ts'
import { type ChunkSink, discard, type ResponseHandler } from '../../../../http/transport.ts'
import { errorReply, INTERNAL_ERROR } from '../../../../mcp/errors.ts'
import { type Message, type RequestId, readClientMessage } from '../../../../mcp/message.ts'
import { ownId } from '../../../../runtime/session-owner.ts'
import { Answer } from '../../answer.ts'
import { deliver } from '../../deliver.ts'
import type { Router } from '../../router.ts'
import type { McpSetup } from '../../setup.ts'
import type { ClientSession } from './client-session.ts'
import { openServerStream } from './server-stream.ts'
import type { SessionStore } from './session-store.ts'

const NO_ID = 'failed to process session_id query parameter'

/** HTTP+SSE (MCP 2024-11-05) for clients, at the path `/sse`: one stream carries all replies. */
export class LegacyEndpoint {
  readonly #setup: McpSetup
  readonly #store: SessionStore
  readonly #router: Router
  readonly #begin: (x: Exchange) => ClientSession
  readonly #isOwner: (session: ClientSession, x: Exchange) => boolean

  constructor(
    setup: McpSetup,
    store: SessionStore,
    router: Router,
    begin: (x: Exchange) => ClientSession,
    isOwner: (session: ClientSession, x: Exchange) => boolean,
  ) {
    this.#setup = setup
    this.#store = store
    this.#router = router
    this.#begin = begin
    this.#isOwner = isOwner
  }

  static serves(x: Exchange): boolean {
    const { path } = x.request
    return path === '/sse' || path.startsWith('/sse?')
  }

  serve(x: Exchange, answer: Answer): void {
    if (x.request.method === 'GET') this.#open(x, answer)
    else if (x.request.method === 'POST') this.#post(x, answer)
    else answer.refuse(405, 'method not allowed; must be GET or POST', ['allow', 'GET, POST'])
  }

  #open(x: Exchange, answer: Answer): void {
    const session = this.#begin(x)
    if (!this.#store.admit(session)) {
      answer.refuse(503, 'fail to create session: too many sessions')
      return
    }
    const { runtime } = this.#setup
    session.id = ownId(runtime.worker, () => runtime.uuid())
    session.outlet = answer
    session.active++
    this.#store.add(session)
    const { path } = x.received
    answer.raw(encodeSse('endpoint', `${path}${path.includes('?') ? '&' : '?'}sessionId=${session.id}`))
    answer.onEnd(() => session.end())
  }

  #post(x: Exchange, answer: Answer): void {
    const id = formFields(x.request.path.split('?')[1] ?? '').get('sessionId')
    if (id === null || id === '') {
      answer.refuse(422, NO_ID)
      return
    }
    const session = this.#store.get(id)
    if (!session?.outlet || !this.#isOwner(session, x)) {
      answer.refuse(404, 'session not found')
      return
    }
    this.#store.use(session)
    x.body.buffer(this.#setup.maxBody).then(
      bytes => {
        const read = readClientMessage(bytes)
        if ('kind' in read) answer.refuse(400, `fail to deserialize request body: ${read.problem}`)
        else {
          answer.accepted()
          this.#handle(session, read, x)
        }
      },
      (error: Error) => answer.cut(error),
    )
  }

  #handle(
    session: ClientSession,
    { message, outline }: Exclude<ReturnType<typeof readClientMessage>, { kind: string }>,
    x: Exchange,
  ): void {
    const outlet = session.outlet as Answer
    const answer = new Answer(x, intoStream(outlet, idOf(message)), this.#setup.runtime.clock, true)
    x.mcp = { sessionId: session.id, ...(message.kind === 'response' ? {} : { method: message.method }) }
    if (message.kind !== 'request' || message.method !== 'initialize' || !session.open(message)) {
      deliver(this.#setup, this.#router, session, message, outline, answer)
      return
    }
    answer.hold()
    const opened = (): boolean => {
      answer.release(undefined)
      return true
    }
    this.#router.introduce(session, message, answer, opened, () => {
      const own = new Answer(x, intoStream(outlet, null), this.#setup.runtime.clock, true)
      openServerStream(this.#setup, this.#router, session, own)
    })
  }
}

function idOf(message: Message): RequestId | null {
  return message.kind === 'request' ? message.id : null
}

/** Redirects the response to the POST into the stream; anything that is not a message becomes an error for `id`. */
function intoStream(outlet: Answer, id: RequestId | null): ResponseHandler {
  const fail = (message: string): void => {
    if (id !== null) outlet.event(errorReply(id, { code: INTERNAL_ERROR, message }))
  }
  return {
    head(status): ChunkSink {
      if (status === 200)
        return {
          write: chunk => outlet.raw(chunk),
          end() {},
          fail: error => fail(error.message),
          onDrain: then => outlet.onRoom(then),
        }
      if (status >= 400) fail(`failed to send message: the target answered with status ${status}`)
      return discard
    },
    fail(error) {
      const body = error instanceof GatewayError ? error.details.body : undefined
      if (body?.type !== 'application/json') fail(error.message)
      else if (id !== null) outlet.event(body.text)
    },
  }
}
