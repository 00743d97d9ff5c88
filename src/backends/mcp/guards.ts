import type { Exchange, GuardCheck, McpChecked, McpVerdict } from '../../http/exchange.ts'
import { errorReply, INTERNAL_ERROR } from '../../mcp/errors.ts'
import { parseExact } from '../../mcp/exact-json.ts'
import { outlineJson } from '../../mcp/json-outline.ts'
import { isObject, type JsonObject, type Request, type Response, readMessage } from '../../mcp/message.ts'
import type { Clock } from '../../runtime/runtime.ts'
import type { Answer } from './answer.ts'

type Phase = McpChecked['phase']

export function isGuarded({ mcpGuards }: Exchange, method: string, phase: Phase): boolean {
  return mcpGuards.some(guard => guard.looksAt(method, phase))
}

/**
 * Runs a request through its guards; one that is rejected is answered through `answer` and does not continue. `params`:
 * also inspected.
 */
export function guardRequest(
  answer: Answer,
  request: Request,
  targets: readonly string[],
  { params, clock }: { readonly params: boolean; readonly clock: Clock },
  then: (request: Request) => void,
): void {
  const { method } = request
  if (!isGuarded(answer.x, method, 'request')) {
    then(request)
    return
  }
  const range = params ? outlineJson(request.bytes).ranges.get('params') : undefined
  const json = range ? request.bytes.subarray(range.start, range.end).toString() : params ? '{}' : undefined
  guard(answer, request, { phase: 'request', method, targets, json }, clock, changed => {
    const message = changed === undefined ? request : withParams(request, changed)
    if (message) then(message)
    else refuse(answer, request)
  })
}

/** Runs a target's response through the guards. */
export function guardResponse(
  answer: Answer,
  request: Request,
  target: string,
  response: Response,
  clock: Clock,
  then: (response: Response) => void,
): void {
  if (response.failed || !isGuarded(answer.x, request.method, 'response')) {
    then(response)
    return
  }
  guardResult(answer, request, [target], response.bytes, clock, bytes => {
    const message = bytes === response.bytes ? response : readMessage(bytes)
    if (message.kind === 'response') then(message)
    else refuse(answer, request)
  })
}

/** The bytes of a response with a result. */
export function guardResult(
  answer: Answer,
  request: Request,
  targets: readonly string[],
  reply: Buffer,
  clock: Clock,
  then: (reply: Buffer) => void,
): void {
  const { method } = request
  if (!isGuarded(answer.x, method, 'response')) {
    then(reply)
    return
  }
  const whole = parseExact(reply.toString()) as JsonObject
  const json = JSON.stringify(isObject(whole.result) ? whole.result : {})
  guard(answer, request, { phase: 'response', method, targets, json }, clock, changed =>
    then(changed === undefined ? reply : Buffer.from(JSON.stringify({ ...whole, result: parseExact(changed) }))),
  )
}

/** Calls `then` with the resulting message, undefined if unchanged. */
function guard(
  answer: Answer,
  request: Request,
  checked: McpChecked,
  clock: Clock,
  then: (changed: string | undefined) => void,
): void {
  ask(answer.x, checked, clock)
    .then(outcome => {
      if (answer.over) return
      if (typeof outcome === 'object') answer.finalEvent(errorReply(request.id, outcome.error))
      else then(outcome)
    })
    .catch((error: unknown) => answer.cut(error as Error))
}

async function ask(
  x: Exchange,
  checked: McpChecked,
  clock: Clock,
): Promise<string | undefined | Pick<McpVerdict & { readonly action: 'reject' }, 'error'>> {
  let json: string | undefined
  for (const each of x.mcpGuards) {
    if (!each.looksAt(checked.method, checked.phase)) continue
    const begun = clock.mono()
    const verdict = await each.check(x, json === undefined ? checked : { ...checked, json })
    reportVerdict(x, each.name, checked.phase, verdict, clock.mono() - begun)
    if (verdict.action === 'reject') return verdict
    if (verdict.action === 'fail') return { error: FAILED }
    if (verdict.action === 'mask') json = verdict.json
  }
  return json
}

/** The cause is only logged: it may quote the guard service. */
const FAILED = { code: INTERNAL_ERROR, message: 'a guardrail could not be reached' }

const COUNTED: Readonly<Record<McpVerdict['action'], GuardCheck['action']>> = {
  allow: 'Allow',
  mask: 'Mask',
  reject: 'Reject',
  fail: 'Fail',
  failOpen: 'FailOpen',
}

/** Reports to the metrics, the access log and the trace. */
function reportVerdict(x: Exchange, guard: string, phase: Phase, verdict: McpVerdict, duration: number): void {
  const reason = verdict.action === 'reject' && verdict.reason !== '' ? { reason: verdict.reason } : {}
  const failed = verdict.action === 'fail' || verdict.action === 'failOpen' ? { error: verdict.error } : {}
  x.guardChecks ??= []
  x.guardChecks.push({
    guard,
    phase: phase === 'request' ? 'Request' : 'Response',
    action: COUNTED[verdict.action],
    ...reason,
  })
  if ('error' in failed) x.error = failed.error
  x.trace?.emit(
    {
      type: 'guard',
      guard,
      phase,
      action: verdict.action,
      duration: Math.round(duration * 1000),
      ...reason,
      ...failed,
    },
    { severity: verdict.action === 'allow' ? 'success' : verdict.action === 'mask' ? 'warn' : 'error' },
  )
}

function withParams(request: Request, json: string): Request | undefined {
  const { id, method } = request
  const text = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"method":${JSON.stringify(method)},"params":${json}}`
  const message = readMessage(Buffer.from(text))
  return message.kind === 'request' ? message : undefined
}

function refuse(answer: Answer, { id }: Request): void {
  answer.finalEvent(errorReply(id, FAILED))
}
