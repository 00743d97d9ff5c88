import type { Clock, Timer } from '../../runtime/runtime.ts'
import { responds } from './heartbeats.ts'
import type { OrderName, Orders } from './protocol.ts'
import type { PoolWorker } from './worker-pool.ts'

/** ms that a worker may take to answer a query; one that is stuck must not hide the others. */
export const REPLY_TIMEOUT = 2000

/** Queries every worker; those that do not answer within `patience` (ms) are left out. */
export type AskAll = <N extends OrderName>(
  order: N,
  argument: Orders[N][0],
  patience?: number,
) => Promise<readonly (readonly [PoolWorker, Orders[N][1]])[]>

/** Orders that still apply when a hung worker recovers; a query would be answered too late. */
const LASTING: ReadonlySet<OrderName> = new Set(['filterLog', 'watch'])

/** Workers known to hang are not waited for. */
export function askerOf(clock: Clock, workers: () => readonly PoolWorker[]): AskAll {
  return async <N extends OrderName>(order: N, argument: Orders[N][0], patience = REPLY_TIMEOUT) => {
    const ask = (worker: PoolWorker) =>
      worker.ask(order, argument).then(
        answer => [worker, answer] as const,
        () => undefined,
      )
    const answers = await Promise.all(
      workers().map(worker => {
        if (responds(worker)) return withTimeout(clock, ask(worker), patience)
        if (LASTING.has(order)) void ask(worker)
        return undefined
      }),
    )
    return answers.filter(answer => answer !== undefined)
  }
}

/** Undefined if it takes longer than `ms`. */
export async function withTimeout<T>(clock: Clock, work: Promise<T>, ms: number): Promise<T | undefined> {
  let timer: Timer | undefined
  const up = new Promise<undefined>(resolve => {
    timer = clock.after(ms, () => resolve(undefined))
  })
  const first = await Promise.race([work, up])
  timer?.cancel()
  return first
}
