import { hash } from 'node:crypto'
import { GatewayError } from '../../../http/errors.ts'
import type { Exchange } from '../../../http/exchange.ts'
import { placeOf } from './place.ts'

/** Distinguishes entity tags of rewritten cards from the agent's: a rewritten card depends on its URL. */
function markOf(x: Exchange): string {
  const { secure, authority, prefix, backendPrefix } = placeOf(x)
  return `-gw${hash('sha256', `${secure} ${authority} ${prefix} ${backendPrefix}`, 'hex').slice(0, 12)}`
}

/** Translates the client's entity tag to the agent's own. */
export function askForCard(x: Exchange): void {
  const { headers } = x.request
  for (const name of ['accept-encoding', 'grpc-accept-encoding', 'range', 'if-modified-since']) headers.delete(name)
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

export function unreadable(detail: string, cause?: unknown): GatewayError {
  return new GatewayError('upstreamFailed', { status: 502, detail: `the agent card cannot be read: ${detail}`, cause })
}

/** Adjusts the head for a rewritten card; `limit`: maximum bytes of a card. */
export function markCard(x: Exchange, limit: number): void {
  const { headers } = x.response as NonNullable<Exchange['response']>
  if (Number(headers.get('content-length')) > limit) throw unreadable(`it is longer than ${limit} bytes`)
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
