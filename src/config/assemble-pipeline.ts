import type { AnyPolicy } from '../policies/fields.ts'
import { responseOrder, trafficPolicies } from '../policies/index.ts'
import { afterBody } from '../policies/parts/request-body.ts'
import type { Hooks, UpstreamSettings } from '../policies/policy.ts'
import type { Pipeline, Step, WeightedBackend } from './snapshot.ts'

const REQUEST_RANK = new Map<string, number>(trafficPolicies.map((policy, i) => [policy.name, i]))
const RESPONSE_RANK = new Map<string, number>(responseOrder.map((name, i) => [name, i]))

/** The request timeout excludes authentication and rate limiting. */
const AFTER_LIMITS = (trafficPolicies as readonly AnyPolicy[]).findLastIndex(({ beforeDeadline }) => beforeDeadline)

/** With `atBackend`, a policy's request hooks run once per backend call instead. */
export function assemble(written: readonly Step[], atBackend = false): Pipeline {
  const unordered = atBackend ? written : written.map(readsWhereItStands)
  const steps = sorted(unordered, REQUEST_RANK)
  const answering = sorted(unordered, RESPONSE_RANK)
  let timeout: Pipeline['timeout'] = {}
  let retry: Pipeline['retry']
  let session: Pipeline['session']
  let upstream: UpstreamSettings = {}
  let buffersRequest = 0
  for (const { hooks } of steps) {
    if (hooks.timeout) timeout = { ...timeout, ...hooks.timeout }
    if (hooks.retry) retry = hooks.retry
    if (hooks.session) session = hooks.session
    if (hooks.upstream) upstream = { ...upstream, ...hooks.upstream }
    if (atBackend) buffersRequest = Math.max(buffersRequest, hooks.buffersRequest ?? 0)
  }
  const request = atBackend ? [] : steps.filter(s => s.hooks.request)
  const deadline = request.findIndex(s => (REQUEST_RANK.get(s.policy) ?? 0) > AFTER_LIMITS)
  return {
    steps,
    request,
    deadlineFrom: deadline < 0 ? request.length : deadline,
    attempt: steps.filter(s => s.hooks.attempt || (atBackend && s.hooks.request)),
    response: answering.filter(s => s.hooks.response),
    requestBody: steps.filter(s => s.hooks.requestBody),
    responseBody: answering.filter(s => s.hooks.responseBody),
    done: steps.filter(s => s.hooks.done),
    buffersRequest,
    buffersResponse: strictest(steps),
    timeout,
    retry,
    session,
    mcpGuards: steps.flatMap(s => s.hooks.mcpGuards ?? []),
    mcpRules: steps.flatMap(s => (s.hooks.mcpAuthorization ? [s.hooks.mcpAuthorization] : [])),
    upstream,
  }
}

function readsWhereItStands(step: Step): Step {
  const hooks = afterBody(step.hooks)
  return hooks === step.hooks ? step : { ...step, hooks }
}

/** The response policies of a route and of one of its backends, merged into one order. */
export function responseSteps(
  route: Pipeline,
  backend: Pipeline,
): Pick<WeightedBackend, 'response' | 'responseBody' | 'buffersResponse'> {
  return {
    response: sorted([...route.response, ...backend.response], RESPONSE_RANK),
    responseBody: sorted([...route.responseBody, ...backend.responseBody], RESPONSE_RANK),
    buffersResponse: strictest([...route.steps, ...backend.steps]),
  }
}

function strictest(steps: readonly Step[]): Hooks['buffersResponse'] {
  let all: Hooks['buffersResponse']
  for (const { hooks } of steps) {
    const one = hooks.buffersResponse
    if (one === undefined) continue
    all = all ? { limit: Math.min(all.limit, one.limit), failOpen: all.failOpen && one.failOpen } : one
  }
  return all
}

function sorted(steps: readonly Step[], rank: ReadonlyMap<string, number>): Step[] {
  if (steps.length < 2) return [...steps]
  return steps.toSorted((a, b) => (rank.get(a.policy) ?? 0) - (rank.get(b.policy) ?? 0))
}
