import { bytes, field, int32, type Message, message, repeated, text } from './message.ts'
import { struct } from './struct.ts'

// agentgateway.dev.ext_mcp: services that look at MCP messages.

export const CHECK_REQUEST = '/agentgateway.dev.ext_mcp.ExtMcp/CheckRequest'
export const CHECK_RESPONSE = '/agentgateway.dev.ext_mcp.ExtMcp/CheckResponse'

const header = message({ key: field(1, text), value: field(2, bytes) })

export const mcpRequest = message({
  serviceNames: repeated(1, text),
  method: field(2, text),
  metadataContext: field(3, struct),
  /** JSON of `params`. */
  mcpRequest: field(4, bytes),
  headers: repeated(5, header),
})

export const mcpResponse = message({
  serviceNames: repeated(1, text),
  method: field(2, text),
  metadataContext: field(3, struct),
  /** JSON of `result`. */
  mcpResponse: field(4, bytes),
})

const refusal = message({ code: field(1, int32), reason: field(2, text), mcpError: field(3, bytes) })

/** `AuthorizationError.Code` */
export const REFUSAL_CODE = { unknown: 0, permissionDenied: 1, resourceExhausted: 2, invalid: 3 } as const

/** Of both checks: one of the first three; the others are of `CheckRequest` alone. */
export const mcpResult = message({
  pass: field(1, message({})),
  /** JSON in place of what was checked. */
  mutated: field(2, bytes),
  error: field(3, refusal),
  headerMutation: field(4, message({ set: repeated(1, header), remove: repeated(2, text) })),
  metadata: field(5, struct),
})
export type McpResult = Message<typeof mcpResult>
