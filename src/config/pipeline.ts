import { responseOrder, trafficPolicies } from '../policies/index.ts'
import type { UpstreamSettings } from '../policies/policy.ts'
import type { Pipeline, Step } from './snapshot.ts'

const REQUEST_RANK = new Map<string, number>(trafficPolicies.map((policy, i) => [policy.name, i]))
const RESPONSE_RANK = new Map<string, number>(responseOrder.map((name, i) => [name, i]))

/** `atBackend`: the hooks that a policy has for requests run for each call instead. */
export function assemble(unordered: readonly Step[], atBackend = false): Pipeline {
  const steps = sorted(unordered, REQUEST_RANK)
  const answering = sorted(unordered, RESPONSE_RANK)
  let timeout: Pipeline['timeout'] = {}
  let retry: Pipeline['retry']
  let upstream: UpstreamSettings = {}
  let buffersRequest = 0
  for (const { hooks } of steps) {
    if (hooks.timeout) timeout = { ...timeout, ...hooks.timeout }
    if (hooks.retry) retry = hooks.retry
    if (hooks.upstream) upstream = { ...upstream, ...hooks.upstream }
    buffersRequest = Math.max(buffersRequest, hooks.buffersRequest ?? 0)
  }
  return {
    steps,
    request: atBackend ? [] : steps.filter(s => s.hooks.request),
    attempt: steps.filter(s => s.hooks.attempt || (atBackend && s.hooks.request)),
    response: answering.filter(s => s.hooks.response),
    requestBody: steps.filter(s => s.hooks.requestBody),
    responseBody: answering.filter(s => s.hooks.responseBody),
    done: steps.filter(s => s.hooks.done),
    buffersRequest,
    timeout,
    retry,
    mcpRules: steps.flatMap(s => (s.hooks.mcpAuthorization ? [s.hooks.mcpAuthorization] : [])),
    upstream,
  }
}

function sorted(steps: readonly Step[], rank: ReadonlyMap<string, number>): Step[] {
  return steps.toSorted((a, b) => (rank.get(a.policy) ?? 0) - (rank.get(b.policy) ?? 0))
}
