import type { KeepAlive } from '../http/transport.ts'
import { boolean, def, type Infer, integer, object } from './builder.ts'
import { duration } from './scalars.ts'

export const keepalives = object('keepalives', {
  enabled: def(boolean, true, 'Send TCP keepalives.'),
  time: def(duration, '3m', 'Idle time before the first probe.'),
  interval: def(duration, '3m', 'Time between probes.'),
  retries: def(integer(1, 64), 9, 'Unanswered probes before the connection is considered dead.'),
})

/** The operating system counts in seconds and rejects 0. */
export function probesOf({ enabled, time, interval, retries }: Infer<typeof keepalives>): KeepAlive | false {
  return enabled && { time: Math.max(1000, time), interval: Math.max(1000, interval), retries }
}
