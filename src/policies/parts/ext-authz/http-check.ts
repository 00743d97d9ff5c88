import { ask } from '../../../calls/ask.ts'
import type { WholeReply } from '../../../calls/dispatch.ts'
import type { Callee } from '../../../calls/outcall.ts'
import type { Expression } from '../../../cel/expression.ts'
import { FailedValue } from '../../../cel/json-view.ts'
import { GatewayError } from '../../../http/errors.ts'
import type { Exchange, Reply } from '../../../http/exchange.ts'
import { type FieldChange, isChangeable } from '../../../http/field-change.ts'
import { toFieldValue } from '../../../http/field-value.ts'
import type { HeaderList } from '../../../http/headers.ts'
import { isRequestTarget } from '../../../http/request-target.ts'
import type { Runtime } from '../../../runtime/runtime.ts'
import { evaluateAll } from '../evaluate-all.ts'
import { evaluateHeader } from '../header-expressions.ts'
import { asText } from '../pseudo-headers.ts'
import { toBody } from '../request-body.ts'
import type { CheckBody } from './check-body.ts'
import { type Decision, NOTHING_TO_ADD } from './decision.ts'
import { refusal } from './refusal.ts'
import { sentFields } from './sent-fields.ts'

export interface HttpRules {
  readonly path?: Expression | undefined
  readonly redirect?: Expression | undefined
  readonly body?: Expression | undefined
  /** In lower case, like all names here. */
  readonly includeRequestHeaders: readonly string[]
  readonly includeResponseHeaders: readonly string[]
  readonly addRequestHeaders: Readonly<Record<string, Expression>>
  readonly metadata: Readonly<Record<string, Expression>>
}

/** As configured. */
interface WrittenRules extends Partial<Pick<HttpRules, 'path' | 'redirect' | 'body'>> {
  readonly includeResponseHeaders?: readonly string[] | undefined
  readonly addRequestHeaders?: HttpRules['addRequestHeaders'] | undefined
  readonly metadata?: HttpRules['metadata'] | undefined
}

export function httpRules(written: WrittenRules, includeRequestHeaders: readonly string[]): HttpRules {
  const { path, redirect, body, includeResponseHeaders = [], addRequestHeaders = {}, metadata = {} } = written
  return {
    path,
    redirect,
    body,
    includeRequestHeaders: lowerCase(includeRequestHeaders),
    includeResponseHeaders: lowerCase(includeResponseHeaders).filter(isChangeable),
    addRequestHeaders: byLowerCase(addRequestHeaders),
    metadata,
  }
}

/** A decision and the response it came from, which expressions may read. */
export interface HttpAnswer {
  readonly decision: Decision
  readonly response: WholeReply | undefined
}

/** ms, unless configured for the service. */
export const CHECK_TIMEOUT = 2000
/** Maximum bytes of a response, which is forwarded to the client on denial. */
const MAX_REPLY = 1024 * 1024
const PARTIAL_BODY = 'x-envoy-auth-partial-body'

/**
 * Calls the service over plain HTTP; 200 allows (specification, "Inbound: external authorization"). Throws GatewayError
 * `extAuthz` if the request cannot be built or the response cannot be applied, anything else if there is no response.
 */
export async function httpCheck(
  to: Callee,
  rules: HttpRules,
  x: Exchange,
  sent: CheckBody | undefined,
  timeout: number,
  runtime: Runtime,
): Promise<HttpAnswer> {
  // A CONNECT sent to the service would open a tunnel to it.
  if (x.request.method === 'CONNECT') throw new GatewayError('extAuthz')
  const heard = { status: 0 }
  const question = {
    scope: 'extAuthz',
    what: 'authorization',
    purpose: { kind: 'Policy', subtype: 'ExtAuthz' },
    timeout,
    method: x.request.method,
    path: rules.path ? pathBy(rules.path, x) : x.request.path,
    fields: fieldsOf(rules, x, sent),
    heard: (status: number) => {
      heard.status = status
    },
  } as const
  const body = rules.body ? bodyBy(rules.body, x) : sent?.bytes
  let response: WholeReply
  try {
    response = await ask(to, question, body && body.length > 0 ? body : undefined, MAX_REPLY, runtime, x)
  } catch (error) {
    // It has denied the request, even if its body was lost.
    const refused = heard.status !== 0 && heard.status !== 200
    const tooLong = error instanceof GatewayError && error.code === 'responseTooLarge'
    throw refused || tooLong ? new GatewayError('extAuthz', { cause: error }) : error
  }
  if (response.status !== 200) return { decision: denied(rules, response), response }
  return { decision: allowed(rules, x, response), response }
}

