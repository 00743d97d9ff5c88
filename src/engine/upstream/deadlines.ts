import type { Clock, Timer } from '../../runtime/runtime.ts'

/** Something with a deadline. It is its own list node, so that arming and disarming allocate nothing. */
export abstract class Timed {
  /** Set while armed. */
  queue: Queue | undefined
  due = 0
  before: Timed | undefined
  after: Timed | undefined

  /** Called once, disarmed, when the deadline expires. */
  abstract expire(): void
}

/**
 * Many deadlines behind few timers: those with the same duration share a queue, ordered by expiry, and only its head
 * has a timer. Suits durations that come from configuration.
 */
export class Deadlines {
  readonly #clock: Clock
  readonly #queues = new Map<number, Queue>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** `item` expires `ms` from now, replacing any earlier deadline. */
  arm(item: Timed, ms: number): void {
    this.disarm(item)
    let queue = this.#queues.get(ms)
    if (queue === undefined) {
      queue = new Queue(ms)
      this.#queues.set(ms, queue)
    }
    item.due = this.#clock.mono() + ms
    item.queue = queue
    item.before = queue.last
    if (queue.last === undefined) queue.first = item
    else queue.last.after = item
    queue.last = item
    if (queue.timer === undefined) this.#start(queue, ms)
  }

  /** The queue's timer stays: it finds the queue empty or restarts for the next item. */
  disarm(item: Timed): void {
    const queue = item.queue
    if (queue === undefined) return
    if (item.before === undefined) queue.first = item.after
    else item.before.after = item.after
    if (item.after === undefined) queue.last = item.before
    else item.after.before = item.before
    item.queue = item.before = item.after = undefined
  }

  /** Cancels all deadlines. */
  close(): void {
    for (const queue of this.#queues.values()) {
      queue.timer?.cancel()
      queue.timer = undefined
      while (queue.first !== undefined) this.disarm(queue.first)
    }
    this.#queues.clear()
  }

  #start(queue: Queue, ms: number): void {
    queue.timer = this.#clock.after(ms, () => {
      queue.timer = undefined
      const now = this.#clock.mono()
      // Expiring may rearm into this very queue: those items are at its end and not due yet.
      while (queue.first !== undefined && queue.first.due <= now) {
        const item = queue.first
        this.disarm(item)
        item.expire()
      }
      if (queue.timer !== undefined) return
      if (queue.first !== undefined) this.#start(queue, Math.ceil(queue.first.due - now))
      else if (this.#queues.get(queue.ms) === queue) this.#queues.delete(queue.ms)
    })
  }
}

class Queue {
  readonly ms: number
  timer: Timer | undefined
  first: Timed | undefined
  last: Timed | undefined

  constructor(ms: number) {
    this.ms = ms
  }
}
