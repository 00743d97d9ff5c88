import { GatewayError } from '../../http/errors.ts'
import type { HeaderList } from '../../http/headers.ts'
import type { Clock } from '../../http/runtime.ts'
import type { Target, Transport, UpstreamRequest, WholeResponse } from '../../http/transport.ts'

/**
 * `Runtime.call` over a transport. The request's `timeout` covers the body too, since nobody sees the head before;
 * `limit` is in bytes of the body.
 */
export function callWhole(
  transport: Transport,
  clock: Clock,
  target: Target,
  request: UpstreamRequest,
  limit: number,
): Promise<WholeResponse> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const giveUp = (error: GatewayError): void => {
      call.cancel()
      finish(() => reject(error))
    }
    const timer = request.timeout
      ? clock.after(request.timeout, () => giveUp(new GatewayError('upstreamTimeout', { retryable: true })))
      : undefined
    const finish = (settle: () => void): void => {
      timer?.cancel()
      settle()
    }
    const call = transport.dispatch(target, withoutTimeout(request), {
      head: (status: number, headers: HeaderList) => ({
        write(chunk) {
          size += chunk.length
          if (size <= limit) chunks.push(chunk)
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

function withoutTimeout(request: UpstreamRequest): UpstreamRequest {
  return { ...request, timeout: 0 }
}
