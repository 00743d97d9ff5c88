import { getActiveResourcesInfo } from 'node:process'
import type { RunningWork } from '../running-requests.ts'

/** What one thread is working on, and what keeps it busy or waiting, by kind: sockets, timers, file operations. */
export interface ThreadTasks extends Partial<RunningWork> {
  readonly thread: string
  readonly workload: Readonly<Record<string, number>>
  /** It did not answer, so its work is unknown. */
  readonly silent?: boolean
  /** ms for which its event loop has been blocked, if known. */
  readonly silentFor?: number
}

/** Entries listed per kind; the rest is only counted. */
const MAX_LISTED = 1000

/** `work`: undefined for a thread that serves nothing. */
export function threadTasks(thread: string, work: RunningWork | undefined): ThreadTasks {
  return { thread, ...work, workload: counted(getActiveResourcesInfo().map(kind => [kind, 1])) }
}

/**
 * `/debug/tasks`: requests in flight, relayed connections and open client sessions (each kind oldest first), and what
 * the process is waiting for.
 */
export function tasksReport(threads: readonly ThreadTasks[]): object {
  const requests = oldest(threads, each => each.requests?.requests ?? [])
  const total = threads.reduce((sum, each) => sum + (each.requests?.total ?? 0), 0)
  const connections = oldest(threads, each => each.connections ?? [])
  const sessions = oldest(threads, each => each.sessions ?? [])
  const more = {
    ...(total > MAX_LISTED ? { requests: total - MAX_LISTED } : {}),
    ...(connections.length > MAX_LISTED ? { connections: connections.length - MAX_LISTED } : {}),
    ...(sessions.length > MAX_LISTED ? { sessions: sessions.length - MAX_LISTED } : {}),
  }
  return {
    requests: requests.slice(0, MAX_LISTED),
    connections: connections.slice(0, MAX_LISTED),
    sessions: sessions.slice(0, MAX_LISTED),
    ...(Object.keys(more).length > 0 ? { more } : {}),
    workload: counted(threads.flatMap(each => Object.entries(each.workload))),
    ...(threads.length > 1 ? { threads: threads.map(summaryOf) } : {}),
  }
}

function summaryOf({ thread, workload, silent, silentFor }: ThreadTasks) {
  return { thread, workload, ...(silent ? { silent } : {}), ...(silentFor === undefined ? {} : { silentFor }) }
}

function oldest<T extends { readonly age: number }>(
  threads: readonly ThreadTasks[],
  pick: (tasks: ThreadTasks) => readonly T[],
): readonly T[] {
  const all = threads.flatMap(each =>
    pick(each).map(item => (threads.length === 1 ? item : { ...item, thread: each.thread })),
  )
  return all.sort((a, b) => b.age - a.age)
}

function counted(entries: readonly (readonly [kind: string, count: number])[]): Readonly<Record<string, number>> {
  const counts = new Map<string, number>()
  for (const [kind, count] of entries) counts.set(kind, (counts.get(kind) ?? 0) + count)
  return Object.fromEntries([...counts].sort(([a], [b]) => (a < b ? -1 : 1)))
}
