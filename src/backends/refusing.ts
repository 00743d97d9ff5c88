import { GatewayError } from '../http/errors.ts'
import type { Backend, BackendContext } from './backend.ts'

/** Fails every attempt: the placeholder for a backend that nothing can be sent to. */
export function refusing(kind: string, ctx: BackendContext): Backend {
  return {
    key: ctx.key,
    name: ctx.name,
    kind,
    protocol: 'http',
    origin: ctx.origin,
    replayable: false,
    send(_x, _attempt, on) {
      on.fail(new GatewayError('backendMissing'))
    },
  }
}
