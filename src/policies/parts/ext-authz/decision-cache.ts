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

/** Replies of services with longer bodies are not kept: the number of entries is to bound what they take. */
const LONGEST_BODY = 16 * 1024

/** Decisions of one service, by what the file says that they depend on; the least recently used go first. */
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

  /** `ttl`: ms, or until when. */
  keep(key: string, decision: Decision, ttl: number | Date): void {
    if (!isKeepable(decision)) return
    const left = ttl instanceof Date ? ttl.getTime() - this.#clock.now() : ttl
    // Also when it is not a number at all.
    if (!(left > 0)) return
    this.#kept.delete(key)
    this.#kept.set(key, { decision, until: this.#clock.mono() + left })
    if (this.#kept.size > this.#most) this.#kept.delete(this.#kept.keys().next().value as string)
  }
}

/** What the service could not decide, it may decide the next time. */
function isKeepable(decision: Decision): boolean {
  if (decision.allowed) return true
  const { status, body } = decision.reply
  return status < 500 && (body?.length ?? 0) <= LONGEST_BODY
}

/**
 * The key of a request: undefined where a part fails, then its decision is neither read nor kept. Parts are told apart,
 * and so are values of different types: no two requests that differ in a part share a key.
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
