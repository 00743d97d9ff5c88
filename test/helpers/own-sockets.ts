import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/**
 * Every socket that this process opens or accepts from now on. What the process itself has taken of a connection
 * (`bytesRead`) says whether it is held up; what the sender got rid of says how large the kernel's buffers are.
 */
export function ownSockets(kind: 'client' | 'server'): readonly Socket[] {
  const sockets: Socket[] = []
  const keep = (message: unknown) => void sockets.push((message as { readonly socket: Socket }).socket)
  subscribe(`net.${kind}.socket`, keep)
  onTestFinished(() => void unsubscribe(`net.${kind}.socket`, keep))
  return sockets
}

/** More bytes than any buffers between two ends hold: who sends as many is not held up by anybody. */
export const ENDLESS = 1 << 30

/**
 * Resolves when a count no longer changes, with what it is then. Too early on a busy machine, never too late: a sender
 * that nobody holds up goes on until it has sent ENDLESS.
 */
export async function standstill(count: () => number): Promise<number> {
  for (let quiet = 0, last = -1; quiet < 4; ) {
    await new Promise(resolve => setTimeout(resolve, 50))
    quiet = count() === last ? quiet + 1 : 0
    last = count()
  }
  return count()
}
