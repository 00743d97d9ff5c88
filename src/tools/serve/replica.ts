import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import { resolve } from 'node:path'
import { dumpOf } from '../../config/dump.ts'
import { mostHeld } from '../../config/held-bodies.ts'
import { offlineRuntime } from '../../config/offline-runtime.ts'
import type { Settings } from '../../config/settings.ts'
import type { Snapshot } from '../../config/snapshot.ts'
import type { AdminSource } from '../../engine/admin/source.ts'
import type { Threads } from '../../engine/admin/threads.ts'
import { systemClock } from '../../engine/clock.ts'
import { CLOSE_TIMEOUT } from '../../engine/gateway.ts'
import type { LogControl, ProcessLog } from '../../engine/logging.ts'
import { type MetricFamily, sumFamilies } from '../../engine/metrics/families.ts'
import { MetricsRegistry } from '../../engine/metrics/registry.ts'
import { registerReplicaMetrics } from '../../engine/observe/replica-metrics.ts'
import { ReloadableState } from '../../engine/state-store.ts'
import { allThreads } from '../../engine/workers/all-threads.ts'
import { type AskAll, askerOf, REPLY_TIMEOUT, withTimeout } from '../../engine/workers/ask-all.ts'
import { responds } from '../../engine/workers/heartbeats.ts'
import type { Prepared, Report, ReservedPorts, WorkerStart } from '../../engine/workers/protocol.ts'
import { ReplicaTrace } from '../../engine/workers/replica-trace.ts'
import { reservePorts } from '../../engine/workers/reserve-ports.ts'
import { createSocketFolder, removeStaleFolders } from '../../engine/workers/socket-folder.ts'
import { WorkerCounts } from '../../engine/workers/worker-counts.ts'
import { type PoolWorker, WorkerPool } from '../../engine/workers/worker-pool.ts'
import { referencedBy, reportOf } from '../check/check.ts'
import type { InputText } from '../input/input-files.ts'
import { InputLoader } from '../input/input-loader.ts'
import { readServed } from '../input/served-input.ts'
import { createLog, portFailure, startEndpoints, watchFile } from './endpoints.ts'
import type { Probed, RunningGateway, ServeOptions } from './serving.ts'

/** Serves with several workers as one replica, which looks like a single gateway from outside. */
export async function serveReplica(
  options: ServeOptions,
  count: number,
  probed: Probed,
  settings: Settings,
): Promise<RunningGateway | undefined> {
  const log = createLog(settings, options.log)
  const replica = new Replica(options, count, settings, log)
  if (!(await replica.open(probed.inputs))) return undefined
  let quit: () => void = () => {}
  const asked = new Promise<void>(done => {
    quit = done
  })
  let stopping = false
  const source: AdminSource = {
    dump: () => dumpOf(replica.snapshot, options.version),
    quit,
    trace: replica.trace,
    log: replica.logControl,
    ready() {
      const pending = stopping ? ['shutting down'] : replica.isServing ? [] : ['workers']
      return { ok: pending.length === 0, pending }
    },
    metrics: () => replica.metrics(),
    threads: replica.threads,
  }
  const endpoints = await startEndpoints(settings, source, () => replica.close())
  const watcher =
    options.watch && options.file !== '-'
      ? watchFile(resolve(options.cwd, options.file), () => void replica.reload())
      : undefined
  return {
    admin: endpoints.admin,
    stats: endpoints.stats,
    get ports() {
      return replica.ports
    },
    bodies: mostHeld(replica.snapshot.bodies),
    get workers() {
      return replica.workers
    },
    quit: asked,
    reload: () => replica.reload(),
    async stop() {
      stopping = true
      watcher?.close()
      await replica.stop(settings.terminationMin, settings.terminationMax)
      await endpoints.close()
      log.flush()
    },
  }
}

interface Current {
  readonly snapshot: Snapshot
  readonly prepared: Prepared
  readonly ports: ReservedPorts
}

/** The leading thread: compiles first, then has all workers do the same, and aggregates their data. */
class Replica {
  readonly trace: ReplicaTrace
  readonly threads: Threads
  readonly logControl: LogControl
  readonly #options: ServeOptions
  readonly #settings: Settings
  readonly #log: ProcessLog
  readonly #pool: WorkerPool
  readonly #all: AskAll
  readonly #folder = createSocketFolder()
  readonly #ids = new SharedArrayBuffer(4)
  readonly #bodies: SharedArrayBuffer
  readonly #tickets = randomBytes(32)
  readonly #backlogs: readonly SharedArrayBuffer[]
  readonly #state = new ReloadableState((_key, bytes) => new SharedArrayBuffer(bytes))
  readonly #loader = new InputLoader(this.#state)
  readonly #metrics = new MetricsRegistry()
  readonly #synchronized
  readonly #counts = new WorkerCounts()
  #current: Current | undefined
  #stopping = false
  #queue: Promise<unknown> = Promise.resolve()

