import { hash } from 'node:crypto'
import type { Expression } from '../../../cel/expression.ts'
import type { Exchange } from '../../../http/exchange.ts'
import type { Clock } from '../../../runtime/runtime.ts'
import type { Decision } from './decision.ts'

interface Kept {
  readonly decision: Decision
  /** ms of the monotonic clock. */
  readonly until: number
}

/** Decisions with longer response bodies are not cached, so that the number of entries bounds the memory. */
const MAX_BODY = 16 * 1024

/** An LRU cache of one service's decisions, keyed by the configured expressions. */
export class DecisionCache {
  readonly #kept = new Map<string, Kept>()
  readonly #most: number
  readonly #clock: Clock

  constructor(most: number, clock: Clock) {
    this.#most = most
    this.#clock = clock
  }

  get(key: string): Decision | undefined {
    const kept = this.#kept.get(key)
    if (kept === undefined) return undefined
    this.#kept.delete(key)
    if (kept.until <= this.#clock.mono()) return undefined
    this.#kept.set(key, kept)
    return kept.decision
  }

  /** `ttl`: ms, or an expiry time. */
  keep(key: string, decision: Decision, ttl: number | Date): void {
    if (!isKeepable(decision)) return
    const left = ttl instanceof Date ? ttl.getTime() - this.#clock.now() : ttl
    // Also rejects NaN.
    if (!(left > 0)) return
    this.#kept.delete(key)
    this.#kept.set(key, { decision, until: this.#clock.mono() + left })
    if (this.#kept.size > this.#most) this.#kept.delete(this.#kept.keys().next().value as string)
  }
}

/** Failures of the service may be transient, so they are not cached. */
function isKeepable(decision: Decision): boolean {
  if (decision.allowed) return true
  const { status, body } = decision.reply
  return status < 500 && (body?.length ?? 0) <= MAX_BODY
}

/**
 * The cache key of a request; undefined if a part fails, in which case the cache is bypassed. Parts are delimited and
 * values tagged with their type: requests that differ in any part never share a key.
 */
export function cacheKey(parts: readonly Expression[], x: Exchange): string | undefined {
  const values: unknown[] = []
  for (const part of parts) {
    const outcome = part.decide(x)
    if (!outcome.ok) return undefined
    values.push(outcome.value)
  }
  return hash('sha256', JSON.stringify(values.map(tagged)), 'base64url')
}

/** JSON alone has one form for several values. */
function tagged(value: unknown): unknown {
  if (typeof value === 'bigint') return { int: value.toString() }
  if (typeof value === 'number') return { number: Object.is(value, -0) ? '-0' : String(value) }
  if (value instanceof Date) return { time: value.getTime() }
  if (value instanceof Uint8Array) return { bytes: Buffer.from(value).toString('base64') }
  if (Array.isArray(value)) return value.map(tagged)
  if (typeof value !== 'object' || value === null) return value ?? null
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return { map: entries.map(([name, each]) => [name, tagged(each)]) }
}
