import { GatewayError } from '../../http/errors.ts'
import type { Exchange } from '../../http/exchange.ts'
import type { Clock } from '../../http/runtime.ts'
import { discard, type ResponseHandler } from '../../http/transport.ts'
import type { CompileContext } from '../../policies/policy.ts'

/** Weight of the newest sample in a moving average. */
const ALPHA = 0.3

const FAILURE = 0
const LATENCY = 1
const HEALTH_BYTES = 2 * 8

/**
 * How a provider has done lately: moving averages of failure and of the seconds until its replies began, of all workers
 * of the replica. Two that write at the same moment may lose one of two samples.
 */
export class ProviderHealth {
  readonly #cells: Float64Array
  /** Calls of this worker. */
  #pending = 0

  constructor(memory: ArrayBufferLike = new ArrayBuffer(HEALTH_BYTES)) {
    this.#cells = new Float64Array(memory)
  }

  /** Larger is better. */
  get score(): number {
    const [failure = 0, latency = 0] = this.#cells
    return (1 - failure) / (1 + latency * (1 + 0.1 * this.#pending))
  }

  begin(): void {
    this.#pending++
  }

  /** `seconds`: undefined after a failure. */
  end(seconds: number | undefined): void {
    this.#pending--
    this.#move(FAILURE, seconds === undefined ? 1 : 0)
    if (seconds !== undefined) this.#move(LATENCY, seconds)
  }

  #move(cell: number, sample: number): void {
    const average = this.#cells[cell] as number
    this.#cells[cell] = average + ALPHA * (sample - average)
  }
}

export function providerHealth(ctx: Pick<CompileContext, 'state' | 'memory'>, name: string): ProviderHealth {
  // Each compilation asks for the memory, or it would be given up.
  const memory = ctx.memory(`health ${name}`, HEALTH_BYTES)
  return ctx.state(name, () => new ProviderHealth(memory))
}

export interface Candidate {
  readonly name: string
  readonly health: ProviderHealth
}

/** Groups in order; in each, the better of two drawn at random comes first, the others by score. */
export function rank<C extends Candidate>(groups: readonly (readonly C[])[], random: () => number): C[] {
  return groups.flatMap(group => {
    if (group.length < 2) return group
    const draw = (): C => group[Math.floor(random() * group.length)] as C
    const [one, other] = [draw(), draw()]
    const first = other.health.score > one.health.score ? other : one
    return [first, ...group.filter(each => each !== first).sort((a, b) => b.health.score - a.health.score)]
  })
}

/**
 * Asks one candidate after the other until one answers; the last answer counts whatever it is. `call` makes one call
 * and may throw GatewayError.
 */
export function callInTurn<C extends Candidate>(
  candidates: readonly C[],
  clock: Clock,
  x: Exchange,
  on: ResponseHandler,
  call: (candidate: C, on: ResponseHandler) => Promise<void> | void,
): void {
  const ask = async (index: number): Promise<void> => {
    const candidate = candidates[index]
    if (candidate === undefined) {
      on.fail(new GatewayError('noHealthyBackend'))
      return
    }
    const handler = watched(
      candidate,
      clock,
      x,
      on,
      index + 1 < candidates.length ? () => void ask(index + 1) : undefined,
    )
    if (index > 0) {
      x.trace?.emit({ type: 'backend', backend: candidate.name, kind: 'ai', reason: 'the one before it failed' })
    }
    try {
      await call(candidate, handler)
    } catch (error) {
      handler.fail(error as Error)
    }
  }
  void ask(0)
}

/** Notes how a call went, and hands a failed one over to `next` before the client has seen anything of it. */
function watched(
  { health }: Candidate,
  clock: Clock,
  x: Exchange,
  on: ResponseHandler,
  next: (() => void) | undefined,
): ResponseHandler {
  const started = clock.mono()
  health.begin()
  return {
    ...on,
    head(status, headers) {
      const failed = status === 429 || status >= 500
      health.end(failed ? undefined : (clock.mono() - started) / 1000)
      if (!failed || !next || x.aborted) return on.head(status, headers)
      next()
      return discard
    },
    fail(error) {
      const atProvider = !(error instanceof GatewayError) || error.status >= 500
      health.end(atProvider ? undefined : 0)
      if (atProvider && next && !x.aborted) next()
      else on.fail(error)
    },
  }
}
