import { getActiveResourcesInfo } from 'node:process'

/** What keeps one thread busy or waiting, by kind: sockets, timers, file operations. */
export interface ThreadTasks {
  readonly thread: string
  readonly workload: Readonly<Record<string, number>>
}

export function threadTasks(thread: string): ThreadTasks {
  return { thread, workload: counted(getActiveResourcesInfo().map(kind => [kind, 1])) }
}

/** `/debug/tasks`. */
export function tasksReport(threads: readonly ThreadTasks[]): unknown {
  const workload = counted(threads.flatMap(each => Object.entries(each.workload)))
  return threads.length === 1 ? { workload } : { workload, threads }
}

function counted(entries: readonly (readonly [kind: string, count: number])[]): Readonly<Record<string, number>> {
  const counts = new Map<string, number>()
  for (const [kind, count] of entries) counts.set(kind, (counts.get(kind) ?? 0) + count)
  return Object.fromEntries([...counts].sort(([a], [b]) => (a < b ? -1 : 1)))
}
