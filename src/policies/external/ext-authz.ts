// Calls an authorization service for each request (specification, "Inbound: external authorization").

import type { WholeReply } from '../../calls/dispatch.ts'
import { GrpcFailure } from '../../calls/grpc.ts'
import type { Callee } from '../../calls/outcall.ts'
import type { Expression } from '../../cel/expression.ts'
import type { Path } from '../../diagnostics/diagnostic.ts'
import { GatewayError } from '../../http/errors.ts'
import type { Exchange, Reply } from '../../http/exchange.ts'
import {
  boolean,
  cel,
  def,
  integer,
  list,
  map,
  type ObjectOf,
  object,
  oneOf,
  opt,
  req,
  shapes,
  string,
} from '../../schema/builder.ts'
import { headerName } from '../../schema/scalars.ts'
import { compileAsking } from '../parts/asking.ts'
import { conditional, fallbackComesLast } from '../parts/conditional.ts'
import { type BodyRules, bodyForCheck, bodyRules, type CheckBody } from '../parts/ext-authz/check-body.ts'
import { apply, type Decision } from '../parts/ext-authz/decision.ts'
import { cacheKey, DecisionCache } from '../parts/ext-authz/decision-cache.ts'
import type { GrpcRules } from '../parts/ext-authz/grpc-check.ts'
import { CHECK_TIMEOUT, httpCheck, httpRules, lowerCase } from '../parts/ext-authz/http-check.ts'
import { headerExpressions } from '../parts/header-expressions.ts'
import { bodiesFor } from '../parts/request-body.ts'
import { type CompileContext, definePolicy, type Hooks, type Limits } from '../policy.ts'
import { TARGET_KINDS, targetFields, targetPoliciesField } from '../upstream/policy-target.ts'
import { extAuthzInCluster } from './cluster/ext-authz.ts'

const headerNames = list(headerName, { max: 64 })
const expressions = map(cel('request', 'any'), { max: 64 })

const grpc = object('gRPC protocol', {
  context: opt(map(string(), { max: 64 }), 'Context extensions sent with each check.'),
  metadata: opt(expressions, 'Filter metadata: name to expression.'),
})
const http = object('HTTP protocol', {
  path: opt(cel('request', 'string'), 'Path of the check; the request’s own path when unset.'),
  redirect: opt(cel('request', 'string'), 'Where refused clients are redirected, a sign-in page for example.'),
  body: opt(cel('request', 'body'), 'Body of the check: text and bytes unchanged, other values as JSON.'),
  includeResponseHeaders: opt(headerNames, 'Header fields of the response to forward to the backend.'),
  addRequestHeaders: opt(headerExpressions('request', 'string'), 'Header fields of the check: name to expression.'),
  metadata: opt(
    map(cel('response', 'any'), { max: 64 }),
    'Variables under `extauthz`: name to expression over the response.',
  ),
})

const fields = {
  ...targetFields,
  policies: targetPoliciesField,
  protocol: def(
    object(
      'authorization protocol',
      { grpc: opt(grpc, 'Envoy’s gRPC protocol.'), http: opt(http, 'A plain HTTP request; 200 allows.') },
      { exactlyOneOf: [['grpc', 'http']] },
    ),
    { grpc: {} },
    'How the service is called.',
  ),
  failureMode: def(
    shapes({
      string: oneOf(['deny', 'allow'], {
        failClosed: 'deny',
        FailClosed: 'deny',
        failOpen: 'allow',
        FailOpen: 'allow',
      }),
      object: object('failure mode', { denyWithStatus: req(integer(100, 599), 'Status of the refusal.') }),
    }),
    'deny',
    'What happens when the service is unavailable.',
  ),
  includeRequestHeaders: opt(
    headerNames,
    'Header fields sent to the service; `Authorization` over HTTP, all over gRPC, when unset.',
  ),
  includeRequestBody: opt(
    object('included body', {
      maxRequestBytes: def(integer(0), 0, 'Largest body that is sent, in bytes.'),
      allowPartialMessage: def(boolean, false, 'A larger body is cut instead of refused.'),
      packAsBytes: def(boolean, false, 'gRPC: sends the body as bytes instead of text.'),
    }),
    'Also sends the request body.',
  ),
  cache: opt(
    object('authorization cache', {
      key: req(
        list(cel('request', 'any'), { min: 1, max: 16 }),
        'Parts of the cache key; they must cover everything that the decision depends on.',
      ),
      ttl: req(cel('response', 'expiry'), 'How long a decision is cached: a duration, or a time.'),
      maxEntries: def(integer(1), 10000, 'Decisions kept.'),
    }),
    'Keeps decisions.',
  ),
}
const NAME = 'external authorization'

export const extAuthz = definePolicy({
  name: 'extAuthz',
  doc: 'Asks an authorization service about each request.',
  spec: 'Inbound: external authorization',
  attach: ['listener', 'route', 'backend'],
  cluster: extAuthzInCluster,
  asksFor: 'anything',
  guards: true,
  schema: object(
    NAME,
    { ...fields, conditional: conditional(NAME, fields, { exactlyOneOf: [TARGET_KINDS] }) },
    { exactlyOneOf: [[...TARGET_KINDS, 'conditional']], check: fallbackComesLast },
  ),
  compile: (spec, ctx) => compileAsking(spec, ctx, 'extAuthz', (entry, callee, at) => hooksOf(entry, callee, at, ctx)),
})

