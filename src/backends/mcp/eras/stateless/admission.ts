import type { Exchange } from '../../../../http/exchange.ts'
import { HEADER_MISMATCH, INVALID_PARAMS, type RpcError } from '../../../../mcp/errors.ts'
import { decodeHeaderValue } from '../../../../mcp/header-value.ts'
import type { Request } from '../../../../mcp/message.ts'
import { isObject } from '../../../../mcp/message.ts'
import { META_CAPABILITIES, META_VERSION, metaOf } from '../../../../mcp/request-meta.ts'

/** Requests whose header `Mcp-Name` repeats a parameter; it is optional for tasks. */
const NAMED: Readonly<Record<string, { readonly param: string; readonly required: boolean }>> = {
  'tools/call': { param: 'name', required: true },
  'prompts/get': { param: 'name', required: true },
  'resources/read': { param: 'uri', required: true },
  'tasks/get': { param: 'taskId', required: false },
  'tasks/update': { param: 'taskId', required: false },
  'tasks/cancel': { param: 'taskId', required: false },
}

/**
 * Why a request of 2026-07-28 is rejected: the headers that intermediaries route by must match the body, and the body
 * must name the revision and the client. Undefined if it is valid.
 */
export function problemOf(x: Exchange, { method, params }: Request): RpcError | undefined {
  const { headers } = x.request
  const meta = metaOf(params)
  const version = meta?.[META_VERSION]
  if (version === undefined) return invalid(`\`_meta\` lacks \`${META_VERSION}\``)
  if (!isObject(meta?.[META_CAPABILITIES])) return invalid(`\`_meta\` lacks \`${META_CAPABILITIES}\``)
  if (headers.get('mcp-protocol-version')?.trim() !== version) return mismatch('MCP-Protocol-Version')
  if (only(headers.getAll('mcp-method')) !== method) return mismatch('Mcp-Method')
  const named = Object.hasOwn(NAMED, method) ? NAMED[method] : undefined
  const names = headers.getAll('mcp-name')
  if (!named || (names.length === 0 && !named.required)) return undefined
  const name = params[named.param]
  // The method's own validation reports a parameter that is not text.
  if (typeof name !== 'string') return undefined
  return only(names) === name ? undefined : mismatch('Mcp-Name')
}

/** The decoded value of a header that occurs once. */
function only(values: readonly string[]): string | undefined {
  const [value] = values
  return values.length === 1 && value !== undefined ? decodeHeaderValue(value) : undefined
}

function invalid(problem: string): RpcError {
  return { code: INVALID_PARAMS, message: `invalid request parameters: ${problem}` }
}

function mismatch(header: string): RpcError {
  return { code: HEADER_MISMATCH, message: `the header ${header} and the body disagree` }
}
