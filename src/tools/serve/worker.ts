// The worker thread of `gwctl run --workers`: one gateway, controlled by the leading thread.
import { parentPort, workerData } from 'node:worker_threads'
import { createCelCompiler } from '../../cel/compiler.ts'
import type { Snapshot } from '../../config/snapshot.ts'
import { type Threads, thisThread } from '../../engine/admin/threads.ts'
import { systemClock } from '../../engine/clock.ts'
import { Gateway } from '../../engine/gateway.ts'
import { ProcessLog } from '../../engine/logging.ts'
import { TraceHub } from '../../engine/trace-hub.ts'
import type { TraceWatch } from '../../engine/trace-watch.ts'
import { beat } from '../../engine/workers/heartbeats.ts'
import type {
  OrderMessage,
  OrderName,
  Orders,
  Prepared,
  Report,
  ReservedPorts,
  WatchAnswer,
  WatchOrder,
  WorkerFailure,
  WorkerStart,
} from '../../engine/workers/protocol.ts'
import { SessionRelay } from '../../engine/workers/session-relay.ts'
import { blockwiseIds } from '../../engine/workers/share.ts'
import { InputLoader } from '../input/input-loader.ts'

type Handlers = { readonly [N in OrderName]: (argument: Orders[N][0]) => Orders[N][1] | Promise<Orders[N][1]> }

class ServeWorker {
  readonly #start: WorkerStart
  readonly #report: (report: Report) => void
  readonly #log: ProcessLog
  readonly #hub: TraceHub
  readonly #relay: SessionRelay
  readonly #gateway: Gateway
  readonly #loader: InputLoader
  readonly #watches = new Map<number, TraceWatch>()
  #memory: ReadonlyMap<string, SharedArrayBuffer> = new Map()
  #ports: ReservedPorts = new Map()
  #prepared: Snapshot | undefined

