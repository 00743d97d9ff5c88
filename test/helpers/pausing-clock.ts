import type { Timer } from '../../src/runtime/runtime.ts'
import { ManualClock } from '../engine/manual-clock.ts'

/** Time passes in pauses only: a question that is answered takes none. */
export class PausingClock extends ManualClock {
  override after(ms: number, then: () => void, held?: 'held'): Timer {
    if (held === undefined) return super.after(ms, then)
    this.advance(ms)
    setImmediate(then)
    return { cancel: () => {} }
  }
}
