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

test('responsive workers are left alone for an hour', () => {
  pass(3600, beating(0), beating(1))
  expect(heard).toEqual([])
  expect(workers.map(responds)).toEqual([true, true])
})

test('a hung worker is reported once, then terminated; the other one is not', () => {
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

test('a worker that recovers in time is reported again and kept', () => {
  const [first, second] = [beating(0), beating(1)]
  pass(1, first, second)
  pass(12, second)
  pass(60, first, second)
  expect(heard).toEqual(['0 silent for 5000', '0 back after 12000'])
  expect(workers.map(responds)).toEqual([true, true])
})

test('short stalls are not reported', () => {
  const [first, second] = [beating(0), beating(1)]
  for (let i = 0; i < 20; i++) {
    pass(4, second)
    pass(1, first, second)
  }
  expect(heard).toEqual([])
})

test('any message from a worker counts as a heartbeat', () => {
  const second = beating(1)
  for (let i = 0; i < 20; i++) {
    pass(4, second)
    workers[0]!.silentFor = 0
  }
  expect(heard).toEqual([])
})

test('a compiling worker gets minutes, but counts as unresponsive meanwhile', () => {
  const second = beating(1)
  workers[0]!.compiling = true
  pass(290, second)
  expect(heard).toEqual([])
  expect(workers.map(responds)).toEqual([false, true])
  pass(20, second)
  expect(heard).toEqual(['0 lost after 300000'])
})

test('a worker that is still starting is not expected to send heartbeats', () => {
  workers[0]!.welcomed = false
  pass(600, beating(1))
  expect(heard).toEqual([])
})

test('a replacement worker starts with a fresh heartbeat', () => {
  const second = beating(1)
  pass(29, second)
  workers[0] = workerOf(0)
  pass(5, second)
  expect(heard).toEqual(['0 silent for 5000'])
})

test('leaves no timer behind when stopped', () => {
  heartbeats.stop()
  expect(clock.pending).toBe(0)
})
