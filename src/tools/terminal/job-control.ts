/** Being stopped, and going on again, as a job of a shell is. */
export interface JobControl {
  /** Stops the process with its whole group, as Ctrl-Z does; resolves when it goes on. */
  stop(): Promise<void>
  /** Until the returned function is called. */
  watch(told: JobWatcher): () => void
}

export interface JobWatcher {
  /** Somebody else asks for a stop, which now waits for `stop`. */
  onStop(): void
  /** The process goes on after a stop that nobody could prepare for. */
  onContinue(): void
}

/** Gives the terminal back while the process is stopped, and takes it again. */
export class Suspension {
  readonly #job: JobControl
  readonly #suspend: (run: () => Promise<void>) => Promise<void>
  #away = false

  /** `suspend` gives the terminal away while `run` does. */
  constructor(job: JobControl, suspend: (run: () => Promise<void>) => Promise<void>) {
    this.#job = job
    this.#suspend = suspend
  }

  /** Where it is away already, with an editor, it is not ours to give. */
  async giveAway(run: () => Promise<void>): Promise<void> {
    if (this.#away) return run()
    this.#away = true
    await this.#suspend(run).finally(() => {
      this.#away = false
    })
  }

  stop(): Promise<void> {
    return this.giveAway(() => this.#job.stop())
  }

  /** Until the returned function is called. */
  watch(): () => void {
    return this.#job.watch({
      onStop: () => void this.stop(),
      // What the screen and the keyboard are like now is anybody's guess.
      onContinue: () => void (this.#away || this.giveAway(async () => {})),
    })
  }
}
