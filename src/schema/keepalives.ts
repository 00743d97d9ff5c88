import { boolean, def, integer, object, opt } from './builder.ts'
import { duration } from './scalars.ts'

const BY_SYSTEM = { unserved: 'The operating system’s own setting is used.' }

export const keepalives = object('keepalives', {
  enabled: def(boolean, true, 'Send TCP keepalives.'),
  time: def(duration, '3m', 'Idle time before the first probe.'),
  interval: opt(duration, 'Time between probes.', BY_SYSTEM),
  retries: opt(integer(1, 64), 'Probes before the connection counts as dead.', BY_SYSTEM),
})
