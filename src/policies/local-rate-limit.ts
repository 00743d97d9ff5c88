// Token buckets of this replica, by requests or LLM tokens (specification, Rate limit types and Rate limiting semantics).
import { GatewayError } from '../http/errors.ts'
import type { Exchange, LlmFacts } from '../http/exchange.ts'
import type { Clock } from '../http/runtime.ts'
import { integer, list, type ObjectOf, type ObjectProblem, object, oneOf, opt, shapes } from '../schema/builder.ts'
import { duration } from '../schema/scalars.ts'
import { compileConditional, conditional, fallbackComesLast } from './conditional.ts'
import { type CompileContext, definePolicy, type Hooks } from './policy.ts'

const UNITS = { seconds: 1000, minutes: 60_000, hours: 3_600_000 } as const

const fields = {
  maxTokens: opt(integer(0), 'Size of the bucket, which starts full.'),
  tokensPerFill: opt(integer(0), 'What each fill adds.'),
  fillInterval: opt(duration, 'Time between two fills.'),
  type: opt(
    oneOf(['requests', 'tokens'], { Requests: 'requests', Tokens: 'tokens' }),
    'What is counted: requests (unset) or LLM tokens.',
  ),
  requests: opt(integer(1), 'Requests per `unit`.', { spec: 'Rate limit types' }),
  tokens: opt(integer(1), 'LLM tokens per `unit`.', { spec: 'Rate limit types' }),
  unit: opt(
    oneOf(['seconds', 'minutes', 'hours'], { Seconds: 'seconds', Minutes: 'minutes', Hours: 'hours' }),
    'The window of `requests` or `tokens`.',
    { spec: 'Rate limit types' },
  ),
  burst: opt(integer(0), 'Allowance above `requests` or `tokens` in a short period.', { spec: 'Rate limit types' }),
}
const RULES = {
  exactlyOneOf: [['fillInterval', 'unit']],
  atMostOneOf: [['requests', 'tokens']],
  check: checkLimit,
}
const limit = object('rate limit', fields, RULES)

const schema = shapes({
  list: list(limit, { min: 1, max: 16 }),
  object: object(
    'localRateLimit',
    { conditional: conditional('rate limit', fields, RULES) },
    { exactlyOneOf: [['conditional']], check: fallbackComesLast },
  ),
})
type Limit = ObjectOf<typeof fields>

export const localRateLimit = definePolicy({
  name: 'localRateLimit',
  doc: 'Limits requests or LLM tokens per time, for this replica. Every entry must let a request pass.',
  spec: 'Rate limit types',
  attach: ['route'],
  schema,
  compile(spec, ctx) {
    if ('conditional' in spec) {
      return compileConditional(spec.conditional ?? [], (entry, i) => limitBy([openLimit(entry, i, ctx)], ctx))
    }
    return limitBy(
      (spec as readonly Limit[]).map((entry, i) => openLimit(entry, i, ctx)),
      ctx,
    )
  },
})

/** The two forms do not mix: a bucket (`fillInterval`) or a window (`unit`). */
function checkLimit(value: Record<string, unknown>): readonly ObjectProblem[] {
  const { unit, requests, tokens, maxTokens = 0, tokensPerFill = 0, fillInterval } = value as Limit
  const foreign = (unit === undefined ? ['requests', 'tokens', 'burst'] : ['maxTokens', 'tokensPerFill', 'type']).find(
    name => value[name] !== undefined,
  )
  if (foreign !== undefined) {
    const form = unit === undefined ? 'fillInterval' : 'unit'
    return [{ message: `\`${foreign}\` does not go with \`${form}\``, path: [foreign], at: 'key' }]
  }
  if (unit !== undefined) {
    if (requests !== undefined || tokens !== undefined) return []
    return [{ message: '`unit` needs `requests` or `tokens`', path: ['unit'], at: 'key' }]
  }
  if (fillInterval === 0) {
    return [{ message: '`fillInterval` must be longer than zero', path: ['fillInterval'], at: 'value' }]
  }
  if (tokensPerFill > maxTokens) {
    const message = `a fill of ${tokensPerFill} does not fit into a bucket of ${maxTokens} (\`maxTokens\`)`
    return [{ message, path: ['tokensPerFill'], at: 'value' }]
  }
  return []
}

