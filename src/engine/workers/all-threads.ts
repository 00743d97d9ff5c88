import type { Clock } from '../../runtime/runtime.ts'
import { mergeProfiles, type Threads, thisThread } from '../admin/threads.ts'
import type { AskAll } from './ask-all.ts'
import type { PoolWorker } from './worker-pool.ts'

/** ms that a worker may take to deliver a profile once its recording ends. */
const PROFILE_GRACE = 2000

type Member = Pick<PoolWorker, 'index' | 'silentFor'>

/** Introspection of the leading thread and all of its `workers`. */
export function allThreads(clock: Clock, workers: () => readonly Member[], all: AskAll): Threads {
  const own = thisThread('main', clock)
  let profiling = false
  const named = <T extends object>({ index }: Member, of: T) => ({ ...of, thread: `worker ${index}` })
  return {
    memory: async () => {
      const answers = await all('memory', undefined)
      return [...(await own.memory()), ...answers.flatMap(([worker, each]) => each.map(of => named(worker, of)))]
    },
    tasks: async () => {
      const asked = workers()
      const answers = await all('tasks', undefined)
      const silent = asked.filter(worker => !answers.some(([{ index }]) => index === worker.index))
      return [
        ...(await own.tasks()),
        ...answers.flatMap(([worker, each]) => each.map(of => named(worker, of))),
        // Listed, since a hanging worker is usually what the caller is looking for.
        ...silent.map(worker => {
          const { silentFor } = worker
          return named(worker, { workload: {}, silent: true, ...(silentFor > 0 ? { silentFor } : {}) })
        }),
      ]
    },
    profile: async (wanted, left) => {
      const mine = own.profile(wanted, left)
      if (profiling) return mine
      profiling = true
      const end = () => void all('endProfile', undefined)
      left.addEventListener('abort', end)
      try {
        const theirs = all('profile', wanted, wanted.seconds * 1000 + PROFILE_GRACE)
        const [profile, answers] = await Promise.all([mine, theirs])
        const others = answers.flatMap(([worker, each]) => (each ? [named(worker, { profile: each })] : []))
        return profile && mergeProfiles([{ thread: 'main', profile }, ...others])
      } finally {
        left.removeEventListener('abort', end)
        profiling = false
      }
    },
  }
}
