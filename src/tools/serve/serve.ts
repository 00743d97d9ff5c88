import { resolve } from 'node:path'
import { hasSignIns } from '../../config/check-sign-ins.ts'
import { mostHeld } from '../../config/held-bodies.ts'
import type { Loaded } from '../../config/load.ts'
import { offlineRuntime } from '../../config/offline-runtime.ts'
import type { Settings } from '../../config/settings.ts'
import type { Snapshot } from '../../config/snapshot.ts'
import type { Source } from '../../diagnostics/source.ts'
import type { Gateway } from '../../engine/gateway.ts'
import { reportOf } from '../check/check.ts'
import type { InputText } from '../input/input-files.ts'
import { InputLoader } from '../input/input-loader.ts'
import { readServed } from '../input/served-input.ts'
import { createLog, portFailure, watchFile } from './endpoints.ts'
import { createGateway, openGateway } from './one-gateway.ts'
import type { Probed, RunningGateway, ServeOptions } from './serving.ts'

/**
 * Starts what `validate --tier env` accepts. Undefined if the configuration was refused, in which case no port is open.
 */
export async function serve(options: ServeOptions): Promise<RunningGateway | undefined> {
  const inputs = await readServed(options.file, { ...options, trusted: true })
  const probe = new InputLoader({ begin: () => {}, abandon: () => {} })
  const loaded = await probe.load(inputs, { ...options, tier: 'env' }, offlineRuntime())
  if (!loaded.runnable || !loaded.snapshot) {
    options.refused(await reportOf(inputs, loaded, options.cwd), false)
    return undefined
  }
  const { settings } = loaded.snapshot
  const probed = { inputs, parsed: loaded.source }
  const wanted = options.workers ?? settings.workers
  if (wanted === undefined) return serveAlone(options, probed, settings)
  return serveTogether(options, probed, loaded.snapshot, wanted)
}

async function serveTogether(options: ServeOptions, probed: Probed, snapshot: Snapshot, wanted: number | string) {
  const { settings } = snapshot
  const { canSharePorts, workerCount } = await import('./worker-count.ts')
  const count = workerCount(wanted)
  if (count === 1) return serveAlone(options, probed, settings)
  const signIns = hasSignIns(snapshot)
  if (!signIns && (await canSharePorts())) {
    const { serveReplica } = await import('./replica.ts')
    return serveReplica(options, count, probed, settings)
  }
  const reason = signIns ? 'it has the tokens of users who sign in at MCP targets' : 'this system cannot share ports'
  const log = createLog(settings, options.log)
  log.logger('gateway').log('warn', `one worker instead of several: ${reason}`, { wanted: count })
  log.flush()
  return serveAlone(options, probed, settings)
}

async function serveAlone(
  options: ServeOptions,
  { inputs, parsed }: Probed,
  settings: Settings,
): Promise<RunningGateway | undefined> {
  const one = createGateway(options, settings)
  const { gateway, synchronized } = one
  const server = new Server(options, gateway, synchronized)
  const snapshot = await server.compile(inputs, parsed)
  if (!snapshot) return undefined
  await applyFirst(gateway, snapshot)
  synchronized.set(1)
  const running = await openGateway(one, settings, options.version, {
    pending: () => [],
    ended: () => watcher?.close(),
  })
  const watcher =
    options.watch && options.file !== '-'
      ? watchFile(resolve(options.cwd, options.file), () => void server.reload())
      : undefined
  return Object.assign(running, { bodies: mostHeld(snapshot.bodies), reload: () => server.reload() })
}

/** Compiles and swaps; one reload at a time, the last change wins. */
class Server {
  readonly #options: ServeOptions
  readonly #gateway: Gateway
  readonly #synchronized: { set(value: number): void }
  readonly #loader: InputLoader
  #queue: Promise<boolean> = Promise.resolve(true)

  constructor(options: ServeOptions, gateway: Gateway, synchronized: { set(value: number): void }) {
    this.#options = options
    this.#gateway = gateway
    this.#synchronized = synchronized
    this.#loader = new InputLoader(gateway.state)
  }

  reload(): Promise<boolean> {
    this.#queue = this.#queue.then(() => this.#reload())
    return this.#queue
  }

  async compile(inputs: readonly InputText[], parsed?: Source): Promise<Snapshot | undefined> {
    const { state, runtime } = this.#gateway
    const loaded = await this.#loader.load(
      inputs,
      { ...this.#options, tier: 'env', ...(parsed ? { parsed } : {}) },
      runtime,
    )
    if (loaded.runnable && loaded.snapshot) return loaded.snapshot
    state.abandon()
    await this.#refuse(inputs, loaded)
    return undefined
  }

  async #reload(): Promise<boolean> {
    const { log } = this.#gateway.runtime
    try {
      const snapshot = await this.compile(await readServed(this.#options.file, { ...this.#options, trusted: true }))
      if (!snapshot) return false
      await this.#gateway.apply(snapshot)
      this.#synchronized.set(1)
      log.log('info', 'configuration reloaded', { file: this.#options.file })
      return true
    } catch (error) {
      this.#synchronized.set(0)
      log.log('error', 'configuration not reloaded, the previous one stays', {
        error: error instanceof Error ? error.message : String(error),
      })
      return false
    }
  }

  async #refuse(inputs: readonly InputText[], loaded: Loaded): Promise<void> {
    this.#synchronized.set(0)
    this.#gateway.runtime.log.log('error', 'configuration not reloaded, the previous one stays', {
      file: this.#options.file,
      findings: loaded.diagnostics.length,
    })
    this.#options.refused(await reportOf(inputs, loaded, this.#options.cwd), true)
  }
}

async function applyFirst(gateway: Gateway, snapshot: Snapshot): Promise<void> {
  try {
    await gateway.apply(snapshot)
  } catch (error) {
    await gateway.stop({ min: 0, max: 0 })
    throw portFailure(error)
  }
}
