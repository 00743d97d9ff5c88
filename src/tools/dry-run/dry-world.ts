import { createCelCompiler } from '../../cel/compiler.ts'
import { offlineRuntime } from '../../config/offline-runtime.ts'
import { TraceHub } from '../../engine/trace-hub.ts'
import type { Runtime } from '../../runtime/runtime.ts'
import { addressesOf } from './backend-names.ts'
import { DryClock } from './dry-clock.ts'
import { FreshState } from './fresh-state.ts'
import { seededRandom, seededUuid } from './seeded-random.ts'
import { StandInCredentials } from './stand-in-credentials.ts'
import { type StubCall, type StubReply, stubTransport } from './stub-transport.ts'
import { type Answered, StubSet, type Stubs } from './stubs.ts'

export interface DryWorldOptions {
  /** The start time in ms since the epoch; now when unset. */
  readonly time?: number
  /** For weighted choices; 1 when unset. */
  readonly seed?: number
  readonly stubs?: Stubs
}

/** Replaces the outside world in a dry run. */
export class DryWorld {
  readonly clock: DryClock
  readonly runtime: Runtime
  readonly credentials: StandInCredentials
  readonly hub: TraceHub
  readonly #state = new FreshState()
  readonly #seed: number
  #random: () => number
  #stubs: Stubs
  #set: StubSet
  /** Handles each call while a request runs. */
  onCall: (call: StubCall, answer: (names: readonly string[]) => Answered) => StubReply

  constructor({ time = Date.now(), seed = 1, stubs = new Map() }: DryWorldOptions) {
    this.clock = new DryClock(time)
    this.credentials = new StandInCredentials(this.clock)
    this.hub = new TraceHub({
      clock: this.clock,
      cel: createCelCompiler(),
      worker: 0,
      mostRoutes: Number.POSITIVE_INFINITY,
    })
    this.#seed = seed
    this.#random = seededRandom(seed)
    this.#stubs = stubs
    this.#set = new StubSet(stubs)
    this.onCall = unwatched
    this.runtime = {
      ...offlineRuntime(),
      checksOnly: false,
      clock: this.clock,
      random: () => this.#random(),
      uuid: () => seededUuid(this.#random),
      state: this.#state,
      standIns: this.credentials,
      transport: stubTransport(this.clock, call => this.onCall(call, names => this.#set.answer(call, names))),
    }
  }

  reset(stubs: Stubs = this.#stubs): void {
    this.onCall = unwatched
    this.#state.forget()
    this.clock.reset()
    this.#random = seededRandom(this.#seed)
    this.#stubs = stubs
    this.#set = new StubSet(stubs)
  }
}

/** Sessions make calls when they are dropped. */
const unwatched: DryWorld['onCall'] = ({ target }, answer) => answer(addressesOf(target)).reply