  constructor(options: ServeOptions, count: number, settings: Settings, log: ProcessLog) {
    this.#options = options
    this.#settings = settings
    this.#log = log
    this.#bodies = new SharedArrayBuffer(count * BigInt64Array.BYTES_PER_ELEMENT)
    this.#backlogs = Array.from({ length: count }, () => new SharedArrayBuffer(4))
    this.#synchronized = this.#metrics
      .gauge('agentgateway_config_synchronized', 'Whether the file on disk is what is served.')
      .with()
    this.#pool = new WorkerPool({
      clock: systemClock,
      count,
      entry: new URL(import.meta.url.endsWith('.ts') ? './worker.ts' : '../serve-worker.js', import.meta.url),
      start: index => this.#startOf(index, count),
      welcome: worker => this.#inTurn(() => this.#welcome(worker)),
      report: (worker, report) => this.#receive(worker, report),
      lost: (worker, reason) => this.#lost(worker, reason),
      failed: (worker, error) =>
        this.#logger.log('error', 'a worker could not be replaced', { worker, error: error.message }),
      silent: ({ index, silentFor }) =>
        this.#logger.log('error', 'a worker does not respond', { worker: index, seconds: silentFor / 1000 }),
      back: ({ index }, silentFor) =>
        this.#logger.log('warn', 'a worker responds again', { worker: index, seconds: silentFor / 1000 }),
    })
    registerReplicaMetrics(this.#metrics, {
      workers: () => this.#pool.workers.filter(isServing).length,
      budgets: () => this.#state.budgets(),
    })
    const workers = () => this.#pool.workers
    this.#all = askerOf(systemClock, workers)
    this.trace = new ReplicaTrace(systemClock, workers, this.#all)
    this.threads = allThreads(systemClock, workers, this.#all)
    this.logControl = {
      filter: () => log.filter(),
      change: async (directives, how) => {
        log.change(directives, how)
        await this.#all('filterLog', log.filter())
      },
    }
  }

  get snapshot(): Snapshot {
    return this.#current!.snapshot
  }

  get ports(): ReadonlyMap<number, number> {
    const all = [...(this.#current?.ports ?? [])]
    return new Map(all.flatMap(([configured, port]) => (port === undefined ? [] : [[configured, port] as const])))
  }

  get workers(): readonly PoolWorker[] {
    return this.#pool.workers
  }

  /** Whether any worker accepts requests. */
  get isServing(): boolean {
    return this.#pool.workers.some(isServing)
  }

  /** False: the configuration was refused, and nothing was started. */
  async open(inputs: readonly InputText[]): Promise<boolean> {
    try {
      const compiled = await this.#compile(inputs)
      if (compiled === undefined) {
        await this.close()
        return false
      }
      this.#metrics.exclude(compiled.snapshot.telemetry.withoutMetrics)
      const ports = await this.#reserve(compiled.snapshot, new Map(), (_port, error) => {
        throw error
      })
      this.#current = { ...compiled, ports }
      await this.#pool.open()
    } catch (error) {
      await this.close()
      throw portFailure(error)
    }
    this.#state.commit()
    this.#synchronized.set(1)
    removeStaleFolders().catch(() => {})
    return true
  }

  reload(): Promise<boolean> {
    return this.#inTurn(async () => {
      try {
        const done = await this.#reload()
        this.#synchronized.set(done ? 1 : 0)
        return done
      } catch (error) {
        this.#synchronized.set(0)
        this.#logger.log('error', 'configuration not reloaded, the previous one stays', {
          error: error instanceof Error ? error.message : String(error),
        })
        return false
      }
    })
  }

  /** Drains the in-flight requests of all workers first, within the limits. */
  async stop(min: number, max: number): Promise<void> {
    this.#stopping = true
    this.#pool.retire()
    const stopping = this.#pool.workers.filter(responds).map(worker => worker.ask('stop', { min, max }))
    await withTimeout(systemClock, Promise.allSettled(stopping), max + 2 * CLOSE_TIMEOUT + REPLY_TIMEOUT)
    await this.close()
  }

  async close(): Promise<void> {
    this.trace.close()
    await this.#pool.close()
    await this.#state.close()
    rmSync(this.#folder, { recursive: true, force: true })
  }

  async metrics(): Promise<readonly MetricFamily[]> {
    const readings = await this.#all('readings', undefined)
    const ours = this.#metrics.families()
    return sumFamilies([...ours, ...this.#counts.families(), ...readings.flatMap(([, families]) => families)])
  }

  get #logger() {
    return this.#log.logger('gateway')
  }

  #startOf(index: number, count: number): WorkerStart {
    const { env, cwd, version } = this.#options
    const backlog = this.#backlogs[index] as SharedArrayBuffer
    Atomics.store(new Int32Array(backlog), 0, 0)
    // The memory that its predecessor held is free.
    Atomics.store(new BigInt64Array(this.#bodies), index, 0n)
    return {
      index,
      count,
      // `process.env` is not a plain object, and threads can only be given those.
      env: { ...env },
      cwd,
      version,
      settings: this.#settings,
      ids: this.#ids,
      bodies: this.#bodies,
      tickets: this.#tickets,
      backlog,
      beats: this.#pool.beats,
      folder: this.#folder,
      host: undefined,
    }
  }

  async #welcome(worker: PoolWorker): Promise<void> {
    const { prepared, ports } = this.#current!
    if (this.#stopping) throw new Error('the replica is stopping')
    if (!(await worker.ask('prepare', prepared))) throw new Error('a worker refused what the leading thread accepts')
    await worker.ask('filterLog', this.#log.filter())
    await this.trace.welcome(worker)
    await worker.ask('commit', ports)
  }

  #receive(worker: PoolWorker, report: Report): void {
    if (report.type === 'trace') this.trace.receive(report.watch, report.events)
    if (report.type === 'series') this.#counts.add(worker, report.series)
    if (report.type !== 'log') return
    Atomics.sub(new Int32Array(this.#backlogs[worker.index] as SharedArrayBuffer), 0, report.text.length)
    this.#options.log.write(report.text)
  }

  #lost(worker: PoolWorker, reason: string): void {
    const { index } = worker
    this.#logger.log('error', 'a worker has ended and is replaced', { worker: index, reason })
    this.trace.lost(index)
  }

  /** Atomic across workers: none serves the new configuration before all have compiled it. */
  async #reload(): Promise<boolean> {
    const compiled = await this.#compile(await readServed(this.#options.file, { ...this.#options, trusted: true }))
    if (compiled === undefined) return false
    const asked = this.#pool.workers.filter(responds)
    const answers = await Promise.allSettled(asked.map(worker => worker.ask('prepare', compiled.prepared)))
    // A worker that ended meanwhile is replaced by one that starts with the new configuration.
    const refusals = answers.filter((answer, i) => !asked[i]?.over && (answer.status === 'rejected' || !answer.value))
    if (refusals.length > 0) {
      await this.#all('abandon', undefined)
      this.#state.abandon()
      const failure = refusals.find(answer => answer.status === 'rejected')
      throw new Error(`a worker could not compile it: ${failure?.reason ?? 'refused'}`)
    }
    const ports = await this.#reserve(compiled.snapshot, this.#current!.ports, (port, error) =>
      this.#logger.log('error', 'cannot open a port', { port, error: error.message }),
    )
    this.#current = { ...compiled, ports }
    // A worker that does not switch is replaced by one that starts with it.
    for (const worker of this.#pool.workers) if (!responds(worker)) void worker.end('it hung during a reload')
    const workers = this.#pool.workers.filter(responds)
    const commits = await Promise.allSettled(workers.map(worker => worker.ask('commit', ports)))
    await Promise.all(commits.map((commit, i) => (commit.status === 'rejected' ? workers[i]?.end() : undefined)))
    this.#state.commit()
    this.#logger.log('info', 'configuration reloaded', { file: this.#options.file })
    return true
  }

  async #compile(inputs: readonly InputText[]): Promise<Pick<Current, 'snapshot' | 'prepared'> | undefined> {
    const { cwd } = this.#options
    const read = referencedBy(inputs[0]!.file, cwd)
    const files = new Map<string, Buffer | undefined>()
    const readReferenced = (path: string) => {
      if (!files.has(path)) files.set(path, read(path))
      return files.get(path)
    }
    const runtime = { ...offlineRuntime(), clock: systemClock, state: this.#state }
    const loaded = await this.#loader.load(inputs, { ...this.#options, tier: 'env', readReferenced }, runtime)
    if (loaded.runnable && loaded.snapshot) {
      return { snapshot: loaded.snapshot, prepared: { inputs, files, memory: this.#state.shared() } }
    }
    this.#state.abandon()
    this.#synchronized.set(0)
    const findings = loaded.diagnostics.length
    this.#logger.log('error', 'configuration not reloaded, the previous one stays', {
      file: this.#options.file,
      findings,
    })
    this.#options.refused(await reportOf(inputs, loaded, cwd), true)
    return undefined
  }

  #reserve({ binds }: Snapshot, known: ReservedPorts, failed: (port: number, error: Error) => void) {
    const { portFor = (port: number) => port } = this.#options
    return reservePorts(binds, known, portFor, undefined, failed)
  }

  /** Serializes changes, in order of request. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#queue.then(work)
    this.#queue = done.catch(() => {})
    return done
  }
}

function isServing(worker: PoolWorker): boolean {
  return worker.welcomed && responds(worker)
}
