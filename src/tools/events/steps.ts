import type { A2aFacts } from '../../http/exchange.ts'
import type { ReadEvent } from './events.ts'

/** The title of a step and its details, in one line each. */
export interface StepWords {
  readonly label: string
  readonly text: string
}

export function wordsOf({ message: m }: Pick<ReadEvent, 'message'>): StepWords {
  switch (m.type) {
    case 'requestStarted':
      return { label: 'request', text: `${m.method} ${m.url} from ${m.source}` }
    case 'snapshot':
      return { label: 'snapshot', text: `${m.stage}: ${headWords(m.state)}` }
    case 'listener':
      return {
        label: 'listener',
        text: m.listener === null ? `none on ${m.bind}` : `${shortKey(m.listener)} on ${m.bind}`,
      }
    case 'route':
      return {
        label: 'route',
        text: `${m.selected === null ? 'none matched' : shortKey(m.selected)}${tried(m.tried.length + (m.more ?? 0), m.selected === null)}`,
      }
    case 'policySelection':
      return { label: 'policies', text: `${m.phase}: ${m.policies.length === 0 ? 'none' : m.policies.join(', ')}` }
    case 'policy':
      return { label: m.policy, text: `${m.result} (${m.phase})${detail(m.detail)}` }
    case 'cel':
      return { label: 'cel', text: `${m.expression} → ${m.error ?? compactJson(m.result)}` }
    case 'authorization':
      return {
        label: 'authorization',
        text: `${m.result}${m.subject === undefined ? '' : ` ${m.subject}`}${decidingRule(m.result, m.rules)}`,
      }
    case 'backend':
      return { label: 'backend', text: `${shortKey(m.backend)} (${m.kind})${detail(m.reason)}` }
    case 'callStart':
      return { label: 'call', text: `${shortKey(m.target)} for ${m.purpose}` }
    case 'callEnd':
      return { label: 'answer', text: `${shortKey(m.target)}: ${m.error ?? m.status ?? 'none'}` }
    case 'mcp':
      return {
        label: 'mcp',
        text: [m.method, m.name, m.target && `at ${m.target}`].filter(Boolean).join(' ') + detail(m.detail),
      }
    case 'a2a':
      return { label: 'a2a', text: agentCall(m) }
    case 'llm':
      return {
        label: 'llm',
        text: `${m.provider} ${m.model}${m.streaming ? ', streaming' : ''}${tokens(m)}${price(m.cost)}${lost(m.losses)}`,
      }
    case 'guard':
      return {
        label: 'guard',
        text: `${m.guard} on the ${m.phase}: ${m.action}${m.would === undefined ? '' : ` (would ${m.would})`}${detail(m.error ?? m.reason ?? m.rules?.join(', '))}`,
      }
    case 'body':
      return { label: 'body', text: `${m.stage}: ${m.bytes} bytes${m.truncated ? ', cut' : ''}` }
    case 'requestFinished':
      return { label: 'response', text: `${m.status ?? 'client left'}, ${m.bytes} bytes${detail(m.error)}` }
    case 'dropped':
      return { label: 'lost', text: `${eventCount(m.count)}: the reader was too slow` }
    case 'unknown':
      return { label: m.name, text: compactJson(m.value) }
  }
}

/** The end of a long key, which distinguishes it from its neighbours; the default namespace is omitted. */
export function shortKey(key: string): string {
  // An anonymous callee is identified by its policy and location.
  const inline = /\/([^/]+)->/.exec(key)
  if (inline) return inline[1] as string
  const parts = key.split('/').filter(part => part !== '')
  if (parts.length < 3) return key
  const [first, last] = parts.slice(-2)
  return first === 'default' || /^\d+$/.test(first as string) ? (last as string) : `${first}/${last}`
}

export const MARKS = { success: '✓', info: '·', warn: '!', error: '✗' } as const

/** `1 event`, `2 events`. */
export function eventCount(count: number): string {
  return count === 1 ? '1 event' : `${count} events`
}

/** `12 µs`, `4.10 ms`, `1.25 s`. */
export function durationText(micros: number): string {
  if (micros < 1000) return `${micros} µs`
  if (micros < 1_000_000) return `${(micros / 1000).toFixed(2)} ms`
  return `${(micros / 1_000_000).toFixed(2)} s`
}

function headWords(state: { method?: string; url?: string; status?: number; headers: readonly unknown[] }): string {
  const line = state.status === undefined ? `${state.method ?? ''} ${state.url ?? ''}`.trim() : String(state.status)
  return `${line}, ${state.headers.length} header${state.headers.length === 1 ? '' : 's'}`
}

function tried(count: number, none: boolean): string {
  if (count === 0) return ''
  return none ? ` of ${count}` : ` after ${count} other${count === 1 ? '' : 's'}`
}

type Rule = Extract<ReadEvent['message'], { type: 'authorization' }>['rules'][number]

/** No `deny` matches, every `require` does, and one `allow` does if there are any. */
function decidingRule(result: string, rules: readonly Rule[]): string {
  const of = (mode: string) => rules.filter(rule => rule.mode === mode)
  const allowed = of('allow').find(({ matched }) => matched)
  if (result === 'allow') return allowed ? `: allow ${allowed.rule}` : ''
  const denied = of('deny').find(({ matched }) => matched)
  if (denied) return `: deny ${denied.rule}${failure(denied)}`
  const unmet = of('require').find(({ matched }) => !matched)
  if (unmet) return `: require ${unmet.rule} did not match${failure(unmet)}`
  const [only, ...others] = of('allow')
  if (only === undefined) return ''
  return others.length === 0
    ? `: allow ${only.rule} did not match${failure(only)}`
    : `: none of ${others.length + 1} allow rules matched`
}

function failure({ error }: Rule): string {
  return error === undefined ? '' : ` (cannot be evaluated: ${error})`
}

function tokens({ inputTokens, outputTokens }: { inputTokens?: number; outputTokens?: number }): string {
  return inputTokens === undefined && outputTokens === undefined
    ? ''
    : `, ${inputTokens ?? '?'}+${outputTokens ?? '?'} tokens`
}

function price(cost: number | undefined): string {
  return cost === undefined ? '' : `, $${Number(cost.toPrecision(3))}`
}

function lost(losses: readonly { readonly path: string }[] = []): string {
  return losses.length === 0 ? '' : `, lost: ${losses.map(({ path }) => path).join(', ')}`
}

/** A short description of a call to an agent. */
export function agentCall({ method, task, state, error }: A2aFacts): string {
  return [method, task, state, error].filter(Boolean).join(' ')
}

function detail(text: string | undefined): string {
  return text === undefined ? '' : `: ${text}`
}

function compactJson(value: unknown): string {
  return value === undefined ? 'nothing' : JSON.stringify(value)
}
