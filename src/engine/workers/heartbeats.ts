import type { Clock, Timer } from '../../runtime/runtime.ts'

/** ms between two beats of a worker, and between two looks at them. */
const BEAT = 500
const LOOK = 1000

/** ms of silence after which a worker is told of, and after which it is ended. */
const SILENCE = {
  told: 5000,
  ended: 30_000,
  /** The same while it compiles: nothing of a large configuration that many workers read at once is stuck. */
  compiling: 300_000,
}

/** A worker as its heartbeat shows it. */
export interface Beating {
  readonly index: number
  /** Others are not judged: they do not beat yet. */
  readonly welcomed: boolean
  readonly compiling: boolean
  /** ms for which its event loop has not turned, in whole looks; a sign of life in between sets it back. */
  silentFor: number
}

export interface HeartbeatInit<W extends Beating> {
  readonly clock: Clock
  readonly count: number
  workers(): readonly W[]
  /** It has been silent for `SILENCE.told`, and not because it compiles. */
  silent(worker: W): void
  /** It was told of, and turns again after so many ms. */
  back(worker: W, silentFor: number): void
  /** It has been silent for too long to come back. */
  lost(worker: W): void
}

/** Has a worker count up in memory that its leader sees, as long as its event loop turns. */
export function beat(clock: Clock, beats: Int32Array, index: number): void {
  Atomics.add(beats, index, 1)
  clock.after(BEAT, () => beat(clock, beats, index))
}

/**
 * The leading thread's watch over workers that hang: one that computes without end answers nobody, and neither ends nor
 * fails. Silence is counted in looks, so that time in which the whole process stood still counts for nobody.
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
  /** ms of the silence that was told of; 0: none. */
  readonly told: number
}
const NEVER: Seen = { beats: -1, told: 0 }

/** Whether there is any use in waiting for its answer. */
export function responds({ silentFor }: Pick<Beating, 'silentFor'>): boolean {
  return silentFor < SILENCE.told
}
