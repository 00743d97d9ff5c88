import { type AddressInfo, createServer } from 'node:net'
import { availableParallelism } from 'node:os'
import { Failure } from '../../diagnostics/failure.ts'

const MAX_WORKERS = 1024

/** How many workers `4`, `50%` (of the processors) or nothing (1) means. Throws a Failure for anything else. */
export function workerCount(given: number | string | undefined, processors = availableParallelism()): number {
  if (given === undefined) return 1
  const text = String(given)
  const [, share] = /^(\d{1,3}(?:\.\d+)?)%$/.exec(text) ?? []
  const count = share === undefined ? Number(text) : Math.max(1, Math.round((processors * Number(share)) / 100))
  if (Number.isInteger(count) && count >= 1 && count <= MAX_WORKERS && Number(share ?? 1) > 0) return count
  throw new Failure('usage', `${text} is no number of workers.`, {
    help: `Write a number from 1 to ${MAX_WORKERS}, or a share of the processors such as 50% (--workers, config.workerThreads).`,
  })
}

/** Whether the kernel spreads the connections of one port over several listeners, and this Node.js asks it to. */
export async function canSharePorts(): Promise<boolean> {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  // Older ones ignore the option.
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
