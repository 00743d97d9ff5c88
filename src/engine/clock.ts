import type { Clock } from '../http/runtime.ts'

export const systemClock: Clock = {
  now: () => Date.now(),
  mono: () => performance.now(),
  after(ms, then) {
    // setTimeout takes at most 2^31-1 ms; a longer wait is as good as that one.
    const timer = setTimeout(then, Math.min(ms, 2 ** 31 - 1))
    return { cancel: () => clearTimeout(timer) }
  },
}
