// The addresses under which clients look for OAuth's documents of an MCP endpoint.
import type { Exchange } from '../http/exchange.ts'

const RESOURCE = '/.well-known/oauth-protected-resource'
const SERVERS = ['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration'] as const
const SERVICES = ['client-registration', 'token', 'authorize'] as const

export type PlaceKind = 'resource' | 'server' | (typeof SERVICES)[number]

export interface Place {
  readonly kind: PlaceKind
  /** The path of the endpoint that it is about; empty: that of the whole origin. */
  readonly endpoint: string
}

/**
 * What a path (without query) asks for: the well-known name stands before the endpoint's path (RFC 8414, RFC 9728) or,
 * as OpenID Connect Discovery has it, behind it. Undefined: it is none of these documents.
 */
export function placeOf(path: string): Place | undefined {
  const about = endpointOf(path, RESOURCE)
  if (about !== undefined) return { kind: 'resource', endpoint: about }
  const service = SERVICES.find(each => path.endsWith(`/${each}`))
  const document = service === undefined ? path : path.slice(0, -service.length - 1)
  for (const name of SERVERS) {
    const endpoint = endpointOf(document, name)
    if (endpoint !== undefined) return { kind: service ?? 'server', endpoint }
  }
  return undefined
}

function endpointOf(path: string, name: string): string | undefined {
  if (path === name) return ''
  if (path.startsWith(`${name}/`)) return trimmed(path.slice(name.length))
  return path.endsWith(name) ? path.slice(0, -name.length) : undefined
}

function trimmed(path: string): string {
  return path === '/' ? '' : path
}

/** Fit for a quoted string. */
export const resourceDocument = (base: string, endpoint: string): string =>
  (base + RESOURCE + trimmed(endpoint)).replace(/["\\]/g, encodeURIComponent)
export const serverDocument = (base: string, endpoint: string): string => base + SERVERS[0] + endpoint

/** The origin under which the client knows the gateway; a proxy before it may have taken TLS off. */
export function originOf({ received, request }: Exchange): string {
  const forwarded = request.headers.get('x-forwarded-proto')?.toLowerCase()
  const scheme = forwarded === 'https' || forwarded === 'http' ? forwarded : received.scheme
  return `${scheme}://${received.authority}`
}

/** A request target without its query. */
export function pathOf(target: string): string {
  const query = target.indexOf('?')
  return query < 0 ? target : target.slice(0, query)
}
