import type { Clock } from '../runtime/runtime.ts'

/** `performance.now` starts with its thread; all workers of a replica share this clock. */
const SINCE_BOOT = Number(process.hrtime.bigint()) / 1e6 - performance.now()

export const systemClock: Clock = {
  now: () => Date.now(),
  mono: () => SINCE_BOOT + performance.now(),
  after(ms, then) {
    // setTimeout is limited to 2^31-1 ms, which is long enough for any wait.
    const timer = setTimeout(then, Math.min(ms, 2 ** 31 - 1))
    return { cancel: () => clearTimeout(timer) }
  },
}