interface OpenLimit {
  readonly rate: Rate
  readonly bucket: Bucket
  readonly countsTokens: boolean
}

interface Rate {
  readonly capacity: number
  readonly perFill: number
  /** ms. */
  readonly interval: number
}

function openLimit(spec: Limit, index: number, { state, runtime }: CompileContext): OpenLimit {
  const rate = rateOf(spec)
  const bucket = state(`bucket ${index}`, () => new Bucket(rate, runtime.clock.mono()))
  return { rate, bucket, countsTokens: spec.tokens !== undefined || spec.type === 'tokens' }
}

function rateOf({ unit, requests, tokens, burst = 0, maxTokens = 0, tokensPerFill = 0, fillInterval }: Limit): Rate {
  if (unit === undefined) return { capacity: maxTokens, perFill: tokensPerFill, interval: fillInterval as number }
  const perFill = requests ?? (tokens as number)
  return { capacity: perFill + burst, perFill, interval: UNITS[unit] }
}

function limitBy(limits: readonly OpenLimit[], { runtime: { clock } }: CompileContext): Hooks {
  const counting = limits.filter(each => each.countsTokens)
  function limitRate(x: Exchange): undefined {
    takeAll(limits, x, clock)
  }
  function debitTokens(x: Exchange): void {
    if (x.llm === undefined) return
    const used = tokensOf(x.llm)
    if (used > 0) for (const { bucket } of counting) bucket.debit(used, clock.mono())
  }
  return counting.length > 0 ? { request: limitRate, done: debitTokens } : { request: limitRate }
}

/** In order; the first one that refuses ends it, and what the earlier ones gave stays taken. */
function takeAll(limits: readonly OpenLimit[], x: Exchange, clock: Clock): void {
  const now = clock.mono()
  const isLlm = x.llm !== undefined || x.backend?.protocol === 'llm'
  let scarcest: Bucket | undefined
  for (const { bucket, countsTokens } of limits) {
    if (countsTokens && !isLlm) continue
    if (!(countsTokens ? bucket.has(1, now) : bucket.take(1, now))) {
      announce(bucket, now, x)
      throw new GatewayError('rateLimited')
    }
    if (scarcest === undefined || bucket.remaining < scarcest.remaining) scarcest = bucket
  }
  if (scarcest) announce(scarcest, now, x)
}

function announce(bucket: Bucket, now: number, { queuedHeaders }: Exchange): void {
  queuedHeaders.push('x-ratelimit-limit', String(bucket.rate.capacity))
  queuedHeaders.push('x-ratelimit-remaining', String(bucket.remaining))
  queuedHeaders.push('x-ratelimit-reset', String(bucket.secondsToFill(now)))
}

/** Input that providers count with the cache, and output. */
function tokensOf({ inputTokens, outputTokens, totalTokens }: LlmFacts): number {
  return inputTokens === undefined && outputTokens === undefined
    ? (totalTokens ?? 0)
    : (inputTokens ?? 0) + (outputTokens ?? 0)
}

/**
 * Starts full and fills at whole intervals. Debits may take it below zero: that debt refuses requests until the next
 * fill, which forgets it (specification, States and transitions: the overshoot is kept, the window restores the budget).
 */
class Bucket {
  readonly rate: Rate
  #level: number
  #filledAt: number

  constructor(rate: Rate, now: number) {
    this.rate = rate
    this.#level = rate.capacity
    this.#filledAt = now
  }

  get remaining(): number {
    return Math.max(0, this.#level)
  }

  has(amount: number, now: number): boolean {
    this.#fill(now)
    return this.#level >= amount
  }

  take(amount: number, now: number): boolean {
    if (!this.has(amount, now)) return false
    this.#level -= amount
    return true
  }

  debit(amount: number, now: number): void {
    this.#fill(now)
    this.#level -= amount
  }

  /** Rounded down, as of the last `has` or `take`. */
  secondsToFill(now: number): number {
    return Math.max(0, Math.floor((this.#filledAt + this.rate.interval - now) / 1000))
  }

  #fill(now: number): void {
    const { interval, perFill, capacity } = this.rate
    const fills = Math.floor((now - this.#filledAt) / interval)
    if (fills <= 0) return
    this.#filledAt += fills * interval
    this.#level = Math.min(capacity, Math.max(0, this.#level) + fills * perFill)
  }
}
