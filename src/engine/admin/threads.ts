import type { Clock } from '../../runtime/runtime.ts'
import type { RunningWork } from '../running-requests.ts'
import { type ThreadMemory, threadMemory } from './memory.ts'
import type { StackProfile } from './pprof.ts'
import { Profiler, type ProfileWanted } from './profile.ts'
import { type ThreadTasks, threadTasks } from './tasks.ts'

/** Introspection of the process's threads: just one, or all workers and their leader. */
export interface Threads {
  memory(): Promise<readonly ThreadMemory[]>
  tasks(): Promise<readonly ThreadTasks[]>
  /** Undefined while another profile is in progress. Ends early if `left` aborts. */
  profile(wanted: ProfileWanted, left: AbortSignal): Promise<StackProfile | undefined>
}

/** `work`: what this thread is working on, if it serves anything. */
export function thisThread(name: string, clock: Clock, work?: () => RunningWork): Threads {
  const profiler = new Profiler(clock)
  return {
    memory: async () => [threadMemory(name)],
    tasks: async () => [threadTasks(name, work?.())],
    profile: (wanted, left) => profiler.take(wanted, left),
  }
}

/** The outermost frame of each sample names its thread. */
export function mergeProfiles(
  profiles: readonly { readonly thread: string; readonly profile: StackProfile }[],
): StackProfile | undefined {
  const [first] = profiles
  if (first === undefined) return undefined
  const samples = profiles.flatMap(({ thread, profile }) =>
    profile.samples.map(({ stack, values }) => ({ stack: [...stack, { name: thread, file: '', line: 0 }], values })),
  )
  return { ...first.profile, samples, duration: Math.max(...profiles.map(({ profile }) => profile.duration)) }
}
