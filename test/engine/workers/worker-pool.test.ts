import { describe, expect, test } from 'vitest'
import { systemClock } from '../../../src/engine/clock.ts'
import type { WorkerStart } from '../../../src/engine/workers/protocol.ts'
import { type PoolWorker, WorkerPool } from '../../../src/engine/workers/worker-pool.ts'
import type { Clock } from '../../../src/runtime/runtime.ts'
import { ManualClock } from '../manual-clock.ts'

/** One worker that does this when it is told to stop, once it has said `last words`; what its leader hears of it. */
async function whenItStops(what: string, clock: Clock = systemClock, turn: () => void = () => {}) {
  const heard: string[] = []
  const welcomed: PoolWorker[] = []
  const code = `
    import { parentPort } from 'node:worker_threads'
    parentPort.on('message', () => {
      parentPort.postMessage({ type: 'log', text: 'last words' })
      ${what}
    })
    parentPort.postMessage({ type: 'ready' })`
  const pool = new WorkerPool({
    clock,
    count: 1,
    entry: new URL(`data:text/javascript,${encodeURIComponent(code)}`),
    start: () => ({}) as WorkerStart,
    welcome: async worker => void welcomed.push(worker),
    report: (_, report) => heard.push(report.type === 'log' ? report.text : report.type),
    lost: (_, reason) => heard.push(`lost: ${reason.split('\n', 1)[0]}`),
    failed: (_, error) => heard.push(`failed: ${error.message}`),
    silent: ({ silentFor }) => heard.push(`silent for ${silentFor / 1000}s`),
    back: () => heard.push('back'),
  })
  await pool.open()
  const [first] = welcomed
  const answer = first?.ask('stop', { min: 0, max: 0 }).catch((error: Error) => error.message)
  await expect.poll(() => heard).toContain('last words')
  await expect
    .poll(
      () => {
        turn()
        return pool.workers.filter(worker => worker !== first && worker.welcomed).length
      },
      { interval: 5 },
    )
    .toBe(1)
  await pool.close()
  return { heard, answer: await answer }
}

describe('a worker that exits unexpectedly is replaced, and its last message is delivered', () => {
  test.each([
    ['an exception', 'throw new TypeError("broken")', 'TypeError: broken'],
    ['an unhandled rejection', 'Promise.reject(new TypeError("broken"))', 'TypeError: broken'],
    ['a thrown string', 'throw "broken"', 'broken'],
    ['an exit', 'process.exit(7)', 'exit code 7'],
  ])('%s', async (_, what, reason) => {
    expect(await whenItStops(what)).toEqual({
      heard: ['last words', `lost: ${reason}`],
      answer: `the worker has ended: ${reason}`,
    })
  })
})

test('a hung worker is reported, terminated and replaced', async () => {
  const clock = new ManualClock()
  expect(await whenItStops('for (;;) {}', clock, () => clock.advance(1000))).toEqual({
    heard: ['last words', 'silent for 5s', 'lost: it hung for 30s'],
    answer: 'the worker has ended: it hung for 30s',
  })
})
