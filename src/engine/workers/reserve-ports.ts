import { type AddressInfo, createServer } from 'node:net'
import type { Bind } from '../../config/snapshot.ts'
import { probeDatagrams } from '../inbound/udp-port.ts'
import type { ReservedPorts } from './protocol.ts'

/**
 * Determines the port that workers open for each configured one. The leader briefly opens each alone: workers that
 * share a port could not tell that another process has it. `known` ports are already theirs.
 */
export async function reservePorts(
  binds: readonly Pick<Bind, 'port' | 'protocol'>[],
  known: ReservedPorts,
  portFor: (configured: number) => number,
  host: string | undefined,
  failed: (configured: number, error: Error) => void,
): Promise<ReservedPorts> {
  const out = new Map<number, number | undefined>()
  for (const { port, protocol } of binds) {
    const held = known.get(port)
    try {
      const look = protocol === 'udp' ? probeDatagrams : probe
      out.set(port, held ?? (await look(portFor(port), host)))
    } catch (error) {
      out.set(port, undefined)
      failed(port, error as Error)
    }
  }
  return out
}

function probe(port: number, host: string | undefined): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen({ port, ...(host === undefined ? {} : { host }) }, () => {
      const { port: opened } = server.address() as AddressInfo
      server.close(() => resolve(opened))
    })
  })
}
