// A user-provided service that evaluates texts (specification, "Guardrail webhook").
import type { Expression } from '../../../cel/expression.ts'
import type { Exchange } from '../../../http/exchange.ts'
import { isFieldName, toFieldValue } from '../../../http/field-value.ts'
import { isObject, type JsonObject } from '../../../llm/chat/json.ts'
import { ALLOW, type Guard, type Guarded, type Verdict } from '../../../llm/guards/guard.ts'
import { guardFailure } from '../../../llm/guards/run-guards.ts'
import type { GuardedMessage, Scope, TextRun } from '../../../llm/guards/texts.ts'
import { evaluateHeader } from '../../parts/header-expressions.ts'
import { askGuard, type GuardQuestion, type GuardService, unusable } from './ask-guard.ts'

export interface WebhookSpec {
  readonly headers?: Readonly<Record<string, Expression>> | undefined
  readonly forwardHeaderMatches?:
    | readonly {
        readonly name: string
        readonly value?: { readonly exact?: string; readonly regex?: { test(text: string): boolean } } | undefined
      }[]
    | undefined
  readonly failureMode: 'failClosed' | 'failOpen'
  readonly action?: 'audit' | undefined
}

/** Hop-by-hop and framing fields of the client's request. */
const NOT_FORWARDED = new Set([
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'expect',
  'host',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])
/** The trace context is forwarded. */
const TRACE_CONTEXT = ['traceparent', 'tracestate']

export function webhookGuard(
  about: Pick<Guard, 'name' | 'origins' | 'scope'>,
  spec: WebhookSpec,
  service: GuardService,
): Guard {
  const fields = compileFields(spec)
  const open = spec.failureMode === 'failOpen'
  const audit = spec.action === 'audit'
  return {
    ...about,
    async check(guarded, x, own): Promise<Verdict> {
      const told = guarded.messages.filter(message => message.told)
      if (told.length === 0) return ALLOW
      let decision: Decision
      try {
        decision = decisionIn(await askGuard(service, questionOf(guarded, told, fields, x), own))
      } catch (error) {
        if (!open) throw error
        return { action: 'failOpen', error: (error as Error).message }
      }
      const verdict = verdictOf(decision, guarded, told)
      return audit ? { action: 'audit', would: verdict.action as 'allow', reason: decision.reason } : verdict
    },
  }
}

/** The head of a call, to be completed per request. */
interface CallFields {
  readonly written: readonly (readonly [name: string, value: Expression])[]
  readonly forwarded: readonly { readonly name: string; fits(value: string): boolean }[]
}

function compileFields({ headers, forwardHeaderMatches }: WebhookSpec): CallFields {
  return {
    written: Object.entries(headers ?? {}).map(([name, value]) => [name.toLowerCase(), value] as const),
    forwarded: (forwardHeaderMatches ?? [])
      .map(({ name, value }) => ({ name: name.toLowerCase(), fits: matcherOf(value?.exact, value?.regex) }))
      .filter(({ name }) => !NOT_FORWARDED.has(name) && !TRACE_CONTEXT.includes(name)),
  }
}

function matcherOf(exact: string | undefined, regex: { test(text: string): boolean } | undefined) {
  return (value: string): boolean => (exact === undefined ? (regex?.test(value) ?? true) : value === exact)
}

function questionOf({ phase }: Guarded, told: readonly GuardedMessage[], head: CallFields, x: Exchange): GuardQuestion {
  const messages = told.map(message => ({ role: message.role, content: contentOf(message) }))
  const body = phase === 'request' ? { messages } : { choices: messages.map(message => ({ message })) }
  const fields = forwardedOf(head, x)
  const own = new Map<string, string>()
  for (const [name, expression] of head.written) {
    remove(fields, name)
    const outcome = evaluateHeader(name, expression, x)
    const value = outcome.ok && typeof outcome.value === 'string' ? toFieldValue(outcome.value) : undefined
    if (value === undefined) continue
    if (name.startsWith(':')) own.set(name, value)
    else if (isFieldName(name) && !NOT_FORWARDED.has(name)) fields.push(name, value)
  }
  const path = own.get(':path')
  return {
    path: path?.startsWith('/') ? path : `/${phase}`,
    method: own.get(':method'),
    authority: own.get(':authority'),
    fields,
    body: { body },
  }
}

