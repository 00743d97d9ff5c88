import { statSync, watch } from 'node:fs'
import { basename, dirname } from 'node:path'
import type { Settings } from '../../config/settings.ts'
import { Failure } from '../../diagnostics/failure.ts'
import { startAdmin, startReadiness, startStats } from '../../engine/admin/server.ts'
import type { AdminSource } from '../../engine/admin/source.ts'
import { systemClock } from '../../engine/clock.ts'
import { type LogSink, ProcessLog } from '../../engine/logging.ts'

type Endpoint = Awaited<ReturnType<typeof startAdmin>>

/** The auxiliary servers: the address of each, or `off`. */
export interface Endpoints {
  readonly admin: string
  readonly stats: string
  readonly readiness: string
  close(): Promise<void>
}

/** Throws a Failure if the log filter of the settings is invalid. */
export function createLog({ logging }: Settings, sink: LogSink): ProcessLog {
  try {
    return new ProcessLog({ clock: systemClock, format: logging.format, filter: logging.filter, sink })
  } catch (error) {
    throw new Failure(
      'usage',
      `the log filter \`${logging.filter}\` cannot be read: ${error instanceof Error ? error.message : ''}`,
      { help: 'Write a level, or module=level, separated by commas (RUST_LOG, config.logging.level).' },
    )
  }
}

/** If one cannot be opened, the others are closed and `stop` is called. */
export async function startEndpoints(
  settings: Settings,
  source: AdminSource,
  stop: () => Promise<void>,
): Promise<Endpoints> {
  const endpoints: Endpoint[] = []
  const opened = async (opening: Promise<Endpoint>) => {
    const endpoint = await opening
    endpoints.push(endpoint)
    return endpoint.address
  }
  try {
    return {
      admin: await opened(startAdmin(settings.adminAddr, source)),
      stats: await opened(startStats(settings.statsAddr, source)),
      readiness: await opened(startReadiness(settings.readinessAddr, source)),
      close: async () => {
        for (const endpoint of endpoints) await endpoint.close()
      },
    }
  } catch (error) {
    for (const endpoint of endpoints) await endpoint.close()
    await stop()
    throw portFailure(error)
  }
}

/** Converts errors of `listen` to Failures; other errors are returned unchanged. */
export function portFailure(error: unknown): unknown {
  const { code, port, address } = error as NodeJS.ErrnoException & { port?: number; address?: string }
  if (code !== 'EADDRINUSE' && code !== 'EACCES' && code !== 'EADDRNOTAVAIL') return error
  const where = `${address?.includes(':') ? `[${address}]` : (address ?? '')}:${port ?? ''}`
  if (code === 'EACCES')
    return new Failure('input', `no permission to open ${where}.`, { help: 'Use a port above 1023.' })
  if (code === 'EADDRNOTAVAIL') return new Failure('input', `${where} is not an address on this machine.`)
  return new Failure('input', `${where} is in use.`, {
    help: 'Another gateway may be running: stop it, or choose other ports: those of listeners, config.adminAddr, config.statsAddr, config.readinessAddr.',
  })
}

/** The folder is watched, since editors and Kubernetes replace files instead of writing them. */
export function watchFile(path: string, changed: () => void) {
  let timer: NodeJS.Timeout | undefined
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) {
    const watcher = watch(path, { recursive: true }, () => {
      clearTimeout(timer)
      timer = setTimeout(changed, 250)
    })
    // The next reload notices a removed directory.
    return watcher.on('error', () => {})
  }
  return watch(dirname(path), (_event, name) => {
    if (name !== null && name !== basename(path) && !name.startsWith('..')) return
    clearTimeout(timer)
    timer = setTimeout(changed, 250)
  })
}
