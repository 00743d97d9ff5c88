import { ask } from '../../../calls/ask.ts'
import type { Callee } from '../../../calls/outcall.ts'
import { GatewayError } from '../../../http/errors.ts'
import type { Exchange } from '../../../http/exchange.ts'
import { isObject, type JsonObject } from '../../../llm/chat/json.ts'
import type { Runtime } from '../../../runtime/runtime.ts'
import type { TargetPolicies } from '../../upstream/policy-target.ts'

/** Deadline in ms for one call, including its body (specification, "Guardrail webhook"). */
const TIMEOUT = 10_000
/** Maximum bytes of a response, which may repeat a whole request. */
const MAX_REPLY = 8 * 1024 * 1024

/** A service that evaluates texts. */
export interface GuardService {
  readonly callee: Callee
  readonly timeout: number
  /** Its kind in the configuration. */
  readonly name: string
  readonly runtime: Runtime
}

export interface GuardQuestion {
  readonly path: string
  readonly body: unknown
  readonly method?: string | undefined
  readonly authority?: string | undefined
  /** Name, value, name, value. */
  readonly fields?: readonly string[]
}

/** `http.requestTimeout` of the target's policies covers the whole response. */
export function guardService(
  name: string,
  callee: Callee,
  policies: TargetPolicies | undefined,
  runtime: Runtime,
): GuardService {
  const own = policies?.http
  const timeout = isObject(own) && typeof own.requestTimeout === 'number' ? own.requestTimeout : TIMEOUT
  return { callee, timeout, name, runtime }
}

/** The JSON object in the service's response; throws GatewayError for anything else. */
export async function askGuard(service: GuardService, question: GuardQuestion, own: Exchange): Promise<JsonObject> {
  const { callee, timeout, name, runtime } = service
  const { path, body, method = 'POST', authority, fields = [] } = question
  const reply = await ask(
    callee,
    {
      method,
      path,
      authority,
      fields: ['content-type', 'application/json', 'accept', 'application/json', ...fields],
      purpose: { kind: 'Policy', subtype: 'Guardrail' },
      what: name,
      scope: `guard ${name}`,
      timeout,
    },
    Buffer.from(JSON.stringify(body)),
    MAX_REPLY,
    runtime,
    own,
  )
  if (reply.status < 200 || reply.status >= 300) throw unusable(`answered ${reply.status}`)
  let value: unknown
  try {
    value = JSON.parse(reply.body.toString('utf8'))
  } catch {
    throw unusable('did not answer with JSON')
  }
  if (!isObject(value)) throw unusable('did not answer with an object')
  return value
}

/** A response without a decision. The error omits its text, which may repeat what the guard protects. */
export function unusable(what: string): GatewayError {
  return new GatewayError('upstreamFailed', { detail: `the guard service ${what}` })
}
