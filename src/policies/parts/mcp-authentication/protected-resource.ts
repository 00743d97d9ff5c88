import { GatewayError } from '../../../http/errors.ts'
import type { Exchange, Reply } from '../../../http/exchange.ts'
import { type Place, resourceDocument } from '../../../mcp/oauth-documents.ts'
import { NO_TOKEN } from '../token-check.ts'
import { corsFields, jsonReply } from './replies.ts'

/** RFC 9728, with the members that the public system adds. `server`: where clients obtain tokens. */
export function resourceReply(
  { endpoint }: Place,
  base: string,
  server: string,
  members: Readonly<Record<string, unknown>>,
  x: Exchange,
): Reply {
  const { method } = x.request
  if (method === 'OPTIONS')
    return { status: 204, headers: corsFields('GET'), body: undefined, reason: 'DirectResponse' }
  if (method !== 'GET' && method !== 'HEAD') throw new GatewayError('methodNotAllowed')
  const document = {
    resource: base + endpoint,
    authorization_servers: [server],
    mcp_protocol_version: '2025-06-18',
    resource_type: 'mcp-server',
    ...members,
  }
  return jsonReply(200, document, corsFields('GET'))
}

/** Converts configuration names to OAuth's: `scopesSupported` is `scopes_supported`. */
export function resourceMembers(written: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(written).map(([name, value]) => [snakeCase(name), value]))
}

function snakeCase(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replaceAll('-', '_')
    .toLowerCase()
}

/** The error response that directs a client to where it can get a token (RFC 9728, 5.1). */
export function challenge(error: GatewayError, base: string, path: string): GatewayError {
  const document = resourceDocument(base, path)
  // A client with a token learns that it is invalid (RFC 6750, 3.1); one without learns where to get one.
  const more = error.details.detail === NO_TOKEN ? '' : ', error="invalid_token"'
  return new GatewayError('jwt', {
    ...error.details,
    headers: ['www-authenticate', `Bearer resource_metadata="${document}"${more}`],
    body: {
      type: 'application/json',
      text: JSON.stringify({ error: 'unauthorized', error_description: 'JWT token required' }),
    },
  })
}
