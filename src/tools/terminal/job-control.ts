/** Stop and continue signals of shell job control. */
export interface JobControl {
  /** Stops the process group, as Ctrl-Z does; resolves when it continues. */
  stop(): Promise<void>
  /** Active until the returned function is called. */
  watch(told: JobWatcher): () => void
}

export interface JobWatcher {
  /** An external stop request, which waits for `stop`. */
  onStop(): void
  /** The process continues after a stop without warning. */
  onContinue(): void
}

/** Releases the terminal while the process is stopped, and takes it back. */
export class Suspension {
  readonly #job: JobControl
  readonly #suspend: (run: () => Promise<void>) => Promise<void>
  #away = false

  /** `suspend` releases the terminal while `run` runs. */
  constructor(job: JobControl, suspend: (run: () => Promise<void>) => Promise<void>) {
    this.#job = job
    this.#suspend = suspend
  }

  /** While it is already released, for instance to an editor, only `run` runs. */
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

  /** Active until the returned function is called. */
  watch(): () => void {
    return this.#job.watch({
      onStop: () => void this.stop(),
      // The state of screen and keyboard is unknown.
      onContinue: () => void (this.#away || this.giveAway(async () => {})),
    })
  }
}
