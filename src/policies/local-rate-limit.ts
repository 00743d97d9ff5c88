// Token buckets of this replica, by requests or LLM tokens (specification, Rate limit types and Rate limiting semantics).

import { placeText } from '../diagnostics/diagnostic.ts'
import { GatewayError } from '../http/errors.ts'
import type { Exchange } from '../http/exchange.ts'
import type { BudgetHolder, Clock } from '../runtime/runtime.ts'
import { integer, list, type ObjectOf, type ObjectProblem, object, oneOf, opt, shapes } from '../schema/builder.ts'
import { duration } from '../schema/scalars.ts'
import { asFields, asItems } from '../schema/untyped.ts'
import { compileConditional, conditional, fallbackComesLast } from './parts/conditional.ts'
import { convertLocalLimits, rateLimitInCluster } from './parts/rate-limits.ts'
import { tokensOf } from './parts/token-usage.ts'
import { type CompileContext, definePolicy, type Hooks } from './policy.ts'

const UNITS = { seconds: 1000, minutes: 60_000, hours: 3_600_000 } as const

const fields = {
  maxTokens: opt(integer(0), 'Size of the bucket, which starts full.'),
  tokensPerFill: opt(integer(0), 'Tokens that each fill adds.'),
  fillInterval: opt(duration, 'Time between fills.'),
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
  burst: opt(integer(0), 'Burst allowance above `requests` or `tokens`.', { spec: 'Rate limit types' }),
}
const RULES = {
  exactlyOneOf: [['fillInterval', 'unit']],
  atMostOneOf: [['requests', 'tokens']],
  check: checkLimit,
  instead: Object.fromEntries(
    ['Second', 'Minute', 'Hour'].map(unit => [
      `requestsPer${unit}`,
      `write \`requests\` and \`unit: ${unit.toLowerCase()}s\``,
    ]),
  ),
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
  doc: 'Limits the rate of requests or LLM tokens on this replica. A request must pass every entry.',
  spec: 'Rate limit types',
  attach: ['route'],
  schema,
  cluster: [
    {
      section: 'traffic',
      member: 'rateLimit',
      field: opt(rateLimitInCluster, 'Limits on requests or LLM tokens.'),
      convert: convertLocalLimits,
    },
  ],
  showsBudget: true,
  beforeDeadline: true,
  probe: spec => ({
    calls: asItems(asFields(spec)?.conditional ?? spec).map(
      ({ maxTokens, requests, burst }) => (Number(maxTokens) || Number(requests) || 0) + (Number(burst) || 0),
    ),
  }),
  compile(spec, ctx) {
    if ('conditional' in spec) {
      return compileConditional(spec.conditional ?? [], 'guards', ctx.limits, (entry, i) =>
        limitBy([openLimit(entry, i, ctx)], ctx),
      )
    }
    return limitBy(
      (spec as readonly Limit[]).map((entry, i) => openLimit(entry, i, ctx)),
      ctx,
    )
  },
})

/** Two exclusive forms: a bucket (`fillInterval`) or a window (`unit`). */
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
    return [{ message, help: 'Raise `maxTokens`, or fill in less at a time.', path: ['tokensPerFill'], at: 'value' }]
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

function openLimit(spec: Limit, index: number, ctx: CompileContext): OpenLimit {
  const { clock } = ctx.runtime
  const rate = rateOf(spec)
  const bucket = new Bucket(rate, ctx.memory(`bucket ${index}`, BUCKET_BYTES), clock.mono())
  const countsTokens = spec.tokens !== undefined || spec.type === 'tokens'
  const at = placeText(ctx.originOf([index]))
  ctx.state(
    `budget ${index}`,
    (): BudgetHolder => ({
      budget: () => ({
        at,
        limit: ctx.identity,
        counts: countsTokens ? 'tokens' : 'requests',
        capacity: rate.capacity,
        remaining: bucket.left(clock.mono()),
      }),
    }),
  )
  return { rate, bucket, countsTokens }
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
    if (counting.length === 0) return
    x.tokenLimits ??= []
    x.tokenLimits.push({
      take: tokens => takeTokens(counting, tokens, x, clock),
      spend(tokens) {
        const now = clock.mono()
        for (const { bucket } of counting) bucket.debit(tokens, now)
        return counting.every(({ bucket }) => bucket.has(1, now))
      },
    })
  }
  function debitTokens(x: Exchange): void {
    if (x.llm === undefined) return
    const used = tokensOf(x.llm)
    if (used > 0) for (const { bucket } of counting) bucket.debit(used - x.tokensTaken, clock.mono())
  }
  return counting.length > 0 ? { request: limitRate, done: debitTokens } : { request: limitRate }
}

