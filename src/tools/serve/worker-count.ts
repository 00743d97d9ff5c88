import { type AddressInfo, createServer } from 'node:net'
import { availableParallelism } from 'node:os'
import { Failure } from '../../diagnostics/failure.ts'
import { MAX_WORKERS, parseWorkers } from '../../runtime/workers.ts'

/** The number of workers for `4`, `50%` (of the processors) or nothing (1). Throws a Failure for anything else. */
export function workerCount(given: number | string | undefined, processors = availableParallelism()): number {
  if (given === undefined) return 1
  const workers = parseWorkers(String(given))
  if (workers) return 'count' in workers ? workers.count : clamp(Math.round(processors * workers.share))
  throw new Failure('usage', `${given} is not a valid number of workers.`, {
    help: `Write a number from 1 to ${MAX_WORKERS}, or a share of the processors such as 50% (--workers, config.workerThreads).`,
  })
}

function clamp(count: number): number {
  return Math.min(MAX_WORKERS, Math.max(1, count))
}

/** Whether the kernel distributes the connections of a port over several listeners, and this Node.js supports that. */
export async function canSharePorts(): Promise<boolean> {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  // Older versions ignore the option.
  if (major < 23 || (major === 23 && minor < 1)) return false
  return new Promise(resolve => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen({ host: '127.0.0.1', port: 0, reusePort: true }, () => {
      const { port } = server.address() as AddressInfo
      server.close(() => resolve(port > 0))
    })
  })
}
