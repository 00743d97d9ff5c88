import type { RequestId, Response } from './message.ts'

export const INVALID_REQUEST = -32600
export const METHOD_NOT_FOUND = -32601
export const INVALID_PARAMS = -32602
export const INTERNAL_ERROR = -32603
/** Header and body of a request disagree (MCP 2026-07-28). */
export const HEADER_MISMATCH = -32020
/** The request requires a capability that its client has not declared (MCP 2026-07-28). */
export const MISSING_CAPABILITY = -32021
export const UNSUPPORTED_VERSION = -32022

/** The user must open a URL first (MCP 2025-11-25). */
export const URL_ELICITATION_REQUIRED = -32042

export interface RpcError {
  readonly code: number
  readonly message: string
  readonly data?: unknown
}

/** The JSON-RPC reply with `error`; `id` is null if the request had no readable id. */
export function errorReply(id: RequestId | null, error: RpcError): string {
  const { code, message, data } = error
  return JSON.stringify({ jsonrpc: '2.0', id, error: data === undefined ? { code, message } : { code, message, data } })
}

/** The same as a target's response. */
export function errorOf(id: RequestId, error: RpcError): Response {
  const value = { jsonrpc: '2.0', id, error }
  return { kind: 'response', id, failed: true, value, bytes: Buffer.from(errorReply(id, error)) }
}
