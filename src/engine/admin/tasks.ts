import { getActiveResourcesInfo } from 'node:process'
import type { RunningReport } from '../running-requests.ts'

/** What keeps one thread busy or waiting, by kind: sockets, timers, file operations. */
export interface ThreadTasks {
  readonly thread: string
  readonly workload: Readonly<Record<string, number>>
  readonly running: RunningReport
}

export function threadTasks(thread: string, running: RunningReport): ThreadTasks {
  return { thread, running, workload: counted(getActiveResourcesInfo().map(kind => [kind, 1])) }
}

/** `/debug/tasks`: the requests that are being served, the oldest first, and what the process waits for. */
export function tasksReport(threads: readonly ThreadTasks[]): unknown {
  const workload = counted(threads.flatMap(each => Object.entries(each.workload)))
  const total = threads.reduce((sum, { running }) => sum + running.total, 0)
  const requests = threads
    .flatMap(({ thread, running }) =>
      running.requests.map(request => (threads.length === 1 ? request : { ...request, thread })),
    )
    .sort((a, b) => b.age - a.age)
  const report = { requests, ...(total > requests.length ? { more: total - requests.length } : {}), workload }
  if (threads.length === 1) return report
  return { ...report, threads: threads.map(({ thread, workload }) => ({ thread, workload })) }
}

function counted(entries: readonly (readonly [kind: string, count: number])[]): Readonly<Record<string, number>> {
  const counts = new Map<string, number>()
  for (const [kind, count] of entries) counts.set(kind, (counts.get(kind) ?? 0) + count)
  return Object.fromEntries([...counts].sort(([a], [b]) => (a < b ? -1 : 1)))
}