/** In order; the first limit that rejects stops, and tokens taken from earlier ones are not returned. */
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

/** For the input, as far as it can be estimated before the call. */
function takeTokens(limits: readonly OpenLimit[], tokens: number, x: Exchange, clock: Clock): void {
  const now = clock.mono()
  for (const { bucket } of limits) {
    const enough = bucket.take(tokens, now)
    announce(bucket, now, x)
    if (!enough) throw new GatewayError('rateLimited')
  }
}

function announce(bucket: Bucket, now: number, { queuedHeaders }: Exchange): void {
  queuedHeaders.push('x-ratelimit-limit', String(bucket.rate.capacity))
  queuedHeaders.push('x-ratelimit-remaining', String(bucket.remaining))
  queuedHeaders.push('x-ratelimit-reset', String(bucket.secondsToFill(now)))
}

/**
 * Starts full and refills at whole intervals, counted from its creation. Debits may take it below zero: that debt
 * rejects requests until the next refill, which clears it (specification, States and transitions: the overshoot is
 * kept, the window restores the budget).
 *
 * All workers of the replica share its memory without a lock, which a terminated worker could leave locked: the amount
 * used (40 bits) and the number of the last refill (24 bits) are updated atomically.
 */
class Bucket {
  readonly rate: Rate
  readonly #cells: BigInt64Array
  /** ms of the monotonic clock. */
  readonly #beginning: number
  /** The amount used when this worker last looked. */
  #used = 0

  constructor(rate: Rate, memory: ArrayBufferLike, now: number) {
    this.rate = rate
    this.#cells = new BigInt64Array(memory)
    // The first worker sets the start; in µs, and never 0, which means unset.
    const own = BigInt(Math.round(now * 1000) + 1)
    const first = Atomics.compareExchange(this.#cells, BEGINNING, 0n, own)
    this.#beginning = Number((first === 0n ? own : first) - 1n) / 1000
  }

  get remaining(): number {
    return Math.max(0, this.rate.capacity - this.#used)
  }

  /** The current remainder across all workers. */
  left(now: number): number {
    this.#spend(0, Number.NEGATIVE_INFINITY, now)
    return this.remaining
  }

  has(amount: number, now: number): boolean {
    return this.#spend(0, amount, now)
  }

  take(amount: number, now: number): boolean {
    return this.#spend(amount, amount, now)
  }

  /** A negative amount is refunded. */
  debit(amount: number, now: number): void {
    this.#spend(amount, Number.NEGATIVE_INFINITY, now)
  }

  /** Rounded down. */
  secondsToFill(now: number): number {
    const { interval } = this.rate
    return Math.max(0, Math.floor(((this.#fills(now) + 1) * interval - (now - this.#beginning)) / 1000))
  }

  /** False, spending nothing, if less than `needed` is left. */
  #spend(amount: number, needed: number, now: number): boolean {
    const { capacity, perFill } = this.rate
    for (;;) {
      const state = Atomics.load(this.#cells, STATE)
      let used = Number(BigInt.asUintN(USED_BITS, state))
      let filled = Number(state >> BigInt(USED_BITS))
      const due = (this.#fills(now) - filled) & FILLS_MASK
      // In the upper half another worker is slightly ahead.
      if (due > 0 && due <= FILLS_MASK >> 1) {
        used = Math.max(0, Math.min(used, capacity) - due * perFill)
        filled = (filled + due) & FILLS_MASK
      }
      const enough = capacity - used >= needed
      if (enough) used = Math.max(0, Math.min(used + amount, MAX_USED))
      const next = BigInt.asIntN(64, (BigInt(filled) << BigInt(USED_BITS)) | BigInt(used))
      if (next !== state && Atomics.compareExchange(this.#cells, STATE, state, next) !== state) continue
      this.#used = used
      return enough
    }
  }

  #fills(now: number): number {
    return Math.max(0, Math.floor((now - this.#beginning) / this.rate.interval))
  }
}

const BUCKET_BYTES = 16
const STATE = 0
const BEGINNING = 1
const USED_BITS = 40
const MAX_USED = 2 ** USED_BITS - 1
const FILLS_MASK = 2 ** 24 - 1
