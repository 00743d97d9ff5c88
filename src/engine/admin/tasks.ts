import { getActiveResourcesInfo } from 'node:process'

/** `/debug/tasks`: what keeps the process busy or waiting, by kind: sockets, timers, file operations. */
export function tasksReport(): unknown {
  const counts = new Map<string, number>()
  for (const kind of getActiveResourcesInfo()) counts.set(kind, (counts.get(kind) ?? 0) + 1)
  return { workload: Object.fromEntries([...counts].sort(([a], [b]) => (a < b ? -1 : 1))) }
}
