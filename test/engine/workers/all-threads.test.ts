import { expect, test } from 'vitest'
import { tasksReport } from '../../../src/engine/admin/tasks.ts'
import { allThreads } from '../../../src/engine/workers/all-threads.ts'
import type { AskAll } from '../../../src/engine/workers/ask-all.ts'
import type { Orders } from '../../../src/engine/workers/protocol.ts'
import { ManualClock } from '../manual-clock.ts'

test('an unresponsive worker is named without hiding the others', async () => {
  const work = { requests: { requests: [], total: 1005 }, connections: [], sessions: [] }
  const answer = [{ thread: 'worker', workload: { Timeout: 2 }, ...work }]
  const workers = [
    { index: 0, silentFor: 7000 },
    { index: 1, silentFor: 0 },
  ]
  const all: AskAll = async <N extends keyof Orders>(order: N) =>
    order === 'tasks' ? ([[workers[1], answer]] as unknown as Awaited<ReturnType<typeof all<N>>>) : []
  const threads = allThreads(new ManualClock(), () => workers, all)
  const report = tasksReport(await threads.tasks()) as { threads: unknown[]; more: unknown }
  expect(report.threads).toEqual([
    { thread: 'main', workload: expect.any(Object) },
    { thread: 'worker 1', workload: { Timeout: 2 } },
    { thread: 'worker 0', workload: {}, silent: true, silentFor: 7000 },
  ])
  expect(report.more).toEqual({ requests: 5 })
})

test('a failing profile reports the error at once, whatever the workers do', async () => {
  class BrokenClock extends ManualClock {
    override after(): never {
      throw new Error('no time')
    }
  }
  const all: AskAll = () => new Promise(() => {})
  const threads = allThreads(new BrokenClock(), () => [], all)
  const { signal } = new AbortController()
  const wanted = { kind: 'heap', seconds: 1, frequency: 100 } as const
  await expect(threads.profile(wanted, signal)).rejects.toThrow('no time')
  await expect(threads.profile(wanted, signal)).rejects.toThrow('no time')
})
