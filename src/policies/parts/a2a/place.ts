import type { Exchange } from '../../../http/exchange.ts'

/** The public location of what a backend serves. */
export interface CardPlace {
  readonly secure: boolean
  /** Host, with a port if the client sent one. */
  readonly authority: string
  /** The path prefix for clients that replaces the backend's. */
  readonly prefix: string
  readonly backendPrefix: string
}

/** Derives the route's rewrite from the request's two paths: everything but their common suffix. */
export function placeOf({ received, request }: Exchange): CardPlace {
  const [own, theirs] = [segmentsOf(received.path), segmentsOf(request.path)]
  let common = 0
  while (common < own.length && common < theirs.length && own.at(-1 - common) === theirs.at(-1 - common)) common++
  const forwarded = received.headers.get('x-forwarded-proto')?.split(',', 1)[0]?.trim().toLowerCase()
  return {
    secure: forwarded === 'https' || (forwarded !== 'http' && received.scheme === 'https'),
    authority: received.authority,
    prefix: joined(own.slice(0, own.length - common)),
    backendPrefix: joined(theirs.slice(0, theirs.length - common)),
  }
}

function segmentsOf(path: string): string[] {
  return (path.split('?', 1)[0] as string).split('/').filter(each => each !== '')
}

function joined(segments: readonly string[]): string {
  return segments.map(each => `/${each}`).join('')
}

/** How gRPC clients denote a server address. */
const GRPC = /^(grpcs?|dns):(\/*)/i
const WEB = /^([a-z][a-z0-9+.-]*:\/\/|\/)/i

/** The public URL of an agent's interface at `text`; `binding`: its protocol binding, as given in the card. */
export function rewritten(text: string, binding: unknown, place: CardPlace): string {
  const { authority, secure, prefix } = place
  if (text === '') return text
  const grpc = GRPC.exec(text)
  if (grpc) {
    const [, scheme = '', slashes = ''] = grpc
    const own = scheme.toLowerCase() === 'dns' ? 'dns' : secure ? 'grpcs' : 'grpc'
    return `${own}:${slashes}${withPort(place)}`
  }
  const web = WEB.test(text)
  const base = web ? `${/^ws/i.test(text) ? 'ws' : 'http'}${secure ? 's' : ''}://` : ''
  // A gRPC server has no path, and its clients have no default port.
  if (binding === 'GRPC') return base + withPort(place)
  const own = base + (web ? authority : withPort(place))
  const url = web ? URL.parse(text, 'http://agent') : URL.parse(`http://${text}`)
  if (!url) return own + prefix
  // A URL without a path is kept that way.
  const bare = url.pathname === '/' && !/^[^?#]*[^:/?#]\/([?#]|$)/.test(text)
  return own + (bare ? prefix : pathFor(url.pathname, place)) + url.search
}

function withPort({ authority, secure }: CardPlace): string {
  return /:\d+$/.test(authority) ? authority : `${authority}:${secure ? 443 : 80}`
}

function pathFor(path: string, { prefix, backendPrefix }: CardPlace): string {
  const below = path === backendPrefix || path.startsWith(`${backendPrefix}/`)
  const rest = below ? path.slice(backendPrefix.length) : path
  return prefix + rest === '' ? '/' : prefix + rest
}
