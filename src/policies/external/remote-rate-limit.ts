// Budgets shared through a rate limit service (specification, "Rate limiting": global).

import { GrpcFailure } from '../../calls/grpc.ts'
import type { Callee } from '../../calls/outcall.ts'
import type { Expression } from '../../cel/expression.ts'
import { GatewayError } from '../../http/errors.ts'
import type { Exchange, Reply, TokenLimit } from '../../http/exchange.ts'
import type { DescriptorToWrite } from '../../protobuf/rate-limit.ts'
import { cel, def, list, type ObjectOf, object, oneOf, opt, req, string } from '../../schema/builder.ts'
import { compileAsking } from '../parts/asking.ts'
import { conditional, fallbackComesLast } from '../parts/conditional.ts'
import { convertGlobalLimits } from '../parts/rate-limits.ts'
import type { Asked, DescriptorRules } from '../parts/remote-rate-limit/descriptors.ts'
import { bodiesFor } from '../parts/request-body.ts'
import { type CompileContext, definePolicy, type Hooks } from '../policy.ts'
import { TARGET_KINDS, targetFields, targetPoliciesField } from '../upstream/policy-target.ts'

const entry = object('descriptor entry', {
  key: req(string({ min: 1, max: 256 }), 'Name of the entry.'),
  value: req(
    cel('request', 'any'),
    'Expression for its value, text or number; if it is absent, the descriptor is omitted.',
  ),
})
const descriptorFields = {
  entries: req(list(entry, { min: 1, max: 16 }), 'Entries, in the order that the service expects.'),
  type: def(oneOf(['requests', 'tokens']), 'requests', 'What is counted.'),
  cost: opt(cel('usage', 'number'), 'Cost of a request in units; 1, or the tokens used, when unset.'),
  limitOverride: opt(cel('request', 'map'), '`{"unit": …, "requestsPerUnit": …}` in place of the service’s own limit.'),
}
const descriptor = object('descriptor', descriptorFields)
const fields = {
  domain: req(string({ min: 1, max: 256 }), 'Domain of the limits in the service.'),
  ...targetFields,
  policies: targetPoliciesField,
  descriptors: req(list(descriptor, { min: 1, max: 16 }), 'What to ask the service about.'),
  failureMode: def(
    oneOf(['failClosed', 'failOpen'], { FailClosed: 'failClosed', FailOpen: 'failOpen' }),
    'failClosed',
    'What happens when the service is unavailable.',
  ),
}
const optional = {
  ...fields,
  domain: opt(fields.domain.schema, fields.domain.doc),
  descriptors: opt(fields.descriptors.schema, fields.descriptors.doc),
}
const NAME = 'remote rate limit'

export const remoteRateLimit = definePolicy({
  name: 'remoteRateLimit',
  doc: 'Uses a rate limit service to share budgets across replicas.',
  spec: 'Rate limiting',
  attach: ['route'],
  cluster: [{ section: 'traffic', member: 'rateLimit', convert: convertGlobalLimits }],
  beforeDeadline: true,
  guards: true,
  showsBudget: true,
  schema: object(
    NAME,
    { ...optional, conditional: conditional(NAME, fields, { exactlyOneOf: [TARGET_KINDS] }) },
    {
      exactlyOneOf: [[...TARGET_KINDS, 'conditional']],
      check: v => [...wholeWithoutConditions(v), ...fallbackComesLast(v)],
    },
  ),
  compile: (spec, ctx) =>
    compileAsking<ObjectOf<typeof optional>>(spec, ctx, 'rateLimitFailed', (entry, callee) =>
      hooksOf(entry, callee, ctx),
    ),
})

/** ms, unless configured for the service. */
const TIMEOUT = 2000