type Spec = ObjectOf<typeof fields>

function hooksOf(spec: Spec, callee: Callee, at: Path, ctx: CompileContext): Hooks {
  const authorizer = new Authorizer(callee, spec, at, ctx)
  const { includeRequestBody: body } = spec
  const { buffersRequest } = bodiesFor(expressionsOf(spec), ctx.limits)
  return {
    request: x => authorizer.decide(x),
    ...(body ? { holdsRequest: body.maxRequestBytes } : {}),
    ...(buffersRequest === undefined ? {} : { buffersRequest }),
  }
}

function expressionsOf({ protocol: { grpc, http }, cache }: Spec): (Expression | undefined)[] {
  return [
    ...Object.values(grpc?.metadata ?? {}),
    ...[http?.path, http?.body, http?.redirect],
    ...Object.values(http?.addRequestHeaders ?? {}),
    ...Object.values(http?.metadata ?? {}),
    ...(cache ? cache.key : []),
    cache?.ttl,
  ]
}

/** One service and the rules for calling it. */
class Authorizer {
  readonly #ask: (x: Exchange, body: CheckBody | undefined) => Promise<Answer>
  readonly #body: BodyRules | undefined
  readonly #cache: (NonNullable<Spec['cache']> & { readonly kept: DecisionCache }) | undefined
  /** Response status if the service does not answer; undefined lets the request pass. */
  readonly #failure: number | undefined
  readonly #limits: Limits

  constructor(callee: Callee, spec: Spec, at: Path, ctx: CompileContext) {
    const { runtime, limits } = ctx
    const { cache, includeRequestBody } = spec
    this.#limits = limits
    this.#failure = failureStatus(spec.failureMode)
    this.#body = includeRequestBody && bodyRules(includeRequestBody)
    this.#cache = cache && {
      ...cache,
      kept: ctx.state(`decisions ${at.join('.')}`, () => new DecisionCache(cache.maxEntries, runtime.clock)),
    }
    this.#ask = askerOf(callee, spec, ctx)
  }

  decide(x: Exchange): Reply | undefined | Promise<Reply | undefined> {
    // Checked before the cache: an oversized body is rejected even if a decision is cached.
    return this.#body ? bodyForCheck(x, this.#body).then(body => this.#decide(x, body)) : this.#decide(x, undefined)
  }

  #decide(x: Exchange, body: CheckBody | undefined): Reply | undefined | Promise<Reply | undefined> {
    const key = this.#cache && cacheKey(this.#cache.key, x)
    const kept = key === undefined ? undefined : this.#cache?.kept.get(key)
    if (kept) return apply(kept, x, this.#limits)
    return this.#askFor(x, body, key)
  }

  async #askFor(x: Exchange, body: CheckBody | undefined, key: string | undefined): Promise<Reply | undefined> {
    let answer: Answer
    try {
      answer = await this.#ask(x, body)
    } catch (error) {
      this.#unanswered(x, error)
      return undefined
    }
    const { decision, response } = answer
    const reply = apply(decision, x, this.#limits)
    if (key !== undefined && this.#cache) {
      const ttl = this.#cache.ttl.decide(x, response && { response })
      if (ttl.ok) this.#cache.kept.keep(key, decision, ttl.value as number | Date)
    }
    return reply
  }

  /** An invalid request or an invalid answer is rejected in every failure mode: a client can cause both. */
  #unanswered(x: Exchange, error: unknown): void {
    if (error instanceof GatewayError && error.code === 'extAuthz') {
      x.error = reasonOf(error.details.cause ?? error)
      throw error
    }
    if (!(error instanceof GatewayError || error instanceof GrpcFailure)) throw error
    x.error = reasonOf(error)
    if (this.#failure !== undefined) throw new GatewayError('extAuthz', { status: this.#failure, cause: error })
  }
}

function failureStatus(mode: Spec['failureMode']): number | undefined {
  if (typeof mode === 'string') return mode === 'deny' ? 403 : undefined
  const { denyWithStatus } = mode
  return denyWithStatus < 200 ? 403 : denyWithStatus
}

/** For logs only: may contain names that clients must not see. */
function reasonOf(cause: unknown): string {
  return `external authorization failed: ${cause instanceof Error ? cause.message : String(cause)}`
}

interface Answer {
  readonly decision: Decision
  readonly response?: WholeReply | undefined
}

function askerOf(
  callee: Callee,
  { protocol, includeRequestBody, includeRequestHeaders }: Spec,
  ctx: CompileContext,
): (x: Exchange, body: CheckBody | undefined) => Promise<Answer> {
  const { runtime } = ctx
  const timeout = callee.requestTimeout ?? CHECK_TIMEOUT
  const { http, grpc = {} } = protocol
  if (http) {
    const rules = httpRules(http, includeRequestHeaders ?? ['authorization'])
    return (x, body) => httpCheck(callee, rules, x, body, timeout, runtime)
  }
  const rules: GrpcRules = {
    context: grpc.context ?? {},
    metadata: grpc.metadata,
    includeRequestHeaders: includeRequestHeaders && lowerCase(includeRequestHeaders),
    packAsBytes: includeRequestBody?.packAsBytes === true,
  }
  const check = ctx.serving(
    () => import('../parts/ext-authz/grpc-check.ts'),
    ({ grpcCheck }) => grpcCheck,
  )
  return async (x, body) => ({ decision: await check.part(callee, rules, x, body, timeout, runtime) })
}
