// The addresses at which clients look up the OAuth documents of an MCP endpoint.
import type { Exchange } from '../http/exchange.ts'

const RESOURCE = '/.well-known/oauth-protected-resource'
const SERVERS = ['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration'] as const
const SERVICES = ['client-registration', 'token', 'authorize'] as const

export type PlaceKind = 'resource' | 'server' | (typeof SERVICES)[number]

export interface Place {
  readonly kind: PlaceKind
  /** The path of the endpoint that the document describes; empty for the whole origin. */
  readonly endpoint: string
}

/**
 * The document at a path (without query): the well-known name comes before the endpoint's path (RFC 8414, RFC 9728) or,
 * in OpenID Connect Discovery, after it. Undefined for other paths.
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

/** Safe in a quoted string. */
export const resourceDocument = (base: string, endpoint: string): string =>
  (base + RESOURCE + trimmed(endpoint)).replace(/["\\]/g, encodeURIComponent)
export const serverDocument = (base: string, endpoint: string): string => base + SERVERS[0] + endpoint

/** The gateway's origin as the client sees it; a proxy in front may have terminated TLS. */
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
