import { setImmediate as nextTurn } from 'node:timers/promises'
import type { ManualClock } from '../manual-clock.ts'

/** Waits for what sockets bring, turn by turn of the event loop; fails after a minute. */
export async function until(condition: () => boolean): Promise<void> {
  for (const start = performance.now(); !condition(); ) {
    if (performance.now() - start > 60_000) throw new Error(`it did not come about: ${condition.toString()}`)
    await nextTurn()
  }
}

/** Lets time pass in steps of 100 ms, with room for sockets between them, and gives how many ms it took. */
export async function timeUntil(clock: ManualClock, condition: () => boolean): Promise<number> {
  const start = clock.now()
  for (let step = 0; step < 600; step++) {
    for (let turn = 0; turn < 100; turn++) {
      if (condition()) return clock.now() - start
      await nextTurn()
    }
    clock.advance(100)
  }
  throw new Error(`it did not come about within a minute: ${condition.toString()}`)
}
