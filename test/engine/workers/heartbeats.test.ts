import { beforeEach, expect, test } from 'vitest'
import { type Beating, beat, Heartbeats, responds } from '../../../src/engine/workers/heartbeats.ts'
import { ManualClock } from '../manual-clock.ts'

type TestWorker = { -readonly [K in keyof Beating]: Beating[K] }

let clock: ManualClock
let workers: TestWorker[]
let heard: string[]
let heartbeats: Heartbeats<TestWorker>

const workerOf = (index: number): TestWorker => ({ index, welcomed: true, compiling: false, silentFor: 0 })

beforeEach(() => {
  clock = new ManualClock()
  workers = [workerOf(0), workerOf(1)]
  heard = []
  heartbeats = new Heartbeats<TestWorker>({
    clock,
    count: 2,
    workers: () => workers,
    silent: ({ index, silentFor }) => heard.push(`${index} silent for ${silentFor}`),
    back: ({ index }, silentFor) => heard.push(`${index} back after ${silentFor}`),
    lost: ({ index, silentFor }) => heard.push(`${index} lost after ${silentFor}`),
  })
  heartbeats.start()
})

/** Has that worker beat on a clock of its own, which stands still when the worker does. */
function beating(index: number): ManualClock {
  const own = new ManualClock()
  beat(own, new Int32Array(heartbeats.memory), index)
  return own
}

function pass(seconds: number, ...turning: readonly ManualClock[]): void {
  for (let i = 0; i < seconds; i++) {
    for (const own of turning) own.advance(1000)
    clock.advance(1000)
  }
}

test('workers that turn are left alone, for an hour', () => {
  pass(3600, beating(0), beating(1))
  expect(heard).toEqual([])
  expect(workers.map(responds)).toEqual([true, true])
})

test('one that hangs is told of once, and then ended; the other one is not', () => {
  const [first, second] = [beating(0), beating(1)]
  pass(10, first, second)
  pass(5, second)
  expect(heard).toEqual(['0 silent for 5000'])
  expect(workers.map(responds)).toEqual([false, true])
  pass(24, second)
  expect(heard).toEqual(['0 silent for 5000'])
  pass(100, second)
  expect(heard).toEqual(['0 silent for 5000', '0 lost after 30000'])
})

test('one that comes back in time is told of again, and stays', () => {
  const [first, second] = [beating(0), beating(1)]
  pass(1, first, second)
  pass(12, second)
  pass(60, first, second)
  expect(heard).toEqual(['0 silent for 5000', '0 back after 12000'])
  expect(workers.map(responds)).toEqual([true, true])
})

test('hiccups are not told of', () => {
  const [first, second] = [beating(0), beating(1)]
  for (let i = 0; i < 20; i++) {
    pass(4, second)
    pass(1, first, second)
  }
  expect(heard).toEqual([])
})

test('a sign of life that is no beat counts as well', () => {
  const second = beating(1)
  for (let i = 0; i < 20; i++) {
    pass(4, second)
    workers[0]!.silentFor = 0
  }
  expect(heard).toEqual([])
})

test('one that compiles is given minutes, but nobody waits for it', () => {
  const second = beating(1)
  workers[0]!.compiling = true
  pass(290, second)
  expect(heard).toEqual([])
  expect(workers.map(responds)).toEqual([false, true])
  pass(20, second)
  expect(heard).toEqual(['0 lost after 300000'])
})

test('one that was not welcomed does not beat yet', () => {
  workers[0]!.welcomed = false
  pass(600, beating(1))
  expect(heard).toEqual([])
})

test('one that takes the place of another begins anew', () => {
  const second = beating(1)
  pass(29, second)
  workers[0] = workerOf(0)
  pass(5, second)
  expect(heard).toEqual(['0 silent for 5000'])
})

test('nothing is left of it when it is stopped', () => {
  heartbeats.stop()
  expect(clock.pending).toBe(0)
})
