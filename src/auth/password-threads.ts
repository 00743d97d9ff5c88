import { GatewayError } from '../http/errors.ts'
import type { PasswordThread } from '../runtime/password-thread.ts'

/** Enough that one slow hash does not block the next; more would take CPU time from requests. */
const THREADS = 2
/** Queued checks; at some 60 ms each, the last one waits two seconds. */
const MAX_WAITING = 64

interface Waiting {
  readonly stored: string
  readonly password: string
  readonly resolve: (right: boolean) => void
  readonly reject: (error: Error) => void
}
interface Busy {
  readonly thread: PasswordThread
  task: Waiting | undefined
}

/**
 * Verifies passwords with deliberately slow hashes off the thread that serves requests. Threads start with the first
 * password. Throws GatewayError `basicAuth` with status 503 if the queue is full.
 */
export class PasswordThreads {
  readonly #start: () => PasswordThread
  readonly #threads = new Set<Busy>()
  readonly #waiting: Waiting[] = []
  #asked = 0

  constructor(start: () => PasswordThread) {
    this.#start = start
  }

  check(stored: string, password: string): Promise<boolean> {
    if (this.#waiting.length >= MAX_WAITING) throw overloaded()
    return new Promise((resolve, reject) => {
      this.#waiting.push({ stored, password, resolve, reject })
      this.#proceed()
    })
  }

  close(): void {
    for (const { thread } of this.#threads) thread.end()
  }

  #proceed(): void {
    while (this.#waiting.length > 0) {
      const free = [...this.#threads].find(({ task }) => task === undefined) ?? this.#another()
      if (free === undefined) return
      const task = this.#waiting.shift() as Waiting
      free.task = task
      free.thread.check({ id: this.#asked++, stored: task.stored, password: task.password })
    }
  }

  #another(): Busy | undefined {
    if (this.#threads.size >= THREADS) return undefined
    const busy: Busy = { thread: this.#start(), task: undefined }
    this.#threads.add(busy)
    busy.thread.onAnswer(answer => {
      const { task } = busy
      busy.task = undefined
      if (answer === undefined) {
        this.#threads.delete(busy)
        task?.reject(overloaded())
      } else task?.resolve(answer.right)
      this.#proceed()
    })
    return busy
  }
}

function overloaded(): GatewayError {
  return new GatewayError('basicAuth', {
    status: 503,
    headers: ['retry-after', '1'],
    detail: 'too many passwords are being checked',
  })
}
