import { parseListenAddress } from '../../http/listen-address.ts'
import { refusal } from './access.ts'
import { type Listening, listen } from './listen.ts'
import { logLevel } from './log-level.ts'
import { memoryReport } from './memory.ts'
import { metricsReply } from './metrics-reply.ts'
import { profileReply } from './profile.ts'
import type { AdminSource } from './source.ts'
import { type AdminPath, type AdminRequest, json, text } from './table.ts'
import { tasksReport } from './tasks.ts'
import { traceStream } from './trace-stream.ts'

/**
 * Starts the admin server (specification, "Admin server"). `address` is `IP:PORT`, `localhost:PORT`, `unix:/PATH` or
 * `off`; throws a TypeError for anything else, and the error of `listen` if the address is unavailable.
 */
export function startAdmin(address: string, source: AdminSource): Promise<Listening> {
  return startEndpoint(address, adminPaths(source), true)
}

/** `/healthz/ready` for probes; accepts any Host, since probes use whatever name reaches it. */
export function startReadiness(address: string, source: Pick<AdminSource, 'ready'>): Promise<Listening> {
  return startEndpoint(address, [readiness(source)], false)
}

/** `/metrics` for a scraper. */
export function startStats(address: string, source: Pick<AdminSource, 'metrics'>): Promise<Listening> {
  return startEndpoint(address, metricsPaths(source), false)
}

function metricsPaths(source: Pick<AdminSource, 'metrics'>): readonly AdminPath[] {
  const handler = async (request: AdminRequest) => metricsReply(await source.metrics(), request)
  const summary = 'Metrics as Prometheus text, or as OpenMetrics if Accept asks for it.'
  return [
    { path: '/metrics', methods: ['GET'], summary, handler },
    { path: '/stats/prometheus', methods: ['GET'], summary, handler },
  ]
}

async function startEndpoint(address: string, paths: readonly AdminPath[], guarded: boolean): Promise<Listening> {
  const parsed = parseListenAddress(address)
  if (parsed === undefined) {
    throw new TypeError(`${address} is not a listen address: write IP:PORT, localhost:PORT, unix:/PATH or off.`)
  }
  return listen(parsed, guarded ? { paths, refuse: refusal } : { paths })
}

function adminPaths(source: AdminSource): readonly AdminPath[] {
  const paths: AdminPath[] = [
    {
      path: '/config_dump',
      methods: ['GET'],
      summary: 'The loaded runtime configuration as JSON.',
      handler: async () => json(await source.dump()),
    },
    {
      path: '/debug/trace',
      methods: ['GET', 'POST'],
      parameters: ['expression', 'follow', 'seconds'],
      summary: 'What happens to the next request, as Server-Sent Events: ?expression=CEL, ?follow=N&seconds=S.',
      handler: request => traceStream(source.trace, request),
    },
    {
      path: '/logging',
      methods: ['GET', 'POST'],
      parameters: ['level', 'reset'],
      summary: 'The log level; POST ?level=LEVEL or ?level=MODULE=LEVEL changes it, ?reset restores it.',
      handler: request => logLevel(source.log, request),
    },
    ...insidePaths(source),
    {
      path: '/quitquitquit',
      methods: ['POST'],
      summary: 'Begins the graceful shutdown.',
      handler: () => {
        source.quit()
        return text('shutdown now\n')
      },
    },
    readiness(source),
    ...metricsPaths(source).slice(0, 1),
  ]
  const index: AdminPath = {
    path: '/',
    methods: ['GET'],
    summary: 'This list.',
    handler: () => text(indexOf([index, ...paths])),
  }
  return [index, ...paths]
}

/** Paths for threads, memory and profiles. */
function insidePaths({ threads }: AdminSource): readonly AdminPath[] {
  return [
    {
      path: '/memory',
      methods: ['GET'],
      summary: 'Memory statistics as JSON.',
      handler: async () => json(memoryReport(await threads.memory())),
    },
    {
      path: '/debug/pprof/profile',
      methods: ['GET'],
      parameters: ['seconds', 'frequency'],
      summary: 'Processor profile for pprof: ?seconds=N, 1 to 300, ?frequency=N, 1 to 1000 samples per second.',
      handler: request => profileReply('cpu', request, threads.profile),
    },
    {
      path: '/debug/pprof/heap',
      methods: ['GET'],
      parameters: ['seconds'],
      summary: 'Heap profile for pprof: ?seconds=N, 1 to 300.',
      handler: request => profileReply('heap', request, threads.profile),
    },
    {
      path: '/debug/tasks',
      methods: ['GET'],
      summary: 'What it is at: requests, connections, sessions, and what the process waits for.',
      handler: async () => json(tasksReport(await threads.tasks())),
    },
  ]
}

function readiness(source: Pick<AdminSource, 'ready'>): AdminPath {
  return {
    path: '/healthz/ready',
    methods: ['GET'],
    summary: 'Whether the gateway serves its configuration.',
    handler: () => {
      const { ok, pending } = source.ready()
      return ok ? text('ready\n') : text(`not ready, pending: ${pending.join(', ')}\n`, 500)
    },
  }
}

function indexOf(paths: readonly AdminPath[]): string {
  return paths
    .map(({ path, methods, summary }) => `${path.padEnd(21)} ${methods.join(' ').padEnd(9)} ${summary}\n`)
    .join('')
}
