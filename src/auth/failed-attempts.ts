import { GatewayError } from '../http/errors.ts'
import type { Clock } from '../runtime/runtime.ts'

/** Failed passwords per window, by client address and by user. */
const PER_CLIENT = 60
const PER_USER = 300
/** ms. */
const WINDOW = 60_000
/** Pending checks per client. */
const MAX_PENDING = 32
/** Addresses and users remembered: about 1 MB. */
const MAX_KEPT = 10_000

interface Count {
  /** Wrong passwords, plus pending checks. */
  failures: number
  pending: number
  /** ms of the monotonic clock. */
  readonly since: number
}

/** Throttles password guessing. Throws GatewayError `basicAuth` with status 429 past a limit. */
export class FailedAttempts {
  readonly #clock: Clock
  readonly #clients = new Map<string, Count>()
  readonly #users = new Map<string, Count>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Counts an attempt as failed until `settle` reports otherwise. `user`: undefined for an unknown one. */
  begin(address: string, user: string | undefined): Attempt {
    const now = this.#clock.mono()
    const client = countOf(this.#clients, network(address), now)
    const named = user === undefined ? undefined : countOf(this.#users, user, now)
    if (client.failures >= PER_CLIENT) throw tooMany(client, now)
    if (named && named.failures >= PER_USER) throw tooMany(named, now)
    if (client.pending >= MAX_PENDING) throw refusal(1)
    client.pending++
    client.failures++
    if (named) named.failures++
    return {
      settle(right) {
        client.pending--
        if (!right) return
        client.failures--
        if (named) named.failures--
      },
    }
  }
}

export interface Attempt {
  settle(right: boolean): void
}

function countOf(counts: Map<string, Count>, key: string, now: number): Count {
  const known = counts.get(key)
  if (known && now - known.since < WINDOW) return known
  const fresh = { failures: 0, pending: 0, since: now }
  counts.delete(key)
  if (counts.size >= MAX_KEPT) counts.delete(counts.keys().next().value as string)
  counts.set(key, fresh)
  return fresh
}

/** The owner of an IPv6 address usually has a whole /64. */
function network(address: string): string {
  if (!address.includes(':')) return address
  const [head = '', tail] = address.split('::')
  const groups = head.split(':')
  return (tail === undefined ? groups : [...groups, '0', '0', '0', '0']).slice(0, 4).join(':')
}

function tooMany({ since }: Count, now: number): GatewayError {
  return refusal(Math.max(1, Math.ceil((since + WINDOW - now) / 1000)))
}

function refusal(seconds: number): GatewayError {
  return new GatewayError('basicAuth', {
    status: 429,
    headers: ['retry-after', String(seconds)],
    detail: 'too many wrong passwords',
  })
}
