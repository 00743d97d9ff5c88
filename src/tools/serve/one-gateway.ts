import { createCelCompiler } from '../../cel/compiler.ts'
import { dumpOf } from '../../config/dump.ts'
import type { Settings } from '../../config/settings.ts'
import { thisThread } from '../../engine/admin/threads.ts'
import { systemClock } from '../../engine/clock.ts'
import { Gateway } from '../../engine/gateway.ts'
import { TraceHub } from '../../engine/trace-hub.ts'
import { createLog, startEndpoints } from './endpoints.ts'
import type { RunningGateway, ServeOptions } from './serving.ts'

type GatewayOptions = Pick<ServeOptions, 'log' | 'version' | 'portFor'>

/** A gateway in this thread, with its log, trace and the gauge of whether it is up to date. */
export function createGateway(options: GatewayOptions, settings: Settings, reopened?: () => void) {
  const log = createLog(settings, options.log)
  const hub = new TraceHub({ clock: systemClock, cel: createCelCompiler(settings), worker: 0 })
  const gateway = new Gateway({
    clock: systemClock,
    random: Math.random,
    log,
    trace: hub,
    version: options.version,
    ...(reopened ? { reopened } : {}),
    ...(options.portFor ? { portFor: options.portFor } : {}),
  })
  const synchronized = gateway.metrics
    .gauge('agentgateway_config_synchronized', 'Whether what is configured is what is served.')
    .with()
  return { log, hub, gateway, synchronized }
}

export type OneGateway = ReturnType<typeof createGateway>

/** Opens the auxiliary servers. `pending`: what it still waits for; `ended` runs before the ports close. */
export async function openGateway(
  { log, hub, gateway }: OneGateway,
  settings: Settings,
  version: string,
  { pending, ended }: { pending(): readonly string[]; ended(): Promise<void> | void },
): Promise<Pick<RunningGateway, 'admin' | 'stats' | 'ports' | 'workers' | 'quit' | 'stop'>> {
  const { promise: asked, resolve: quit } = Promise.withResolvers<void>()
  let stopping = false
  const waitsFor = () => (stopping ? ['shutting down'] : pending())
  const source = {
    dump: () => dumpOf(gateway.snapshot!, version),
    quit,
    trace: hub,
    log,
    ready: () => ({ ok: waitsFor().length === 0, pending: waitsFor() }),
    metrics: () => gateway.metrics.families(),
    threads: thisThread('main', systemClock, () => gateway.work()),
  }
  const endpoints = await startEndpoints(settings, source, () => gateway.stop({ min: 0, max: 0 }))
  return {
    admin: endpoints.admin,
    stats: endpoints.stats,
    get ports() {
      return gateway.ports
    },
    workers: [],
    quit: asked,
    async stop() {
      stopping = true
      await ended()
      await gateway.stop({ min: settings.terminationMin, max: settings.terminationMax })
      await endpoints.close()
      log.flush()
    },
  }
}
