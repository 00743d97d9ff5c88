import { nestsDeeperThan } from '../../mcp/json-outline.ts'
import type { HeadSnapshot, TraceEvent } from '../../trace/trace-event.ts'
import type { DryCall, DryOutcome } from '../dry-run/dry-run.ts'
import { shortKey } from '../events/steps.ts'
import { Hidden, isRecord, Names } from '../test-file/matcher.ts'
import { guardsIn } from './guard-events.ts'
import { llmText, mcpAnswer } from './spoken.ts'

/** Everything that a test can check, as one value; described in `expectation.ts`. */
export type View = Readonly<Record<string, unknown>>

export function viewOf(outcome: DryOutcome): View {
  const { status, reason, error, duration, events, llm, a2a } = outcome
  const body = outcome.body.toString()
  const calls = outcome.upstream.filter(({ purpose }) => purpose === 'backend').map(callView)
  const header = headerView(outcome.headers, outcome.shown)
  return withoutGaps({
    status,
    reason,
    error,
    duration,
    header,
    body,
    json: jsonIn(body),
    route: namesOf(outcome.route),
    listener: namesOf(outcome.listener),
    backend: outcome.backends.length === 0 ? undefined : new Names(outcome.backends),
    policy: policiesIn(events),
    authorization: authorizationIn(events),
    guard: guardWords(events),
    upstream: calls.at(-1),
    calls,
    mcp: mcpAnswer(body, textOf(header['content-type'])),
    a2a,
    llm: llm && {
      provider: llm.provider,
      model: llm.requestModel,
      streaming: llm.streaming,
      inputTokens: llm.inputTokens,
      outputTokens: llm.outputTokens,
      totalTokens: llm.totalTokens,
      losses: (llm.losses ?? []).map(({ path }) => path),
      text: llmText(outcome.body, textOf(header['content-type'])),
    },
  })
}

/** The value at a path. Undefined if absent. */
export function fieldAt(view: View, path: readonly (string | number)[]): unknown {
  let at: unknown = view
  for (const step of path) {
    if (Array.isArray(at)) at = typeof step === 'number' ? at[step] : undefined
    else at = isRecord(at) && Object.hasOwn(at, step) ? at[step] : undefined
  }
  return at
}

function callView({ method, url, authority, path, headers, shown, body, status, names }: DryCall): View {
  const text = body.toString()
  // The query may contain a credential.
  const seen = (address: string) => (shown.url === url ? address : new Hidden(address))
  return withoutGaps({
    method,
    url: seen(url),
    path: seen(path),
    host: authority,
    header: headerView(headers, shown),
    body: text,
    json: jsonIn(text),
    status,
    backend: new Names(names),
  })
}

type Fields = readonly (readonly [name: string, value: string])[]

/** By lower-case name; repeated headers are joined. */
function headerView(fields: Fields, shown: HeadSnapshot | undefined): Readonly<Record<string, string | Hidden>> {
  // Header names may be any word, including `constructor`.
  const out: Record<string, string | Hidden> = Object.create(null)
  for (const [i, [name, value]] of fields.entries()) {
    const key = name.toLowerCase()
    const before = out[key]
    const joined = before === undefined ? value : `${textOf(before)}, ${value}`
    const hidden = before instanceof Hidden || shown?.headers[i]?.[1] !== value
    out[key] = hidden ? new Hidden(joined) : joined
  }
  return out
}

function textOf(field: string | Hidden | undefined): string {
  return field instanceof Hidden ? field.value : (field ?? '')
}

function namesOf(key: string | undefined): Names | undefined {
  return key === undefined ? undefined : new Names([shortKey(key), key])
}

const WEIGHT = { skipped: 0, applied: 1, replied: 2, failed: 3 } as const

/** The effect of each policy, over all its hooks. */
function policiesIn(events: readonly TraceEvent[]): Readonly<Record<string, keyof typeof WEIGHT>> {
  const out: Record<string, keyof typeof WEIGHT> = {}
  for (const { message } of events) {
    if (message.type !== 'policy') continue
    const before = out[message.policy]
    if (before === undefined || WEIGHT[message.result] > WEIGHT[before]) out[message.policy] = message.result
  }
  return out
}

/** In the terms of the metrics: `Allow`, `Mask`, `FailOpen` … */
function guardWords(events: readonly TraceEvent[]): Readonly<Record<string, string>> {
  const words = [...guardsIn(events)].map(([kind, { action }]) => [kind, action[0]?.toUpperCase() + action.slice(1)])
  return Object.fromEntries(words)
}

/** A single denial decides, except that of an MCP item, which does not concern the request. */
function authorizationIn(events: readonly TraceEvent[]): 'allow' | 'deny' | undefined {
  const results = events.flatMap(({ message }) => {
    return message.type === 'authorization' && message.subject === undefined ? message.result : []
  })
  return results.includes('deny') ? 'deny' : results[0]
}

/** Deeper values can be parsed but not displayed. */
const MAX_DEPTH = 500

function jsonIn(text: string): unknown {
  // Most bodies are streams or plain text, and failing to parse is slow.
  if (!/^\s*[[{"\dtfn-]/.test(text) || nestsDeeperThan(MAX_DEPTH, Buffer.from(text))) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function withoutGaps(view: Readonly<Record<string, unknown>>): View {
  return Object.fromEntries(Object.entries(view).filter(([, value]) => value !== undefined))
}
