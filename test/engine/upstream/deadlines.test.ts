import { expect, test } from 'vitest'
import { Deadlines, Timed } from '../../../src/engine/upstream/deadlines.ts'
import { StoppedClock } from './peers.ts'

class Item extends Timed {
  readonly #onExpire: () => void
  constructor(onExpire: () => void) {
    super()
    this.#onExpire = onExpire
  }
  override expire(): void {
    this.#onExpire()
  }
}

test('every deadline expires on time, whatever the order of arming and disarming', () => {
  const clock = new StoppedClock()
  const deadlines = new Deadlines(clock)
  const expired: string[] = []
  const item = (name: string): Item => new Item(() => expired.push(`${name}@${clock.mono()}`))
  const [a, b, c, d] = [item('a'), item('b'), item('c'), item('d')]
  deadlines.arm(a, 100)
  clock.advance(10)
  deadlines.arm(b, 100)
  deadlines.arm(c, 50)
  clock.advance(10)
  deadlines.arm(d, 100)
  deadlines.disarm(b)
  deadlines.disarm(b)
  clock.advance(1000)
  expect(expired).toEqual(['c@60', 'a@100', 'd@120'])
  expect(clock.pending).toBe(0)
})

test('re-arming moves the deadline', () => {
  const clock = new StoppedClock()
  const deadlines = new Deadlines(clock)
  const expired: number[] = []
  const item = new Item(() => expired.push(clock.mono()))
  deadlines.arm(item, 100)
  clock.advance(60)
  deadlines.arm(item, 100)
  clock.advance(60)
  expect(expired).toEqual([])
  clock.advance(40)
  expect(expired).toEqual([160])
})

test('an item can re-arm itself when it expires', () => {
  const clock = new StoppedClock()
  const deadlines = new Deadlines(clock)
  const expired: number[] = []
  const item = new Item(() => {
    expired.push(clock.mono())
    if (expired.length < 3) deadlines.arm(item, 100)
  })
  deadlines.arm(item, 100)
  clock.advance(1000)
  expect(expired).toEqual([100, 200, 300])
})

test('many deadlines of the same duration use one timer', () => {
  const clock = new StoppedClock()
  const deadlines = new Deadlines(clock)
  for (let i = 0; i < 1000; i++) deadlines.arm(new Item(() => {}), 100)
  expect(clock.pending).toBe(1)
  deadlines.close()
  expect(clock.pending).toBe(0)
})
