import type { Clock } from '../../http/runtime.ts'
import { mergeProfiles, type Threads, thisThread } from '../admin/threads.ts'
import type { OrderName, Orders } from './protocol.ts'
import type { PoolWorker } from './worker-pool.ts'

/** Asks every worker; those that do not answer within `patience` (ms) are left out. */
export type AskAll = <N extends OrderName>(
  order: N,
  argument: Orders[N][0],
  patience?: number,
) => Promise<readonly (readonly [PoolWorker, Orders[N][1]])[]>

/** ms that a worker may take to hand over a profile once its time is up. */
const PROFILE_PATIENCE = 2000

/** A look inside the leading thread and all of its workers. */
export function allThreads(clock: Clock, all: AskAll): Threads {
  const own = thisThread('main', clock)
  let profiling = false
  const named = <T extends object>({ index }: PoolWorker, of: T) => ({ ...of, thread: `worker ${index}` })
  return {
    memory: async () => {
      const workers = await all('memory', undefined)
      return [...(await own.memory()), ...workers.flatMap(([worker, each]) => each.map(of => named(worker, of)))]
    },
    tasks: async () => {
      const workers = await all('tasks', undefined)
      return [...(await own.tasks()), ...workers.flatMap(([worker, each]) => each.map(of => named(worker, of)))]
    },
    profile: async (kind, seconds, left) => {
      const mine = own.profile(kind, seconds, left)
      if (profiling) return mine
      profiling = true
      const end = () => void all('endProfile', undefined)
      left.addEventListener('abort', end)
      try {
        const workers = await all('profile', { kind, seconds }, seconds * 1000 + PROFILE_PATIENCE)
        const profile = await mine
        const others = workers.flatMap(([worker, each]) => (each ? [named(worker, { profile: each })] : []))
        return profile && mergeProfiles([{ thread: 'main', profile }, ...others])
      } finally {
        left.removeEventListener('abort', end)
        profiling = false
      }
    },
  }
}
