import type { Clock } from '../../runtime/runtime.ts'
import type { RunningWork } from '../running-requests.ts'
import { type ThreadMemory, threadMemory } from './memory.ts'
import type { StackProfile } from './pprof.ts'
import { Profiler, type ProfileWanted } from './profile.ts'
import { type ThreadTasks, threadTasks } from './tasks.ts'

/** A look inside the threads of the process: one, or all workers and the one that leads them. */
export interface Threads {
  memory(): Promise<readonly ThreadMemory[]>
  tasks(): Promise<readonly ThreadTasks[]>
  /** Undefined while another profile is being taken. When nobody wants it any more (`left`), it ends. */
  profile(wanted: ProfileWanted, left: AbortSignal): Promise<StackProfile | undefined>
}

/** `work`: what this thread is at, where it serves anything. */
export function thisThread(name: string, clock: Clock, work?: () => RunningWork): Threads {
  const profiler = new Profiler(clock)
  return {
    memory: async () => [threadMemory(name)],
    tasks: async () => [threadTasks(name, work?.())],
    profile: (wanted, left) => profiler.take(wanted, left),
  }
}

/** Each sample tells at its outer end which thread it was taken in. */
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
