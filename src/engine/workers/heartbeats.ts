import type { Clock, Timer } from '../../runtime/runtime.ts'

/** ms between two beats of a worker, and between two checks. */
const BEAT = 500
const LOOK = 1000

/** ms of silence after which a worker is reported, and after which it is terminated. */
const SILENCE = {
  told: 5000,
  ended: 30_000,
  /** The limit while it compiles: many workers reading a large configuration at once are slow, not stuck. */
  compiling: 300_000,
}

/** A worker as the heartbeat monitor sees it. */
export interface Beating {
  readonly index: number
  /** Others do not beat yet and are not checked. */
  readonly welcomed: boolean
  readonly compiling: boolean
  /** ms for which its event loop has not turned, in whole checks; any sign of life resets it. */
  silentFor: number
}

export interface HeartbeatInit<W extends Beating> {
  readonly clock: Clock
  readonly count: number
  workers(): readonly W[]
  /** Silent for `SILENCE.told`, and not because it is compiling. */
  silent(worker: W): void
  /** It was reported as silent, and responds again after this many ms. */
  back(worker: W, silentFor: number): void
  /** Silent for too long to recover. */
  lost(worker: W): void
}

/** Makes a worker increment a shared counter as long as its event loop turns. */
export function beat(clock: Clock, beats: Int32Array, index: number): void {
  Atomics.add(beats, index, 1)
  clock.after(BEAT, () => beat(clock, beats, index))
}

/**
 * The leading thread's watchdog for hung workers: a worker in an endless loop answers nothing, and neither ends nor
 * fails. Silence is counted in checks, so time for which the whole process was suspended does not count.
 */
export class Heartbeats<W extends Beating> {
  /** For `beat` (Int32), by the worker's index. */
  readonly memory: SharedArrayBuffer
  readonly #init: HeartbeatInit<W>
  readonly #beats: Int32Array
  readonly #seen = new WeakMap<W, Seen>()
  #timer: Timer | undefined

  constructor(init: HeartbeatInit<W>) {
    this.#init = init
    this.memory = new SharedArrayBuffer(4 * init.count)
    this.#beats = new Int32Array(this.memory)
  }

  start(): void {
    this.#timer = this.#init.clock.after(LOOK, () => {
      for (const worker of this.#init.workers()) this.#look(worker)
      this.start()
    })
  }

  stop(): void {
    this.#timer?.cancel()
  }

  #look(worker: W): void {
    const beats = Atomics.load(this.#beats, worker.index)
    const { beats: last, told } = this.#seen.get(worker) ?? NEVER
    const turns = !worker.welcomed || last !== beats
    if (turns && told > 0) this.#init.back(worker, told)
    worker.silentFor = turns ? 0 : worker.silentFor + LOOK
    const tells = told > 0 || (worker.silentFor >= SILENCE.told && !worker.compiling)
    this.#seen.set(worker, { beats, told: !turns && tells ? Math.max(told, worker.silentFor) : 0 })
    if (!turns && tells && told === 0) this.#init.silent(worker)
    if (worker.silentFor === (worker.compiling ? SILENCE.compiling : SILENCE.ended)) this.#init.lost(worker)
  }
}

interface Seen {
  readonly beats: number
  /** ms of silence reported; 0 if none. */
  readonly told: number
}
const NEVER: Seen = { beats: -1, told: 0 }

/** Whether it is worth waiting for its answer. */
export function responds({ silentFor }: Pick<Beating, 'silentFor'>): boolean {
  return silentFor < SILENCE.told
}