function allowed(rules: HttpRules, x: Exchange, response: WholeReply): Decision {
  return {
    ...NOTHING_TO_ADD,
    changes: rules.includeResponseHeaders.flatMap(name => copied(name, response.headers)),
    metadata: metadataBy(rules.metadata, x, response),
  }
}

/** Only the service's values count: the client's are removed, even if the service returns none. */
function copied(name: string, headers: HeaderList): FieldChange[] {
  const values = headers.getAll(name)
  return [
    { name, value: undefined, action: 'set' as const },
    ...values.map(value => ({ name, value, action: 'append' as const })),
  ]
}

function metadataBy(
  expressions: HttpRules['metadata'],
  x: Exchange,
  response: WholeReply,
): Readonly<Record<string, unknown>> {
  const out: Record<string, unknown> = {}
  for (const [name, expression] of Object.entries(expressions)) {
    // Rules may read it later and must not take a failure for an absent value.
    const outcome = expression.decide(x, { response })
    if (outcome.ok) out[name] = outcome.value
    else if (outcome.kind !== 'absent') out[name] = new FailedValue()
  }
  return out
}

function denied({ redirect }: HttpRules, { status, headers, body }: WholeReply): Decision {
  const bare = { allowed: false, metadata: undefined } as const
  return redirect && (status === 401 || status === 403)
    ? { ...bare, reply: refusal(status, [], undefined), redirect: each => redirectBy(redirect, each) }
    : { ...bare, reply: replyOf(status, headers, body) }
}

function redirectBy(redirect: Expression, x: Exchange): Reply {
  const outcome = redirect.decide(x)
  const location = outcome.ok ? toFieldValue(asText(outcome.value) ?? '') : undefined
  if (location === undefined || location === '') throw new GatewayError('extAuthz')
  return refusal(302, ['location', location], undefined)
}

/** Other success-like statuses deny too, but must not signal success to the client. */
function replyOf(status: number, headers: HeaderList, body: Buffer): Reply {
  if (status < 300) throw new GatewayError('extAuthz')
  const kept = headers.raw.flatMap((name, i, raw) =>
    i % 2 === 0 && isChangeable(name.toLowerCase()) ? [name, raw[i + 1] as string] : [],
  )
  return refusal(status, kept, body)
}

const decideHeader = (name: string, expression: Expression, x: Exchange) => evaluateHeader(name, expression, x, true)

/** Fields written by the gateway never carry the client's value. */
function fieldsOf(rules: HttpRules, x: Exchange, sent: CheckBody | undefined): string[] {
  const { addRequestHeaders, includeRequestHeaders } = rules
  const own = new Set([...Object.keys(addRequestHeaders), PARTIAL_BODY])
  const client = includeRequestHeaders.filter(name => !own.has(name))
  const fields = sentFields(x.request.headers, client).flat()
  for (const [name, value] of Object.entries(evaluateAll(addRequestHeaders, x, 'extAuthz', decideHeader))) {
    const text = asText(value)
    const line = text === undefined ? undefined : toFieldValue(text)
    if (line === undefined) throw new GatewayError('extAuthz', { cause: `\`${name}\` gives no header value` })
    fields.push(name, line)
  }
  if (sent) fields.push(PARTIAL_BODY, String(sent.partial))
  return fields
}

function pathBy(expression: Expression, x: Exchange): string {
  const outcome = expression.decide(x)
  const path = outcome.ok ? asText(outcome.value) : undefined
  if (path === undefined || !path.startsWith('/') || !isRequestTarget(path)) throw new GatewayError('extAuthz')
  return path
}

function bodyBy(expression: Expression, x: Exchange): Buffer {
  const outcome = expression.decide(x)
  if (!outcome.ok) throw new GatewayError('extAuthz', { cause: outcome.error })
  return toBody(outcome.value)
}

/** Lower-cased and deduplicated. */
export function lowerCase(names: readonly string[]): string[] {
  return [...new Set(names.map(name => name.toLowerCase()))]
}

function byLowerCase<T>(fields: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name.toLowerCase(), value]))
}
