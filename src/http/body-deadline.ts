import type { Clock } from '../runtime/runtime.ts'
import { GatewayError } from './errors.ts'
import type { ChunkSink } from './transport.ts'

/**
 * `sink` for a body that is drained only so that its connection can be reused. If draining takes longer than `ms`, the
 * call is canceled and the sink fails.
 */
export function withDeadline(sink: ChunkSink, ms: number, clock: Clock, call: { cancel(): void }): ChunkSink {
  const timer = clock.after(ms, () => {
    call.cancel()
    sink.fail(new GatewayError('upstreamTimeout'))
  })
  return {
    write: (chunk, release) => sink.write(chunk, release),
    end(trailers) {
      timer.cancel()
      sink.end(trailers)
    },
    fail(error) {
      timer.cancel()
      sink.fail(error)
    },
    onDrain: then => sink.onDrain(then),
  }
}
