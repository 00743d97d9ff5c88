import { GatewayError } from '../http/errors.ts'
import type { Exchange } from '../http/exchange.ts'
import type { HeaderList } from '../http/headers.ts'
import { keepChunk } from '../http/keep-chunk.ts'
import type { ResponseHandler, Target, UpstreamRequest } from '../http/transport.ts'
import type { Clock, Runtime } from '../runtime/runtime.ts'

// The only place where calls leave the gateway.

/** One call with the request of `x`; it ends with `x`. */
export function dispatch(
  { transport }: Pick<Runtime, 'transport'>,
  x: Exchange,
  target: Target,
  request: UpstreamRequest,
  on: ResponseHandler,
): { cancel(): void } {
  if (target.returns) countHop(x, request)
  const call = transport.dispatch(target, target.sign ? { ...request, signedFor: x } : request, on)
  x.owns(call)
  return call
}

const HOPS = 'x-gwctl-hops'
/** A gateway may legitimately call itself once or twice, for one listener behind another. */
const MAX_HOPS = 4

/** Breaks loops through the gateway itself. Throws `loopDetected`. */
function countHop(x: Exchange, request: UpstreamRequest): void {
  const hops = Number.parseInt(x.received.headers.get(HOPS) ?? '0', 10)
  if (!(hops < MAX_HOPS)) throw new GatewayError('loopDetected')
  request.headers.set(HOPS, String(Math.max(hops, 0) + 1))
}

/** A fully buffered response. */
export interface WholeReply {
  readonly status: number
  readonly headers: HeaderList
  readonly body: Buffer
}

/** A call by the gateway itself to something not declared as a service (key sets, credentials). See `wholeReply`. */
export function callWhole(
  { transport, clock }: Pick<Runtime, 'transport' | 'clock'>,
  target: Target,
  request: UpstreamRequest,
  limit: number,
): Promise<WholeReply> {
  const started = { ...request, timeout: 0 }
  return wholeReply(clock, request.timeout ?? 0, limit, on => transport.dispatch(target, started, on))
}

/**
 * Buffers the response to the call that `start` makes. `timeout` (ms; 0: none) covers the body too, since the head
 * alone is of no use. Throws GatewayError, also past `limit` bytes of body.
 */
export function wholeReply(
  clock: Clock,
  timeout: number,
  limit: number,
  start: (on: ResponseHandler) => { cancel(): void },
): Promise<WholeReply> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const giveUp = (error: GatewayError): void => {
      call.cancel()
      finish(() => reject(error))
    }
    const timer =
      timeout > 0
        ? clock.after(timeout, () => giveUp(new GatewayError('upstreamTimeout', { retryable: true })))
        : undefined
    const finish = (settle: () => void): void => {
      timer?.cancel()
      settle()
    }
    const call = start({
      head: (status, headers) => ({
        write(chunk) {
          size += chunk.length
          if (size <= limit) keepChunk(chunks, chunk)
          else giveUp(new GatewayError('responseTooLarge', { detail: `more than ${limit} bytes` }))
          return true
        },
        end: () => finish(() => resolve({ status, headers, body: Buffer.concat(chunks, size) })),
        fail: error => finish(() => reject(error)),
        onDrain() {},
      }),
      fail: error => finish(() => reject(error)),
    })
  })
}
