import { cpuUsage, memoryUsage } from 'node:process'
import type { Budget } from '../../runtime/runtime.ts'
import type { MetricsRegistry } from '../metrics/registry.ts'

/** What all workers share. */
export interface ReplicaFacts {
  /** Number of serving threads. */
  readonly workers: () => number
  readonly budgets: () => readonly Budget[]
}

/**
 * Metrics of the process rather than of a worker; one thread reports them. Names without our prefix are those of
 * Prometheus' own clients.
 */
export function registerReplicaMetrics(metrics: MetricsRegistry, { workers, budgets }: ReplicaFacts): void {
  metrics.observed('agentgateway_workers', 'Threads that serve.', workers)
  const limits = ['limit', 'counts', 'at']
  const each = (value: (budget: Budget) => number) => () =>
    budgets().map(budget => [[budget.limit, budget.counts, budget.at], value(budget)] as const)
  metrics.observedEach(
    'agentgateway_rate_limit_remaining',
    'Remaining tokens of local rate limits.',
    limits,
    each(({ remaining }) => remaining),
  )
  metrics.observedEach(
    'agentgateway_rate_limit_capacity',
    'Capacity of local rate limits.',
    limits,
    each(({ capacity }) => capacity),
  )
  const started = (Date.now() - process.uptime() * 1000) / 1000
  metrics.observed('process_start_time_seconds', 'When the process started, since the epoch.', () => started)
  metrics.observed('process_resident_memory_bytes', 'Memory that the process holds.', () => memoryUsage.rss())
  metrics.observed('process_cpu_seconds_total', 'Processor time that was used.', cpuSeconds, 'counter')
}

function cpuSeconds(): number {
  const { user, system } = cpuUsage()
  return (user + system) / 1e6
}
