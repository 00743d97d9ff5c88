import type { Clock } from '../../../runtime/runtime.ts'
import { BrokenConnection, ENHANCE_YOUR_CALM } from './frames.ts'

/** Limit of frames without effect, and the ms within which reaching it is an attack. */
const IDLE_FRAMES = 10_000
const IDLE_TIME = 10_000
/** Limit of unread answers to PING and SETTINGS. */
const UNREAD_ANSWERS = 1000

/** Detects floods of cheap frames. */
export class FrameGuard {
  readonly #clock: Clock
  #idle = 0
  #since = 0
  #answers = 0

  constructor(clock: Clock) {
    this.#clock = clock
    this.#since = clock.mono()
  }

  useful(): void {
    this.#idle = 0
  }

  /** Counts a frame without effect. */
  idle(): void {
    if (++this.#idle < IDLE_FRAMES) return
    const now = this.#clock.mono()
    if (now - this.#since < IDLE_TIME) throw new BrokenConnection(ENHANCE_YOUR_CALM, 'too many frames without effect')
    this.#idle = 0
    this.#since = now
  }

  /** Counts a frame that must be answered. */
  answer(): void {
    if (++this.#answers > UNREAD_ANSWERS)
      throw new BrokenConnection(ENHANCE_YOUR_CALM, 'too many frames that need an answer')
  }

  /** All answers have been sent. */
  answered(): void {
    this.#answers = 0
  }
}
