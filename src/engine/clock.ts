import type { Clock } from '../runtime/runtime.ts'

/** `performance.now` counts from the start of its thread; all workers of a replica go by one clock. */
const SINCE_BOOT = Number(process.hrtime.bigint()) / 1e6 - performance.now()

export const systemClock: Clock = {
  now: () => Date.now(),
  mono: () => SINCE_BOOT + performance.now(),
  after(ms, then) {
    // setTimeout takes at most 2^31-1 ms; a longer wait is as good as that one.
    const timer = setTimeout(then, Math.min(ms, 2 ** 31 - 1))
    return { cancel: () => clearTimeout(timer) }
  },
}
