import { CHECK, checkResponse } from '../../protobuf/ext-authz.ts'
import { CHECK_REQUEST, CHECK_RESPONSE, mcpResult, REFUSAL_CODE } from '../../protobuf/ext-mcp.ts'
import { PROCESS } from '../../protobuf/ext-proc.ts'
import { RATE_LIMIT_CODE, rateLimitResponse, SHOULD_RATE_LIMIT } from '../../protobuf/rate-limit.ts'
import { objectIn } from './stub-processor.ts'
import type { StubCall, StubReply } from './stub-transport.ts'
import type { Stub } from './stubs.ts'

/** A reply in Envoy's protocols, which policies use with their services. Undefined for other calls. */
export function envoyReply(stub: Stub, { path }: StubCall): StubReply | undefined {
  // Its messages are answered one by one.
  if (path === PROCESS) return { ...stub, status: stub.status ?? 200 }
  const answer = ANSWERS[path]
  if (answer === undefined) return undefined
  const { delay, unreachable } = stub
  return {
    ...grpcReply(answer(stub)),
    ...(delay === undefined ? {} : { delay }),
    ...(unreachable ? { unreachable } : {}),
  }
}

/** A single message; its status comes first. */
function grpcReply(message: Uint8Array): StubReply {
  const prefix = Buffer.alloc(5)
  prefix.writeUInt32BE(message.length, 1)
  return {
    status: 200,
    headers: [
      ['content-type', 'application/grpc'],
      ['grpc-status', '0'],
    ],
    body: Buffer.concat([prefix, message]),
  }
}

const ANSWERS: Readonly<Record<string, (stub: Stub) => Uint8Array>> = {
  [CHECK]: checked,
  [SHOULD_RATE_LIMIT]: limited,
  [CHECK_REQUEST]: stub => guarded(stub, 'request'),
  [CHECK_RESPONSE]: stub => guarded(stub, 'response'),
}

const REFUSALS: Readonly<Record<number, number>> = {
  400: REFUSAL_CODE.invalid,
  403: REFUSAL_CODE.permissionDenied,
  429: REFUSAL_CODE.resourceExhausted,
}

/**
 * 200 admits a message: a JSON object is exposed to expressions as `mcpGuardrails`, headers are for the target. Any
 * other status rejects it, with the body as the reason.
 */
function guarded({ status = 200, headers = [], body }: Stub, phase: 'request' | 'response'): Uint8Array {
  if (status !== 200) {
    return mcpResult.encode({ error: { code: REFUSALS[status] ?? REFUSAL_CODE.unknown, reason: String(body ?? '') } })
  }
  if (phase === 'response') return mcpResult.encode({ pass: {} })
  const metadata = objectIn(body)
  const set = headers.map(([key, value]) => ({ key, value: Buffer.from(value) }))
  return mcpResult.encode({ pass: {}, headerMutation: { set }, ...(metadata ? { metadata } : {}) })
}

/** 200 allows, as over HTTP: headers are for the backend, a JSON object is exposed to expressions as `extauthz`. */
function checked({ status = 200, headers = [], body }: Stub): Uint8Array {
  const fields = headers.map(([key, value]) => ({ header: { key, value } }))
  if (status !== 200) {
    return checkResponse.encode({
      status: { code: 7 },
      denied: { status: { code: status }, headers: fields, body: String(body ?? '') },
    })
  }
  const metadata = objectIn(body)
  return checkResponse.encode({
    status: { code: 0 },
    ok: { headers: fields },
    ...(metadata ? { dynamicMetadata: metadata } : {}),
  })
}

/** 200 is within the limits; headers are for the client, and the body is that of the rejection. */
function limited({ status = 200, headers = [], body }: Stub): Uint8Array {
  const { ok, overLimit } = RATE_LIMIT_CODE
  return rateLimitResponse.encode({
    overallCode: status === 200 ? ok : overLimit,
    responseHeadersToAdd: headers.map(([key, value]) => ({ key, value })),
    ...(body === undefined ? {} : { rawBody: Buffer.from(body) }),
  })
}
