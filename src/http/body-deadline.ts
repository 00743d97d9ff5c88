import type { Clock } from '../runtime/runtime.ts'
import { GatewayError } from './errors.ts'
import type { ChunkSink } from './transport.ts'

/**
 * `sink` for a body that nobody wants for its own sake: read to its end, so that its connection serves again, unless
 * that takes longer than `ms`. Then the call is canceled, and the sink hears of a failure.
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
