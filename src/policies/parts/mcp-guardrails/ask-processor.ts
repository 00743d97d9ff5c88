import { type GrpcCall, GrpcFailure, grpcUnary } from '../../../calls/grpc.ts'
import type { Callee } from '../../../calls/outcall.ts'
import type { Expression } from '../../../cel/expression.ts'
import { GatewayError } from '../../../http/errors.ts'
import type { Exchange, McpChecked, McpVerdict } from '../../../http/exchange.ts'
import { applyChange, fieldChange } from '../../../http/field-change.ts'
import {
  CHECK_REQUEST,
  CHECK_RESPONSE,
  type McpResult,
  mcpRequest,
  mcpResponse,
  mcpResult,
  REFUSAL_CODE,
} from '../../../protobuf/ext-mcp.ts'
import type { Struct } from '../../../protobuf/struct.ts'
import type { Runtime } from '../../../runtime/runtime.ts'
import { evaluateAll } from '../evaluate-all.ts'
import { isUnanswered } from '../service-failure.ts'

/** A service that inspects messages, and what is sent to it. */
export interface Processor {
  readonly callee: Callee
  readonly failOpen: boolean
  readonly metadata: Readonly<Record<string, Expression>>
  /** Fields to forward, in lower case; if empty, all of them and the pseudo-headers. */
  readonly allowed: ReadonlySet<string>
  readonly disallowed: ReadonlySet<string>
}

/** ms, unless configured for the service. */
const TIMEOUT = 10_000
/** Maximum bytes of a response, which may contain a whole result. */
const MAX_REPLY = 16 * 1024 * 1024

/** The service's verdict on a message. Never rejects: an unusable response is `failed`. */
export async function askProcessor(
  processor: Processor,
  x: Exchange,
  checked: McpChecked,
  runtime: Runtime,
): Promise<McpVerdict> {
  try {
    return applied(await askService(processor, x, checked, runtime), x, checked)
  } catch (error) {
    const reason =
      error instanceof GatewayError ? String(error.details.cause ?? error.message) : (error as Error).message
    if (processor.failOpen && isUnanswered(error)) return { action: 'failOpen', error: reason }
    if (!(error instanceof GatewayError || error instanceof GrpcFailure || error instanceof Violation)) throw error
    return { action: 'fail', error: reason }
  }
}

/** The service's response violates the protocol. */
class Violation extends Error {}

async function askService(
  { callee, metadata, allowed, disallowed }: Processor,
  x: Exchange,
  { phase, method, targets, json }: McpChecked,
  runtime: Runtime,
): Promise<McpResult> {
  const own = Object.keys(metadata).length === 0 ? undefined : evaluateAll(metadata, x, 'guard')
  const about = {
    serviceNames: targets,
    method,
    ...(own === undefined ? {} : { metadataContext: own as Struct }),
  }
  const body = json === undefined ? undefined : Buffer.from(json)
  const sent =
    phase === 'request'
      ? mcpRequest.encode({
          ...about,
          ...(body ? { mcpRequest: body } : {}),
          headers: headersOf(x, allowed, disallowed),
        })
      : mcpResponse.encode({ ...about, mcpResponse: body ?? Buffer.from('{}') })
  const call: GrpcCall = {
    path: phase === 'request' ? CHECK_REQUEST : CHECK_RESPONSE,
    scope: 'mcpGuardrails',
    what: 'guardrail',
    purpose: { kind: 'Policy', subtype: 'Guardrail' },
    timeout: callee.requestTimeout ?? TIMEOUT,
    limit: MAX_REPLY,
  }
  const { message } = await grpcUnary(callee, call, sent, runtime, x)
  try {
    return mcpResult.decode(message)
  } catch {
    throw new Violation('a malformed response')
  }
}

function headersOf({ request }: Exchange, allowed: ReadonlySet<string>, disallowed: ReadonlySet<string>) {
  const out: { key: string; value: Buffer }[] = []
  const add = (name: string, value: string): void => {
    const key = name.toLowerCase()
    if (disallowed.has(key) || (allowed.size > 0 && !allowed.has(key))) return
    out.push({ key, value: Buffer.from(value, 'latin1') })
  }
  add(':method', request.method)
  add(':scheme', request.scheme)
  add(':authority', request.authority)
  add(':path', request.path)
  const { raw } = request.headers
  for (let i = 0; i < raw.length; i += 2) add(raw[i] as string, raw[i + 1] as string)
  return out
}

function applied(result: McpResult, x: Exchange, { phase, json }: McpChecked): McpVerdict {
  const { error, mutated, pass, headerMutation, metadata } = result
  if (error) return refused(error)
  if (!mutated && !pass) throw new Violation('an answer without a verdict')
  // A message without parameters gets none: lists are handled in the response phase.
  const changed = mutated && json !== undefined ? objectIn(mutated) : undefined
  if (phase === 'request') {
    if (headerMutation) changeHeaders(x, headerMutation)
    if (metadata) x.external.mcpGuardrails = { ...x.external.mcpGuardrails, ...metadata }
  }
  return changed === undefined ? { action: 'allow' } : { action: 'mask', json: changed }
}

function objectIn(bytes: Uint8Array): string {
  const text = Buffer.from(bytes).toString()
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new Violation('a message that is not JSON')
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Violation('a message that is not a JSON object')
  }
  return text
}

function changeHeaders(x: Exchange, { set, remove }: NonNullable<McpResult['headerMutation']>): void {
  const { headers } = x.request
  const seen = new Set<string>()
  for (const { key = '', value = Buffer.alloc(0) } of set) {
    const action = seen.has(key.toLowerCase()) ? 'append' : 'set'
    const change = fieldChange(key, Buffer.from(value).toString('latin1'), action)
    if (!change) continue
    seen.add(change.name)
    applyChange(headers, change)
  }
  for (const name of remove) {
    const change = fieldChange(name, '', 'set')
    if (change) headers.delete(change.name)
  }
}

/** JSON-RPC codes for the service's refusals. */
const CODES: Readonly<Record<number, number>> = {
  [REFUSAL_CODE.permissionDenied]: -32001,
  [REFUSAL_CODE.resourceExhausted]: -32003,
  [REFUSAL_CODE.invalid]: -32600,
}
const INTERNAL_ERROR = -32603

function refused({ code = 0, reason = '', mcpError }: NonNullable<McpResult['error']>): McpVerdict {
  const message = reason === '' ? 'refused by a guardrail' : reason
  const error = { code: CODES[code] ?? INTERNAL_ERROR, message, ...dataIn(mcpError) }
  return { action: 'reject', error, reason }
}

function dataIn(bytes: Uint8Array | undefined): { readonly data?: unknown } {
  if (!bytes || bytes.length === 0) return {}
  try {
    return { data: JSON.parse(Buffer.from(bytes).toString()) as unknown }
  } catch {
    return {}
  }
}
