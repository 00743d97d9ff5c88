import type { Exchange } from '../../http/exchange.ts'
import type { Request, Response } from '../../mcp/message.ts'
import type { Clock } from '../../runtime/runtime.ts'
import { traceCall } from './call.ts'
import { type Connection, type Flow, SILENT, type TargetFailure, timeoutInFanOut } from './connection.ts'
import type { Era } from './eras/era.ts'

/** A form of handshake with a target. */
export interface Greeting {
  /** The era that applies if the target agrees. */
  readonly era: Era
  readonly request: Request
  /** The revision to send the request under. Undefined if the request itself determines it. */
  readonly version: string | undefined
  /** Tests whether the target supports the era at all: one that does not may stay silent. */
  readonly probe?: true
  /** Sent once the target has agreed. */
  readonly afterwards?: Buffer
}

export interface Agreed {
  readonly era: Era
  readonly response: Response
}

/** Timeout in ms if another handshake can follow: servers may ignore unknown requests. */
const PROBE = 5000
const ANY_FLOW: Flow = { full: false, onRoom: then => then() }

/** Tries the handshakes in turn until the target agrees to one; otherwise `done` gets the last refusal. */
export function greet(
  to: { readonly name: string; readonly connection: Connection },
  x: Exchange,
  clock: Clock,
  greetings: readonly Greeting[],
  done: (result: Agreed | TargetFailure) => void,
): void {
  const [greeting, ...others] = greetings
  if (!greeting) {
    done({ message: 'the target refused to begin a session', down: false })
    return
  }
  const { connection } = to
  connection.version = greeting.version
  const traced = traceCall(x, to, greeting.request)
  let over = false
  const finish = (result: Agreed | TargetFailure): void => {
    if (over) return
    over = true
    limit.cancel()
    const failure = 'era' in result ? undefined : result
    traced?.end({ target: to.name, error: failure?.message })
    if (failure && others.length > 0 && mayRefuse(failure)) greet(to, x, clock, others, done)
    else done(result)
  }
  const limit = clock.after(greeting.probe && others.length > 0 ? PROBE : timeoutInFanOut(x).ms, () => {
    cancel()
    finish({ ...SILENT, down: others.length === 0 })
  })
  const cancel = connection.call(x, greeting.request, {
    flow: ANY_FLOW,
    message() {},
    reply(response) {
      if (over) return
      if (response.failed) return finish({ message: 'the target refused to begin a session', down: false })
      const agreed = { era: greeting.era, response }
      if (!greeting.afterwards) return finish(agreed)
      connection.send(x, greeting.afterwards, failure => finish(failure ?? agreed))
    },
    fail: finish,
  })
}

/** Some failures are not refusals of the handshake: the target is unreachable, or refuses this client. */
function mayRefuse({ down, http, unreachable, need }: TargetFailure): boolean {
  return !down && !need && unreachable !== true && http?.status !== 401 && http?.status !== 403
}