function forwardedOf({ forwarded }: CallFields, { request }: Exchange): string[] {
  const fields: string[] = []
  for (const name of TRACE_CONTEXT) for (const value of request.headers.getAll(name)) fields.push(name, value)
  for (const { name, fits } of forwarded) {
    for (const value of request.headers.getAll(name)) if (fits(value)) fields.push(name, value)
  }
  return fields
}

function remove(fields: string[], name: string): void {
  for (let i = fields.length - 2; i >= 0; i -= 2) if (fields[i] === name) fields.splice(i, 2)
}

/** A message's own text, without tool calls or what accompanies their results. */
function mainRun({ role, runs }: GuardedMessage): TextRun | undefined {
  const scope: Scope =
    role === 'system' || role === 'developer'
      ? 'systemPrompt'
      : role === 'tool' || role === 'function'
        ? 'toolOutput'
        : 'messages'
  return runs.find(run => run.scope === scope)
}

function contentOf(message: GuardedMessage): string {
  return mainRun(message)?.texts.join(message.joint) ?? ''
}

interface Decision {
  readonly reason: string | undefined
  /** One text for each message that was sent. */
  readonly mask?: JsonObject
  readonly reject?: { readonly status: number; readonly body: string }
}

/** Throws unless the response is one of the three actions. */
function decisionIn({ action }: JsonObject): Decision {
  if (!isObject(action)) throw unusable('answered without an `action`')
  const { body, status_code: status } = action
  const reason = typeof action.reason === 'string' ? action.reason : undefined
  if (isObject(body)) return { reason, mask: body }
  if (body === undefined && status === undefined) return { reason }
  if (typeof body === 'string' && Number.isInteger(status) && Number(status) >= 200 && Number(status) <= 599) {
    return { reason, reject: { status: Number(status), body } }
  }
  throw unusable('answered with an `action` that is neither a mask, a rejection nor a pass')
}

function verdictOf({ mask, reject, reason }: Decision, guarded: Guarded, told: readonly GuardedMessage[]): Verdict {
  if (reject) return { action: 'reject', refusal: { ...reject, headers: [], reason } }
  if (mask === undefined) return ALLOW
  const contents = contentsIn(mask, guarded)
  // Even if failing open: what it masked is not what was sent.
  if (contents?.length !== told.length)
    throw guardFailure(unusable('returned masks for different messages than it was sent'))
  const texts = new Map<TextRun, readonly string[]>()
  for (const [i, message] of told.entries()) {
    const run = mainRun(message)
    const content = contents[i] as string
    if (content === contentOf(message)) continue
    if (run === undefined) throw guardFailure(unusable('masked a message without a text'))
    texts.set(run, spread(run.texts, message.joint, content))
  }
  return texts.size === 0 ? ALLOW : { action: 'mask', texts }
}

/** Undefined if the mask is not of this phase, or has a message without a text. */
function contentsIn(mask: JsonObject, { phase }: Guarded): string[] | undefined {
  const list = phase === 'request' ? mask.messages : mask.choices
  if (!Array.isArray(list)) return undefined
  const contents = list.map(each => {
    const message: unknown = phase === 'request' ? each : isObject(each) ? each.message : undefined
    return isObject(message) ? message.content : undefined
  })
  return contents.every(content => typeof content === 'string') ? (contents as string[]) : undefined
}

/** Splits a joined text back over its original parts: unchanged parts at either end stay as they are. */
function spread(texts: readonly string[], joint: string, content: string): string[] {
  const count = texts.length
  let [head, start] = [0, 0]
  for (; head < count - 1; head++) {
    const text = texts[head] + joint
    if (!content.startsWith(text, start)) break
    start += text.length
  }
  let [tail, end] = [0, content.length]
  for (; tail < count - 1 - head; tail++) {
    const text = joint + texts[count - 1 - tail]
    if (end - text.length < start || !content.slice(start, end).endsWith(text)) break
    end -= text.length
  }
  const emptied = new Array<string>(count - head - tail - 1).fill('')
  return [...texts.slice(0, head), content.slice(start, end), ...emptied, ...texts.slice(count - tail)]
}
