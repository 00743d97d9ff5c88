import { watch } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import { createCelCompiler } from '../cel/compiler.ts'
import { dumpOf } from '../config/dump.ts'
import type { Loaded } from '../config/load.ts'
import { offlineRuntime } from '../config/offline-runtime.ts'
import type { Settings } from '../config/settings.ts'
import type { Snapshot } from '../config/snapshot.ts'
import { Failure } from '../diagnostics/failure.ts'
import type { CheckReport } from '../diagnostics/render/report.ts'
import { startAdmin, startReadiness, startStats } from '../engine/admin/server.ts'
import { systemClock } from '../engine/clock.ts'
import { Gateway } from '../engine/gateway.ts'
import { ProcessLog } from '../engine/logging.ts'
import { TraceHub } from '../engine/trace-hub.ts'
import { loadInput, reportOf } from './check.ts'
import { type InputText, readInput } from './input-files.ts'

export interface ServeOptions {
  readonly file: string
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly stdin: NodeJS.ReadableStream
  readonly log: { write(text: string): unknown }
  readonly version: string
  /** Reload when the file changes. */
  readonly watch: boolean
  /** Opens another port than the configured one: tests pass `() => 0`. */
  readonly portFor?: (port: number) => number
  /** Findings of a configuration that is not served: at start, and of each reload that was refused. */
  refused(report: CheckReport, reload: boolean): void
}

export interface Serving {
  readonly gateway: Gateway
  readonly admin: string
  readonly ports: readonly number[]
  /** Asked for by `/quitquitquit`. */
  readonly quit: Promise<void>
  stop(): Promise<void>
  /** Reads the file again, now; false when it was refused and the old configuration stays. */
  reload(): Promise<boolean>
}

/** Starts what `validate --tier env` accepts; undefined when the configuration was refused: no port was opened then. */
export async function serve(options: ServeOptions): Promise<Serving | undefined> {
  const input = await readInput(options.file, options)
  const probe = await loadInput(input, { ...options, tier: 'env' }, offlineRuntime())
  if (!probe.runnable || !probe.snapshot) {
    options.refused(reportOf([{ input, loaded: probe }], options.cwd), false)
    return undefined
  }
  const { settings } = probe.snapshot
  const log = createLog(settings, options)
  const hub = new TraceHub({ clock: systemClock, cel: createCelCompiler(settings), worker: 0 })
  const gateway = new Gateway({
    clock: systemClock,
    random: Math.random,
    log,
    trace: hub,
    ...(options.portFor ? { portFor: options.portFor } : {}),
    version: options.version,
  })
  const synchronized = gateway.metrics.gauge(
    'agentgateway_config_synchronized',
    'Whether the file on disk is what is served.',
  )
  const server = new Server(options, gateway, synchronized.with())
  const snapshot = await server.compile(input)
  if (!snapshot) return undefined
  await applyFirst(gateway, snapshot)

  let quit: () => void = () => {}
  const asked = new Promise<void>(done => {
    quit = done
  })
  let stopping = false
  const source = {
    dump: () => dumpOf(gateway.snapshot!, options.version),
    quit,
    trace: hub,
    log,
    ready: () => (stopping ? { ok: false, pending: ['shutting down'] } : { ok: true, pending: [] }),
    metrics: () => gateway.metrics.render(),
  }
  const endpoints = await startEndpoints(settings, source, gateway)
  const watcher =
    options.watch && options.file !== '-'
      ? watchFile(resolve(options.cwd, options.file), () => void server.reload())
      : undefined
  return {
    gateway,
    admin: endpoints[0]!.address,
    ports: gateway.ports,
    quit: asked,
    reload: () => server.reload(),
    async stop() {
      stopping = true
      watcher?.close()
      await gateway.stop({ min: settings.terminationMin, max: settings.terminationMax })
      for (const endpoint of endpoints) await endpoint.close()
      log.flush()
    },
  }
}

