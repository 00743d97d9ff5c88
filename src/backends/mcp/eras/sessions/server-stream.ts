import { GatewayError } from '../../../../http/errors.ts'
import { HeaderList } from '../../../../http/headers.ts'
import { discard, type ResponseHandler } from '../../../../http/transport.ts'
import type { Notification, Request } from '../../../../mcp/message.ts'
import type { Answer } from '../../answer.ts'
import type { TargetFailure } from '../../connection.ts'
import { rawSink } from '../../forward.ts'
import { HttpConnection, isEventStream, isSuccess, passedOn } from '../../http-connection.ts'
import type { Router } from '../../router.ts'
import type { McpSetup } from '../../setup.ts'
import type { Link } from '../../targets.ts'
import type { ClientSession } from './client-session.ts'

const NO_CONTENT = { status: 405, headers: new HeaderList([], true), body: Buffer.alloc(0) }
const NO_STREAM = 'GET event stream is not supported by any upstream'

/** The stream for messages that targets initiate: the only target's own, or those of all targets combined. */
export function openServerStream(
  setup: McpSetup,
  router: Router,
  session: ClientSession,
  answer: Answer,
  positions: ReadonlyMap<string, string> = new Map(),
  after?: string,
): void {
  const [only] = session.targets.links
  answer.onEnd(() => session.streams.delete(answer))
  if (!setup.multiple && !session.outlet && only?.connection instanceof HttpConnection) {
    session.streams.add(answer)
    passStream(only.connection, session, only, answer, after)
    return
  }
  // Each message goes to one stream: a newer stream replaces the others, as after an unnoticed disconnect.
  for (const stream of session.streams) stream.end()
  session.streams.add(answer)
  let open = session.targets.links.length
  let refused = 0
  let first: TargetFailure | undefined
  const closed = (lost?: TargetFailure): void => {
    open--
    // A target without a user says nothing, as one without a stream.
    const failure = lost?.need ? { ...lost, http: NO_CONTENT } : lost
    if (failure) refused++
    if (failure?.http?.status !== 405) first ??= failure
    if (failure && failure.http?.status !== 405 && !setup.failOpen) fail(answer, failure)
    else if (open === 0) {
      if (refused < session.targets.links.length || answer.started) answer.end()
      else if (first) fail(answer, first)
      else answer.refuse(405, NO_STREAM)
    }
  }
  for (const link of session.targets.links)
    listenTo(router, session, link, { answer, after: positions.get(link.name), closed })
}

function listenTo(
  router: Router,
  session: ClientSession,
  link: Link,
  how: { readonly answer: Answer; readonly after: string | undefined; closed(failure?: TargetFailure): void },
): void {
  const { answer, after, closed } = how
  session.targets.ready(link, answer.x, failure => {
    if (failure || !link.connection) return closed(failure ?? { message: 'the target is down', down: true })
    const events = {
      flow: answer,
      position: (event: string, silent: boolean) => answer.at(link.name, event, silent),
      open: () => answer.open(),
      message: (message: Request | Notification) => router.tell(session, link, message, answer),
      end: (lost?: TargetFailure) => {
        if (lost?.down) session.targets.down(link, lost)
        closed(lost)
      },
    }
    const stop = link.connection.listen(answer.x, events, after)
    answer.onEnd(stop)
  })
}

/** Resumption (`Last-Event-ID`) involves the client and the target. */
function passStream(
  connection: HttpConnection,
  session: ClientSession,
  link: Link,
  answer: Answer,
  after: string | undefined,
): void {
  const handler: ResponseHandler = {
    head(status, headers) {
      if (isSuccess(status) && isEventStream(headers)) {
        answer.open()
        return rawSink(
          answer,
          session.seal(),
          () => answer.end(),
          error => answer.cut(error),
        )
      }
      if (status === 405) {
        answer.refuse(405, NO_STREAM)
        return discard
      }
      const sink = answer.takeOver(status, passedOn(headers))
      if (status === 404 && connection.session !== undefined) {
        connection.session = undefined
        session.targets.down(link, { message: 'the target has ended the session', down: true })
      }
      return sink
    },
    fail(error) {
      answer.cut(new GatewayError('mcp', { detail: `failed to establish get stream: ${error.message}`, status: 500 }))
    },
  }
  answer.onEnd(connection.forward(answer.x, 'GET', undefined, handler, after))
}

function fail(answer: Answer, failure: TargetFailure): void {
  if (failure.http && !answer.started) {
    const { status, headers, body } = failure.http
    answer.plain(status, headers.raw, body)
  } else if (answer.started) answer.end()
  else answer.refuse(500, `failed to establish get stream: ${failure.message}`)
}
