import { hash } from 'node:crypto'
import type { BodyHook } from '../../../calls/step.ts'
import type { Exchange } from '../../../http/exchange.ts'
import { keepChunk } from '../../../http/keep-chunk.ts'

/** Where a client reaches what a backend serves. */
export interface CardPlace {
  readonly secure: boolean
  /** Host, with a port if the client named one. */
  readonly authority: string
  /** What stands in front of a path for clients, in place of what stands there for the backend. */
  readonly prefix: string
  readonly backendPrefix: string
}

/** The two paths of one request tell what a route has rewritten: all but their common end. */
function placeOf({ received, request }: Exchange): CardPlace {
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

/** Members of a card that hold where the agent is reached, in every version of A2A. */
const INTERFACES = ['supportedInterfaces', 'additionalInterfaces'] as const

/** The card with every interface at `place`; a signature is over what the agent wrote, so it goes. */
function rewriteCard(card: Record<string, unknown>, place: CardPlace): void {
  if (typeof card.url === 'string') card.url = rewritten(card.url, place)
  for (const name of INTERFACES) {
    const list = card[name]
    if (!Array.isArray(list)) continue
    for (const each of list as unknown[]) {
      if (isRecord(each) && typeof each.url === 'string') each.url = rewritten(each.url, place)
    }
  }
  delete card.signatures
}

/** How clients of gRPC write where a server is. */
const GRPC = /^(grpcs?|dns):(\/*)/i

function rewritten(text: string, place: CardPlace): string {
  const { authority, secure, prefix } = place
  const grpc = GRPC.exec(text)
  if (grpc) {
    const [, scheme = '', slashes = ''] = grpc
    const own = scheme.toLowerCase() === 'dns' ? 'dns' : secure ? 'grpcs' : 'grpc'
    return `${own}:${slashes}${withPort(place)}`
  }
  if (!/^([a-z][a-z0-9+.-]*:\/\/|\/)/i.test(text)) return withPort(place)
  const base = `${secure ? 'https' : 'http'}://${authority}`
  const url = URL.parse(text, 'http://agent')
  if (!url) return base + prefix
  const path = pathFor(url.pathname, place)
  // An address without a path stays one.
  const bare = path === '/' && !/^[^?#]*[^:/?#]\/([?#]|$)/.test(text)
  return base + (bare ? '' : path) + url.search
}

function withPort({ authority, secure }: CardPlace): string {
  return /:\d+$/.test(authority) ? authority : `${authority}:${secure ? 443 : 80}`
}

function pathFor(path: string, { prefix, backendPrefix }: CardPlace): string {
  const below = path === backendPrefix || path.startsWith(`${backendPrefix}/`)
  const rest = below ? path.slice(backendPrefix.length) : path
  return prefix + rest === '' ? '/' : prefix + rest
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Reads a card whole, up to `limit` bytes, and gives it as clients may have it; `inside`: where it is a JSON-RPC result. */
export function cardBody(x: Exchange, inside: boolean, limit: number): BodyHook {
  const place = placeOf(x)
  const chunks: Buffer[] = []
  let size = 0
  return {
    chunk(data) {
      size += data.length
      if (size <= limit) keepChunk(chunks, data)
      else chunks.length = 0
      return undefined
    },
    end() {
      if (size > limit) {
        // Half a card would lead clients past the gateway.
        x.error = `the agent card is longer than ${limit} bytes`
        return Buffer.alloc(0)
      }
      const bytes = Buffer.concat(chunks, size)
      const whole = parsed(bytes)
      const card = inside && isRecord(whole) ? whole.result : whole
      if (!isRecord(card)) return bytes
      rewriteCard(card, place)
      return Buffer.from(JSON.stringify(whole))
    },
  }
}

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString())
  } catch {
    return undefined
  }
}

/** What tells the entity tags of rewritten cards from those of the agent: a card depends on where it is fetched. */
function markOf(x: Exchange): string {
  const { secure, authority, prefix, backendPrefix } = placeOf(x)
  return `-gw${hash('sha256', `${secure} ${authority} ${prefix} ${backendPrefix}`, 'hex').slice(0, 12)}`
}

/** Asks the agent for its card as it knows it, by its own entity tag. */
export function askForCard(x: Exchange): void {
  const { headers } = x.request
  headers.delete('accept-encoding')
  headers.delete('range')
  headers.delete('if-modified-since')
  const known = headers.get('if-none-match')
  if (known === undefined) return
  const mark = markOf(x)
  const own = known.split(',').flatMap(each => {
    const tag = each.trim()
    return tag.endsWith(`${mark}"`) ? [`${tag.slice(0, -mark.length - 1)}"`] : []
  })
  if (own.length > 0) headers.set('if-none-match', own.join(', '))
  else headers.delete('if-none-match')
}

/** The head that goes with a rewritten card. */
export function markCard(x: Exchange): void {
  const { headers } = x.response as NonNullable<Exchange['response']>
  const tag = headers.get('etag')
  if (tag?.endsWith('"')) headers.set('etag', `${tag.slice(0, -1)}${markOf(x)}"`)
  for (const name of ['content-length', 'content-md5', 'digest', 'content-digest', 'repr-digest', 'last-modified']) {
    headers.delete(name)
  }
  const vary = headers.getAll('vary').flatMap(each => each.split(',').map(name => name.trim()))
  const lower = vary.map(name => name.toLowerCase())
  if (lower.includes('*')) return
  const more = ['A2A-Version', 'X-Forwarded-Proto'].filter(name => !lower.includes(name.toLowerCase()))
  headers.set('vary', [...vary.filter(name => name !== ''), ...more].join(', '))
}