/** Compiles and swaps; one reload at a time, the last change wins. */
class Server {
  readonly #options: ServeOptions
  readonly #gateway: Gateway
  readonly #synchronized: { set(value: number): void }
  #queue: Promise<boolean> = Promise.resolve(true)

  constructor(options: ServeOptions, gateway: Gateway, synchronized: { set(value: number): void }) {
    this.#options = options
    this.#gateway = gateway
    this.#synchronized = synchronized
  }

  reload(): Promise<boolean> {
    this.#queue = this.#queue.then(() => this.#reload())
    return this.#queue
  }

  async compile(input: InputText): Promise<Snapshot | undefined> {
    const { state } = this.#gateway
    state.begin()
    const loaded = await loadInput(input, { ...this.#options, tier: 'env' }, this.#gateway.runtime)
    if (loaded.runnable && loaded.snapshot) return loaded.snapshot
    state.abandon()
    this.#refuse(input, loaded)
    return undefined
  }

  async #reload(): Promise<boolean> {
    const { log } = this.#gateway.runtime
    try {
      const input = await readInput(this.#options.file, this.#options)
      const snapshot = await this.compile(input)
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

  #refuse(input: InputText, loaded: Loaded): void {
    this.#synchronized.set(0)
    this.#gateway.runtime.log.log('error', 'configuration not reloaded, the previous one stays', {
      file: input.file,
      findings: loaded.diagnostics.length,
    })
    this.#options.refused(reportOf([{ input, loaded }], this.#options.cwd), true)
  }
}

function createLog(settings: Settings, options: ServeOptions): ProcessLog {
  try {
    return new ProcessLog({
      clock: systemClock,
      format: settings.logging.format,
      filter: settings.logging.filter,
      sink: options.log,
    })
  } catch (error) {
    throw new Failure(
      'usage',
      `the log filter \`${settings.logging.filter}\` cannot be read: ${error instanceof Error ? error.message : ''}`,
      { help: 'Write a level, or module=level, separated by commas (RUST_LOG, config.logging.level).' },
    )
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

async function startEndpoints(settings: Settings, source: Parameters<typeof startAdmin>[1], gateway: Gateway) {
  const endpoints: Awaited<ReturnType<typeof startAdmin>>[] = []
  try {
    endpoints.push(await startAdmin(addressText(settings.adminAddr), source))
    endpoints.push(await startStats(addressText(settings.statsAddr), source))
    endpoints.push(await startReadiness(addressText(settings.readinessAddr), source))
    return endpoints
  } catch (error) {
    for (const endpoint of endpoints) await endpoint.close()
    await gateway.stop({ min: 0, max: 0 })
    throw portFailure(error)
  }
}

function portFailure(error: unknown): unknown {
  const { code, port, address } = error as NodeJS.ErrnoException & { port?: number; address?: string }
  if (code !== 'EADDRINUSE' && code !== 'EACCES' && code !== 'EADDRNOTAVAIL') return error
  const where = `${address?.includes(':') ? `[${address}]` : (address ?? '')}:${port ?? ''}`
  if (code === 'EACCES')
    return new Failure('input', `no permission to open ${where}.`, { help: 'Use a port above 1023.' })
  if (code === 'EADDRNOTAVAIL') return new Failure('input', `${where} is no address of this machine.`)
  return new Failure('input', `${where} is in use.`, {
    help: 'Another gateway may be running: stop it, or choose other ports (config.adminAddr, config.statsAddr, config.readinessAddr).',
  })
}

function addressText(address: Settings['adminAddr']): string {
  if (address === 'off') return 'off'
  if ('unixPath' in address) return `unix:${address.unixPath}`
  return `${address.host.includes(':') ? `[${address.host}]` : address.host}:${address.port}`
}

/** The folder is watched, since editors and Kubernetes replace files instead of writing them. */
function watchFile(path: string, changed: () => void) {
  let timer: NodeJS.Timeout | undefined
  return watch(dirname(path), (_event, name) => {
    if (name !== null && name !== basename(path) && !name.startsWith('..')) return
    clearTimeout(timer)
    timer = setTimeout(changed, 250)
  })
}