  constructor(start: WorkerStart, report: (report: Report) => void) {
    const { index, count, ids, bodies, tickets, folder, host, settings, version, backlog } = start
    const { format, filter } = settings.logging
    this.#start = start
    this.#report = report
    const sink = new LeaderSink(new Int32Array(backlog), report)
    this.#log = new ProcessLog({ clock: systemClock, format, filter, sink })
    this.#hub = new TraceHub({ clock: systemClock, cel: createCelCompiler(settings), worker: index })
    this.#relay = new SessionRelay({ index, count }, folder)
    this.#gateway = new Gateway({
      clock: systemClock,
      random: Math.random,
      log: this.#log,
      trace: this.#hub,
      version,
      portFor: port => this.#ports.get(port),
      ...(host === undefined ? {} : { host }),
      share: {
        place: { index, count },
        allocate: (key, bytes) => this.#sharedMemory(key, bytes),
        nextId: blockwiseIds(new Int32Array(ids)),
        relay: this.#relay,
        bodies: new BigInt64Array(bodies),
        tickets,
        announce: series => report({ type: 'series', series }),
      },
    })
    this.#loader = new InputLoader(this.#gateway.state)
  }

  async open(): Promise<void> {
    beat(systemClock, new Int32Array(this.#start.beats), this.#start.index)
    await this.#relay.open(bind => this.#gateway.hostOf(bind))
    this.#report({ type: 'ready' })
  }

  async obey({ id, order, argument }: OrderMessage): Promise<void> {
    try {
      const handle = this.#handlers[order] as (argument: unknown) => unknown
      this.#answer({ type: 'answer', id, value: await handle(argument) })
    } catch (error) {
      const { message, code, port, address } = error as Error & Partial<WorkerFailure>
      const place = { ...(port === undefined ? {} : { port }), ...(address === undefined ? {} : { address }) }
      this.#answer({ type: 'failure', id, error: { message, ...(code === undefined ? {} : { code }), ...place } })
    }
  }

  /** Earlier log lines are sent first: the leader's next line is later. */
  #answer(report: Report): void {
    this.#log.flush()
    this.#report(report)
  }

  #ownThreads: Threads | undefined
  /** Cancels the profile in progress. */
  #unwanted = new AbortController()
  readonly #handlers: Handlers = {
    prepare: prepared => this.#prepare(prepared),
    commit: ports => this.#commit(ports),
    abandon: () => {
      this.#prepared = undefined
      this.#gateway.state.abandon()
      return undefined
    },
    filterLog: filter => {
      this.#log.change(filter, { reset: true })
      return undefined
    },
    readings: () => this.#gateway.metrics.readings(),
    memory: () => this.#threads().memory(),
    tasks: () => this.#threads().tasks(),
    profile: wanted => {
      this.#unwanted = new AbortController()
      return this.#threads().profile(wanted, this.#unwanted.signal)
    },
    endProfile: () => {
      this.#unwanted.abort()
      return undefined
    },
    watch: order => this.#watch(order),
    unwatch: id => {
      this.#watches.get(id)?.close()
      this.#watches.delete(id)
      return undefined
    },
    stop: async limits => {
      await this.#gateway.stop(limits)
      return undefined
    },
  }

  #threads(): Threads {
    this.#ownThreads ??= thisThread('worker', systemClock, () => this.#gateway.work())
    return this.#ownThreads
  }

  async #prepare({ inputs, files, memory }: Prepared): Promise<boolean> {
    const { cwd, env } = this.#start
    const { runtime } = this.#gateway
    this.#memory = memory
    const readReferenced = (path: string) => {
      const bytes = files.get(path)
      return bytes && Buffer.from(bytes)
    }
    const loaded = await this.#loader.load(inputs, { cwd, env, tier: 'env', readReferenced }, runtime)
    this.#prepared = loaded.runnable ? loaded.snapshot : undefined
    return this.#prepared !== undefined
  }

  async #commit(ports: ReservedPorts): Promise<undefined> {
    const snapshot = this.#prepared
    if (snapshot === undefined) throw new Error('there is nothing to commit')
    this.#prepared = undefined
    this.#ports = ports
    await this.#gateway.apply(snapshot)
    return undefined
  }

  #watch({ id, expression, requests, claims }: WatchOrder): WatchAnswer {
    const watch = this.#hub.watch({
      requests,
      claims: new Int32Array(claims),
      ...(expression === undefined ? {} : { expression }),
    })
    if (watch === undefined) return 'full'
    if ('problem' in watch) return { problem: watch.problem }
    this.#watches.set(id, watch)
    // Batches several events into one message.
    watch.onEvent = () => setImmediate(() => this.#send(id, watch))
    return 'watching'
  }

  #send(id: number, watch: TraceWatch): void {
    const events = []
    for (let event = watch.next(); event !== undefined; event = watch.next()) events.push(event)
    if (events.length > 0) this.#report({ type: 'trace', watch: id, events })
  }

  #sharedMemory(key: string, bytes: number): SharedArrayBuffer {
    const memory = this.#memory.get(key)
    if (memory?.byteLength === bytes) return memory
    throw new Error(`the leading thread has no memory for ${key}`)
  }
}

/** Sends lines to the leader's sink; lines not yet accepted count as written but not read. */
class LeaderSink {
  readonly #backlog: Int32Array
  readonly #report: (report: Report) => void

  constructor(backlog: Int32Array, report: (report: Report) => void) {
    this.#backlog = backlog
    this.#report = report
  }

  get writableLength(): number {
    return Atomics.load(this.#backlog, 0)
  }

  write(text: string): void {
    Atomics.add(this.#backlog, 0, text.length)
    this.#report({ type: 'log', text })
  }
}

if (parentPort !== null) {
  const port = parentPort
  const worker = new ServeWorker(workerData as WorkerStart, report => port.postMessage(report))
  port.on('message', (message: OrderMessage) => void worker.obey(message))
  await worker.open()
}