function hooksOf(spec: ObjectOf<typeof optional>, callee: Callee, ctx: CompileContext): Hooks {
  const { domain = '', descriptors = [] } = spec
  const { runtime, limits } = ctx
  const limiter = { callee, domain, timeout: callee.requestTimeout ?? TIMEOUT, runtime }
  const rules = descriptors.map(rulesOf)
  const failOpen = spec.failureMode === 'failOpen'
  const limiting = ctx.serving(
    () => import('../parts/remote-rate-limit/ask-limiter.ts'),
    module => module,
  )
  const counting = ctx.serving(
    () => import('../parts/remote-rate-limit/descriptors.ts'),
    module => module,
  )
  const asked = new WeakMap<Exchange, readonly Asked[]>()

  const ask = async (x: Exchange, descriptors: readonly DescriptorToWrite[]): Promise<Reply | undefined> => {
    if (descriptors.length === 0) return undefined
    const { askLimiter, applyLimits } = limiting.part
    return applyLimits(x, await askLimiter(limiter, descriptors, x))
  }
  function limitRate(x: Exchange): Promise<Reply | undefined> {
    const { descriptorsOf, inputOf } = counting.part
    return unlessItFails(x, failOpen, async () => {
      const own = descriptorsOf(rules, x)
      asked.set(x, own)
      if (own.some(each => each.rules.countsTokens)) {
        x.tokenLimits ??= []
        x.tokenLimits.push(tokenLimit(x, failOpen, tokens => ask(x, inputOf(own, tokens))))
      }
      return ask(
        x,
        own.map(({ descriptor }) => descriptor),
      )
    })
  }
  /** Fire and forget: the request is over. */
  function chargeTokens(x: Exchange): void {
    const own = asked.get(x)
    if (own === undefined || x.llm === undefined) return
    const charges = counting.part.chargesOf(own, x)
    if (charges.length === 0) return
    limiting.part
      .askLimiter(limiter, charges, undefined)
      .catch((error: unknown) => runtime.log.log('warn', 'tokens are not counted', { error: reasonOf(error) }))
  }
  const { buffersRequest } = bodiesFor(rules.flatMap(expressionsOf), limits)
  return {
    request: limitRate,
    ...(rules.some(({ countsTokens }) => countsTokens) ? { done: chargeTokens } : {}),
    ...(buffersRequest === undefined ? {} : { buffersRequest }),
  }
}

function tokenLimit(x: Exchange, failOpen: boolean, ask: (tokens: number) => Promise<Reply | undefined>): TokenLimit {
  return {
    async take(tokens) {
      if (await unlessItFails(x, failOpen, () => ask(tokens))) throw new GatewayError('rateLimited')
    },
    spend: async tokens => !(await unlessItFails(x, true, () => ask(tokens))),
  }
}

async function unlessItFails(x: Exchange, failOpen: boolean, ask: () => Promise<Reply | undefined>) {
  try {
    return await ask()
  } catch (error) {
    if (!(error instanceof GatewayError || error instanceof GrpcFailure)) throw error
    const failed = error instanceof GatewayError && error.code === 'rateLimitFailed'
    x.error = reasonOf(failed ? (error.details.cause ?? error) : error)
    if (failed) throw error
    if (failOpen) return undefined
    throw new GatewayError('rateLimitFailed', { cause: error })
  }
}

function rulesOf({ entries, type, cost, limitOverride }: ObjectOf<typeof descriptorFields>): DescriptorRules {
  return {
    entries: entries.map(({ key, value }) => ({ key, value })),
    countsTokens: type === 'tokens',
    cost,
    limitOverride,
  }
}

function expressionsOf({ entries, cost, limitOverride }: DescriptorRules): (Expression | undefined)[] {
  return [...entries.map(({ value }) => value), cost, limitOverride]
}

/** For logs only: may contain names that clients must not see. */
function reasonOf(cause: unknown): string {
  return `rate limit failed: ${cause instanceof Error ? cause.message : String(cause)}`
}

function wholeWithoutConditions(v: Record<string, unknown>) {
  if (v.conditional !== undefined) return []
  return ['domain', 'descriptors']
    .filter(field => v[field] === undefined)
    .map(field => ({
      path: [],
      at: 'parent' as const,
      message: `${NAME} lacks the required field \`${field}\``,
      label: `\`${field}\` is missing`,
    }))
}
