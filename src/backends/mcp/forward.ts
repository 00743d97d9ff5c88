import type { ChunkSink } from '../../http/transport.ts'
import { HEADER_MISMATCH, INTERNAL_ERROR, MISSING_CAPABILITY, UNSUPPORTED_VERSION } from '../../mcp/errors.ts'
import { isObject, type Request, type RequestId, readMessage } from '../../mcp/message.ts'
import { STATELESS_VERSION } from '../../mcp/protocol.ts'
import type { Answer } from './answer.ts'
import { traceCall } from './call.ts'
import type { Conversation } from './conversation.ts'
import { HttpConnection, isAboutClient, isEventStream, isJson, isSuccess, passedOn } from './http-connection.ts'
import { answerFailure } from './sign-in/answers.ts'
import { failureOf } from './sign-in/need.ts'
import type { Link } from './targets.ts'

/**
 * Passes the only target's reply through as it arrives, unparsed and of any size. False if the target is not reached
 * over Streamable HTTP.
 */
export function forwardRaw(conversation: Conversation, link: Link, request: Request, answer: Answer): boolean {
  const { targets, doubt } = conversation
  const { connection } = link
  if (answer.shared || !(connection instanceof HttpConnection)) return false
  const { x } = answer
  const traced = traceCall(x, link, request)
  const cancel = connection.forward(x, 'POST', request, {
    head(status, headers) {
      traced?.end({ target: link.name, status })
      if (isSuccess(status)) {
        const seal = conversation.seal?.() ?? (chunk => chunk)
        return replySink(request, answer, isEventStream(headers) ? seal : undefined, isJson(headers))
      }
      if (doubt && !answer.started && status >= 400 && !isAboutClient(status)) {
        return connection.refusal(
          status,
          headers,
          () => cancel(),
          failure => {
            const refused = (): void => answer.failWith(request.id, failure)
            if (knowsRequest(failure.http?.body)) refused()
            else doubt(refused)
          },
        )
      }
      if (answer.started) {
        answer.failWith(request.id, { message: `the target answered with status ${status}`, down: false })
      }
      const sink = answer.takeOver(status, passedOn(headers))
      if (status === 404 && connection.session !== undefined) {
        connection.session = undefined
        targets.down(link, { message: 'the target has ended the session', down: true })
      }
      return sink
    },
    fail(error) {
      traced?.end({ target: link.name, error: error.message })
      answerFailure(conversation, request, failureOf(error), answer)
    },
  })
  x.onAbort(() => {
    traced?.end({ target: link.name, error: 'canceled' })
    cancel()
  })
  return true
}

/** Error codes that only servers of 2026-07-28 use, unless they report that they support other revisions. */
function knowsRequest(body: Buffer = EMPTY): boolean {
  const message = readMessage(body)
  const error = message.kind === 'response' ? message.value.error : undefined
  if (!isObject(error)) return false
  if (error.code === HEADER_MISMATCH || error.code === MISSING_CAPABILITY) return true
  const supported = error.code === UNSUPPORTED_VERSION && isObject(error.data) ? error.data.supported : undefined
  return Array.isArray(supported) && supported.includes(STATELESS_VERSION)
}

function replySink(
  request: Request,
  answer: Answer,
  stream: ((chunk: Buffer) => Buffer) | undefined,
  json: boolean,
): ChunkSink {
  if (json) answer.beginEvent()
  else answer.open()
  let first: Buffer | undefined
  const reply = seekId(request.id)
  return rawSink(
    answer,
    chunk => {
      first ??= chunk
      reply.look(chunk)
      return json ? oneLine(chunk) : stream ? stream(chunk) : EMPTY
    },
    () => {
      if (json) answer.endEvent()
      const resumable = stream && first && hasIds(first)
      if (reply.seen || resumable) answer.end()
      else answer.failWith(request.id, { message: 'the target has not answered the request', down: false })
    },
    error => {
      // The client has a position and resumes at the target.
      if (first && hasIds(first)) answer.cut(error)
      else answer.fail(500, request.id, { code: INTERNAL_ERROR, message: `failed to send message: ${error.message}` })
    },
  )
}

/** Whether bytes that nobody parses hold a reply to that request, as serializers write its id. */
function seekId(id: RequestId): { look(chunk: Buffer): void; readonly seen: boolean } {
  const text = JSON.stringify(id)
  const words = [`"id":${text}`, `"id": ${text}`]
  const split = text.length + 5
  let end: Buffer = EMPTY
  // Serializers differ in how they write other characters.
  let seen = typeof id === 'string' && !/^[\w .:-]*$/.test(id)
  return {
    look(chunk) {
      if (seen) return
      const seam = end.length === 0 ? chunk : Buffer.concat([end, chunk.subarray(0, split)])
      seen = words.some(
        word => chunk.includes(word, 0, 'latin1') || (seam !== chunk && seam.includes(word, 0, 'latin1')),
      )
      if (!seen) end = Buffer.from((chunk.length < split ? seam : chunk).subarray(-split))
    },
    get seen() {
      return seen
    },
  }
}

/** A sink for the bytes of a target's stream that nothing parses on the way. */
export function rawSink(
  answer: Answer,
  convert: (chunk: Buffer) => Buffer,
  end: () => void,
  fail: (error: Error) => void,
): ChunkSink {
  let resume = (): void => {}
  return {
    write(chunk) {
      if (answer.raw(convert(chunk))) return true
      answer.onRoom(() => resume())
      return false
    },
    end,
    fail,
    onDrain: then => {
      resume = then
    },
  }
}

const EMPTY = Buffer.alloc(0)

/** As far as the first chunk of a stream shows. */
function hasIds(chunk: Buffer): boolean {
  return /(?:^|[\r\n])id:/.test(chunk.toString('latin1', 0, 64 * 1024))
}

/** Line breaks in JSON would end the data line. */
function oneLine(chunk: Buffer): Buffer {
  if (!chunk.includes(10) && !chunk.includes(13)) return chunk
  const out = Buffer.from(chunk)
  for (let i = 0; i < out.length; i++) if (out[i] === 10 || out[i] === 13) out[i] = 32
  return out
}
