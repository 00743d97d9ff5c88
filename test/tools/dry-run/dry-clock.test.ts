import { describe, expect, it } from 'vitest'
import { DryClock } from '../../../src/tools/dry-run/dry-clock.ts'
import { FreshState } from '../../../src/tools/dry-run/fresh-state.ts'
import { seededRandom } from '../../../src/tools/dry-run/seeded-random.ts'

describe('DryClock', () => {
  it('runs due timers in order and at their times, including newly added ones', () => {
    const clock = new DryClock(1000)
    const done: string[] = []
    const note = (name: string) => () => void done.push(`${name} ${clock.now()}`)
    clock.after(30, note('c'))
    clock.after(10, () => {
      note('a')()
      clock.after(5, note('b'))
    })
    clock.after(20, note('never')).cancel()
    clock.after(41, note('later'))
    clock.advance(40)
    expect(done).toEqual(['a 1010', 'b 1015', 'c 1030'])
    expect([clock.now(), clock.elapsed]).toEqual([1040, 40])
  })

  it('skips over a hold and stops when it is cancelled', async () => {
    const clock = new DryClock(0)
    const held = new Promise<void>(done => clock.after(1000, done, 'held'))
    await held
    expect(clock.now()).toBe(1000)
    const timer = clock.after(1000, () => {}, 'held')
    clock.after(300, () => timer.cancel())
    await new Promise(setImmediate)
    expect(clock.now()).toBe(1300)
  })

  it('drops pending timers on reset', () => {
    const clock = new DryClock(0)
    clock.after(10, () => expect.unreachable())
    clock.reset()
    clock.advance(20)
    expect(clock.mono() - new DryClock(0).mono()).toBe(20)
  })
})

class Counter {
  #count = 0
  closed = false
  add(): number {
    this.#count++
    return this.#count
  }
  close(): void {
    this.closed = true
  }
}

describe('FreshState', () => {
  it('replaces the object behind existing references and closes the old one', () => {
    const state = new FreshState()
    const made: Counter[] = []
    const make = () => {
      const counter = new Counter()
      made.push(counter)
      return counter
    }
    const counter = state.get('counter', make)
    expect(state.get('counter', make)).toBe(counter)
    expect([counter.add(), counter.add()]).toEqual([1, 2])
    expect(counter).toBeInstanceOf(Counter)
    expect('add' in counter).toBe(true)
    state.forget()
    expect(made[0]?.closed).toBe(true)
    expect(counter.add()).toBe(1)
    const map = state.get('map', () => new Map<string, number>())
    map.set('a', 1)
    state.forget()
    expect([map.size, [...map]]).toEqual([0, []])
  })

  it('clears shared memory in place', () => {
    const state = new FreshState()
    const bytes = new Uint8Array(state.memory('m', 4))
    bytes[0] = 1
    state.forget()
    expect([bytes[0], state.memory('m', 4)]).toEqual([0, bytes.buffer])
  })
})

it('a seeded random generator is reproducible, within [0, 1) and evenly distributed', () => {
  const numbers = (seed: number) => Array.from({ length: 10_000 }, seededRandom(seed))
  expect(numbers(7)).toEqual(numbers(7))
  expect(numbers(7)).not.toEqual(numbers(8))
  const all = numbers(0)
  expect(all.every(each => each >= 0 && each < 1)).toBe(true)
  for (let tenth = 0; tenth < 10; tenth++) {
    expect(all.filter(each => Math.floor(each * 10) === tenth).length).toBeGreaterThan(900)
  }
})
