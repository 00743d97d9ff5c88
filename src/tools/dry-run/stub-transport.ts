import type { Readable } from 'node:stream'
import { checkLiteral } from '../../engine/upstream/dns.ts'
import { connectFailure } from '../../engine/upstream/failure.ts'
import { dropListed, fieldKind } from '../../engine/upstream/hop-by-hop.ts'
import { wireHead } from '../../engine/upstream/http1-request.ts'
import { GatewayError } from '../../http/errors.ts'
import { HeaderList } from '../../http/headers.ts'
import type { ResponseHandler, Target, Transport, UpstreamRequest } from '../../http/transport.ts'
import { PROCESS } from '../../protobuf/ext-proc.ts'
import type { Clock, Timer } from '../../runtime/runtime.ts'
import { answerStream } from './stub-processor.ts'

/** A call that would have been made, with its whole body. */
export interface StubCall extends Omit<UpstreamRequest, 'body' | 'headers'> {
  readonly target: Target
  /** As sent: `host` first, body framing last. */
  readonly headers: HeaderList
  readonly body: Buffer
}

/** The stub's answer to one call. */
export interface StubReply {
  readonly status: number
  readonly headers?: readonly (readonly [name: string, value: string])[]
  readonly body?: string | Buffer
  /** Delay in ms. */
  readonly delay?: number
  /** No answer: the connection fails. */
  readonly unreachable?: boolean
}

export function jsonReply(value: unknown): StubReply {
  return { status: 200, headers: [['content-type', 'application/json']], body: JSON.stringify(value) }
}

/**
 * Answers every call without opening connections. Calls that could not be sent or are forbidden fail as in the real
 * transport.
 */
export function stubTransport(clock: Clock, answer: (call: StubCall) => StubReply): Transport {
  return {
    dispatch(target, request, on) {
      let cancelled = false
      let delay: Timer | undefined
      const stream = streamOf(request)
      callOf(target, stream ? { ...request, body: undefined } : request).then(
        call => {
          if (!cancelled) reply(answer(call), request.timeout ?? 0)
        },
        error => {
          if (!cancelled) on.fail(error)
        },
      )
      function reply(stub: StubReply, limit: number): void {
        const late = limit > 0 && (stub.delay ?? 0) > limit
        const then = () => {
          if (cancelled) return
          if (late) on.fail(new GatewayError('upstreamTimeout', { retryable: true }))
          else if (stream && !stub.unreachable) answerStream(stub, stream, on)
          else give(stub, request.method, on)
        }
        if (stub.delay) delay = clock.after(late ? limit : stub.delay, then, 'held')
        else then()
      }
      return {
        cancel: () => {
          cancelled = true
          delay?.cancel()
        },
      }
    },
    close: async () => {},
  }
}

/** Messages that are answered as they arrive, instead of a body that is read first. */
function streamOf({ path, body }: UpstreamRequest): Readable | undefined {
  return path === PROCESS && body !== undefined && !Buffer.isBuffer(body) ? body : undefined
}

/** Throws a GatewayError. */
async function callOf(target: Target, request: UpstreamRequest): Promise<StubCall> {
  checkLiteral(target)
  const headers = writtenHeaders(wireHead(request).text, target)
  return { ...request, target, headers, body: await bodyOf(request) }
}

function writtenHeaders(head: string, { version }: Target): HeaderList {
  const headers = new HeaderList()
  for (const line of head.trimEnd().split('\r\n').slice(1)) {
    const at = line.indexOf(':')
    const name = line.slice(0, at)
    // HTTP/2 uses frames instead.
    if (version !== '2' || name !== 'transfer-encoding') headers.append(name, line.slice(at + 1).trim())
  }
  return headers
}

async function bodyOf({ body }: UpstreamRequest): Promise<Buffer> {
  if (body === undefined || Buffer.isBuffer(body)) return body ?? Buffer.alloc(0)
  const chunks: Buffer[] = []
  for await (const chunk of body) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

/** Whether a response consists of its head alone (RFC 9110 section 6.4.1). */
export function isBodyless(method: string, status: number | undefined): boolean {
  return method === 'HEAD' || status === 204 || status === 304
}

function give({ status, headers = [], body = '', unreachable }: StubReply, method: string, on: ResponseHandler): void {
  if (unreachable) {
    on.fail(connectFailure(Object.assign(new Error('refused by a stub'), { code: 'ECONNREFUSED' })))
    return
  }
  const bytes = Buffer.from(body)
  const sink = on.head(status, receivedHeaders(status, headers, bytes.length))
  if (!isBodyless(method, status) && bytes.length > 0) sink.write(bytes)
  sink.end()
}

/** Without connection headers, as a gateway forwards them; whole responses have a length, streams do not. */
function receivedHeaders(status: number, headers: NonNullable<StubReply['headers']>, length: number): HeaderList {
  const kept: string[] = []
  let connection = ''
  let streams = false
  for (const [name, value] of headers) {
    const kind = fieldKind(name)
    if (kind === 'connection') connection = connection === '' ? value : `${connection},${value}`
    if (kind === 'keep' || kind === 'host' || kind === 'expect') kept.push(name, value.trim())
    streams ||= name.toLowerCase() === 'content-type' && value.startsWith('text/event-stream')
  }
  if (connection !== '') dropListed(kept, connection)
  if (!streams && status !== 204 && status !== 304) kept.push('content-length', String(length))
  return new HeaderList(kept, true)
}
