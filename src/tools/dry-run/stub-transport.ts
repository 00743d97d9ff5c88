import { connectFailure } from '../../engine/upstream/failure.ts'
import { GatewayError } from '../../http/errors.ts'
import { HeaderList } from '../../http/headers.ts'
import type { Clock, Timer } from '../../http/runtime.ts'
import type { ResponseHandler, Target, Transport, UpstreamRequest } from '../../http/transport.ts'

/** One call that would have gone out, with its whole body. */
export interface StubCall extends Omit<UpstreamRequest, 'body'> {
  readonly target: Target
  readonly body: Buffer
}

/** What stands in for the answer to one call. */
export interface StubReply {
  readonly status: number
  readonly headers?: readonly (readonly [name: string, value: string])[]
  readonly body?: string | Buffer
  /** ms until it comes. */
  readonly delay?: number
  /** It never comes: no connection can be made. */
  readonly unreachable?: boolean
}

export function jsonReply(value: unknown): StubReply {
  return { status: 200, headers: [['content-type', 'application/json']], body: JSON.stringify(value) }
}

/** Answers each call and opens nothing. */
export function stubTransport(clock: Clock, answer: (call: StubCall) => StubReply): Transport {
  return {
    dispatch(target, request, on) {
      let cancelled = false
      let delay: Timer | undefined
      bodyOf(request).then(
        body => {
          if (!cancelled) reply(answer({ ...request, target, body }), request.timeout ?? 0)
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

async function bodyOf({ body }: UpstreamRequest): Promise<Buffer> {
  if (body === undefined || Buffer.isBuffer(body)) return body ?? Buffer.alloc(0)
  const chunks: Buffer[] = []
  for await (const chunk of body) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

function give({ status, headers = [], body = '', unreachable }: StubReply, method: string, on: ResponseHandler): void {
  if (unreachable) {
    on.fail(connectFailure(Object.assign(new Error('refused by a stub'), { code: 'ECONNREFUSED' })))
    return
  }
  const fields = new HeaderList()
  for (const [name, value] of headers) fields.append(name, value)
  const sink = on.head(status, fields)
  const hasBody = method !== 'HEAD' && status !== 204 && status !== 304
  if (hasBody && body.length > 0) sink.write(Buffer.from(body))
  sink.end()
}
